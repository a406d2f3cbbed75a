//===- DocumentSearch.h - Finds passages by words ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns a small full-text index over what kb-opt knows in words: descriptions and
// prompts of passes, rules of states, lessons. Ranks by BM25 (Robertson and
// Zaragoza, "The Probabilistic Relevance Framework", 2009, section 3.1).
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_KNOWLEDGE_DOCUMENTSEARCH_H
#define KBOPT_KNOWLEDGE_DOCUMENTSEARCH_H

#include "llvm/ADT/StringRef.h"
#include <map>
#include <string>
#include <vector>

namespace kbopt {

struct Passage {
  std::string title; ///< of its document
  std::string text;
};

/// Built once, then read by any number of threads.
class DocumentIndex {
public:
  /// Adds \p text, a passage for each paragraph (an empty line ends one).
  void add(llvm::StringRef title, llvm::StringRef text);

  /// At most \p limit passages that share a word with \p query, best first; equal
  /// ranks in the order of adding. Words are runs of letters and digits, without
  /// regard to case.
  std::vector<Passage> search(llvm::StringRef query, unsigned limit) const;

private:
  std::vector<Passage> passages;
  std::vector<unsigned> lengths;                           ///< in words
  std::map<std::string, std::map<size_t, unsigned>> found; ///< word, passage, times
  double words = 0;                                        ///< in all passages
};

} // namespace kbopt

#endif // KBOPT_KNOWLEDGE_DOCUMENTSEARCH_H
