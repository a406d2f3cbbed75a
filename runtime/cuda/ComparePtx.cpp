//===- ComparePtx.cpp - kernels that compare results, in PTX --------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Sixteen bytes at a time; what is equal costs nothing but its transfer. The parts of
// the text that differ by type are the width of an element and how it becomes a double.
//
//===----------------------------------------------------------------------===//
#include "ComparePtx.h"
#include "PtxHead.h"

using namespace kbrt;
using namespace kbrt::cuda;

namespace {

/// Thread t of n begins at vector t and goes on by n; %i counts vectors of 16 bytes.
constexpr const char *compareBegin = R"PTX(
.visible .entry kb_compare_@NAME@(.param .u64 reference, .param .u64 candidate, .param .u64 elements,
                                  .param .f64 least, .param .u64 figures)
{
  .reg .pred %p<8>;
  .reg .b16 %h<4>;
  .reg .b32 %r<8>, %x<4>, %y<4>, %e<4>, %s<4>;
  .reg .f32 %g<4>;
  .reg .b64 %d<16>, %w<4>;
  .reg .f64 %f<16>, %t;
  ld.param.u64 %d1, [reference];
  ld.param.u64 %d2, [candidate];
  ld.param.u64 %d3, [elements];
  ld.param.f64 %f6, [least];
  ld.param.u64 %d4, [figures];
  mov.u32 %r1, %ctaid.x;
  mov.u32 %r2, %ntid.x;
  mov.u32 %r3, %tid.x;
  mov.u32 %r4, %nctaid.x;
  mul.wide.u32 %d5, %r1, %r2;
  cvt.u64.u32 %d6, %r3;
  add.u64 %d5, %d5, %d6;
  mul.wide.u32 %d7, %r2, %r4;
  add.u64 %d8, %d3, @LAST@;
  shr.u64 %d8, %d8, @SHIFT@;
  mov.u64 %d9, 0;
  mov.u64 %d10, 0;
  mov.f64 %f1, 0d0000000000000000;
  mov.f64 %f2, 0d0000000000000000;
  mov.f64 %f3, 0d0000000000000000;
LOOP:
  setp.ge.u64 %p1, %d5, %d8;
  @%p1 bra SUMS;
  shl.b64 %d11, %d5, 4;
  add.u64 %d12, %d1, %d11;
  add.u64 %d13, %d2, %d11;
  ld.global.v4.u32 {%x0, %x1, %x2, %x3}, [%d12];
  ld.global.v4.u32 {%y0, %y1, %y2, %y3}, [%d13];
  xor.b32 %e0, %x0, %y0;
  xor.b32 %e1, %x1, %y1;
  xor.b32 %e2, %x2, %y2;
  xor.b32 %e3, %x3, %y3;
  or.b32 %r5, %e0, %e1;
  or.b32 %r6, %e2, %e3;
  or.b32 %r5, %r5, %r6;
  setp.eq.u32 %p1, %r5, 0;
  @%p1 bra NEXT;
  shl.b64 %d14, %d5, @SHIFT@;
)PTX";

/// An element of a floating type, r in %f4 and c in %f5, that differs in its bits.
constexpr const char *compareFloats = R"PTX(
  testp.notanumber.f64 %p2, %f4;
  testp.notanumber.f64 %p3, %f5;
  and.pred %p4, %p2, %p3;
  @%p4 bra END@E@;
  add.u64 %d9, %d9, 1;
  testp.finite.f64 %p2, %f4;
  testp.finite.f64 %p3, %f5;
  and.pred %p4, %p2, %p3;
  @%p4 bra BOTH@E@;
  add.u64 %d10, %d10, 1;
  @%p2 fma.rn.f64 %f2, %f4, %f4, %f2;
  bra END@E@;
BOTH@E@:
  sub.rn.f64 %f7, %f5, %f4;
  fma.rn.f64 %f1, %f7, %f7, %f1;
  abs.f64 %f7, %f7;
  abs.f64 %f8, %f4;
  max.f64 %f8, %f8, %f6;
  div.rn.f64 %f9, %f7, %f8;
  max.f64 %f3, %f3, %f9;
)PTX";

