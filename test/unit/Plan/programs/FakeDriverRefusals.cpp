//===- FakeDriverRefusals.cpp - What the fake driver does not do ------------===//
//
// Owns a weak symbol for every function of the driver that is looked for, so
// that FakeDriver.cpp has to define only those that it plays.
//
//===----------------------------------------------------------------------===//
#include "Libraries.h"

extern "C" CUresult kbFakeRefuse() { return CUDA_ERROR_NOT_SUPPORTED; }

#define KB_TEXT_OF(TEXT) #TEXT
#define KB_TEXT(NAME) KB_TEXT_OF(NAME) // the name after the header's macros
#define KB_REFUSE(NAME) asm(".weak " KB_TEXT(NAME) "\n.set " KB_TEXT(NAME) ", kbFakeRefuse\n");
KBRT_DRIVER_FUNCTIONS(KB_REFUSE)
KBRT_DRIVER_OPTIONAL(KB_REFUSE)
