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
  for (const char *line :
       {"add.s32 %r1, %r2, %r3;", "add.rz.f32 %f1, %f2, %f3;", "div.approx.ftz.f32 %f1, %f2, %f3;",
        "div.full.f32 %f1, %f2, %f3;", "add.f16 %h1, %h2, %h3;", "cvt.rni.f32.f32 %f1, %f2;", "cvt.rn.f16.f32 %h1, %f1;",
        "cvt.rzi.s32.f32 %r1, %f1;", "cvt.f64.f32 %d1, %f1;",
        "ex2.approx.f32 %f1, %f2;", "mad.lo.s32 %r1, %r2, %r3, %r4;", "neg.f32 %f1, %f2;",
        "rcp.approx.ftz.f64 %d1, %d2;", "// add.f32", ".visible .entry add.f32()", "", "\n\n", "@%p1",
        "atom.global.add.f32 %f1, [%rd1], %f2;", "red.global.add.f32 [%rd1], %f2;"})
    EXPECT_EQ(withRounding(line, Rounding::Up), line);
}

TEST(DirectedRounding, ToNearestIsSaidAloud) {
  EXPECT_EQ(withRounding("add.f32 a, b, c;", Rounding::Nearest), "add.rn.f32 a, b, c;");
}

} // namespace
