//===- Cards.h - Several GPUs of one machine ---------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns how `--device=cuda:LIST` names GPUs, and how a process is shown one of them.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_EVAL_CARDS_H
#define KBOPT_EVAL_CARDS_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <string>
#include <vector>

namespace kbopt {

struct Card {
  unsigned index = 0; ///< as the driver counts, among those that are visible here
  /// The value of CUDA_VISIBLE_DEVICES that shows it alone; empty: the variable stays as it is.
  std::string name;
};

/// Whether \p list is "all" or different numbers with commas between.
bool isListOfCards(llvm::StringRef list);

/// The GPUs of \p list, which is one, in its order. \p count is how many the driver shows and
/// \p visible the value of CUDA_VISIBLE_DEVICES that it does so with, or empty. Fails with a
/// `UsageError` that names a number that is too large.
llvm::Expected<std::vector<Card>> cardsOf(llvm::StringRef list, unsigned count,
                                          llvm::StringRef visible);

} // namespace kbopt

#endif // KBOPT_EVAL_CARDS_H
