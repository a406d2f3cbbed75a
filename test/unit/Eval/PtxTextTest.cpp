//===- PtxTextTest.cpp ----------------------------------------------------===//
#include "kb-opt/Eval/PtxText.h"
#include "gtest/gtest.h"

using namespace kbopt;

namespace {

constexpr llvm::StringLiteral module = R"(.version 9.0
.visible .entry first(
	.param .u64 first_param_0
)
{
	.reg .b32 	%r<3>;
	ret;
}
	// .globl	_Z1kPf
.visible .entry _Z1kPf(
	.param .u64 _Z1kPf_param_0 // a pointer
)
.maxntid 128, 1, 1
{
	.reg .f32 	%f<3>;
	.loc	1 7 3
$L__tmp0:

	ld.global.f32 	%f1, [%rd1];
	bra 	$L__BB0_2;
$L__BB0_2:
	ret;
$L__func_end0:
}
.visible .entry _Z1kPfS_()
{
	trap;
}
)";

TEST(PtxText, OneKernelWithoutWhatSaysNothing) {
  EXPECT_EQ(kernelPtx(module, "_Z1kPf"), ".visible .entry _Z1kPf(\n.param .u64 _Z1kPf_param_0\n)\n"
                                         ".maxntid 128, 1, 1\n{\nld.global.f32 \t%f1, [%rd1];\n"
                                         "bra \t$L__BB0_2;\n$L__BB0_2:\nret;\n}\n");
}

TEST(PtxText, LongKernelsAreCutAndSaySo) {
  std::string text = kernelPtx(module, "_Z1kPf", 4);
  EXPECT_TRUE(llvm::StringRef(text).ends_with(".maxntid 128, 1, 1\n... 6 more lines\n")) << text;
}

TEST(PtxText, NamesAreWhole) {
  EXPECT_EQ(kernelPtx(module, "_Z1k"), "");
  EXPECT_EQ(kernelPtx(module, "_Z1kPfS_"), ".visible .entry _Z1kPfS_()\n{\ntrap;\n}\n");
  EXPECT_EQ(kernelPtx("", "k"), "");
}

} // namespace
