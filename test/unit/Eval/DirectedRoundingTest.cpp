#include "kb-opt/Eval/DirectedRounding.h"
#include "gtest/gtest.h"

using namespace kbopt;

namespace {

TEST(DirectedRounding, TurnsEveryRoundingToNearest) {
  EXPECT_EQ(withRounding("add.f32 %f1, %f2, %f3;", Rounding::Up), "add.rp.f32 %f1, %f2, %f3;");
  EXPECT_EQ(withRounding("\tfma.rn.ftz.f32 \t%f1, %f2, %f3, %f4;\n", Rounding::Down),
            "\tfma.rm.ftz.f32 \t%f1, %f2, %f3, %f4;\n");
  EXPECT_EQ(withRounding("@%p1 div.rn.f64 %d1, %d2, %d3;", Rounding::Zero),
            "@%p1 div.rz.f64 %d1, %d2, %d3;");
  EXPECT_EQ(withRounding("@!%p1\tsub.sat.f32 %f1, %f2, %f3;", Rounding::Up),
            "@!%p1\tsub.rp.sat.f32 %f1, %f2, %f3;");
  EXPECT_EQ(withRounding("mul.f64 a, b, c;\nsqrt.rn.f32 a, b;\nrcp.rn.f64 a, b;", Rounding::Up),
            "mul.rp.f64 a, b, c;\nsqrt.rp.f32 a, b;\nrcp.rp.f64 a, b;");
  EXPECT_EQ(withRounding("cvt.rn.f32.f64 %f1, %d1;\ncvt.rn.ftz.f32.f64 a, b;\ncvt.rn.f64.s64 a, b;",
                         Rounding::Down),
            "cvt.rm.f32.f64 %f1, %d1;\ncvt.rm.ftz.f32.f64 a, b;\ncvt.rm.f64.s64 a, b;");
}

TEST(DirectedRounding, LeavesEverythingElse) {
  for (const char *line : {"add.s32 %r1, %r2, %r3;",
                           "add.rz.f32 %f1, %f2, %f3;",
                           "div.approx.ftz.f32 %f1, %f2, %f3;",
                           "div.full.f32 %f1, %f2, %f3;",
                           "add.f16 %h1, %h2, %h3;",
                           "cvt.rni.f32.f32 %f1, %f2;",
                           "cvt.rn.f16.f32 %h1, %f1;",
                           "cvt.rzi.s32.f32 %r1, %f1;",
                           "cvt.f64.f32 %d1, %f1;",
                           "ex2.approx.f32 %f1, %f2;",
                           "mad.lo.s32 %r1, %r2, %r3, %r4;",
                           "neg.f32 %f1, %f2;",
                           "rcp.approx.ftz.f64 %d1, %d2;",
                           "// add.f32",
                           ".visible .entry add.f32()",
                           "",
                           "\n\n",
                           "@%p1",
                           "atom.global.add.f32 %f1, [%rd1], %f2;",
                           "red.global.add.f32 [%rd1], %f2;"})
    EXPECT_EQ(withRounding(line, Rounding::Up), line);
}

TEST(DirectedRounding, MixturesGiveEachOperationItsOwnDirection) {
  std::string ptx;
  for (int i = 0; i < 64; ++i)
    ptx += "add.f32 a, b, c;\nmov.f32 a, b;\n";
  auto downs = [&](unsigned pattern) {
    std::string text = withRounding(ptx, Rerounding::mixed(pattern));
    EXPECT_EQ(llvm::StringRef(text).count("add.rp.f32") + llvm::StringRef(text).count("add.rm.f32"),
              64u);
    return llvm::StringRef(text).count("add.rm.f32");
  };
  EXPECT_GT(downs(1), 16u);
  EXPECT_LT(downs(1), 48u);
  EXPECT_NE(withRounding(ptx, Rerounding::mixed(1)), withRounding(ptx, Rerounding::mixed(2)));
  EXPECT_EQ(withRounding(ptx, Rerounding::mixed(1)), withRounding(ptx, Rerounding::mixed(1)));
  // Two patterns agree on about half of the operations: they are independent, not mirror images.
  int same = 0;
  for (int i = 0; i < 1000; ++i)
    same += roundsDown(1, i) == roundsDown(2, i);
  EXPECT_NEAR(same, 500, 60);
}

TEST(DirectedRounding, DrawnDirectionsTurnSignsByTheBitsOfTheOperands) {
  const Rerounding drawn = Rerounding::drawn(1);
  EXPECT_EQ(drawn.name(), "drawn-1");
  std::string text = withRounding("\t@%p1 fma.rn.f32 \t%f4, %f1, %f2, 0f3F800000;\n", drawn);
  auto has = [&](llvm::StringRef part) { return llvm::StringRef(text).contains(part); };
  EXPECT_TRUE(has("mov.f32 %kb_in2, 0f3F800000;")) << text;
  EXPECT_TRUE(has("xor.b32 %kb_bits32, %kb_bits32, %kb_sign32; mov.b32 %kb_in2, %kb_bits32;"));
  EXPECT_FALSE(has("mov.b32 %kb_in1,")) << "the product's sign is that of one factor";
  EXPECT_TRUE(has("fma.rp.f32 %kb_out, %kb_in0, %kb_in1, %kb_in2;"));
  EXPECT_TRUE(has("@%p1 mov.b32 %f4, %kb_bits32; }\n")) << "only the result depends on the guard";
  EXPECT_NE(text,
            withRounding("\t@%p1 fma.rn.f32 \t%f4, %f1, %f2, 0f3F800000;\n", Rerounding::drawn(2)));
  // What no change of signs turns rounds up.
  for (const char *operation :
       {"add.sat.f32 %f1, %f2, %f3;", "sqrt.rn.f32 %f1, %f2;", "cvt.rn.f32.s32 %f1, %r1;"})
    EXPECT_EQ(withRounding(operation, drawn), withRounding(operation, Rounding::Up));
  // Of a narrowed operation the step to float32 is drawn.
  text = withRounding("sqrt.rn.f64 %fd1, %fd2;", drawn.narrowed());
  EXPECT_TRUE(has("sqrt.rp.f64 %kb_out, %kb_in0;")) << text;
  EXPECT_TRUE(has("xor.b64 %kb_bits64, %kb_bits64, %kb_sign64; mov.b64 %kb_out, %kb_bits64; "
                  "cvt.rp.f32.f64 %kb_narrow, %kb_out;"));
}

TEST(DirectedRounding, NarrowedFloat64IsRoundedToFloat32) {
  const Rerounding down = Rerounding(Rounding::Down).narrowed();
  EXPECT_EQ(down.name(), "narrow-down");
  EXPECT_EQ(
      withRounding("\t@%p1 add.f64 \t%fd3, %fd1, %fd2;\n", down),
      "\t{ .reg .f32 %kb_narrow; @%p1 add.rm.f64 %fd3, %fd1, %fd2; @%p1 cvt.rm.f32.f64 %kb_narrow, "
      "%fd3; @%p1 cvt.f64.f32 %fd3, %kb_narrow; }\n");
  // 0.2 becomes 0.2f.
  EXPECT_NE(
      withRounding("fma.rn.f64 a, b, 0d3FC999999999999A, c;", down).find("0d3FC99999A0000000"),
      std::string::npos);
  EXPECT_EQ(withRounding("cvt.rn.f32.f64 %f1, %d1;", down), "cvt.rm.f32.f64 %f1, %d1;");
  EXPECT_EQ(withRounding("add.f32 a, b, c;", down), "add.rm.f32 a, b, c;");
}

TEST(DirectedRounding, ToNearestIsSaidAloud) {
  EXPECT_EQ(withRounding("add.f32 a, b, c;", Rounding::Nearest), "add.rn.f32 a, b, c;");
}

} // namespace