constexpr const char *compareEnd = R"PTX(
NEXT:
  add.u64 %d5, %d5, %d7;
  bra LOOP;
SUMS:
)PTX";

constexpr const char *squaresBegin = R"PTX(
.visible .entry kb_squares_@NAME@(.param .u64 reference, .param .u64 elements, .param .u64 figures)
{
  .reg .pred %p<8>;
  .reg .b16 %h<4>;
  .reg .b32 %r<8>, %x<4>, %s<4>;
  .reg .f32 %g<4>;
  .reg .b64 %d<16>, %w<4>;
  .reg .f64 %f<16>, %t;
  ld.param.u64 %d1, [reference];
  ld.param.u64 %d3, [elements];
  ld.param.u64 %d4, [figures];
  mov.u32 %r1, %ctaid.x;
  mov.u32 %r2, %ntid.x;
  mov.u32 %r3, %tid.x;
  mov.u32 %r4, %nctaid.x;
  mul.wide.u32 %d5, %r1, %r2;
  cvt.u64.u32 %d6, %r3;
  add.u64 %d5, %d5, %d6;
  mul.wide.u32 %d7, %r2, %r4;
  add.u64 %d8, %d3, @LAST@;
  shr.u64 %d8, %d8, @SHIFT@;
  mov.u64 %d9, 0;
  mov.f64 %f1, 0d0000000000000000;
LOOP:
  setp.ge.u64 %p1, %d5, %d8;
  @%p1 bra SUMS;
  shl.b64 %d11, %d5, 4;
  add.u64 %d12, %d1, %d11;
  ld.global.v4.u32 {%x0, %x1, %x2, %x3}, [%d12];
  shl.b64 %d14, %d5, @SHIFT@;
)PTX";

constexpr const char *squareElement = R"PTX(
  testp.finite.f64 %p2, %f4;
  @!%p2 bra END@E@;
  add.u64 %d9, %d9, 1;
  fma.rn.f64 %f1, %f4, %f4, %f1;
)PTX";

/// Element @E@ exists: the last vector may hold bytes that are no elements.
constexpr const char *elementBegin = R"PTX(
  add.u64 %d15, %d14, @E@;
  setp.ge.u64 %p1, %d15, %d3;
  @%p1 bra END@E@;
)PTX";

std::string with(std::string text,
                 std::initializer_list<std::pair<const char *, std::string>> values) {
  for (const auto &[hole, value] : values)
    for (size_t at = text.find(hole); at != std::string::npos; at = text.find(hole, at))
      text.replace(at, std::string(hole).size(), value);
  return text;
}

unsigned widthOf(ElementType type) { return std::max(elementBytes(type), 1u); }

std::string line(const std::string &text) { return "  " + text + ";\n"; }

/// Element \p e of the vector in %\p words0 to 3, as a double in %f\p into.
std::string toDouble(ElementType type, unsigned e, char words, const std::string &into) {
  const unsigned width = widthOf(type), at = e * width;
  const std::string word = std::string("%") + words + std::to_string(at / 4), f = "%f" + into;
  switch (type) {
  case ElementType::F64:
    return line("mov.b64 " + f + ", {" + word + ", %" + words + std::to_string(at / 4 + 1) + "}");
  case ElementType::F32:
    return line("mov.b32 %g0, " + word) + line("cvt.f64.f32 " + f + ", %g0");
  case ElementType::BF16:
    // The upper half of a float.
    return (at % 4 ? line("and.b32 %r7, " + word + ", -65536")
                   : line("shl.b32 %r7, " + word + ", 16")) +
           line("mov.b32 %g0, %r7") + line("cvt.f64.f32 " + f + ", %g0");
  default: // F16
    return line("mov.b32 {%h0, %h1}, " + word) +
           line(std::string("cvt.f32.f16 %g0, ") + (at % 4 ? "%h1" : "%h0")) +
           line("cvt.f64.f32 " + f + ", %g0");
  }
}

