//===- Prices.h - What tokens cost ------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the table of prices, which comes from a file of the user's: prices age,
// and so kb-opt knows none.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_LLM_PRICES_H
#define KBOPT_LLM_PRICES_H

#include "kb-opt/LLM/Model.h"
#include <map>

namespace kbopt {

/// US dollars per million tokens.
struct ModelPrice {
  double input = 0, output = 0;
  std::optional<double> cached; ///< nothing: as `input`

  double of(const TokenUsage &usage) const;
};

class PriceTable {
public:
  PriceTable() = default;
  /// Reads a mapping from names of models to `{input: …, output: …, cached: …}`. A name that
  /// ends in `*` stands for all that begin like it. Errors are `UsageError`s with their place.
  static llvm::Expected<PriceTable> read(llvm::StringRef text, llvm::StringRef file);

  /// The exact name, else the longest beginning; nothing where the price is unknown.
  std::optional<ModelPrice> find(llvm::StringRef model) const;

private:
  std::map<std::string, ModelPrice> prices;
};

} // namespace kbopt

#endif // KBOPT_LLM_PRICES_H
