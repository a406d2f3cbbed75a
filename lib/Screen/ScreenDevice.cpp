//===- ScreenDevice.cpp ---------------------------------------------------===//
#include "kb-opt/Screen/ScreenDevice.h"

using namespace kbopt;

ScreenDevice::~ScreenDevice() = default;
