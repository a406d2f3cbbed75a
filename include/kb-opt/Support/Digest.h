//===- Digest.h - Content digests -------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the one way kb-opt names content: BLAKE3, the first 16 bytes, in hex.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_SUPPORT_DIGEST_H
#define KBOPT_SUPPORT_DIGEST_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/BLAKE3.h"
#include <string>

namespace kbopt {

/// 32 hexadecimal digits.
using Digest = std::string;

/// Digest of one string of bytes.
Digest digestOf(llvm::StringRef bytes);

/// Digest of a sequence of fields. Each field is preceded by its length, so
/// that ("ab", "c") and ("a", "bc") differ.
class DigestBuilder {
public:
  DigestBuilder &add(llvm::StringRef field);
  DigestBuilder &add(uint64_t field);
  Digest finish();

private:
  llvm::BLAKE3 hasher;
};

} // namespace kbopt

#endif // KBOPT_SUPPORT_DIGEST_H
