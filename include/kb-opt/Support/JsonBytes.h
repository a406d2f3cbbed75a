//===- JsonBytes.h - Any bytes in JSON --------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns how text that may not be UTF-8 stands in JSON: a program in Latin-1 comes
// back byte for byte.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_SUPPORT_JSONBYTES_H
#define KBOPT_SUPPORT_JSONBYTES_H

#include "llvm/Support/JSON.h"
#include <optional>
#include <string>

namespace kbopt {

/// A string where \p bytes are UTF-8, else an object with their base64.
llvm::json::Value jsonOfBytes(llvm::StringRef bytes);

/// What `jsonOfBytes` made \p value of; nothing where \p value is null or something else.
std::optional<std::string> bytesOfJson(const llvm::json::Value *value);

/// \p text for people: what is no UTF-8 becomes replacement characters.
llvm::json::Value shownJson(llvm::StringRef text);

} // namespace kbopt

#endif // KBOPT_SUPPORT_JSONBYTES_H
