//===- Cards.cpp ----------------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "kb-opt/Eval/Cards.h"
#include "kb-opt/Support/Error.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallSet.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/FormatVariadic.h"

using namespace llvm;

namespace kbopt {

static SmallVector<StringRef> partsOf(StringRef list) {
  SmallVector<StringRef> parts;
  list.split(parts, ',');
  return parts;
}

bool isListOfCards(StringRef list) {
  SmallSet<unsigned, 8> seen;
  return list == "all" || all_of(partsOf(list), [&](StringRef part) {
           unsigned number = 0;
           return !part.getAsInteger(10, number) && seen.insert(number).second;
         });
}

Expected<std::vector<Card>> cardsOf(StringRef list, unsigned count, StringRef visible) {
  std::vector<Card> all;
  SmallVector<StringRef> names = visible.empty() ? SmallVector<StringRef>() : partsOf(visible);
  for (unsigned index = 0; index != count; ++index)
    all.push_back(
        {index, index < names.size() ? names[index].trim().str() : std::to_string(index)});
  if (list == "all")
    return all;
  std::vector<Card> cards;
  for (StringRef part : partsOf(list)) {
    unsigned index = 0;
    if (part.getAsInteger(10, index) || index >= count)
      return make_error<UsageError>(
          formatv("no GPU {0}: the driver shows {1}, and counts from 0", part, count).str(),
          "see nvidia-smi, and CUDA_VISIBLE_DEVICES if it is set");
    cards.push_back(all[index]);
  }
  return cards;
}

} // namespace kbopt
