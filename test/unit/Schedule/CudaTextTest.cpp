//===- CudaTextTest.cpp - Pieces of a nest as C++ --------------------------===//
#include "../../../lib/Schedule/CudaText.h"
#include "Nests.h"

using namespace kbopt;

namespace {

struct CudaTexts : Nests {
  kb::NestOp nest(llvm::StringRef offset) {
    return parse(program(
        R"(#kb.param<"y" : "float *" bytes 8 pointer true element 4>,
        #kb.param<"x" : "float *__restrict" bytes 8 pointer true element 4 restrict true>,
        #kb.param<"A" : "float (*)[16]" bytes 8 pointer true element 64>, #kb.param<"n" : "int" bytes 4>)",
        (R"(kb.nest @k dims ["i", "j"] extents [#kb.expr<over [i, j] with [n] : n>, #kb.expr<over [i, j] with [n] : 8>]
          symbols [#kb.symbol<"n" param argument 3>] {
        kb.store <element <argument "y" argument 0> : "float" bytes 4 at <over [i, j] with [n] : )" +
         offset +
         R"x(>> "f($0, row)" [#kb.operand<element <argument "x" argument 1> : "float" bytes 4 at <over [i, j] with [n] : j * 4 + 1>>]
      })x")
            .str()));
  }
  std::string stored(llvm::StringRef offset) {
    CudaText text(nest(offset));
    std::string result;
    text.nest().walk([&](kb::StoreOp store) { result = text.operand(store.getTarget()); });
    return result;
  }
};

TEST_F(CudaTexts, WritesOffsetsSoThatProductsDoNotOverflow) {
  EXPECT_EQ(stored("i * n + j"), "y[(size_t)i * n + j]");
  EXPECT_EQ(stored("(i + 1) * n - j - 1"), "y[(size_t)(i + 1) * n - j - 1]");
  EXPECT_EQ(stored("j * 4 + 3"), "y[j * 4 + 3]");
  EXPECT_EQ(stored("(i floordiv n) * 8 + (i + j) mod n"), "y[(size_t)(i / n) * 8 + (i + j) % n]");
  EXPECT_EQ(stored("i * n * n"), "y[(size_t)i * n * n]");
}

TEST_F(CudaTexts, FillsHolesAndKeepsNamesApart) {
  CudaText text(nest("i + gdim.x"));
  kb::StoreOp store;
  text.nest().walk([&](kb::StoreOp each) { store = each; });
  EXPECT_EQ(text.fill(store.getText(), store.getOperands()), "f(x[j * 4 + 1], row)");
  EXPECT_EQ(
      text.fill(store.getText(), store.getOperands(), [](kb::OperandAttr) { return "xs[k]"; }),
      "f(xs[k], row)");
  EXPECT_EQ(text.freshName("row"), "row2");
  EXPECT_EQ(text.freshName("lane"), "lane");
  EXPECT_EQ(text.freshName("lane"), "lane2");
  EXPECT_EQ(CudaText::combine("%b > %a ? %b : %a", "m", "x + 1"), "(x + 1) > m ? (x + 1) : m");
}

TEST_F(CudaTexts, ListsParametersAndValuesOfTheRaisedLaunch) {
  CudaText text(nest("i + gdim.x"));
  text.nest().walk(
      [&](kb::StoreOp store) { EXPECT_EQ(text.operand(store.getTarget()), "y[i + oldGridX]"); });
  EXPECT_EQ(text.parameters(),
            "float *y, const float *__restrict__ x, float (*A)[16], int n, int oldGridX");
  ASSERT_EQ(text.extraParameters().size(), 1u);
  EXPECT_EQ(text.extraParameters().front(),
            (std::pair<std::string, std::string>("int oldGridX", "gridDim.x")));
}

} // namespace
