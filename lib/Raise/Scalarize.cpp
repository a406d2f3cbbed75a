//===- Scalarize.cpp - Values that need no memory ------------------------------===//
//
// Owns replacing elements that a loop only updates by scalars.
//
//===----------------------------------------------------------------------===//
#include "Points.h"

namespace kbopt::raise {

void scalarize(ThreadProgram &) {}

} // namespace kbopt::raise
