//===- JsonText.h - Any bytes as a JSON string ------------------*- C++ -*-===//
#ifndef KBOPT_LIB_LLM_JSONTEXT_H
#define KBOPT_LIB_LLM_JSONTEXT_H

#include "llvm/Support/JSON.h"

namespace kbopt {

/// What is no UTF-8 in \p bytes becomes replacement characters.
inline llvm::json::Value jsonText(llvm::StringRef bytes) {
  return llvm::json::isUTF8(bytes) ? llvm::json::Value(bytes)
                                   : llvm::json::Value(llvm::json::fixUTF8(bytes));
}

} // namespace kbopt

#endif // KBOPT_LIB_LLM_JSONTEXT_H
