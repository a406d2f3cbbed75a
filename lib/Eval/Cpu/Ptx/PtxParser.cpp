//===- PtxParser.cpp - Text of inline PTX to data -------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "Ptx.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"

using namespace llvm;

namespace kbopt::cpu {

bool PtxInstruction::has(StringRef part) const { return is_contained(parts, part); }

namespace {
class Parser {
public:
  explicit Parser(StringRef text) : text(text) {}
  Expected<PtxText> run();

private:
  Error notUnderstood(const Twine &what) {
    return createStringError(inconvertibleErrorCode(), what);
  }
  static std::string clean(StringRef text);
  Error statement(StringRef statement);
  Error declaration(StringRef statement);
  Error operand(StringRef &rest, PtxOperand &result);
  Error number(StringRef &rest, PtxOperand &result);
  static bool isNameChar(char c) { return isAlnum(c) || c == '_' || c == '%' || c == '$'; }

  StringRef text;
  PtxText result;
};
} // namespace

/// Without comments; "$$" becomes a plain dollar that no operand follows.
std::string Parser::clean(StringRef text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text.substr(i).starts_with("//")) {
      i = text.find('\n', i);
      if (i == StringRef::npos)
        break;
      out += ' ';
    } else if (text.substr(i).starts_with("/*")) {
      i = text.find("*/", i);
      if (i == StringRef::npos)
        break;
      ++i;
      out += ' ';
    } else if (text.substr(i).starts_with("$$")) {
      out += "%dollar%";
      ++i;
    } else {
      out += isSpace(text[i]) ? ' ' : text[i];
    }
  }
  return out;
}

Error Parser::declaration(StringRef statement) {
  // .reg .type a, b, c<4>;
  statement = statement.drop_front(4).ltrim();
  if (!statement.consume_front("."))
    return notUnderstood(".reg " + statement);
  auto [type, names] = statement.split(' ');
  if (type == "v2" || type == "v4")
    return notUnderstood(".reg ." + type);
  SmallVector<StringRef> list;
  names.split(list, ',');
  for (StringRef name : list) {
    name = name.trim();
    auto [base, count] = name.split('<');
    unsigned number = 0;
    if (count.empty()) {
      result.registers.push_back({name.str(), type.str()});
      continue;
    }
    if (count.rtrim('>').trim().getAsInteger(10, number))
      return notUnderstood(".reg " + name);
    for (unsigned i = 0; i < number; ++i)
      result.registers.push_back({base.str() + std::to_string(i), type.str()});
  }
  return Error::success();
}

Error Parser::number(StringRef &rest, PtxOperand &operand) {
  bool negative = rest.consume_front("-");
  rest = rest.ltrim();
  if (rest.starts_with("0f") || rest.starts_with("0F") || rest.starts_with("0d") ||
      rest.starts_with("0D")) {
    bool isDouble = rest[1] == 'd' || rest[1] == 'D';
    StringRef digits = rest.drop_front(2).take_while(isHexDigit);
    uint64_t bits = 0;
    if (digits.getAsInteger(16, bits))
      return notUnderstood(rest);
    rest = rest.drop_front(2 + digits.size());
    operand.kind = isDouble ? PtxOperand::Float64 : PtxOperand::Float32;
    operand.value = negative ? bits ^ (isDouble ? 1ull << 63 : 1ull << 31) : bits;
    return Error::success();
  }
  StringRef digits = rest.take_while([](char c) { return isAlnum(c) || c == '.'; });
  rest = rest.drop_front(digits.size());
  if (digits.contains('.')) {
    double value = 0;
    if (digits.getAsDouble(value))
      return notUnderstood(digits);
    operand.kind = PtxOperand::Float64;
    operand.value = bit_cast<int64_t>(negative ? -value : value);
    return Error::success();
  }
  digits.consume_back("U");
  uint64_t value = 0;
  if (digits.getAsInteger(0, value))
    return notUnderstood(digits);
  operand.kind = PtxOperand::Immediate;
  operand.value = negative ? -int64_t(value) : int64_t(value);
  return Error::success();
}

