//===- DocumentSearch.cpp -------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "kb-opt/Knowledge/DocumentSearch.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include <cmath>
#include <set>

using namespace kbopt;

namespace {

// The usual values: how fast repetition saturates, how much length counts.
constexpr double saturation = 1.2, lengthWeight = 0.75;

std::vector<std::string> wordsOf(llvm::StringRef text) {
  std::vector<std::string> words;
  std::string word;
  for (char c : (text + " ").str())
    if (llvm::isAlnum(c)) {
      word += llvm::toLower(c);
    } else if (!word.empty()) {
      words.push_back(std::move(word));
      word.clear();
    }
  return words;
}

} // namespace

void DocumentIndex::add(llvm::StringRef title, llvm::StringRef text) {
  llvm::SmallVector<llvm::StringRef> paragraphs;
  text.split(paragraphs, "\n\n", -1, /*KeepEmpty=*/false);
  for (llvm::StringRef paragraph : paragraphs) {
    std::vector<std::string> in = wordsOf((title + " " + paragraph).str());
    if (paragraph.trim().empty())
      continue;
    for (const std::string &word : in)
      ++found[word][passages.size()];
    lengths.push_back(static_cast<unsigned>(in.size()));
    words += static_cast<double>(in.size());
    passages.push_back({title.str(), paragraph.trim().str()});
  }
}

std::vector<Passage> DocumentIndex::search(llvm::StringRef query, unsigned limit) const {
  std::map<size_t, double> ranks;
  const double count = static_cast<double>(passages.size());
  std::vector<std::string> asked = wordsOf(query);
  for (const std::string &word : std::set<std::string>(asked.begin(), asked.end())) {
    auto in = found.find(word);
    if (in == found.end())
      continue;
    double holders = static_cast<double>(in->second.size());
    double rarity = std::log(1 + (count - holders + 0.5) / (holders + 0.5));
    for (const auto &[passage, times] : in->second) {
      double length = 1 - lengthWeight + lengthWeight * lengths[passage] * count / words;
      ranks[passage] += rarity * times * (saturation + 1) / (times + saturation * length);
    }
  }
  std::vector<std::pair<double, size_t>> order;
  for (const auto &[passage, rank] : ranks)
    order.emplace_back(-rank, passage);
  llvm::sort(order);
  std::vector<Passage> best;
  for (const auto &[rank, passage] : llvm::ArrayRef(order).take_front(limit))
    best.push_back(passages[passage]);
  return best;
}
