#include "kb-opt/Eval/Decoys.h"
#include "llvm/ADT/STLExtras.h"
#include "gtest/gtest.h"
#include <cmath>

using namespace kbopt;
using kbrt::ElementType;

namespace {

template <typename T> llvm::ArrayRef<uint8_t> bytesOf(const std::vector<T> &values) {
  return {reinterpret_cast<const uint8_t *>(values.data()), values.size() * sizeof(T)};
}

/// 200 floats 1, 2, 3, …, the answer to inputs 0.5, 1, 1.5, ….
struct DecoysTest : testing::Test {
  std::vector<float> oracle, input, before, other;
  DecoysTest() : before(200, -7.5f) {
    for (int i = 0; i < 200; ++i) {
      oracle.push_back(i + 1.0f);
      input.push_back(0.5f * (i + 1));
      other.push_back(i + 2.0f);
    }
  }
  AdmissionOutput output() const {
    AdmissionOutput result;
    result.view = {"out", ElementType::F32, bytesOf(oracle), bytesOf(oracle), {}};
    result.before = [this](size_t begin, size_t end) {
      return bytesOf(before).slice(begin, end - begin).vec();
    };
    result.inputs = {bytesOf(input)};
    result.otherSeed = bytesOf(other);
    return result;
  }
};

TEST_F(DecoysTest, AGoodCaseRejectsAllEight) {
  Admission admission = admitCase(output());
  EXPECT_TRUE(admission.admitted) << admission.reason;
  EXPECT_EQ(admission.tried, 8u);
}

TEST_F(DecoysTest, AnOutputOfZerosIsNotEvidence) {
  oracle.assign(200, 0.0f);
  Admission admission = admitCase(output());
  EXPECT_FALSE(admission.admitted);
  EXPECT_EQ(admission.reason, "zeros and constant mean and one tile permuted would pass");
}

TEST_F(DecoysTest, AWideToleranceIsNotEvidence) {
  AdmissionOutput wide = output();
  wide.tolerance.promise = Promise::Reassociates;
  wide.tolerance.absolute = 1000; // the tolerance of 0.1 on values of 0.05 that fooled others
  Admission admission = admitCase(wide);
  EXPECT_FALSE(admission.admitted);
  EXPECT_EQ(admission.accepted.front(), DecoyKind::Zeros);
}

TEST_F(DecoysTest, ACaseWhoseResultLaysThereBeforeIsNotEvidence) {
  before = oracle;
  Admission admission = admitCase(output());
  EXPECT_EQ(admission.reason, "output untouched and last 1 % missing would pass");
}

TEST_F(DecoysTest, WhatIsReadBackButNeverComputedIsNoTail) {
  for (int i = 100; i < 200; ++i)
    oracle[i] = before[i];
  Admission admission = admitCase(output());
  EXPECT_TRUE(admission.admitted) << admission.reason;
  std::optional<std::vector<uint8_t>> decoy = makeDecoy(DecoyKind::TailMissing, output());
  ASSERT_TRUE(decoy);
  EXPECT_EQ(elementAsDouble(ElementType::F32, *decoy, 98), 99);
  EXPECT_EQ(elementAsDouble(ElementType::F32, *decoy, 99), -7.5);
}

TEST_F(DecoysTest, ACopyOfAnInputIsFoundAmongSeveral) {
  AdmissionOutput copy = output();
  std::vector<float> same = oracle;
  copy.inputs = {bytesOf(input), bytesOf(same)};
  EXPECT_EQ(admitCase(copy).reason, "copy of an input would pass");
}

TEST_F(DecoysTest, ACopyIsNoWrongAnswerOfAProgramThatCopies) {
  for (int i = 0; i < 200; ++i) {
    input[i] = static_cast<float>(i - 100) / 8;
    other[i] = static_cast<float>(100 - i) / 16;
  }
  oracle = input;
  std::vector<float> otherInput = other;
  AdmissionOutput copy = output();
  copy.inputs = copy.uploads = {bytesOf(input)};
  copy.otherUploads = {bytesOf(otherInput)};
  Admission admission = admitCase(copy);
  EXPECT_TRUE(admission.admitted) << admission.reason;
  // Of the other seed it is not the copy of that input.
  otherInput[7] += 1;
  EXPECT_EQ(admitCase(copy).reason, "copy of an input would pass");
  otherInput = other;
  // Positive numbers do not tell a copy from what leaves out the negative ones.
  for (std::vector<float> *each : {&input, &oracle, &other, &otherInput})
    for (float &value : *each)
      value = std::abs(value);
  EXPECT_EQ(admitCase(copy).reason, "copy of an input would pass");
}

TEST_F(DecoysTest, ACopyOfWhatIsUploadedLaterIsNoWrongAnswerEither) {
  for (int i = 0; i < 200; ++i) {
    input[i] = static_cast<float>(i - 100) / 8;
    other[i] = static_cast<float>(100 - i) / 16;
  }
  oracle = input;
  std::vector<float> otherInput = other, first(10, 1.5f);
  AdmissionOutput later = output();
  later.inputs = {bytesOf(first)}; // the upload of an earlier size
  later.uploads = {bytesOf(first), bytesOf(input)};
  later.otherUploads = {bytesOf(first), bytesOf(otherInput)};
  AdmissionOutput earlier = later;
  earlier.inputs = {bytesOf(input)};
  EXPECT_TRUE(admitCase({earlier, later}).admitted);
}

TEST_F(DecoysTest, AnOutputThatIgnoresItsInputsIsNotEvidence) {
  other = oracle;
  EXPECT_EQ(admitCase(output()).reason, "another seed's output would pass");
}

TEST_F(DecoysTest, OneElementOfALargeOutputIsEnough) {
  oracle.assign(1 << 20, 1.0f);
  before = other = input = oracle;
  oracle[500'003] = 2; // not among the samples
  Admission admission = admitCase(output());
  EXPECT_EQ(llvm::count(admission.accepted, DecoyKind::Untouched), 0);
  EXPECT_EQ(llvm::count(admission.accepted, DecoyKind::InputCopy), 0);
  EXPECT_EQ(llvm::count(admission.accepted, DecoyKind::OtherSeed), 0);
  EXPECT_EQ(llvm::count(admission.accepted, DecoyKind::TailMissing), 0);
  std::optional<std::vector<uint8_t>> tail = makeDecoy(DecoyKind::TailMissing, output());
  ASSERT_TRUE(tail);
  EXPECT_EQ(elementAsDouble(ElementType::F32, *tail, 500'003), 1);
}

TEST_F(DecoysTest, OneOutputThatRejectsIsEnough) {
  std::vector<int> flag{0};
  AdmissionOutput scalar;
  scalar.view = {"flag", ElementType::I32, bytesOf(flag), bytesOf(flag), {}};
  EXPECT_FALSE(admitCase(scalar).admitted);
  EXPECT_TRUE(admitCase({scalar, output()}).admitted);
}

TEST_F(DecoysTest, NoOutputsIsNotEvidence) { EXPECT_EQ(admitCase({}).reason, "it has no output"); }

TEST_F(DecoysTest, EachDecoyIsWhatItSays) {
  AdmissionOutput out = output();
  auto at = [&](DecoyKind kind, size_t i) {
    return elementAsDouble(ElementType::F32, *makeDecoy(kind, out), i);
  };
  EXPECT_EQ(at(DecoyKind::ConstantMean, 17), 100.5);
  EXPECT_TRUE(std::isnan(at(DecoyKind::NaN, 0)));
  EXPECT_EQ(at(DecoyKind::TailMissing, 197), 198);
  EXPECT_EQ(at(DecoyKind::TailMissing, 198), -7.5);
  EXPECT_EQ(at(DecoyKind::TilePermuted, 0), 33);
  EXPECT_EQ(at(DecoyKind::TilePermuted, 32), 1);
  EXPECT_EQ(at(DecoyKind::TilePermuted, 64), 65);
  out.view.type = ElementType::I32;
  EXPECT_FALSE(makeDecoy(DecoyKind::NaN, out));
}

} // namespace
