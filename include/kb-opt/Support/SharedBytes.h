//===- SharedBytes.h - Bytes that several hold ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns results of hundreds of megabytes that several runs have in common: they are
// never copied and never changed, and the same ones are known by their place.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_SUPPORT_SHAREDBYTES_H
#define KBOPT_SUPPORT_SHAREDBYTES_H

#include "llvm/Support/MemoryBuffer.h"
#include <memory>
#include <string>

namespace kbopt {

/// Thread-safe as far as different objects are concerned.
class SharedBytes {
public:
  SharedBytes() = default;
  SharedBytes(std::string text) {
    auto kept = std::make_shared<const std::string>(std::move(text));
    bytes = *kept;
    owner = std::move(kept);
  }
  explicit SharedBytes(std::unique_ptr<llvm::MemoryBuffer> file)
      : bytes(file->getBuffer()), owner(std::move(file)) {}

  /// Part of these bytes, which live on as long as it does.
  SharedBytes slice(size_t at, size_t count) const {
    SharedBytes part = *this;
    part.bytes = bytes.substr(at, count);
    return part;
  }

  operator llvm::StringRef() const { return bytes; }
  llvm::StringRef str() const { return bytes; }
  const char *data() const { return bytes.data(); }
  size_t size() const { return bytes.size(); }
  bool empty() const { return bytes.empty(); }
  bool operator==(const SharedBytes &other) const {
    return (bytes.data() == other.bytes.data() && bytes.size() == other.bytes.size()) ||
           bytes == other.bytes;
  }

  /// What keeps the bytes alive, and how many hold it: parts of one whole have the same holder.
  const void *holder() const { return owner.get(); }
  long holders() const { return owner.use_count(); }

  /// The bytes as long as they are held elsewhere.
  class Weak {
  public:
    Weak() = default;
    Weak(const SharedBytes &of) : bytes(of.bytes), owner(of.owner) {}
    bool expired() const { return owner.expired(); }
    /// Empty once they are no longer held.
    std::shared_ptr<const SharedBytes> lock() const {
      SharedBytes held;
      held.bytes = bytes;
      held.owner = owner.lock();
      return held.owner ? std::make_shared<const SharedBytes>(std::move(held)) : nullptr;
    }

  private:
    llvm::StringRef bytes;
    std::weak_ptr<const void> owner;
  };

private:
  llvm::StringRef bytes;
  std::shared_ptr<const void> owner;
};

} // namespace kbopt

#endif // KBOPT_SUPPORT_SHAREDBYTES_H
