//===- FreeSpace.h - What is left of memory and disk ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef KBOPT_SUPPORT_FREESPACE_H
#define KBOPT_SUPPORT_FREESPACE_H

#include "llvm/ADT/StringRef.h"
#include <cstdint>

namespace kbopt {

/// Bytes of memory that processes may take before the machine, or the control group of this
/// process, has none left; the largest number if that is not known.
uint64_t availableMemory();

/// Bytes that this user may still write to the file system of \p folder; the largest number if that
/// is not known.
uint64_t freeDiskSpace(llvm::StringRef folder);

/// Whether what is written to \p folder takes memory.
bool liesInMemory(llvm::StringRef folder);

} // namespace kbopt

#endif // KBOPT_SUPPORT_FREESPACE_H
