//===- CallTables.h - What replies may call ---------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the tables of names: what the host may call and with which allowance, what
// device code may not, libraries, headers. No Clang.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_LIB_REWRITE_ASSISTED_CALLTABLES_H
#define KBOPT_LIB_REWRITE_ASSISTED_CALLTABLES_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include <optional>

namespace kbopt {

/// Whether host code of a reply may call \p name, given what the pass allows. Functions of the
/// reply, kernels and constexpr functions are not asked about.
bool hostMayCall(llvm::StringRef name, llvm::ArrayRef<llvm::StringRef> allow);
/// The allowance that would permit it; empty if none does.
llvm::StringRef allowanceForCall(llvm::StringRef name);

/// Why device code may not call \p name; none if it may.
std::optional<llvm::StringRef> whyDeviceMayNotCall(llvm::StringRef name);

/// The library that the identifier \p word belongs to; empty if it belongs to none.
llvm::StringRef libraryOf(llvm::StringRef word);

} // namespace kbopt

#endif // KBOPT_LIB_REWRITE_ASSISTED_CALLTABLES_H
