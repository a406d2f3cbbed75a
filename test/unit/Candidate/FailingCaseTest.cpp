//===- FailingCaseTest.cpp - The inputs that a debugger is told -----------===//
#include "../../../lib/Candidate/FailingCase.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include <cstring>

using namespace kbopt;
using testing::ElementsAre;

namespace {

std::vector<TestCase> casesNamed(std::initializer_list<const char *> names) {
  std::vector<TestCase> cases;
  for (const char *name : names)
    cases.emplace_back().name = name;
  return cases;
}

kbrt::Argument scalar(int32_t value) {
  kbrt::Argument argument;
  argument.bytes.resize(sizeof value);
  std::memcpy(argument.bytes.data(), &value, sizeof value);
  return argument;
}

/// Four floats go to the buffer of a launch of `scale(float *, int)`.
RecordedPlan smallRecording() {
  RecordedPlan recorded;
  const float values[] = {0.5F, -2, 3, NAN};
  recorded.file =
      llvm::MemoryBuffer::getMemBufferCopy({reinterpret_cast<const char *>(values), sizeof values});
  recorded.plan.buffers.resize(1);
  recorded.plan.buffers[0].bytes = sizeof values;
  recorded.plan.buffers[0].element = kbrt::ElementType::F32;
  recorded.plan.steps.push_back(
      kbrt::UploadStep{kbrt::Region::linear({0, 0}, sizeof values), /*data=*/0});
  kbrt::LaunchStep launch;
  launch.kernel = "_Z5scalePfi";
  launch.grid = {2, 1, 1};
  launch.block = {32, 1, 1};
  kbrt::Argument pointer;
  pointer.bytes.resize(8);
  pointer.pointers = {{0, {0, 0}}};
  launch.arguments = {pointer, scalar(4)};
  recorded.plan.steps.push_back(launch);
  return recorded;
}

} // namespace

TEST(FailingCase, IsTheLongestNameInTheWords) {
  std::vector<TestCase> cases = casesNamed({"n=3 seed=1", "n=33 seed=1", "seed=1 normal"});
  const TestCase *found = caseNamedIn("out[3] is 7, expected 8 on case n=33 seed=1", cases);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->name, "n=33 seed=1");
  EXPECT_FALSE(caseNamedIn("error: expected ';'", cases));
}

TEST(FailingCase, InputsAreToldWithTheirTypes) {
  EXPECT_THAT(describeInputs(smallRecording()),
              ElementsAre("buffer 0 is given 4 f32, from -2 to 3, 1 not a number: 0.5, -2, 3, nan",
                          "scale(float*, int)<<<(2, 1, 1), (32, 1, 1)>>>(buffer 0 (16 bytes of "
                          "f32), 4)"));
}

TEST(FailingCase, OnlyTheFirstOnesAreTold) {
  RecordedPlan recorded = smallRecording();
  const kbrt::Step launch = recorded.plan.steps[1];
  for (int i = 0; i != 9; ++i)
    recorded.plan.steps.push_back(launch);
  std::vector<std::string> lines = describeInputs(recorded);
  ASSERT_EQ(lines.size(), 6u);
  EXPECT_EQ(lines.back(), "6 more launches are not shown");
}
