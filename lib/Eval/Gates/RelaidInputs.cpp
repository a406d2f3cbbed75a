//===- RelaidInputs.cpp ---------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "RelaidInputs.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>
#include <cstring>

using namespace llvm;

namespace kbopt {

/// The words of 32 bits in \p bytes: of larger numbers either half is one.
static std::vector<uint32_t> wordsOf(StringRef bytes) {
  std::vector<uint32_t> words(bytes.size() / sizeof(uint32_t));
  std::memcpy(words.data(), bytes.data(), words.size() * sizeof(uint32_t));
  return words;
}

/// An index, or what stands for none.
static bool isIndex(uint32_t word, size_t most) {
  constexpr uint32_t largest = INT32_MAX;
  return word <= most || word == UINT32_MAX || word == largest;
}

/// Whether \p upload, and none of \p inputs, has a stretch of \p result: what a host shifts, or
/// cuts, is its result all the same.
static bool hasStretch(StringRef upload, ArrayRef<StringRef> inputs, StringRef result) {
  // Fewer bytes may come about by chance.
  constexpr size_t least = 16, most = 64, samples = 8;
  const size_t bytes = std::min(most, result.size() / sizeof(uint32_t) * sizeof(uint32_t));
  if (bytes < least)
    return false;
  const size_t step = std::max<size_t>((result.size() - bytes) / samples / sizeof(uint32_t), 1);
  for (size_t at = 0; at + bytes <= result.size(); at += step * sizeof(uint32_t)) {
    const StringRef stretch = result.substr(at, bytes);
    const bool isOfOneValue = stretch.drop_front(4) == stretch.drop_back(4);
    if (!isOfOneValue && upload.contains(stretch) &&
        none_of(inputs, [&](StringRef input) { return input.contains(stretch); }))
      return true;
  }
  return false;
}

/// Whether the words of \p result, but for zeros, are all among those of \p bytes, as often.
static bool includesWords(std::vector<uint32_t> bytes, std::vector<uint32_t> result) {
  erase(result, 0u);
  sort(bytes);
  sort(result);
  return std::includes(bytes.begin(), bytes.end(), result.begin(), result.end());
}

/// Whether \p upload holds \p result in any order, and \p inputs do not.
static bool holdsInAnyOrder(StringRef upload, ArrayRef<StringRef> inputs, StringRef result) {
  constexpr ptrdiff_t leastWords = 16;
  const std::vector<uint32_t> words = wordsOf(result);
  if (count_if(words, [](uint32_t word) { return word != 0; }) < leastWords ||
      !includesWords(wordsOf(upload), words))
    return false;
  std::vector<uint32_t> all;
  for (StringRef input : inputs)
    append_range(all, wordsOf(input));
  return !includesWords(std::move(all), words);
}

bool isRelaid(StringRef upload, ArrayRef<StringRef> inputs, ArrayRef<StringRef> results,
              bool mayIndex) {
  if (any_of(results, [&](StringRef result) {
        return hasStretch(upload, inputs, result) || holdsInAnyOrder(upload, inputs, result);
      }))
    return false;
  DenseSet<uint64_t> known; // wider than the words, for the set keeps two values to itself
  size_t most = upload.size();
  for (StringRef input : inputs) {
    most = std::max(most, input.size());
    for (uint32_t word : wordsOf(input))
      known.insert(word);
  }
  const std::vector<uint32_t> words = wordsOf(upload);
  // Offsets rise, and their words need not be among the inputs.
  if (mayIndex && is_sorted(words) && isIndex(words.empty() ? 0 : words.back(), most))
    return true;
  constexpr size_t rare = 10; // one of so many: an index that no input happens to have
  const size_t others =
      count_if(words, [&](uint32_t word) { return !known.count(word) && word != 0; });
  return rare * others <= words.size() && all_of(words, [&](uint32_t word) {
           return known.count(word) || word == 0 || (mayIndex && isIndex(word, most));
         });
}

} // namespace kbopt
