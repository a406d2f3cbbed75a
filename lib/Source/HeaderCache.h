//===- HeaderCache.h - Precompiled headers on disk --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns how entries come into the folders of precompiled headers and leave them; what an entry holds
// and what it is named after is its user's.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_LIB_SOURCE_HEADERCACHE_H
#define KBOPT_LIB_SOURCE_HEADERCACHE_H

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"
#include <string>

namespace kbopt {

std::string childOf(llvm::StringRef folder, llvm::StringRef name);

/// An empty CUDA program in \p folder, for what is included before it. Written once: the time of
/// its last change is in every precompiled header. Where it cannot be written there is none of that
/// name.
std::string emptyProgram(llvm::StringRef folder);

/// Whether the folder \p entry exists, after \p fill has filled a new one for it if need be. Of the
/// folders beside it those leave that were not used for longest. \p fill says whether it could; an
/// entry that could not be made is not tried again. Thread-safe, and safe between processes, which
/// may fill one each: either will do.
bool makeCacheEntry(llvm::StringRef entry, llvm::function_ref<bool(llvm::StringRef draft)> fill);

} // namespace kbopt

#endif // KBOPT_LIB_SOURCE_HEADERCACHE_H
