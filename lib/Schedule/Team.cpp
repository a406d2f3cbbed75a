//===- Team.cpp - Threads that reduce together ------------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "Team.h"
#include "Statements.h"

using namespace kbopt;
using namespace mlir;

void Team::shuffle(CodeLines &code, const Value &value, StringRef variable, int64_t lanes,
                   StringRef among) {
  kb::ReduceOp reduce = value.reduce;
  if (offset.empty())
    offset = text.freshName("offset");
  std::string term = "__shfl_xor_sync(" + among.str() + ", " + variable.str() + ", " + offset + ")";
  bool isOne = reduce.getCombine().count("%b") < 2;
  code.unroll();
  std::string head = "for (int " + offset + " = " + std::to_string(lanes / 2) + "; " + offset +
                     " > 0; " + offset + " /= 2)";
  if (isOne)
    code.line(head).indent();
  else
    code.open(head);
  StatementPrinter printer{text, code};
  if (isOne) {
    printer.combine(reduce, variable, term);
    code.outdent();
    return;
  }
  if (other.empty())
    other = text.freshName("other");
  code.line("const " + value.type + " " + other + " = " + term + ";");
  printer.combine(reduce, variable, other);
  code.close();
}

void Team::combine(CodeLines &code, ArrayRef<Value> values) {
  if (values.empty() || size == 1)
    return;
  if (!isBlock()) {
    for (const Value &value : values)
      shuffle(code, value, value.variable, size, mask);
  } else if (values.size() == 1) {
    StringRef variable = values.front().variable;
    code.line(variable + " = " + helper(values) + "(" + variable + ");");
  } else {
    std::string variables;
    for (const Value &value : values)
      variables += (variables.empty() ? "" : ", ") + value.variable;
    code.line(helper(values) + "(" + variables + ");");
  }
}

void Team::barrier(CodeLines &code) {
  if (isBlock())
    code.line("__syncthreads();");
  else if (size > 1)
    code.line(size == 32 ? "__syncwarp();" : "__syncwarp(" + mask + ");");
}

std::string Team::helper(ArrayRef<Value> values) {
  std::string key;
  for (const Value &value : values)
    key += value.type + " " + kb::ReduceOp(value.reduce).getCombine().str() + ";";
  if (auto found = known.find(key); found != known.end())
    return found->second;
  static const std::map<std::string, std::string> words = {{"add", "sum"}, {"mul", "product"}};
  const bool isOne = values.size() == 1;
  std::string kind = kb::ReduceOp(values.front().reduce).getReduction().str();
  auto word = words.find(kind);
  std::string name = text.freshName(kernelName + "_" +
                                    (!isOne                ? "values"
                                     : word == words.end() ? kind
                                                           : word->second));
  std::string warps = std::to_string(size / 32), parameters;
  auto of = [&](StringRef what, size_t i) { return what.str() + (i ? std::to_string(i + 1) : ""); };
  for (auto [i, value] : llvm::enumerate(values))
    parameters += (i ? ", " : "") + value.type + (isOne ? " " : " &") + of("value", i);
  CodeLines code;
  code.line(isOne ? "/// Combines `value` over the block; every thread gets the result."
                  : "/// Combines each value over the block; every thread gets the results.");
  code.open("__device__ " + (isOne ? values.front().type : "void") + " " + name + "(" + parameters +
            ")");
  for (auto [i, value] : llvm::enumerate(values))
    code.line("__shared__ " + value.type + " " + of("ofWarp", i) + "[" + warps + "];");
  for (auto [i, value] : llvm::enumerate(values))
    shuffle(code, value, of("value", i), 32, "0xffffffff");
  code.line("__syncthreads(); // an earlier call has been read");
  code.open("if (threadIdx.x % 32 == 0)");
  for (size_t i = 0; i < values.size(); ++i)
    code.line(of("ofWarp", i) + "[threadIdx.x / 32] = " + of("value", i) + ";");
  code.close().line("__syncthreads();");
  for (auto [i, value] : llvm::enumerate(values))
    code.line(of("value", i) + " = " + of("ofWarp", i) + "[threadIdx.x % " + warps + "];");
  for (auto [i, value] : llvm::enumerate(values))
    shuffle(code, value, of("value", i), size / 32, "0xffffffff");
  if (isOne)
    code.line("return value;");
  code.close();
  definitions += code.take() + "\n";
  shared += size / 32 * 8 * int64_t(values.size());
  return known[key] = name;
}

bool kbopt::isNeutral(kb::ReduceOp reduce, StringRef text) {
  if (text == reduce.getIdentity())
    return true;
  double value = 0;
  bool isNumber = !text.rtrim("fFuUlL").getAsDouble(value);
  return isNumber && ((reduce.getReduction() == "add" && value == 0) ||
                      (reduce.getReduction() == "mul" && value == 1));
}

bool kbopt::isIdempotent(kb::ReduceOp reduce) {
  return llvm::is_contained({"max", "min", "and", "or"}, reduce.getReduction());
}
