//===- Prices.cpp ---------------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "kb-opt/LLM/Prices.h"
#include "kb-opt/Support/Error.h"
#include "kb-opt/Support/YamlTree.h"
#include <cmath>

using namespace kbopt;

double ModelPrice::of(const TokenUsage &usage) const {
  uint64_t fresh = usage.prompt - std::min(usage.cached, usage.prompt);
  return (fresh * input + usage.cached * cached.value_or(input) + usage.completion * output) / 1e6;
}

static llvm::Expected<ModelPrice> readPrice(const YamlValue &value, llvm::StringRef model) {
  if (value.kind != YamlValue::Mapping)
    return value.error("expected {input: …, output: …} for '" + model + "'",
                       "in US dollars per million tokens");
  ModelPrice price;
  bool hasInput = false, hasOutput = false;
  for (const auto &[key, entry] : value.fields) {
    double number;
    if (entry.kind != YamlValue::Scalar || llvm::StringRef(entry.scalar).getAsDouble(number) ||
        !std::isfinite(number) || number < 0)
      return entry.error("expected US dollars per million tokens for '" + key.scalar + "'");
    if (key.scalar == "input") {
      price.input = number;
      hasInput = true;
    } else if (key.scalar == "output") {
      price.output = number;
      hasOutput = true;
    } else if (key.scalar == "cached") {
      price.cached = number;
    } else {
      return key.error("unknown key '" + key.scalar + "' in the price of '" + model + "'",
                       "there are input, output, cached");
    }
  }
  if (!hasInput || !hasOutput)
    return value.error("the price of '" + model + "' lacks '" + (hasInput ? "output" : "input") +
                       "'");
  return price;
}

llvm::Expected<PriceTable> PriceTable::read(llvm::StringRef text, llvm::StringRef file) {
  auto root = parseYaml(text, file, /*firstLine=*/1);
  if (!root)
    return root.takeError();
  PriceTable table;
  if (root->kind != YamlValue::Mapping)
    return root->error("expected a mapping from models to prices");
  for (const auto &[key, value] : root->fields) {
    auto price = readPrice(value, key.scalar);
    if (!price)
      return price.takeError();
    table.prices[key.scalar] = *price;
  }
  return table;
}

std::optional<ModelPrice> PriceTable::find(llvm::StringRef model) const {
  if (auto it = prices.find(model.str()); it != prices.end())
    return it->second;
  std::optional<ModelPrice> best;
  size_t longest = 0;
  for (const auto &[name, price] : prices) {
    llvm::StringRef pattern = name;
    if (pattern.consume_back("*") && model.starts_with(pattern) &&
        (!best || pattern.size() > longest)) {
      best = price;
      longest = pattern.size();
    }
  }
  return best;
}
