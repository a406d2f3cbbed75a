#include "kb-opt/Eval/PtxCensus.h"
#include "gtest/gtest.h"

using namespace kbopt;

namespace {

/// A module with one kernel of \p body and \p globals before it.
PtxCensus census(std::string body, std::string globals = "", std::string name = "k") {
  return takePtxCensus(".version 9.0\n.target sm_90\n.address_size 64\n" + globals +
                       ".visible .entry " + name + "(\n\t.param .u64 k_param_0\n)\n{\n" +
                       ".reg .f32 %f<4>;\n\t.loc 1 6 0\n" + body + "\n\tret;\n}\n");
}

std::string deny(const std::string &base, const std::string &candidate,
                 std::set<std::string> declares = {}) {
  return checkDenyList(census(base), census(candidate), declares).reason;
}

std::string precision(const std::string &base, const std::string &candidate,
                      std::set<std::string> declares = {}) {
  return checkPrecision(census(base), census(candidate), declares).reason;
}

TEST(PtxCensus, TablesThatNobodyWritesAreNoState) {
  auto isState = [](std::string body,
                    std::string declaration = ".global .align 4 .b8 table[16] = {1, 2, 3};\n") {
    return !census(std::move(body), declaration).globals.empty();
  };
  const std::string address = "mov.u64 %rd1, table;\nadd.s64 %rd2, %rd1, %rd9;\n";
  EXPECT_FALSE(isState(address + "ld.global.nc.f32 %f1, [%rd2+4];\n"));
  EXPECT_FALSE(isState("ld.global.f32 %f1, [table+8];\n"));
  EXPECT_TRUE(isState(address + "st.global.f32 [%rd2+4], %f1;\n"));
  EXPECT_TRUE(isState(address + "st.global.u64 [%rd7], %rd2;\n")) << "its address goes away";
  EXPECT_TRUE(isState(address + "atom.global.add.u32 %r1, [%rd2], 1;\n"));
  EXPECT_TRUE(isState(address + "call.uni (%rd3), f, (%rd2);\n"));
  EXPECT_TRUE(isState("ld.global.u64 %rd1, [other];\n",
                      ".global .align 4 .b8 table[16];\n.global .u64 other = generic(table);\n"));
  EXPECT_TRUE(
      isState("ld.global.f32 %f1, [table+8];\n", ".global .align 4 .b8 table[8192] = {1};\n"))
      << "a large one";
}

TEST(PtxCensus, CountsArithmeticByPrecision) {
  PtxCensus result = census("add.f32 %f1, %f2, %f3;\n{add.f16 %rs1,%rs2,%rs3;\n}\n"
                            "ld.global.v4.f32 {%f1, %f2, %f3, %f0}, [%rd1];\n"
                            "fma.rn.f64 %fd1, %fd2, %fd3, %fd4;\nex2.approx.f32 %f1, %f2;\n"
                            "cvt.f32.f16 %f1, %rs1;\ncvt.rn.f16.f32 %rs1, %f1;\n"
                            "div.rn.f32 %f1, %f2, %f3;\nadd.s32 %r1, %r2, %r3;");
  const PtxFunction &kernel = result.functions.at("k");
  EXPECT_TRUE(kernel.isKernel);
  EXPECT_EQ(kernel.precision.at("float"), 3u);
  EXPECT_EQ(kernel.precision.at("double"), 1u);
  EXPECT_EQ(kernel.precision.at("half"), 2u) << "the sum and the narrowing, not the widening";
  EXPECT_EQ(kernel.precision.at("approx"), 1u);
  EXPECT_EQ(kernel.exactDivisions, 1u);
  EXPECT_EQ(kernel.instructions, 10u);
}

TEST(PtxCensus, MatrixInstructionsCountByOperandType) {
  PtxCensus result = census(
      "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%f0,%f1,%f2,%f3}, {%r0,%r1,%r2,%r3}, "
      "{%r4,%r5}, {%f0,%f1,%f2,%f3};");
  EXPECT_EQ(result.functions.at("k").precision.at("tf32"), 1u);
}

TEST(PrecisionCensus, ProductsOfHalvesInFloatAreExactWhereHalvesAreRead) {
  std::string product =
      "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f0,%f1,%f2,%f3}, {%r0,%r1,%r2,%r3}, "
      "{%r4,%r5}, {%f0,%f1,%f2,%f3};";
  EXPECT_EQ(precision("cvt.f32.f16 %f1, %rs1;\nfma.rn.f32 %f1, %f2, %f3, %f0;", product), "");
  EXPECT_EQ(precision("fma.rn.f32 %f1, %f2, %f3, %f0;", product),
            "k has new half operations: 1 x mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32");
  std::string wgmma = "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f0,%f1,%f2,%f3}, %rd1, "
                      "%rd2, 1, 1, 1, 0, 0;";
  EXPECT_EQ(precision("cvt.f32.f16 %f1, %rs1;\nfma.rn.f32 %f1, %f2, %f3, %f0;", wgmma), "");
  EXPECT_EQ(precision("fma.rn.f32 %f1, %f2, %f3, %f0;", wgmma),
            "k has new half operations: 1 x wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16");
  std::string sumsInHalf = "mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%r6,%r7}, "
                           "{%r0,%r1,%r2,%r3}, {%r4,%r5}, {%r6,%r7};";
  EXPECT_NE(precision("cvt.f32.f16 %f1, %rs1;\nfma.rn.f32 %f1, %f2, %f3, %f0;", sumsInHalf), "");
}

TEST(PrecisionCensus, ProductsOfBrainFloatsInFloatAreExactWhereTheyAreRead) {
  std::string product = "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%f0,%f1,%f2,%f3}, "
                        "{%r0,%r1,%r2,%r3}, {%r4,%r5}, {%f0,%f1,%f2,%f3};";
  for (std::string read : {"cvt.f32.bf16 %f1, %rs1;", "mov.b32 %f1, {0,%rs1};"})
    EXPECT_EQ(precision(read + "\nfma.rn.f32 %f1, %f2, %f3, %f0;", product), "");
  EXPECT_EQ(precision("cvt.f32.f16 %f1, %rs1;\nfma.rn.f32 %f1, %f2, %f3, %f0;", product),
            "k has new bf16 operations: 1 x mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32");
}

TEST(PtxCensus, CommentsAndStringsAreNoInstructions) {
  EXPECT_EQ(deny("", "// nanosleep.u32 10;\n/* mov.u64 %rd1, %clock64; */\nmov.u32 %r1, 1;"), "");
}

TEST(DenyList, NamesWhatIsNew) {
  EXPECT_EQ(deny("", "mov.u64 %rd1, %clock64;"), "k uses clock (1 instruction)");
  EXPECT_EQ(deny("", "mov.u64 %rd1, %globaltimer;"), "k uses clock (1 instruction)");
  EXPECT_EQ(deny("", "createpolicy.fractional.L2::evict_last.b64 %rd1, 1.0;"),
            "k uses cache-policy (1 instruction)");
  EXPECT_EQ(deny("", "ld.global.L1::evict_last.f32 %f1, [%rd1];"),
            "k uses cache-policy (1 instruction)");
  EXPECT_EQ(deny("", "griddepcontrol.launch_dependents;"), "k uses griddepcontrol (1 instruction)");
  EXPECT_EQ(deny("", "nanosleep.u32 %r1;\nnanosleep.u32 %r1;"),
            "k uses nanosleep (2 instructions)");
  EXPECT_EQ(deny("", "call.uni (retval0), vprintf, (param0, param1);"),
            "k uses printf (1 instruction)");
  EXPECT_EQ(deny("", "call.uni (retval0), malloc, (param0);"),
            "k uses device-heap (1 instruction)");
  EXPECT_EQ(deny("", "call.uni (retval0), cudaLaunchDeviceV2, (param0, param1);"),
            "k uses device-launch (1 instruction)");
}

TEST(DenyList, WhatTheBaselineHasOrThePassDeclaresIsAllowed) {
  EXPECT_EQ(deny("mov.u32 %r1, %clock;", "mov.u64 %rd1, %clock64;"), "");
  EXPECT_EQ(deny("", "nanosleep.u32 %r1;", {"nanosleep"}), "");
}

TEST(DenyList, NewMutableGlobalsFail) {
  auto globals = [](std::string text) {
    return census("atom.global.add.u32 %r1, [calls], 1;\nst.global.u32 [cache+4], %r1;\n", text);
  };
  PtxCensus none = globals("");
  EXPECT_EQ(checkDenyList(none, globals(".global .align 4 .u32 calls;\n"), {}).reason,
            "new mutable global variable calls");
  EXPECT_EQ(checkDenyList(none, globals(".visible .global .align 4 .b8 cache[64] = {1, 2};\n"), {})
                .reason,
            "new mutable global variable cache");
  EXPECT_EQ(
      checkDenyList(none, globals(".global .align 4 .u32 calls;\n"), {"global-state"}).outcome,
      GateOutcome::Passed);
  EXPECT_EQ(checkDenyList(globals(".global .align 4 .u32 calls;\n"),
                          globals(".global .align 4 .u32 calls;\n"), {})
                .outcome,
            GateOutcome::Passed);
  EXPECT_EQ(checkDenyList(none,
                          globals(".global .align 1 .b8 $str[3] = {104, 105};\n"
                                  ".const .align 4 .b8 table[16];\n"),
                          {})
                .outcome,
            GateOutcome::Passed)
      << "literals and constants are no state";
  EXPECT_EQ(checkDenyList(none, globals(".global .align 4 .u32 kTile = 16;\n"), {}).outcome,
            GateOutcome::Passed)
      << "a constant whose uses are folded is no state";
  EXPECT_EQ(
      checkDenyList(none, globals(".global .align 1 .b8 piecewise_construct[1];\n"), {}).outcome,
      GateOutcome::Passed)
      << "nor is what nobody uses";
  EXPECT_EQ(
      checkDenyList(
          none, census("st.global.u32 [kTile], %r1;", ".global .align 4 .u32 kTile = 16;\n"), {})
          .reason,
      "new mutable global variable kTile");
}

TEST(DenyList, SpinsThatWaitForAnotherThreadFail) {
  EXPECT_EQ(deny("", "$L__BB0_1:\nld.volatile.global.u32 %r1, [%rd1];\nsetp.eq.s32 %p1, %r1, 0;\n"
                     "@%p1 bra $L__BB0_1;"),
            "k uses spin (1 instruction)");
  EXPECT_EQ(deny("", "$L__BB0_1:\natom.global.cas.b32 %r1, [%rd1], 0, 1;\n"
                     "setp.ne.s32 %p1, %r1, 0;\n@%p1 bra $L__BB0_1;"),
            "k uses spin (1 instruction)");
}

TEST(DenyList, WaitsAtBarriersOfTheBlockAreNoSpins) {
  EXPECT_EQ(deny("", "$L__BB0_1:\nmbarrier.try_wait.parity.shared::cta.b64 %p1, [%r1], %r2;\n"
                     "selp.u32 %r3, 1, 0, %p1;\nsetp.eq.s32 %p2, %r3, 0;\n@%p2 bra $L__BB0_1;"),
            "");
  const std::string copy =
      "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes";
  EXPECT_EQ(deny("", copy + " [%r1], [%rd1, {%r2, %r3}], [%r4];"), "");
  EXPECT_EQ(deny("", copy + ".L2::cache_hint [%r1], [%rd1, {%r2, %r3}], [%r4], %rd2;"),
            "k uses cache-policy (1 instruction)");
}

TEST(DenyList, SpinsAreNamedWhereTheOriginalHasNone) {
  const std::string spin =
      "$L__BB0_1:\nld.volatile.global.u32 %r1, [%rd1];\nsetp.eq.s32 %p1, %r1, 0;\n"
      "@%p1 bra $L__BB0_1;";
  EXPECT_EQ(deny("", spin, {"spin"}), "");
  EXPECT_EQ(addedSpin(census(""), census(spin)), "k");
  EXPECT_EQ(addedSpin(census(spin), census(spin)), "");
  EXPECT_EQ(addedSpin(census(""), census("add.f32 %f1, %f2, %f3;")), "");
}

TEST(DenyList, CountedLoopsAndForwardBranchesAreNoSpins) {
  EXPECT_EQ(deny("", "$L__BB0_1:\nld.volatile.global.u32 %r1, [%rd1];\nadd.s32 %r2, %r2, 1;\n"
                     "setp.lt.s32 %p1, %r2, 10;\n@%p1 bra $L__BB0_1;"),
            "");
  EXPECT_EQ(deny("", "ld.volatile.global.u32 %r1, [%rd1];\nsetp.eq.s32 %p1, %r1, 0;\n"
                     "@%p1 bra $L__BB0_2;\nadd.f32 %f1, %f2, %f3;\n$L__BB0_2:"),
            "");
}

TEST(Precision, NewNarrowOperationsFailUnlessDeclared) {
  EXPECT_EQ(precision("add.f32 %f1, %f2, %f3;", "cvt.rn.f16.f32 %rs1, %f1;"),
            "k has new half operations: 1 x cvt.rn.f16.f32");
  EXPECT_EQ(precision("add.f32 %f1, %f2, %f3;", "cvt.rn.f16.f32 %rs1, %f1;", {"half"}), "");
  EXPECT_EQ(precision("", "{ mul.bf16 %rs4,%rs5,%rs5; }"),
            "k has new bf16 operations: 1 x mul.bf16");
  EXPECT_EQ(precision("", "cvt.rna.tf32.f32 %r1, %f1;"),
            "k has new tf32 operations: 1 x cvt.rna.tf32.f32");
  EXPECT_EQ(precision("div.rn.f32 %f1, %f2, %f3;", "div.full.f32 %f1, %f2, %f3;"),
            "k has new approx operations: 1 x div.full.f32");
}

TEST(Precision, TwoHalvesAtOnceAreNoLessPreciseThanOne) {
  EXPECT_EQ(precision("add.f16 %h1, %h2, %h3;", "add.f16x2 %r1, %r2, %r3;"), "");
  EXPECT_NE(precision("mul.f16 %h1, %h2, %h3;", "add.f16x2 %r1, %r2, %r3;"), "");
}

TEST(Precision, OtherFunctionsOfTheLibraryAreLetWhereDeclared) {
  const std::string original = "sqrt.rn.f32 %f1, %f2;\nrcp.rn.f32 %f3, %f1;",
                    candidate = "rsqrt.approx.ftz.f32 %f1, %f2;";
  EXPECT_NE(precision(original, candidate), "");
  EXPECT_EQ(precision(original, candidate, {"rsqrt"}), "");
  EXPECT_NE(precision("", "ex2.approx.ftz.f16 %h1, %h2;", {"ex2"}), "");
}

TEST(Precision, UnrollingIsNotNarrowing) {
  EXPECT_EQ(precision("ex2.approx.ftz.f32 %f1, %f2;\ndiv.rn.f32 %f1, %f2, %f3;",
                      "ex2.approx.ftz.f32 %f1, %f2;\nex2.approx.ftz.f32 %f1, %f2;\n"
                      "div.rn.f32 %f1, %f2, %f3;\ndiv.rn.f32 %f1, %f2, %f3;"),
            "");
}

/// A kernel with \p body, as a part of a module.
static std::string kernelOf(llvm::StringRef name, llvm::StringRef body) {
  return (".visible .entry " + name + "(.param .u64 p)\n{\n" + body + "\nret;\n}\n").str();
}

TEST(Precision, ANewKernelIsHeldAgainstThoseOfItsParameters) {
  std::string half = kernelOf("_Z1aPd", "add.f16 %h1, %h2, %h3;"),
              precise = kernelOf("_Z1bPf", "add.f32 %f1, %f2, %f3;");
  std::string unrolled = kernelOf("_Z6a_widePd", "add.f16 %h1, %h2, %h3;\nadd.f16 %h4, %h2, %h3;");
  std::string narrowed = kernelOf("_Z6b_widePf", "add.f16 %h1, %h2, %h3;\nadd.f16 %h4, %h2, %h3;");
  PtxCensus baseline = takePtxCensus(half + precise);
  EXPECT_EQ(checkPrecision(baseline, takePtxCensus(half + precise + unrolled), {}).reason, "");
  EXPECT_EQ(checkPrecision(baseline, takePtxCensus(half + precise + narrowed), {}).reason,
            "_Z6b_widePf has 2 half operations instead of 0, and fewer precise ones");
}

TEST(Precision, ApproximationsInThePlaceOfExactOperationsFail) {
  EXPECT_EQ(precision("div.approx.f32 %f1, %f2, %f3;\ndiv.rn.f32 %f1, %f2, %f3;",
                      "div.approx.f32 %f1, %f2, %f3;\ndiv.approx.f32 %f1, %f2, %f3;"),
            "k has 2 approx operations instead of 1, and fewer precise ones");
}

TEST(Precision, AKernelOfAnotherNameIsComparedWithTheWholeModule) {
  PtxCensus baseline = census("ex2.approx.f32 %f1, %f2;", "", "k");
  EXPECT_EQ(checkPrecision(baseline, census("ex2.approx.f32 %f1, %f2;", "", "k2"), {}).outcome,
            GateOutcome::Passed);
  EXPECT_EQ(checkPrecision(baseline, census("add.f16 %rs1,%rs2,%rs3;", "", "k2"), {}).reason,
            "k2 has new half operations: 1 x add.f16");
}

TEST(ModuleHash, InternalNamesLoseTheirHash) {
  std::string a = withoutModuleHash("_ZN57_INTERNAL_5c1f2a77_4_k_cu_1a2b3c4d_123453fooE");
  std::string b = withoutModuleHash("_ZN57_INTERNAL_00112233_4_k_cu_99887766_123453fooE");
  EXPECT_EQ(a, b);
  EXPECT_EQ(withoutModuleHash("_Z5saxpyfPKfPfi"), "_Z5saxpyfPKfPfi");
}

} // namespace
