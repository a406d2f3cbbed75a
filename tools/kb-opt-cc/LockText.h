//===- LockText.h - What a lock says of a file ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns finding the lock of a source and the text of its entries. What an entry
// means is kb-opt's business.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_TOOLS_KBOPTCC_LOCKTEXT_H
#define KBOPT_TOOLS_KBOPTCC_LOCKTEXT_H

#include <string>
#include <string_view>

namespace kboptcc {

/// The nearest kbopt.lock above \p file, which is absolute; empty if there is none.
std::string lockAbove(const std::string &file);

/// What \p text, the content of the lock \p lock, says of \p file; both are absolute. The texts of
/// its entries one after the other; empty if it has none.
std::string entriesOf(std::string_view text, const std::string &file, const std::string &lock);

} // namespace kboptcc

#endif // KBOPT_TOOLS_KBOPTCC_LOCKTEXT_H
