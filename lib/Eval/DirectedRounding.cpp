//===- DirectedRounding.cpp -----------------------------------------------===//
#include "kb-opt/Eval/DirectedRounding.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"

using namespace llvm;

namespace kbopt {

static StringRef suffixOf(Rounding rounding) {
  switch (rounding) {
  case Rounding::Nearest: return "rn";
  case Rounding::Up: return "rp";
  case Rounding::Down: return "rm";
  case Rounding::Zero: return "rz";
  }
  return "";
}

/// "cvt.rn.f32.f64" likewise; empty if it does not round to a float32 or float64.
static std::string redirectedConversion(ArrayRef<StringRef> parts, StringRef suffix) {
  auto isInteger = [](StringRef type) {
    return type.size() >= 2 && (type[0] == 's' || type[0] == 'u') && isDigit(type[1]);
  };
  if (parts.size() < 4 || parts[1] != "rn")
    return "";
  StringRef to = parts[parts.size() - 2], from = parts.back();
  if ((to != "f32" && to != "f64") || !(isInteger(from) || (to == "f32" && from == "f64")))
    return "";
  return ("cvt." + suffix + ".").str() + join(parts.drop_front(2), ".");
}

/// "add.ftz.f32" as "add.rp.ftz.f32"; empty if it stays.
static std::string redirected(StringRef opcode, StringRef suffix) {
  SmallVector<StringRef, 6> parts;
  opcode.split(parts, '.');
  if (parts.front() == "cvt")
    return redirectedConversion(parts, suffix);
  bool arithmetic = StringSwitch<bool>(parts.front())
                        .Cases({"add", "sub", "mul", "fma", "div", "sqrt", "rcp"}, true)
                        .Default(false);
  if (!arithmetic || (parts.back() != "f32" && parts.back() != "f64"))
    return "";
  std::string text = (parts.front() + "." + suffix).str();
  for (StringRef part : ArrayRef(parts).drop_front()) {
    if (part == "rn")
      continue;
    if (part != "ftz" && part != "sat" && part != parts.back())
      return ""; // approx, full, rz, rm, rp
    text += "." + part.str();
  }
  return text;
}

std::string withRounding(StringRef ptx, Rounding rounding) {
  const StringRef suffix = suffixOf(rounding);
  std::string result;
  result.reserve(ptx.size() + ptx.size() / 16);
  while (!ptx.empty()) {
    auto [line, rest] = ptx.split('\n');
    bool hasEnd = line.size() < ptx.size();
    ptx = rest;
    // A guard ("@%p1") stands before the opcode.
    size_t at = line.find_first_not_of(" \t");
    if (at != StringRef::npos && line[at] == '@')
      at = line.find_first_not_of(" \t", line.find_first_of(" \t", at));
    StringRef opcode = at == StringRef::npos ? StringRef() : line.substr(at).take_until([](char c) {
      return c == ' ' || c == '\t' || c == ';';
    });
    std::string other = opcode.empty() ? "" : redirected(opcode, suffix);
    if (other.empty())
      result += line;
    else
      result += (line.take_front(at) + other + line.substr(at + opcode.size())).str();
    if (hasEnd)
      result += '\n';
  }
  return result;
}

} // namespace kbopt
