//===- Team.cpp - Threads that reduce together ------------------------------===//

#include "Team.h"
#include "Statements.h"

using namespace kbopt;
using namespace mlir;

void Team::shuffle(CodeLines &code, kb::ReduceOp reduce, StringRef type, StringRef variable, int64_t lanes,
                   StringRef among) {
  if (offset.empty())
    offset = text.freshName("offset");
  std::string term = "__shfl_xor_sync(" + among.str() + ", " + variable.str() + ", " + offset + ")";
  bool isOne = reduce.getCombine().count("%b") < 2;
  code.unroll();
  std::string head =
      "for (int " + offset + " = " + std::to_string(lanes / 2) + "; " + offset + " > 0; " + offset + " /= 2)";
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
  code.line("const " + type + " " + other + " = " + term + ";");
  printer.combine(reduce, variable, other);
  code.close();
}

void Team::combine(CodeLines &code, kb::ReduceOp reduce, StringRef type, StringRef variable) {
  if (isBlock())
    code.line(variable + " = " + helper(reduce, type) + "(" + variable + ");");
  else if (size > 1)
    shuffle(code, reduce, type, variable, size, mask);
}

void Team::barrier(CodeLines &code) {
  if (isBlock())
    code.line("__syncthreads();");
  else if (size > 1)
    code.line(size == 32 ? "__syncwarp();" : "__syncwarp(" + mask + ");");
}

std::string Team::helper(kb::ReduceOp reduce, StringRef type) {
  std::string key = (type + " " + reduce.getCombine()).str();
  if (auto found = known.find(key); found != known.end())
    return found->second;
  static const std::map<std::string, std::string> words = {{"add", "sum"}, {"mul", "product"}};
  std::string kind = reduce.getReduction().str();
  auto word = words.find(kind);
  std::string name = text.freshName(kernelName + "_" + (word == words.end() ? kind : word->second));
  CodeLines code;
  std::string warps = std::to_string(size / 32);
  code.line("/// Combines `value` over the block; every thread gets the result.");
  code.open("__device__ " + type + " " + name + "(" + type + " value)");
  code.line("__shared__ " + type + " ofWarp[" + warps + "];");
  shuffle(code, reduce, type, "value", 32, "0xffffffff");
  code.line("__syncthreads(); // an earlier call has been read");
  code.line("if (threadIdx.x % 32 == 0)").indent().line("ofWarp[threadIdx.x / 32] = value;").outdent();
  code.line("__syncthreads();");
  code.line("value = ofWarp[threadIdx.x % " + warps + "];");
  shuffle(code, reduce, type, "value", size / 32, "0xffffffff");
  code.line("return value;").close();
  definitions += code.take() + "\n";
  shared += size / 32 * 8;
  return known[key] = name;
}

bool kbopt::isNeutral(kb::ReduceOp reduce, StringRef text) {
  if (text == reduce.getIdentity())
    return true;
  double value = 0;
  bool isNumber = !text.rtrim("fFuUlL").getAsDouble(value);
  return isNumber && ((reduce.getReduction() == "add" && value == 0) || (reduce.getReduction() == "mul" && value == 1));
}

bool kbopt::isIdempotent(kb::ReduceOp reduce) {
  return llvm::is_contained({"max", "min", "and", "or"}, reduce.getReduction());
}
