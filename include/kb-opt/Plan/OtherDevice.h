//===- OtherDevice.h - Devices that a host may meet elsewhere ---*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the list of devices, other than the recorded one, on which a candidate's host is run again.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_PLAN_OTHERDEVICE_H
#define KBOPT_PLAN_OTHERDEVICE_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

namespace kbopt {

/// A device of the recorded compute capability.
struct OtherDevice {
  llvm::StringRef name;  ///< in messages: "another device"
  llvm::StringRef facts; ///< what it says of itself, in the form of KBRECORD_DEVICE
  unsigned skewBytes;    ///< buffers begin twice as far on, or near that
};

/// One that every host of a candidate's own is run on; then one with few multiprocessors and one
/// with many, for hosts that ask. Constant.
llvm::ArrayRef<OtherDevice> otherDevices();

} // namespace kbopt

#endif // KBOPT_PLAN_OTHERDEVICE_H
