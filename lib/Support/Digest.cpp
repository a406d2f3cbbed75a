//===- Digest.cpp ---------------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "kb-opt/Support/Digest.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Endian.h"

using namespace kbopt;

static constexpr size_t digestBytes = 16;

static Digest finishHex(llvm::BLAKE3 &hasher) {
  auto bytes = hasher.final<digestBytes>();
  return llvm::toHex(llvm::ArrayRef<uint8_t>(bytes), /*LowerCase=*/true);
}

Digest kbopt::digestOf(llvm::StringRef bytes) {
  llvm::BLAKE3 hasher;
  hasher.update(bytes);
  return finishHex(hasher);
}

DigestBuilder &DigestBuilder::add(llvm::StringRef field) {
  char length[8];
  llvm::support::endian::write64le(length, field.size());
  hasher.update(llvm::StringRef(length, sizeof(length)));
  hasher.update(field);
  return *this;
}

DigestBuilder &DigestBuilder::add(uint64_t field) {
  char bytes[8];
  llvm::support::endian::write64le(bytes, field);
  return add(llvm::StringRef(bytes, sizeof(bytes)));
}

Digest DigestBuilder::finish() { return finishHex(hasher); }
