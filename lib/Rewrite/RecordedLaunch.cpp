//===- RecordedLaunch.cpp - What a workload passes to a kernel --------------===//
// SPDX-License-Identifier: Apache-2.0

#include "kb-opt/Rewrite/RecordedLaunch.h"
#include "kb-opt/Schedule/Sketch.h"
#include <cstring>

using namespace kbopt;

/// The integer of \p bits at \p offset of \p bytes; nothing if it does not lie there.
static std::optional<int64_t> integerAt(llvm::StringRef bytes, size_t offset, unsigned bits,
                                        bool isSigned) {
  size_t size = bits / 8;
  if (size == 0 || size > sizeof(uint64_t) || offset + size > bytes.size())
    return std::nullopt;
  uint64_t value = 0; // the machines that CUDA runs on are little-endian
  std::memcpy(&value, bytes.data() + offset, size);
  if (isSigned && bits < 64)
    return static_cast<int64_t>(value << (64 - bits)) >> (64 - bits);
  return static_cast<int64_t>(value);
}

LaunchSizes kbopt::launchSizes(kb::NestOp nest, const RecordedLaunch &launch) {
  LaunchSizes sizes;
  for (unsigned i = 0; i < 3; ++i) {
    std::string component(1, "xyz"[i]);
    sizes["gdim." + component] = launch.grid[i];
    sizes["bdim." + component] = launch.block[i];
  }
  for (auto symbol : nest.getSymbols().getAsRange<kb::SymbolAttr>()) {
    if (symbol.getOrigin() != kb::SymbolOrigin::Param || symbol.getArgument() < 0 ||
        symbol.getArgument() >= static_cast<int64_t>(launch.arguments.size()))
      continue;
    if (auto value = integerAt(launch.arguments[symbol.getArgument()], symbol.getByteOffset(),
                               symbol.getBits(), symbol.getIsSigned()))
      sizes[symbol.getName()] = *value;
  }
  return sizes;
}
