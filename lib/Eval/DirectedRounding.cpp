//===- DirectedRounding.cpp -----------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "kb-opt/Eval/DirectedRounding.h"
#include "DrawnRounding.h"
#include "kb-opt/Support/Error.h"
#include "kb-opt/Support/FileSystem.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Bitcode/BitcodeWriter.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Metadata.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Type.h"
#include "llvm/IRReader/IRReader.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/raw_ostream.h"
#include <bit>

using namespace llvm;

namespace kbopt {

std::string Rerounding::name() const {
  std::string text = pattern ? (isDrawn ? "drawn-" : "mixed-") + std::to_string(pattern)
                             : toString(direction).str();
  return narrow ? "narrow-" + text : text;
}

bool roundsDown(unsigned pattern, uint64_t ordinal) {
  // SplitMix64 (Steele, Lea and Flood, OOPSLA 2014).
  uint64_t z = pattern * 0xd1342543de82ef95u + (ordinal + 1) * 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return (z ^ (z >> 31)) & 1;
}

static StringRef suffixOf(Rounding rounding) {
  switch (rounding) {
  case Rounding::Nearest:
    return "rn";
  case Rounding::Up:
    return "rp";
  case Rounding::Down:
    return "rm";
  case Rounding::Zero:
    return "rz";
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

/// Float64 constants ("0d" and 16 digits) in \p operands as float32 has them.
static std::string withNarrowConstants(StringRef operands) {
  std::string text = operands.str();
  for (size_t at = text.find("0d"); at != std::string::npos; at = text.find("0d", at + 2)) {
    uint64_t bits;
    if (at + 18 > text.size() || StringRef(text).substr(at + 2, 16).getAsInteger(16, bits))
      continue;
    double narrow = static_cast<float>(std::bit_cast<double>(bits));
    text.replace(at + 2, 16, formatv("{0:X-16}", std::bit_cast<uint64_t>(narrow)).str());
  }
  return text;
}

/// \p instruction, a float64 operation under \p guard, and its result rounded to float32.
static std::string narrowedResult(StringRef guard, StringRef opcode, StringRef operands,
                                  StringRef suffix) {
  StringRef result = operands.take_until([](char c) { return c == ','; }).trim();
  return formatv("{{ .reg .f32 %kb_narrow; {0}{1} {2} {0}cvt.{3}.f32.f64 %kb_narrow, {4}; "
                 "{0}cvt.f64.f32 {4}, %kb_narrow; }",
                 guard, opcode, withNarrowConstants(operands), suffix, result)
      .str();
}

std::string withRounding(StringRef ptx, const Rerounding &rounding) {
  std::string result;
  result.reserve(ptx.size() + ptx.size() / 16);
  uint64_t ordinal = 0;
  while (!ptx.empty()) {
    auto [line, rest] = ptx.split('\n');
    bool hasEnd = line.size() < ptx.size();
    ptx = rest;
    // A guard ("@%p1") stands before the opcode.
    size_t start = line.find_first_not_of(" \t"), at = start;
    if (at != StringRef::npos && line[at] == '@')
      at = line.find_first_not_of(" \t", line.find_first_of(" \t", at));
    StringRef opcode = at == StringRef::npos ? StringRef() : line.substr(at).take_until([](char c) {
      return c == ' ' || c == '\t' || c == ';';
    });
    const bool isDown =
        rounding.pattern && !rounding.isDrawn && roundsDown(rounding.pattern, ordinal);
    const StringRef suffix = suffixOf(isDown ? Rounding::Down : rounding.direction);
    std::string other = opcode.empty() ? "" : redirected(opcode, suffix);
    ordinal += !other.empty();
    StringRef operands = other.empty() ? StringRef() : line.substr(at + opcode.size()).trim();
    std::string drawn;
    if (rounding.isDrawn && !other.empty())
      drawn = drawnOperation(line.slice(start, at), other,
                             rounding.narrow ? withNarrowConstants(operands) : operands.str(),
                             {rounding.pattern, ordinal, rounding.narrow});
    if (other.empty())
      result += line;
    else if (!drawn.empty())
      result += line.take_front(start).str() + drawn;
    else if (rounding.narrow && opcode.ends_with(".f64") && !opcode.starts_with("cvt") &&
             operands.ends_with(";") && operands.count(';') == 1)
      result += line.take_front(start).str() +
                narrowedResult(line.slice(start, at), other, operands, suffix);
    else
      result += (line.take_front(at) + other + line.substr(at + opcode.size())).str();
    if (hasEnd)
      result += '\n';
  }
  return result;
}

Error writeRerounded(StringRef bitcodePath, const Rerounding &rounding, StringRef outputPath) {
  LLVMContext context;
  SMDiagnostic problem;
  std::unique_ptr<Module> module = parseIRFile(bitcodePath, problem, context);
  if (!module)
    return make_error<StoreError>("cannot read '" + bitcodePath.str() +
                                  "': " + problem.getMessage().str());
  auto number = [&](unsigned value) {
    return ConstantAsMetadata::get(ConstantInt::get(Type::getInt32Ty(context), value));
  };
  module->getOrInsertNamedMetadata(reroundingMetadata)
      ->addOperand(MDNode::get(
          context, {number(rounding.pattern), number(rounding.narrow), number(rounding.isDrawn)}));
  std::string bytes;
  raw_string_ostream stream(bytes);
  WriteBitcodeToFile(*module, stream);
  return realFileSystem().write(outputPath, bytes);
}

} // namespace kbopt
