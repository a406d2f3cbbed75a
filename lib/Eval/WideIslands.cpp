//===- WideIslands.cpp ----------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "WideIslands.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include <optional>
#include <vector>

using namespace llvm;

namespace kbopt {
namespace {

struct Instruction {
  SmallVector<StringRef, 6> opcode; ///< "fma", "rn", "f64"
  SmallVector<StringRef, 4> operands;
  bool givesWide = false; ///< its first operand is a result of float64
  bool takesWide = false; ///< its other operands are of float64
  bool isWide = false;    ///< either
};

/// One line of PTX; nothing if it holds no instruction.
std::optional<Instruction> parse(StringRef line) {
  line = line.split("//").first.trim(" \t{");
  if (line.starts_with("@"))
    line = line.substr(line.find_first_of(" \t")).ltrim();
  if (line.empty() || !isAlpha(line.front()))
    return std::nullopt;
  Instruction instruction;
  StringRef name = line.take_until([](char c) { return c == ' ' || c == '\t' || c == ';'; });
  name.split(instruction.opcode, '.');
  line.substr(name.size()).split(instruction.operands, ',');
  for (StringRef &operand : instruction.operands)
    operand = operand.trim(" \t;");
  ArrayRef<StringRef> parts = instruction.opcode;
  if (parts.size() < 2)
    return instruction;
  if (parts[0] == "cvt" && parts.size() >= 3) {
    instruction.givesWide = parts[parts.size() - 2] == "f64";
    instruction.takesWide = parts.back() == "f64";
  } else if (parts.back() == "f64") {
    instruction.takesWide = is_contained({"add", "sub", "mul", "fma", "div", "sqrt", "rcp", "neg",
                                          "abs", "min", "max", "setp", "selp"},
                                         parts[0]);
    instruction.givesWide = instruction.takesWide && parts[0] != "setp";
  }
  instruction.isWide = instruction.givesWide || instruction.takesWide;
  return instruction;
}

/// Whether a register of \p registers stands in \p operand, which may have braces or an address.
bool mentions(StringRef operand, const StringSet<> &registers) {
  SmallVector<StringRef, 4> words;
  SplitString(operand, words, " \t{}[]()+;");
  return any_of(words, [&](StringRef word) { return registers.contains(word); });
}

} // namespace

bool isWideBetweenFloats(StringRef ptx) {
  std::vector<Instruction> all;
  StringSet<> wide;
  for (StringRef rest = ptx; !rest.empty();) {
    auto [line, after] = rest.split('\n');
    rest = after;
    if (line.count(';') > 1 && line.contains("64"))
      return false; // inline PTX
    if (line.contains(".entry") || line.contains(".func"))
      all.push_back({}); // registers are a function's own
    if (std::optional<Instruction> instruction = parse(line))
      all.push_back(std::move(*instruction));
  }
  auto judge = [&](ArrayRef<Instruction> function) {
    wide.clear();
    for (const Instruction &each : function)
      if (each.givesWide && !each.operands.empty() && !wide.insert(each.operands[0]).second)
        return false; // what a loop carries is written twice
    for (const Instruction &each : function)
      for (size_t i = 0; i < each.operands.size(); ++i) {
        StringRef operand = each.operands[i];
        const bool isResult = i == 0 && !each.opcode.empty();
        if (each.isWide && isResult)
          continue;
        const bool isCondition = each.isWide && each.opcode[0] == "selp" && i == 3;
        if (each.takesWide && !isCondition) {
          if (operand.starts_with("%") && !wide.contains(operand))
            return false;
        } else if (mentions(operand, wide)) {
          return false;
        }
      }
    return true;
  };
  bool hasAny = any_of(all, [](const Instruction &each) { return each.takesWide; });
  for (size_t begin = 0; begin < all.size();) {
    size_t end = begin + 1;
    while (end < all.size() && !all[end].opcode.empty())
      ++end;
    if (!judge(ArrayRef(all).slice(begin, end - begin)))
      return false;
    begin = end;
  }
  return hasAny;
}

} // namespace kbopt
