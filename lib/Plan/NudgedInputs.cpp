//===- NudgedInputs.cpp - Inputs that are rounded otherwise -----------------===//
// SPDX-License-Identifier: Apache-2.0
#include "VariedTypes.h"
#include "kb-opt/Support/Random.h"
#include <cstring>

using namespace kbopt;
using namespace kbrt;

/// Moves each of the numbers in \p bytes whose neighbours are normal numbers, too, to one of them.
template <typename Bits>
static void nudge(llvm::MutableArrayRef<uint8_t> bytes, unsigned mantissaBits, Random &random) {
  constexpr unsigned width = 8 * sizeof(Bits);
  const Bits exponents = (Bits{1} << (width - 1)) - (Bits{1} << mantissaBits);
  for (size_t at = 0; at + sizeof(Bits) <= bytes.size(); at += sizeof(Bits)) {
    Bits bits;
    std::memcpy(&bits, bytes.data() + at, sizeof bits);
    const Bits exponent = bits & exponents;
    const bool isLarger = random.below(2);
    if (exponent == 0 || exponent >= exponents - (Bits{1} << mantissaBits))
      continue;
    bits = isLarger ? bits + 1 : bits - 1;
    std::memcpy(bytes.data() + at, &bits, sizeof bits);
  }
}

llvm::Expected<std::string> kbopt::nudgeInputs(const Plan &plan, llvm::StringRef data,
                                               uint64_t seed) {
  llvm::Expected<std::map<uint64_t, ElementType>> types = variedTypes(plan, data);
  if (!types)
    return types.takeError();
  std::string nudged = data.str();
  Random random(seed);
  for (const Step &step : plan.steps) {
    auto *upload = std::get_if<UploadStep>(&step);
    if (!upload)
      continue;
    auto place = types->find(upload->data);
    if (place == types->end())
      continue; // done already
    llvm::MutableArrayRef<uint8_t> bytes(reinterpret_cast<uint8_t *>(nudged.data()) + upload->data,
                                         upload->to.bytes());
    if (place->second == ElementType::F32)
      nudge<uint32_t>(bytes, 23, random);
    else if (place->second == ElementType::F64)
      nudge<uint64_t>(bytes, 52, random);
    types->erase(place);
  }
  return nudged;
}