Error Parser::operand(StringRef &rest, PtxOperand &op) {
  rest = rest.ltrim();
  if (rest.consume_front("!")) {
    op.negated = true;
    rest = rest.ltrim();
  }
  if (rest.consume_front("{")) {
    op.kind = PtxOperand::Vector;
    while (true) {
      op.elements.emplace_back();
      if (Error error = operand(rest, op.elements.back()))
        return error;
      rest = rest.ltrim();
      if (rest.consume_front("}"))
        return Error::success();
      if (!rest.consume_front(","))
        return notUnderstood("{ " + rest);
    }
  }
  if (rest.consume_front("[")) {
    PtxOperand base;
    if (Error error = operand(rest, base))
      return error;
    op.kind = PtxOperand::Address;
    op.baseIsOperand = base.kind == PtxOperand::AsmOperand;
    op.name = base.name;
    op.index = base.index;
    if (base.kind != PtxOperand::AsmOperand && base.kind != PtxOperand::Register)
      return notUnderstood("[address]");
    rest = rest.ltrim();
    if (rest.starts_with("+") || rest.starts_with("-")) {
      rest.consume_front("+");
      rest = rest.ltrim();
      PtxOperand offset;
      if (rest.starts_with("$")) { // an immediate operand as offset
        if (Error error = operand(rest, offset))
          return error;
        op.elements.push_back(offset);
      } else {
        if (Error error = number(rest, offset))
          return error;
        op.value = offset.value;
      }
      rest = rest.ltrim();
    }
    if (rest.consume_front(",")) {
      PtxOperand coordinates;
      if (Error error = operand(rest, coordinates))
        return error;
      op.coordinates = std::move(coordinates.elements);
      rest = rest.ltrim();
    }
    if (!rest.consume_front("]"))
      return notUnderstood("[" + rest);
    return Error::success();
  }
  if (rest.consume_front("$")) {
    bool braced = rest.consume_front("{");
    StringRef digits = rest.take_while(isDigit);
    if (digits.getAsInteger(10, op.index))
      return notUnderstood("operand $" + rest);
    rest = rest.drop_front(digits.size());
    if (braced) {
      rest = rest.drop_front(rest.find('}') + 1);
    }
    op.kind = PtxOperand::AsmOperand;
  } else if (rest.starts_with("-") || (!rest.empty() && isDigit(rest[0]))) {
    return number(rest, op);
  } else {
    // Names may hold dots (%tid.x) and a leading dot never.
    StringRef name = rest.take_while([](char c) { return isNameChar(c) || c == '.'; });
    if (name.empty())
      return notUnderstood(rest);
    rest = rest.drop_front(name.size());
    op.name = name.str();
    op.kind = name == "_" ? PtxOperand::Ignored : PtxOperand::Register;
  }
  rest = rest.ltrim();
  if (rest.consume_front("|")) {
    op.elements.emplace_back();
    return operand(rest, op.elements.back());
  }
  return Error::success();
}

Error Parser::statement(StringRef statement) {
  statement = statement.trim();
  if (statement.empty())
    return Error::success();
  if (statement.starts_with(".reg"))
    return declaration(statement);
  if (statement.starts_with("."))
    return notUnderstood(statement.take_until([](char c) { return c == ' '; }));
  PtxInstruction instruction;
  if (statement.consume_front("@")) {
    instruction.predicated = true;
    if (Error error = operand(statement, instruction.predicate))
      return error;
    statement = statement.ltrim();
  }
  StringRef mnemonic =
      statement.take_while([](char c) { return isAlnum(c) || c == '_' || c == '.' || c == ':'; });
  StringRef rest = statement.drop_front(mnemonic.size());
  if (mnemonic.ends_with(":") || rest.ltrim().starts_with(":"))
    return notUnderstood("label " + mnemonic);
  instruction.mnemonic = mnemonic.str();
  SmallVector<StringRef> parts;
  mnemonic.split(parts, '.');
  for (StringRef part : parts)
    instruction.parts.push_back(part.str());
  while (!(rest = rest.ltrim()).empty()) {
    instruction.operands.emplace_back();
    if (Error error = operand(rest, instruction.operands.back())) {
      return joinErrors(notUnderstood(mnemonic), std::move(error));
    }
    rest = rest.ltrim();
    if (!rest.empty() && !rest.consume_front(","))
      return notUnderstood(mnemonic);
  }
  result.instructions.push_back(std::move(instruction));
  return Error::success();
}

Expected<PtxText> Parser::run() {
  std::string cleaned = clean(text);
  StringRef rest = cleaned;
  // A brace that begins a statement is a scope; others belong to operands.
  std::string pending;
  unsigned depth = 0;
  auto flush = [&]() -> Error {
    std::string one = std::move(pending);
    pending.clear();
    return statement(one);
  };
  for (size_t i = 0; i < rest.size(); ++i) {
    char c = rest[i];
    bool atStart = StringRef(pending).trim().empty();
    if (c == '{' && atStart)
      continue;
    if (c == '}' && atStart && depth == 0)
      continue;
    if (c == '{')
      ++depth;
    if (c == '}' && depth)
      --depth;
    if (c == ';') {
      if (Error error = flush())
        return std::move(error);
      continue;
    }
    pending += c;
  }
  // Some texts leave out the last semicolon; then a closing brace may remain.
  StringRef last = StringRef(pending).trim();
  if (!last.empty() && depth == 0) {
    pending = last.str();
    if (Error error = flush())
      return std::move(error);
  }
  return std::move(result);
}

Expected<PtxText> parsePtx(StringRef text) { return Parser(text).run(); }

} // namespace kbopt::cpu
