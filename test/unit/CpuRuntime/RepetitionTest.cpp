//===- RepetitionTest.cpp - where a plan repeats itself -------------------===//
#include "kbrt/PlanWalk.h"
#include "gtest/gtest.h"

using namespace kbrt;

namespace {

Step launch(const char *kernel, uint32_t blocks = 1) {
  LaunchStep step;
  step.kernel = kernel;
  step.grid = {blocks};
  step.arguments = {{std::vector<uint8_t>(8), {{0, {0, 0}}}}};
  return step;
}
Step read(uint64_t observable) { return ReadStep{Region::linear({0, 0}, 4), observable}; }
Step fill() { return FillStep{Region::linear({0, 0}, 4), 7}; }

/// A buffer of one number, to which each launch of "add" adds one; "keep" does nothing.
class Counter : public PlanWalk {
public:
  Counter(const Plan &plan, const PlanInputs &inputs, size_t restsAfter)
      : PlanWalk(plan, inputs), restsAfter(restsAfter) {
    repetitions = findRepetitions(plan);
  }
  bool run() { return walk(); }
  const std::string &result() const { return observables; }

  unsigned launches = 0;
  std::vector<std::pair<size_t, size_t>> repeated;

private:
  bool allocate(uint32_t id) override {
    address[id] = reinterpret_cast<uint64_t>(&value);
    return true;
  }
  void release(uint32_t) override {}
  uint64_t findSymbol(const Buffer &) override { return 0; }
  bool upload(uint64_t, const Region &, std::string_view) override { return true; }
  bool fill(uint64_t, const Region &, uint8_t to) override {
    value = to;
    return true;
  }
  bool copy(uint64_t, const Region &, uint64_t, const Region &) override { return true; }
  bool launch(const LaunchStep &step, std::vector<std::vector<uint8_t>> &) override {
    ++launches;
    value += step.kernel == "add";
    return true;
  }
  bool read(uint64_t, const Region &, char *into) override {
    memcpy(into, &value, sizeof value);
    return true;
  }
  bool matmul(const MatmulStep &, uint64_t, uint64_t, uint64_t) override { return true; }
  bool endsAfter(const Repetition &, size_t periods) override { return periods == restsAfter; }
  bool repeat(size_t step, size_t like) override {
    repeated.emplace_back(step, like);
    return true;
  }

  uint32_t value = 0;
  size_t restsAfter;
};

} // namespace

TEST(Repetition, IsTheShortestPeriodThatSavesMost) {
  Plan plan;
  plan.buffers = {{4}};
  plan.steps = {AllocStep{0}, launch("init")};
  for (int i = 0; i < 10; ++i)
    for (const Step &step : {fill(), launch("a"), launch("b"), read(4 * i)})
      plan.steps.push_back(step);
  plan.steps.push_back(launch("end"));
  EXPECT_EQ(findRepetitions(plan), (std::vector<Repetition>{{2, 4, 10}}))
      << "where a read goes to is no difference";
}

TEST(Repetition, IsFoundBeforeAndBehindOthers) {
  Plan plan;
  plan.buffers = {{4}};
  for (const char *kernel : {"a", "b", "c"})
    for (int i = 0; i < 5; ++i)
      plan.steps.push_back(launch(kernel));
  EXPECT_EQ(findRepetitions(plan), (std::vector<Repetition>{{0, 1, 5}, {5, 1, 5}, {10, 1, 5}}));
}

TEST(Repetition, NeedsEqualStepsThatCompute) {
  Plan plan;
  plan.buffers = {{4}};
  for (uint32_t i = 0; i < 5; ++i) // another grid each time
    plan.steps.push_back(launch("a", i + 1));
  for (int i = 0; i < 5; ++i) // reads alone
    plan.steps.push_back(read(4 * i));
  for (int i = 0; i < 2; ++i) // twice is not enough
    plan.steps.push_back(launch("b"));
  for (int i = 0; i < 5; ++i) { // memory of its own each time
    plan.steps.push_back(AllocStep{0});
    plan.steps.push_back(launch("c"));
    plan.steps.push_back(FreeStep{0});
  }
  EXPECT_TRUE(findRepetitions(plan).empty());
}

TEST(Repetition, TellsUploadsByTheirBytes) {
  Plan plan;
  plan.buffers = {{4}};
  for (uint64_t data : {0, 0, 0, 4, 8}) {
    plan.steps.push_back(UploadStep{Region::linear({0, 0}, 4), data});
    plan.steps.push_back(launch("a"));
  }
  EXPECT_EQ(findRepetitions(plan), (std::vector<Repetition>{{0, 2, 3}}));
}

TEST(Repetition, IsLeftWithTheReadsOfItsLastPeriod) {
  Plan plan;
  plan.buffers = {{4}};
  plan.steps = {AllocStep{0}};
  for (int i = 0; i < 6; ++i)
    for (const Step &step : {fill(), launch("add"), read(4 * i)})
      plan.steps.push_back(step);
  plan.steps.push_back(launch("add"));
  plan.steps.push_back(read(24));
  PlanInputs inputs;
  Counter counter(plan, inputs, 2);
  ASSERT_TRUE(counter.run());
  EXPECT_EQ(counter.launches, 3u) << "two periods, and what comes behind the repetition";
  std::vector<uint32_t> values(7);
  ASSERT_EQ(counter.result().size(), 28u);
  memcpy(values.data(), counter.result().data(), 28);
  EXPECT_EQ(values, (std::vector<uint32_t>{8, 8, 8, 8, 8, 8, 9}));
  ASSERT_EQ(counter.repeated.size(), 12u);
  EXPECT_EQ(counter.repeated.front(), std::make_pair(size_t(7), size_t(4)));
  EXPECT_EQ(counter.repeated.back(), std::make_pair(size_t(18), size_t(6)));

  Counter whole(plan, inputs, 99);
  ASSERT_TRUE(whole.run());
  EXPECT_EQ(whole.launches, 7u);
  EXPECT_EQ(whole.result(), counter.result());
}
