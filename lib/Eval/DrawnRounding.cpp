//===- DrawnRounding.cpp --------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "DrawnRounding.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/FormatVariadic.h"

using namespace llvm;

namespace kbopt {

/// Operands whose signs turn the sign of what \p opcode computes before it rounds, as bits;
/// 0: there are none.
static unsigned signOperands(ArrayRef<StringRef> opcode) {
  if (is_contained(opcode, "sat"))
    return 0;
  if (opcode.front() == "cvt")
    return opcode.back() == "f64" ? 1 : 0;
  return StringSwitch<unsigned>(opcode.front())
      .Cases({"add", "sub"}, 0b11)
      .Cases({"mul", "div", "rcp"}, 0b1)
      .Case("fma", 0b101)
      .Default(0);
}

namespace {
/// Values of one type and their bits.
struct Width {
  unsigned bits;
  explicit Width(StringRef type) : bits(type == "f64" ? 64 : 32) {}
  /// "\p to = the bits of \p from with the sign changed as drawn".
  std::string withSign(StringRef to, StringRef from, StringRef guard = "") const {
    return formatv("mov.b{0} %kb_bits{0}, {2}; xor.b{0} %kb_bits{0}, %kb_bits{0}, %kb_sign{0}; "
                   "{3}mov.b{0} {1}, %kb_bits{0}; ",
                   bits, to, from, guard);
  }
};
} // namespace

/// The sign, of both widths, from the bits of \p values; multipliers of SplitMix64 (Steele, Lea
/// and Flood, OOPSLA 2014).
static std::string drawSign(ArrayRef<std::string> values, Width width, const Draw &draw) {
  std::string text =
      formatv("mov.u64 %kb_hash, {0}; ", (draw.ordinal + 1) * 0x9e3779b97f4a7c15u + draw.pattern);
  for (const std::string &value : values) {
    text +=
        width.bits == 64
            ? formatv("mov.b64 %kb_more, {0}; ", value).str()
            : formatv("mov.b32 %kb_bits32, {0}; cvt.u64.u32 %kb_more, %kb_bits32; ", value).str();
    text += formatv("xor.b64 %kb_hash, %kb_hash, %kb_more; mul.lo.u64 %kb_hash, %kb_hash, {0}; "
                    "shr.u64 %kb_more, %kb_hash, 29; xor.b64 %kb_hash, %kb_hash, %kb_more; ",
                    0xbf58476d1ce4e5b9u);
  }
  return text + formatv("mul.lo.u64 %kb_hash, %kb_hash, {0}; and.b64 %kb_sign64, %kb_hash, {1}; "
                        "shr.u64 %kb_more, %kb_sign64, 32; cvt.u32.u64 %kb_sign32, %kb_more; ",
                        0x94d049bb133111ebu, uint64_t(1) << 63)
                    .str();
}

std::string drawnOperation(StringRef guard, StringRef opcode, StringRef operands,
                           const Draw &draw) {
  SmallVector<StringRef, 6> parts;
  opcode.split(parts, '.');
  if (!operands.consume_back(";") || operands.contains(';'))
    return "";
  SmallVector<StringRef, 4> names;
  operands.split(names, ',');
  if (names.size() < 2)
    return "";
  const StringRef result = names.front().trim();
  const StringRef to = parts.front() == "cvt" ? parts[parts.size() - 2] : parts.back();
  const Width in(parts.back()), out(to);
  const bool narrows = draw.narrow && to == "f64";
  const unsigned signs = narrows ? 0 : signOperands(parts);
  if (!signs && !(narrows && parts.front() != "cvt"))
    return "";

  std::string text = formatv(
      "{{ .reg .b64 %kb_hash, %kb_more, %kb_sign64, %kb_bits64; .reg .b32 %kb_sign32, %kb_bits32; "
      ".reg .f{0} %kb_in<{1}>; .reg .{2} %kb_out; .reg .f32 %kb_narrow; ",
      in.bits, names.size(), to);
  std::vector<std::string> values;
  for (auto [index, name] : enumerate(ArrayRef(names).drop_front())) {
    values.push_back(formatv("%kb_in{0}", index));
    text += formatv("mov.f{0} {1}, {2}; ", in.bits, values.back(), name.trim());
  }
  if (signs)
    text += drawSign(values, in, draw);
  for (auto [index, value] : enumerate(values))
    if (signs >> index & 1)
      text += in.withSign(value, value);
  text += (opcode + " %kb_out").str();
  for (const std::string &value : values)
    text += ", " + value;
  text += "; ";
  if (narrows)
    text += drawSign({"%kb_out"}, out, draw) + out.withSign("%kb_out", "%kb_out") +
            "cvt.rp.f32.f64 %kb_narrow, %kb_out; cvt.f64.f32 %kb_out, %kb_narrow; ";
  return text + out.withSign(result, "%kb_out", guard) + "}";
}

} // namespace kbopt