/// Goes to the element's end if its bits are equal.
std::string skipEqual(unsigned width, unsigned e) {
  const unsigned at = e * width;
  const std::string word = "%e" + std::to_string(at / 4);
  std::string text;
  if (width == 8)
    text = line("or.b32 %r7, " + word + ", %e" + std::to_string(at / 4 + 1));
  else if (width == 4)
    text = line("mov.b32 %r7, " + word);
  else
    text = line("bfe.u32 %r7, " + word + ", " + std::to_string(8 * (at % 4)) + ", " +
                std::to_string(8 * width));
  return text + line("setp.eq.u32 %p1, %r7, 0") + line("@%p1 bra END" + std::to_string(e));
}

/// Puts the sum (or the maximum) over the warp of %\p value into its first lane.
std::string overWarp(const std::string &operation, const std::string &value, bool isFloat) {
  std::string text;
  for (const char *distance : {"16", "8", "4", "2", "1"}) {
    text += line("mov.b64 {%s0, %s1}, " + value);
    for (const char *half : {"0", "1"})
      text += line(std::string("shfl.sync.down.b32 %s") + half + ", %s" + half + ", " + distance +
                   ", 31, -1");
    text += line(std::string("mov.b64 ") + (isFloat ? "%t" : "%w0") + ", {%s0, %s1}") +
            line(operation + " " + value + ", " + value + ", " + (isFloat ? "%t" : "%w0"));
  }
  return text;
}

/// Adds each warp's sums to figures. \p maximum: the register of the maximum, or "".
std::string sums(const std::vector<std::string> &counts, const std::vector<std::string> &floats,
                 const std::string &maximum) {
  std::string text;
  for (const std::string &count : counts)
    text += overWarp("add.u64", count, false);
  for (const std::string &sum : floats)
    text += overWarp("add.rn.f64", sum, true);
  if (!maximum.empty())
    text += overWarp("max.f64", maximum, true);
  text += line("and.b32 %r7, %r3, 31") + line("setp.ne.u32 %p1, %r7, 0") + line("@%p1 bra DONE");
  unsigned at = 0;
  auto place = [&] { return "[%d4+" + std::to_string(8 * at++) + "], "; };
  for (const std::string &count : counts)
    text += line("red.global.add.u64 " + place() + count);
  for (const std::string &sum : floats)
    text += line("red.global.add.f64 " + place() + sum);
  // Doubles that are not negative are in the order of their bits.
  if (!maximum.empty())
    text += line("mov.b64 %w0, " + maximum) + line("red.global.max.u64 " + place() + "%w0");
  return text + "DONE:\n  ret;\n}\n";
}

} // namespace

std::string kbrt::cuda::compareSuffix(ElementType type) {
  return isFloatingPoint(type) ? elementTypeName(type) : "b" + std::to_string(widthOf(type));
}

std::string kbrt::cuda::comparePtx(ElementType type) {
  const unsigned width = widthOf(type), count = 16 / width;
  const bool isFloat = isFloatingPoint(type);
  unsigned shift = 0;
  while (1u << shift < count)
    ++shift;
  auto begin = [&](const char *text) {
    return with(text, {{"@NAME@", compareSuffix(type)},
                       {"@LAST@", std::to_string(count - 1)},
                       {"@SHIFT@", std::to_string(shift)}});
  };
  std::string text = ptxHead + begin(compareBegin);
  for (unsigned e = 0; e < count; ++e) {
    const std::string number = std::to_string(e);
    text += with(elementBegin, {{"@E@", number}}) + skipEqual(width, e);
    text += isFloat ? toDouble(type, e, 'x', "4") + toDouble(type, e, 'y', "5") +
                          with(compareFloats, {{"@E@", number}})
                    : line("add.u64 %d9, %d9, 1");
    text += "END" + number + ":\n";
  }
  text += compareEnd + sums({"%d9", "%d10"}, {"%f1", "%f2"}, "%f3");
  if (!isFloat)
    return text;
  text += begin(squaresBegin);
  for (unsigned e = 0; e < count; ++e) {
    const std::string number = std::to_string(e);
    text += with(elementBegin, {{"@E@", number}}) + toDouble(type, e, 'x', "4") +
            with(squareElement, {{"@E@", number}}) + "END" + number + ":\n";
  }
  return text + compareEnd + sums({"%d9"}, {"%f1"}, "");
}
