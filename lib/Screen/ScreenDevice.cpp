//===- ScreenDevice.cpp ---------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "kb-opt/Screen/ScreenDevice.h"

using namespace kbopt;

ScreenDevice::~ScreenDevice() = default;
