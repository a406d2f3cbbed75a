//===- ElementTypes.h - What kernels take buffers for ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef KBRT_RECORD_ELEMENTTYPES_H
#define KBRT_RECORD_ELEMENTTYPES_H

#include "Backend.h"

namespace kbrt {

/// Sets `Buffer::element` from the kernel parameters that point to each buffer
/// (the image's debug information, else the mangled name). Buffers that kernels
/// take for different things stay unknown.
void inferElementTypes(Plan &plan, Backend &backend, const std::vector<DeviceVariable> &variables);

} // namespace kbrt

#endif // KBRT_RECORD_ELEMENTTYPES_H
