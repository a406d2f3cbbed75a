//===- ShownNames.h - Files as the user calls them --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef KBOPT_SUPPORT_SHOWNNAMES_H
#define KBOPT_SUPPORT_SHOWNNAMES_H

#include "llvm/ADT/StringRef.h"
#include <string>

namespace kbopt {

/// \p text with \p shown wherever \p path stands. What compilers print of a program goes into
/// evidence, transcripts and prompts, which are read on other machines: there a file is
/// called as the user called it.
inline std::string withShownName(llvm::StringRef text, llvm::StringRef path,
                                 llvm::StringRef shown) {
  std::string result;
  for (size_t at = path.empty() ? llvm::StringRef::npos : text.find(path);
       at != llvm::StringRef::npos; at = text.find(path)) {
    result += text.take_front(at);
    result += shown;
    text = text.drop_front(at + path.size());
  }
  return result += text;
}

} // namespace kbopt

#endif // KBOPT_SUPPORT_SHOWNNAMES_H
