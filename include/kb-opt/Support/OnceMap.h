//===- OnceMap.h - Values computed once per key -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef KBOPT_SUPPORT_ONCEMAP_H
#define KBOPT_SUPPORT_ONCEMAP_H

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/Error.h"
#include <map>
#include <mutex>
#include <optional>

namespace kbopt {

/// Computes a value at most once per key and keeps it; errors are not kept.
/// Thread-safe: threads that ask for one key wait for one computation, those that
/// ask for another do not. A computation may ask for other keys, never in a circle.
template <typename Key, typename Value> class OnceMap {
public:
  /// The reference is valid as long as the map, or until `clear`.
  llvm::Expected<const Value &> get(const Key &key,
                                    llvm::function_ref<llvm::Expected<Value>()> compute) {
    Entry *entry;
    {
      std::lock_guard<std::mutex> lock(mutex);
      entry = &entries[key];
    }
    std::lock_guard<std::mutex> lock(entry->mutex);
    if (!entry->value) {
      llvm::Expected<Value> computed = compute();
      if (!computed)
        return computed.takeError();
      entry->value.emplace(std::move(*computed));
    }
    return *entry->value;
  }

  /// Whether \p key has its value, or is computed at this moment.
  bool has(const Key &key) {
    std::lock_guard<std::mutex> lock(mutex);
    return entries.count(key) != 0;
  }

  /// Not thread-safe: no other thread may use the map meanwhile.
  void clear() { entries.clear(); }

private:
  struct Entry {
    std::mutex mutex;
    std::optional<Value> value;
  };
  std::mutex mutex;
  std::map<Key, Entry> entries;
};

} // namespace kbopt

#endif // KBOPT_SUPPORT_ONCEMAP_H
