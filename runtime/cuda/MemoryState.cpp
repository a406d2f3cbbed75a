//===- MemoryState.cpp - whether memory is what it was --------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "MemoryState.h"

#include <regex>
#include <unistd.h>

using namespace kbrt;
using namespace kbrt::cuda;

namespace {

/// A repetition that has not come to rest by then hardly ever does.
constexpr size_t mostPeriods = 4;
/// One for each salt.
constexpr unsigned slots[] = {1, 2};

const std::array<uint64_t, 2> &salts() {
  static const std::array<uint64_t, 2> drawn = [] {
    std::array<uint64_t, 2> values = {};
    if (getentropy(values.data(), sizeof values)) // an older kernel: addresses are drawn, too
      values = {reinterpret_cast<uintptr_t>(&values), static_cast<uint64_t>(getpid())};
    return values;
  }();
  return drawn;
}

/// The names of the variables that \p image has in global memory; nothing if it does not say.
std::optional<std::vector<std::string>> variablesOf(LoadedImage::Module &module) {
  std::vector<std::string> names;
  switch (imageKind(module.bytes).format) {
  case ImageKind::Cubin: {
    std::string error;
    std::optional<CubinTable> table = readCubin(module.bytes, error);
    if (!table)
      return std::nullopt;
    for (const CubinVariable &variable : table->variables)
      if (!variable.isConstant)
        names.push_back(variable.name);
    return names;
  }
  case ImageKind::Ptx: {
    // ".visible .global .align 4 .b8 table[16] = {…};"
    static const std::regex declaration(R"(\.global\s+(?:\.\w+\s+(?:\d+\s+)?)*([\w$]+)\s*[\[;=])");
    for (std::cregex_iterator
             it(module.bytes.data(), module.bytes.data() + module.bytes.size(), declaration),
         end;
         it != end; ++it)
      names.push_back((*it)[1]);
    return names;
  }
  default:
    return std::nullopt;
  }
}

} // namespace

MemoryState::MemoryState(HelperKernels &helpers, LoadedImage::Module &module, uint64_t base,
                         uint64_t bytes)
    : helpers(helpers), regions{{base, bytes}} {
  for (std::string_view other : {"vprintf", "malloc"})
    if (module.bytes.find(other) != std::string::npos)
      return;
  std::optional<std::vector<std::string>> names = variablesOf(module);
  if (!names)
    return;
  for (const std::string &name : *names) {
    CUdeviceptr place = 0;
    size_t size = 0;
    if (!module.findVariable(name, place, size))
      return;
    regions.emplace_back(place, size);
  }
  known = true;
}

std::array<uint64_t, 2> MemoryState::hash() {
  helpers.clearHashes();
  for (const auto &[address, bytes] : regions)
    for (unsigned i = 0; i < 2; ++i)
      helpers.hash(address, bytes, salts()[i] + address, slots[i],
                   address % 4 == 0 && bytes % 4 == 0);
  return {helpers.readHash(slots[0]), helpers.readHash(slots[1])};
}

bool MemoryState::isAtRest(const Repetition &repetition, size_t periods) {
  if (!known || periods > mostPeriods)
    return false;
  const std::array<uint64_t, 2> now = hash();
  const bool isSame = last == repetition && lastPeriods + 1 == periods && now == state;
  last = repetition;
  lastPeriods = periods;
  state = now;
  return isSame;
}
