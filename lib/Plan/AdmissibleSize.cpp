//===- AdmissibleSize.cpp - Sizes that callers pass --------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "kb-opt/Plan/Workload.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/bit.h"

using namespace kbopt;

bool AdmissibleSize::admits(int64_t size) const {
  return size >= minimum && (!maximum || size <= *maximum) && size % multiple == 0 &&
         (!isPowerOfTwo || (size > 0 && llvm::has_single_bit(static_cast<uint64_t>(size))));
}

int64_t AdmissibleSize::nearest(int64_t size) const {
  auto next = [&](int64_t at, bool isUp) { // the one after \p at that may be admissible
    if (!isPowerOfTwo)
      return (at / multiple + (isUp ? 1 : at % multiple == 0 ? -1 : 0)) * multiple;
    if (isUp)
      return static_cast<int64_t>(llvm::bit_floor(static_cast<uint64_t>(at)) * 2);
    return static_cast<int64_t>(llvm::bit_floor(static_cast<uint64_t>(at - 1)));
  };
  if (maximum)
    size = std::min(size, *maximum);
  for (int64_t below = size; below >= minimum && below >= 0; below = next(below, false)) {
    if (admits(below))
      return below;
    if (below == 0)
      break;
  }
  for (int64_t above = std::max<int64_t>(size, 1); !maximum || above <= *maximum;
       above = next(above, true))
    if (admits(above))
      return above;
  return size;
}

std::string AdmissibleSize::describe() const {
  std::vector<std::string> words;
  if (multiple > 1)
    words.push_back("a multiple of " + std::to_string(multiple));
  if (isPowerOfTwo)
    words.push_back("a power of two");
  if (minimum > 0)
    words.push_back("at least " + std::to_string(minimum));
  if (maximum)
    words.push_back("at most " + std::to_string(*maximum));
  return words.empty() ? "any number" : llvm::join(words, " and ");
}
