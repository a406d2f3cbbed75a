//===- Assumptions.cpp - What index arithmetic takes for granted -----------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns what the entries of `assumes` mean in words.
//
//===----------------------------------------------------------------------===//
#include "kb-opt/Analysis/Legality.h"

using namespace mlir;

namespace kbopt {

/// `bid.x * n` as CUDA writes it.
static std::string inSource(llvm::StringRef expr) {
  std::string text = expr.str();
  static const std::pair<llvm::StringRef, llvm::StringRef> names[] = {
      {"tid.", "threadIdx."}, {"bid.", "blockIdx."}, {"bdim.", "blockDim."}, {"gdim.", "gridDim."}};
  for (auto [from, to] : names)
    for (size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size()) {
      if (at && (llvm::isAlnum(text[at - 1]) || text[at - 1] == '_'))
        continue;
      text.replace(at, from.size(), to);
    }
  return text;
}

static std::string inWords(llvm::StringRef assumption) {
  auto [kind, rest] = assumption.split('(');
  std::string what = inSource(rest.drop_back());
  if (kind == "fits31")
    return "the grid has fewer than 2^31 threads along x";
  if (kind == "nowrap")
    return "'" + what + "' does not wrap around 2^31";
  if (kind == "positive")
    return "'" + what + "' is positive";
  return "'" + what + "' fits " + (kind == "fits32" ? "'int'" : "'unsigned'");
}

std::string unprovenAssumption(Operation *op) {
  auto kernel = op->getParentOfType<kb::KernelOp>();
  for (; op && op != kernel; op = op->getParentOp()) {
    std::optional<llvm::ArrayRef<int64_t>> positions;
    if (auto access = dyn_cast<kb::AccessOp>(op))
      positions = access.getAssumes();
    else if (auto loop = dyn_cast<kb::LoopOp>(op))
      positions = loop.getAssumes();
    if (positions && !positions->empty())
      return inWords(cast<StringAttr>((*kernel.getAssumes())[positions->front()]).getValue());
  }
  return "";
}

} // namespace kbopt
