//===- RelaidInputs.cpp ---------------------------------------------------===//
#include "RelaidInputs.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"
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

bool isRelaid(StringRef upload, ArrayRef<StringRef> inputs, ArrayRef<StringRef> results,
              bool mayIndex) {
  // Fewer bytes of a result may come about by chance.
  constexpr size_t leastResult = 16;
  if (any_of(results, [&](StringRef result) {
        return result.size() >= leastResult && result.find_first_not_of('\0') != StringRef::npos &&
               upload.contains(result);
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
