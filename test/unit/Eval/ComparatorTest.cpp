#include "kb-opt/Eval/Comparator.h"
#include "gtest/gtest.h"
#include <cmath>
#include <limits>

using namespace kbopt;
using kbrt::ElementType;

namespace {

template <typename T> llvm::ArrayRef<uint8_t> bytesOf(const std::vector<T> &values) {
  return {reinterpret_cast<const uint8_t *>(values.data()), values.size() * sizeof(T)};
}

const float inf = std::numeric_limits<float>::infinity();
const float nan = std::numeric_limits<float>::quiet_NaN();

Tolerance reassociates(uint64_t length = 0) {
  Tolerance tolerance;
  tolerance.promise = Promise::Reassociates;
  tolerance.reductionLength = length;
  return tolerance;
}

struct FloatCase {
  std::vector<float> oracle;
  std::vector<std::vector<float>> spread; ///< further runs of the original
  Comparison compare(const std::vector<float> &candidate, const Tolerance &tolerance) const {
    OutputView view{"out", ElementType::F32, bytesOf(oracle), bytesOf(oracle), {}};
    std::vector<uint8_t> moved;
    for (const auto &run : spread)
      widenMoves(view.type, view.oracle, bytesOf(run), moved);
    view.moved = moved;
    return compareOutput(view, bytesOf(candidate), tolerance);
  }
};

TEST(Comparator, BitwiseNamesTheFirstDifferingElement) {
  FloatCase test{{1, 2, 3}, {}};
  EXPECT_TRUE(test.compare({1, 2, 3}, {}).accepted);
  Comparison result = test.compare({1, 2.0000002f, 4}, {});
  EXPECT_FALSE(result.accepted);
  EXPECT_EQ(result.firstIndex, 1u);
  EXPECT_EQ(result.differing, 2u);
  EXPECT_EQ(result.reason, "out[1] is 2.00000024, expected 2; 2 of 3 elements differ");
}

TEST(Comparator, SparesTheIntegersThatRoundingDecides) {
  const std::vector<int32_t> original = {1, 2, 3, 4, 5, 6, 7, 8},
                             upwards = {1, 9, 3, 4, 5, 6, 7, 8};
  OutputView view{"out", ElementType::I32, bytesOf(original), bytesOf(original), {}};
  std::vector<uint8_t> moved;
  widenMoves(view.type, view.oracle, bytesOf(upwards), moved);
  view.moved = moved;
  Tolerance made;
  made.sparesMovedIntegers = true;
  std::vector<int32_t> candidate = original;
  candidate[1] = -1;
  Comparison result = compareOutput(view, bytesOf(candidate), made);
  EXPECT_TRUE(result.accepted);
  EXPECT_EQ(result.spared, 1u);
  EXPECT_FALSE(compareOutput(view, bytesOf(candidate), {}).accepted);
  candidate[2] = -1;
  result = compareOutput(view, bytesOf(candidate), made);
  EXPECT_EQ(result.reason, "out[2] is -1, expected 3");
  EXPECT_FALSE(acceptsOutput(view, bytesOf(candidate), made));
}

TEST(Comparator, SparesNoIntegersWhereMostOfThemMove) {
  const std::vector<int32_t> original = {1, 2, 3, 4}, upwards = {9, 9, 9, 4};
  OutputView view{"out", ElementType::I32, bytesOf(original), bytesOf(original), {}};
  std::vector<uint8_t> moved;
  widenMoves(view.type, view.oracle, bytesOf(upwards), moved);
  view.moved = moved;
  Tolerance made;
  made.sparesMovedIntegers = true;
  const std::vector<int32_t> one = {0, 2, 3, 4}, two = {0, 0, 3, 4};
  EXPECT_TRUE(compareOutput(view, bytesOf(one), made).accepted);
  EXPECT_FALSE(compareOutput(view, bytesOf(two), made).accepted);
}

TEST(Comparator, LargeOutputsAreComparedPieceByPiece) {
  FloatCase test{std::vector<float>(size_t(1) << 21, 1), {}};
  std::vector<float> other = test.oracle;
  EXPECT_TRUE(test.compare(other, {}).accepted);
  EXPECT_TRUE(test.compare(other, reassociates(100)).accepted);
  for (size_t at : {size_t(300000), size_t(1000000), other.size() - 1})
    other[at] = 2;
  for (const Tolerance &tolerance : {Tolerance{}, reassociates(100)}) {
    Comparison result = test.compare(other, tolerance);
    EXPECT_FALSE(result.accepted);
    EXPECT_EQ(result.firstIndex, 300000u);
    EXPECT_EQ(result.differing, 3u);
    EXPECT_EQ(result.elements, other.size());
  }
  // What moves in the last piece allows for it there alone.
  test.spread = {other};
  EXPECT_TRUE(test.compare(other, reassociates(100)).accepted);
  other[0] = 2;
  EXPECT_EQ(test.compare(other, reassociates(100)).firstIndex, 0u);
}

TEST(Comparator, BitwiseTellsZerosApartButNotNaNs) {
  FloatCase test{{0.0f, -nan}, {}};
  EXPECT_TRUE(test.compare({0.0f, nan}, {}).accepted);
  EXPECT_EQ(test.compare({-0.0f, nan}, {}).reason, "out[0] is -0, expected 0 with other bits");
}

TEST(Comparator, FiniteClassMustBeEqual) {
  FloatCase test{{inf, nan, 1}, {}};
  EXPECT_TRUE(test.compare({inf, nan, 1}, reassociates(100)).accepted);
  EXPECT_FALSE(test.compare({-inf, nan, 1}, reassociates(100)).accepted);
  EXPECT_FALSE(test.compare({inf, 0, 1}, reassociates(100)).accepted);
  EXPECT_FALSE(test.compare({inf, nan, nan}, reassociates(100)).accepted);
  EXPECT_FALSE(test.compare({inf, nan, inf}, reassociates(100)).accepted);
}

TEST(Comparator, NothingIsPassedOverNearOverflow) {
  FloatCase test{{inf, 3e38f, 1e38f}, {}};
  EXPECT_FALSE(test.compare({3e38f, 3e38f, 1e38f}, reassociates(100)).accepted);
  EXPECT_FALSE(test.compare({inf, inf, 1e38f}, reassociates(100)).accepted);
  EXPECT_FALSE(test.compare({nan, nan, nan}, reassociates(100)).accepted);
}

TEST(Comparator, WhereRoundingDecidesTheClassNothingIsCompared) {
  FloatCase test{{1, nan, 3}, {{nan, 2, 3}}};
  EXPECT_TRUE(test.compare({nan, 5, 3}, reassociates(100)).accepted);
  EXPECT_FALSE(test.compare({1, nan, nan}, reassociates(100)).accepted);
  EXPECT_FALSE(test.compare({nan, nan, 3}, {}).accepted) << "bitwise";
}

TEST(Comparator, LargeElementsAreThoseWhoseSumsMayOverflow) {
  const std::vector<float> values = {1, -1e27f, 1e30f, -1e30f, inf, -inf, nan};
  EXPECT_EQ(largeElements(ElementType::F32, bytesOf(values)), 5u);
  EXPECT_EQ(largeElements(ElementType::I32, bytesOf(values)), 0u);
}

TEST(Comparator, TheTypicalMagnitudeIsNotThatOfOneColumn) {
  // 4096 rows of 64; the first column is a thousand times the others.
  FloatCase test{std::vector<float>(4096 * 64, 1.0f), {}};
  for (size_t row = 0; row < 4096; ++row)
    test.oracle[row * 64] = 1000.0f;
  std::vector<float> candidate = test.oracle;
  candidate[5] += 10 * 100 * 6e-8f;
  EXPECT_FALSE(test.compare(candidate, reassociates(100)).accepted);
}

TEST(Comparator, ReassociationIsBoundedByLengthAndUnitRoundoff) {
  FloatCase test{std::vector<float>(64, 1.0f), {}};
  std::vector<float> candidate = test.oracle;
  candidate[5] = 1.0f + 90 * 6e-8f;
  EXPECT_TRUE(test.compare(candidate, reassociates(100)).accepted);
  EXPECT_FALSE(test.compare(candidate, reassociates(50)).accepted);
  EXPECT_FALSE(test.compare(candidate, reassociates()).accepted) << "unknown length is strict";
}

TEST(Comparator, MeasuredSpreadStandsInForTheTerms) {
  // A sum that cancels: the result says nothing of its terms, the spread does.
  FloatCase test{{1e-6f, 1.0f}, {{1.5e-6f, 1.0f}, {0.8e-6f, 1.0f}}};
  EXPECT_TRUE(test.compare({1.9e-6f, 1.0f}, reassociates()).accepted);
  EXPECT_FALSE(test.compare({3.1e-6f, 1.0f}, reassociates()).accepted);
  EXPECT_FALSE(test.compare({1e-6f, 1.00001f}, reassociates()).accepted);
  EXPECT_FALSE(test.compare({1.9e-6f, 1.0f}, {}).accepted) << "bitwise ignores the spread";
}

TEST(Comparator, SubnormalSumsMayRoundWhereTheOriginalDidNot) {
  FloatCase test{{-1.02005518e-38f, 1e-39f}, {}};
  EXPECT_TRUE(test.compare({-1.0200549e-38f, 1e-39f}, reassociates()).accepted);
  EXPECT_FALSE(test.compare({-1.0200549e-38f, 1e-39f}, {}).accepted) << "bitwise is bitwise";
  EXPECT_FALSE(test.compare({0.0f, 1e-39f}, reassociates()).accepted) << "flushed to zero";
  // Three times a sum of numbers of both signs, of which some partial sums are normal: 6 units of
  // the smallest number off.
  FloatCase scaled{{2.3203367e-38f}, {}};
  EXPECT_TRUE(scaled.compare({2.32033586e-38f}, reassociates()).accepted);
  EXPECT_FALSE(scaled.compare({2.3204e-38f}, reassociates()).accepted);
}

TEST(Comparator, RelativeL2RejectsWhatEveryElementAloneWouldPass) {
  // Each element uses its whole κ = 4 allowance; together they exceed 2 × the
  // original's own error.
  FloatCase test{std::vector<float>(100, 1.0f), {std::vector<float>(100, 1.001f)}};
  Comparison result = test.compare(std::vector<float>(100, 1.0035f), reassociates());
  EXPECT_FALSE(result.accepted);
  EXPECT_NE(result.reason.find("relative L2"), std::string::npos) << result.reason;
  std::vector<float> one = test.oracle;
  one[0] = 1.0035f;
  EXPECT_TRUE(test.compare(one, reassociates()).accepted);
}

TEST(Comparator, LowerPrecisionUsesItsOwnUnit) {
  FloatCase test{std::vector<float>(8, 1.0f), {}};
  Tolerance tolerance;
  tolerance.promise = Promise::LowerPrecision;
  tolerance.computePrecision = Precision::Half;
  tolerance.reductionLength = 1;
  std::vector<float> candidate(8, 1.0004f);
  EXPECT_TRUE(test.compare(candidate, tolerance).accepted);
  candidate[7] = 1.0006f;
  EXPECT_FALSE(test.compare(candidate, tolerance).accepted);
}

TEST(Comparator, IntegersAreExactUnderEveryPromise) {
  std::vector<int> oracle{1, 2, 3}, candidate{1, 2, 4};
  OutputView view{"n", ElementType::I32, bytesOf(oracle), bytesOf(oracle), {}};
  EXPECT_EQ(compareOutput(view, bytesOf(candidate), reassociates(1000)).reason,
            "n[2] is 4, expected 3");
}

TEST(Comparator, UnknownTypesAreComparedByteByByte) {
  std::vector<uint8_t> oracle{1, 2, 255}, candidate{1, 2, 254};
  OutputView view{"raw", ElementType::Unknown, oracle, oracle, {}};
  EXPECT_EQ(compareOutput(view, candidate, reassociates(1000)).reason,
            "raw differs at byte 2; the type of its elements is not known, so that their bytes "
            "must be the same");
}

TEST(Comparator, SizesMustBeEqual) {
  FloatCase test{{1, 2, 3}, {}};
  EXPECT_EQ(test.compare({1, 2}, {}).reason, "out has 8 bytes, expected 12");
}

TEST(Comparator, DeclaredToleranceWidens) {
  FloatCase test{{100, 1}, {}};
  Tolerance tolerance = reassociates();
  tolerance.relative = 1e-3;
  EXPECT_TRUE(test.compare({100.09f, 1}, tolerance).accepted);
  EXPECT_FALSE(test.compare({100.2f, 1}, tolerance).accepted);
}

TEST(Comparator, ElementsOfEveryTypeRoundTrip) {
  for (auto type : {ElementType::F64, ElementType::F32, ElementType::F16, ElementType::BF16,
                    ElementType::I8, ElementType::U8, ElementType::I16, ElementType::U16,
                    ElementType::I32, ElementType::U32, ElementType::I64, ElementType::U64}) {
    uint8_t bytes[16] = {};
    storeElement(type, bytes, 1, 42);
    EXPECT_EQ(elementAsDouble(type, bytes, 1), 42) << kbrt::elementTypeName(type);
    EXPECT_EQ(elementAsDouble(type, bytes, 0), 0) << kbrt::elementTypeName(type);
  }
  uint8_t half[2];
  storeElement(ElementType::F16, half, 0, 1 + 4.9e-4 * 2);
  EXPECT_EQ(elementAsDouble(ElementType::F16, half, 0), 1 + std::ldexp(1, -10));
  storeElement(ElementType::F16, half, 0, 1e6);
  EXPECT_TRUE(std::isinf(elementAsDouble(ElementType::F16, half, 0)));
  storeElement(ElementType::F16, half, 0, std::ldexp(1, -24));
  EXPECT_EQ(elementAsDouble(ElementType::F16, half, 0), std::ldexp(1, -24));
  storeElement(ElementType::I8, half, 0, 1000);
  EXPECT_EQ(elementAsDouble(ElementType::I8, half, 0), 127);
}

struct OracleCase {
  std::vector<float> original;
  std::vector<kbrt::OracleElement> float64;
  Comparison compare(const std::vector<float> &candidate, const Tolerance &tolerance) const {
    OutputView view{"out", ElementType::F32, bytesOf(original), bytesOf(original), {}};
    view.float64 = float64;
    return compareOutput(view, bytesOf(candidate), tolerance);
  }
};

TEST(Comparator, TheForwardBoundAcceptsWhatOtherBoundsDoNot) {
  OracleCase test{{1, 2}, {{1.00001, 1e-4, 0, 300}, {2, 0, 0, 1}}};
  Comparison near = test.compare({1.00009f, 2}, reassociates());
  EXPECT_TRUE(near.accepted) << near.reason;
  EXPECT_EQ(near.byForwardBound, 1u);
  EXPECT_EQ(near.longestSum, 300);
  EXPECT_NEAR(near.worstOfForwardBound, 0.8, 1e-2);
  Comparison far = test.compare({1.0002f, 2}, reassociates());
  EXPECT_FALSE(far.accepted);
  EXPECT_EQ(far.reason, "out[0] is 1.00020003, expected 1 (off by 2.00e-04, allowed 2.40e-07; off "
                        "by 1.90e-04 from the float64 oracle 1.00001000e+00, allowed 1.00e-04 for "
                        "sums of up to 300 terms)");
  // What is exact has no bound but the roundings of the result.
  EXPECT_FALSE(test.compare({1, 2.00001f}, reassociates()).accepted);
  EXPECT_FALSE(test.compare({1.00009f, 2}, {}).accepted) << "a bitwise promise";
}

TEST(Comparator, NoElementMayBeFartherFromTheOracleThanTwiceTheOriginal) {
  OracleCase test{{1.01f}, {{1, 1e-6, 0, 3}}};
  EXPECT_TRUE(test.compare({0.981f}, reassociates()).accepted);
  EXPECT_FALSE(test.compare({0.979f}, reassociates()).accepted);
}

TEST(Comparator, InheritedErrorsCountUpToAMultipleOfTheOriginals) {
  // Four roundings of the result are 2.4e-7.
  OracleCase test{{1}, {{1, 0, 1e-2, 50}}};
  EXPECT_TRUE(test.compare({1.000015f}, reassociates()).accepted);
  EXPECT_FALSE(test.compare({1.000016f}, reassociates()).accepted);
  test.float64[0].inherited = 1e-6;
  EXPECT_TRUE(test.compare({1.0000012f}, reassociates()).accepted);
  EXPECT_FALSE(test.compare({1.0000015f}, reassociates()).accepted);
}

TEST(Comparator, AnOracleThatIsNotFiniteSaysNothing) {
  const double infinite = std::numeric_limits<double>::infinity();
  for (kbrt::OracleElement element :
       {kbrt::OracleElement{infinite, 1, 0, 1}, kbrt::OracleElement{1, infinite, 0, 1},
        kbrt::OracleElement{std::nan(""), 1, 0, 1}, kbrt::OracleElement{1, std::nan(""), 0, 1}}) {
    OracleCase test{{1}, {element}};
    EXPECT_FALSE(test.compare({1.5f}, reassociates()).accepted);
    EXPECT_TRUE(test.compare({1}, reassociates()).accepted);
  }
}

TEST(Comparator, AWorkloadMayHoldResultsToTheOracleAlone) {
  OracleCase test{{1}, {{1.00002, 1e-5, 0, 10}}};
  Tolerance held = reassociates(1000);
  EXPECT_TRUE(test.compare({0.99998f}, held).accepted);
  held.isHeldToFloat64 = true;
  EXPECT_FALSE(test.compare({0.99997f}, held).accepted);
  EXPECT_TRUE(test.compare({1.00003f}, held).accepted);
  held.relative = 1e-3; // what the owner accepts
  EXPECT_TRUE(test.compare({0.9993f}, held).accepted);
}

} // namespace
