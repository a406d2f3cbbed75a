//===- KbTest.cpp - The kb dialect's text form and verifiers ---------------===//
#include "kb-opt/IR/Kb.h"
#include "mlir/Parser/Parser.h"
#include <gtest/gtest.h>

using namespace mlir;
using namespace kbopt;

namespace {

struct Kb : testing::Test {
  Kb() { context.loadDialect<kb::KbDialect>(); }

  OwningOpRef<ModuleOp> parse(StringRef text) {
    ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
      messages += diagnostic.str() + "\n";
      return success();
    });
    return parseSourceString<ModuleOp>(text, &context);
  }
  std::string print(ModuleOp module) {
    std::string text;
    llvm::raw_string_ostream(text) << module;
    return text;
  }
  std::string inKernel(StringRef body) {
    return ("kb.program \"a.cu\" { kb.kernel @k \"k\" params [#kb.param<\"x\" : \"float *\" bytes "
            "8 "
            "pointer true element 4>] symbols [#kb.symbol<\"n\" param argument 0>] {\n" +
            body + "\n} }")
        .str();
  }

  MLIRContext context;
  std::string messages;
};

TEST_F(Kb, RoundTripsEveryOperation) {
  auto module = parse(inKernel(R"(
    kb.shared "tile" : "float" element 4 extents [16, 17]
    kb.shared "rest" : "char" element 1 extents [] dynamic
    kb.loop "i" uniform trip <with [n] : n> value <over [i] : i> while "i < n" {
      kb.access load global <argument "x" argument 0> bytes 4 uniformity divergent
        at <over [i] with [n] : i * n * 4 + (tid.x floordiv 32) * 8 + (tid.x mod 32) * 4 - 4>
        where <over [i] with [n] : n - tid.x - 1 >= 0, i == 0 exact>
      kb.access store shared <global "tile"> bytes 4 uniformity unknown
      kb.barrier block uniform
      kb.shuffle "shfl.down"
      kb.mma "m16n16k16"
      kb.branch divergent "x > 0" guard
      kb.compute {"fadd.f32" = 2 : i64}
      kb.call "printf"
      kb.opaque "inline assembly" "nop"
    }
  )") + "\n");
  ASSERT_TRUE(module) << messages;
  std::string text = print(*module);
  auto again = parse(text);
  ASSERT_TRUE(again) << messages << text;
  EXPECT_EQ(print(*again), text);
  EXPECT_NE(text.find("at <over [i] with [n] : i * n * 4 + (tid.x floordiv 32) * 8"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("n - tid.x - 1 >= 0, i == 0 exact"), std::string::npos) << text;
}

TEST_F(Kb, RejectsLoopNamesThatDoNotStandAround) {
  EXPECT_FALSE(parse(inKernel("kb.access load global <argument \"x\" argument 0> bytes 4 "
                              "uniformity divergent at <over [j] : j * 4>")));
  EXPECT_NE(messages.find("address is over 1 loops, but stands in 0"), std::string::npos)
      << messages;
}

TEST_F(Kb, RejectsUndeclaredSymbols) {
  EXPECT_FALSE(parse(inKernel("kb.access load global <argument \"x\" argument 0> bytes 4 "
                              "uniformity divergent at <with [m] : m * 4>")));
  EXPECT_NE(messages.find("uses symbol 'm'"), std::string::npos) << messages;
}

TEST_F(Kb, RejectsParametersThatDoNotExist) {
  EXPECT_FALSE(parse(inKernel("kb.access load global <argument \"y\" argument 3> bytes 4 "
                              "uniformity divergent")));
  EXPECT_NE(messages.find("names parameter 3"), std::string::npos) << messages;
}

TEST_F(Kb, RejectsNestedLoopsOfOneName) {
  EXPECT_FALSE(parse(inKernel("kb.loop \"i\" uniform { kb.loop \"i\" uniform {} }")));
  EXPECT_NE(messages.find("of a loop around it"), std::string::npos) << messages;
}

TEST_F(Kb, RejectsLaunchesOfUnknownKernels) {
  EXPECT_FALSE(parse("kb.program \"a.cu\" { kb.launch @k grid \"1\" [1, 1, 1] block \"32\" "
                     "[32, 1, 1] args [] }"));
  EXPECT_NE(messages.find("launches 'k', which is not a kernel"), std::string::npos) << messages;
}

TEST_F(Kb, RejectsProductsOfDimensions) {
  EXPECT_FALSE(parse(inKernel("kb.access load global <argument \"x\" argument 0> bytes 4 "
                              "uniformity divergent at <: tid.x * bid.x>")));
  EXPECT_NE(messages.find("non-affine"), std::string::npos) << messages;
}

TEST_F(Kb, FindsTheInnermostRange) {
  auto callee = FileLineColRange::get(StringAttr::get(&context, "a.cu"), 3, 5, 3, 9);
  auto caller = FileLineColRange::get(StringAttr::get(&context, "a.cu"), 9, 1, 9, 4);
  EXPECT_EQ(kb::sourceRange(CallSiteLoc::get(callee, caller)), callee);
  EXPECT_FALSE(kb::sourceRange(UnknownLoc::get(&context)));
}

} // namespace
