//===- TeamText.cpp - Texts with holes --------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns small questions and changes on the texts of a thread program.
//
//===----------------------------------------------------------------------===//
#include "TeamText.h"

#include "NestScalars.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"

namespace kbopt::raise {

static void forEachText(Text &text, llvm::function_ref<void(Text &)> visit) {
  visit(text);
  for (Operand &operand : text.operands)
    for (Text &argument : operand.arguments)
      forEachText(argument, visit);
}

void forEachText(Statement &statement, llvm::function_ref<void(Text &)> visit) {
  forEachText(statement.value, visit);
}

static bool isWord(char c) { return llvm::isAlnum(c) || c == '_'; }

bool isName(llvm::StringRef text) {
  return !text.empty() && !llvm::isDigit(text[0]) && llvm::all_of(text, isWord);
}

void renameIn(Text &text, llvm::StringRef from, llvm::StringRef to) {
  if (from == to)
    return;
  forEachText(text, [&](Text &each) {
    std::string result;
    llvm::StringRef all = each.text;
    for (size_t i = 0; i < all.size();) {
      size_t end = i;
      while (end < all.size() && isWord(all[end]))
        ++end;
      llvm::StringRef word = all.slice(i, end);
      bool isMember = i && (all[i - 1] == '.' || all[i - 1] == '$' ||
                            (i > 1 && all[i - 1] == '>' && all[i - 2] == '-'));
      result += end == i                    ? all.substr(i, 1).str()
                : word == from && !isMember ? to.str()
                                            : word.str();
      i = std::max(end, i + 1);
    }
    each.text = result;
  });
}

void renameIn(std::vector<Statement> &body, llvm::StringRef from, llvm::StringRef to) {
  walk(body, [&](Statement &each) {
    renameIn(each.value, from, to);
    if (each.name == from)
      each.name = to.str();
    return true;
  });
}

/// \p text with other words for its holes.
static std::string renumbered(llvm::StringRef text,
                              llvm::function_ref<std::string(unsigned)> replace) {
  std::string result;
  for (size_t at; (at = text.find('$')) != llvm::StringRef::npos;) {
    result += text.take_front(at);
    text = text.drop_front(at + 1);
    unsigned number = 0;
    text.consumeInteger(10, number);
    result += replace(number);
  }
  return result + text.str();
}

void mergeEqualOperands(Text &text) {
  auto isEqual = [](const Operand &a, const Operand &b) {
    return a.kind == b.kind && a.kind != Operand::Collective && a.base == b.base &&
           a.type == b.type && a.offset == b.offset;
  };
  std::vector<Operand> kept;
  std::vector<unsigned> numbers;
  for (Operand &operand : text.operands) {
    auto at = llvm::find_if(kept, [&](const Operand &other) { return isEqual(operand, other); });
    numbers.push_back(at - kept.begin());
    if (at == kept.end())
      kept.push_back(operand);
  }
  text.text =
      renumbered(text.text, [&](unsigned number) { return "$" + std::to_string(numbers[number]); });
  text.operands = std::move(kept);
}

void fillHole(Text &text, unsigned hole, const Text &value) {
  // The holes of value come after those that stay.
  unsigned kept = text.operands.size() - 1;
  std::string inner =
      renumbered(value.text, [&](unsigned number) { return "$" + std::to_string(kept + number); });
  llvm::StringRef number = bare(inner);
  bool isHole = number.consume_front("$") && !number.empty() && llvm::all_of(number, llvm::isDigit);
  if (!isHole && !isName(bare(inner)) && bare(text.text) != "$" + std::to_string(hole))
    inner = "(" + inner + ")";
  text.text = renumbered(text.text, [&](unsigned number) {
    return number == hole ? inner : "$" + std::to_string(number > hole ? number - 1 : number);
  });
  text.operands.erase(text.operands.begin() + hole);
  text.operands.insert(text.operands.end(), value.operands.begin(), value.operands.end());
}

llvm::StringRef bare(llvm::StringRef text) {
  for (text = text.trim(); text.size() > 1 && text.front() == '(' && text.back() == ')';
       text = text.trim()) {
    int depth = 0;
    for (size_t i = 0; i + 1 < text.size(); ++i) {
      depth += text[i] == '(' ? 1 : text[i] == ')' ? -1 : 0;
      if (!depth)
        return text;
    }
    text = text.drop_front().drop_back();
  }
  return text;
}

Operand *onlyOperand(Text &text) {
  return text.operands.size() == 1 && bare(text.text) == "$0" ? &text.operands[0] : nullptr;
}

Combination combinationIn(llvm::StringRef text) {
  std::string tight;
  for (char c : bare(text))
    if (c != ' ' && c != '(' && c != ')')
      tight += c;
  llvm::StringRef form = tight;
  bool isCall = text.contains('(') && !form.contains('?');
  Combination result;
  if (isCall && form.contains(',')) {
    llvm::StringRef function = form.take_until([](char c) { return c == '$'; });
    if (form.drop_front(function.size()) != "$0,$1" && form.drop_front(function.size()) != "$1,$0")
      return result;
    llvm::StringRef plain = function;
    plain.consume_front("::");
    plain.consume_front("std::");
    result.reduction = llvm::StringSwitch<llvm::StringRef>(plain)
                           .Cases({"fmaxf", "fmax", "max", "__hmax"}, "max")
                           .Cases({"fminf", "fmin", "min", "__hmin"}, "min")
                           .Case("__hadd", "add")
                           .Default("");
    result.combine = (function + "(%a, %b)").str();
    return result;
  }
  llvm::StringRef kind = llvm::StringSwitch<llvm::StringRef>(form)
                             .Cases({"$0+$1", "$1+$0"}, "add")
                             .Cases({"$0*$1", "$1*$0"}, "mul")
                             .Cases({"$0&$1", "$1&$0"}, "and")
                             .Cases({"$0|$1", "$1|$0"}, "or")
                             .Cases({"$0^$1", "$1^$0"}, "xor")
                             .Cases({"$0>$1?$0:$1", "$0<$1?$1:$0", "$0>=$1?$0:$1"}, "max")
                             .Cases({"$0<$1?$0:$1", "$0>$1?$1:$0", "$0<=$1?$0:$1"}, "min")
                             .Default("");
  return kind.empty() ? Combination() : combinationOf(kind);
}

Combination combinationOf(llvm::StringRef kind) {
  llvm::StringRef combine = llvm::StringSwitch<llvm::StringRef>(kind)
                                .Case("max", "%b > %a ? %b : %a")
                                .Case("min", "%b < %a ? %b : %a")
                                .Case("add", "%a + %b")
                                .Case("mul", "%a * %b")
                                .Case("and", "%a & %b")
                                .Case("or", "%a | %b")
                                .Default("%a ^ %b");
  return {kind.str(), combine.str()};
}

/// The value of a number as C++ writes it, also within a cast or a construction.
static std::optional<double> numberIn(llvm::StringRef text) {
  text = bare(text);
  for (llvm::StringRef type : {"float", "double", "int", "half", "__half"}) {
    llvm::StringRef rest = text;
    if ((rest.consume_front("(") && rest.consume_front(type) && rest.consume_front(")")) ||
        (rest = text, rest.consume_front(type) && rest.starts_with("(")))
      return numberIn(rest);
  }
  bool isNegative = text.consume_front("-");
  text = text.trim();
  if (text == "INFINITY" || text == "CUDART_INF_F" || text == "CUDART_INF")
    return isNegative ? -HUGE_VAL : HUGE_VAL;
  text = text.rtrim("fFuUlL");
  double value = 0;
  if (text.empty() || text.getAsDouble(value))
    return std::nullopt;
  return isNegative ? -value : value;
}

bool isIdentity(llvm::StringRef literal, llvm::StringRef reduction) {
  std::optional<double> value = numberIn(literal);
  if (reduction == "add" || reduction == "or" || reduction == "xor")
    return value == 0.0;
  if (reduction == "mul")
    return value == 1.0;
  if (reduction == "max")
    return value == -HUGE_VAL;
  return reduction == "min" && value == HUGE_VAL;
}

bool isIdempotent(llvm::StringRef reduction) {
  return reduction == "max" || reduction == "min" || reduction == "and" || reduction == "or";
}

} // namespace kbopt::raise
