//===- PlanTouchesTest.cpp - steps in no order on the same bytes ----------===//
#include "TestImage.h"
#include "kbrt/PlanExecutor.h"

using namespace kbrt;
using namespace kbrt::test;

namespace {

// Sites: 0 load, 1 store, 2 atomic, 3 volatile load.

/// p[i * stride] += 1, in one of three ways.
void bump(void **args, const Block *, Thread *thread) {
  int *p = argument<int *>(args, 0) + thread->linear * argument<unsigned>(args, 1);
  const unsigned how = argument<unsigned>(args, 2);
  if (how == 2) {
    kbrt_check_atomic(2, p, 4);
  } else {
    kbrt_check_load(how ? 3 : 0, p, 4);
    kbrt_check_store(1, p, 4);
  }
  ++*p;
}

/// Only reads.
void look(void **args, const Block *, Thread *thread) {
  kbrt_check_load(0, argument<int *>(args, 0) + thread->linear, 4);
}

enum How : unsigned { Plain, Volatile, Atomic };
constexpr uint64_t place = arenaBase + (uint64_t(1) << 30);

template <typename T> std::vector<uint8_t> bytesOf(T value) {
  auto *p = reinterpret_cast<uint8_t *>(&value);
  return {p, p + sizeof value};
}

struct PlanTouches : testing::Test {
  PlanTouches() {
    image.site(AccessKind::Load);
    image.site(AccessKind::Store);
    image.site(AccessKind::Atomic);
    image.site(AccessKind::Load, MemorySpace::Global, 4, "a", /*isVolatile=*/true);
    image.kernel("bump", bump, {8, 4, 4});
    image.parameters.back()[0].name = "sums";
    image.kernel("look", look, {8});
    plan.buffers.resize(1);
    plan.buffers[0].bytes = 1024;
    plan.buffers[0].address = place;
    plan.buffers[0].element = ElementType::I32;
    plan.streams = {{1, true, 0}, {2, true, 0}, {3, false, 0}};
    plan.steps = {AllocStep{0}, FillStep{Region::linear({0, 0}, 1024), 0, 0}, SyncStep{}};
  }
  void launch(uint32_t stream, uint64_t offset, How how = Plain, unsigned stride = 1) {
    LaunchStep step;
    step.kernel = "bump";
    step.grid = {1};
    step.block = {32};
    step.stream = stream;
    step.arguments = {{bytesOf(place + offset), {{0, {0, offset}}}},
                      {bytesOf(stride), {}},
                      {bytesOf(unsigned(how)), {}}};
    plan.steps.push_back(step);
  }
  void reader(uint32_t stream) {
    LaunchStep step;
    step.kernel = "look";
    step.grid = {1};
    step.block = {32};
    step.stream = stream;
    step.arguments = {{bytesOf(place), {{0, {0, 0}}}}};
    plan.steps.push_back(step);
  }
  std::vector<std::string> findings() {
    PlanResult result = executePlan(plan, image.load(), options);
    EXPECT_EQ(result.status, LaunchStatus::Ok) << result.message;
    EXPECT_EQ(result.orderUnknown, "");
    std::vector<std::string> texts;
    for (const Finding &finding : result.findings)
      texts.push_back((finding.severity == Severity::Error ? "" : "benign ") + toText(finding));
    return texts;
  }
  TestImage image{ImageMode::Check};
  Plan plan;
  PlanOptions options;
};

} // namespace

TEST_F(PlanTouches, TwoStreamsThatAddToOneElementAreNamed) {
  launch(1, 0);
  launch(2, 124); // the last element of the other
  options.stopAtFinding = true;
  EXPECT_EQ(findings(),
            (std::vector<std::string>{
                "unordered: the launch of bump on stream 2 (step 4) writes what the launch of bump "
                "on stream 1 (step 3) writes, element 31 of buffer 0 (sums), byte 124, and nothing "
                "makes one wait for the other"}));
}

TEST_F(PlanTouches, DisjointElementsAreNoConflict) {
  launch(1, 0, Plain, 2);
  launch(2, 4, Plain, 2); // every other element
  EXPECT_TRUE(findings().empty());
}

TEST_F(PlanTouches, OnlyAtomicOperationsMeet) {
  launch(1, 0, Atomic);
  launch(2, 0, Atomic);
  EXPECT_TRUE(findings().empty());
  launch(1, 0, Volatile); // unordered with the one on stream 2
  EXPECT_FALSE(findings().empty());
}

TEST_F(PlanTouches, VolatileIsNotAtomic) {
  launch(1, 0, Volatile);
  launch(2, 0, Volatile);
  EXPECT_FALSE(findings().empty());
}

TEST_F(PlanTouches, ReadersMeet) {
  reader(1);
  reader(2);
  EXPECT_TRUE(findings().empty());
  launch(3, 0);
  ASSERT_EQ(findings().size(), 2u) << "with either of the readers";
}

TEST_F(PlanTouches, EventsOrderWhatCameBeforeThem) {
  launch(1, 0);
  plan.steps.push_back(EventStep{7, 1});
  plan.steps.push_back(WaitStep{7, 2});
  launch(2, 0);
  EXPECT_TRUE(findings().empty());
  launch(1, 0); // behind the event, beside the launch on stream 2
  EXPECT_EQ(findings().size(), 1u);
}

TEST_F(PlanTouches, TheHostMayWaitForAnEvent) {
  plan.steps.push_back(EventStep{7, 1});
  launch(1, 0);
  plan.steps.push_back(EventStep{8, 1});
  plan.steps.push_back(SyncStep{std::nullopt, 8});
  launch(2, 0);
  EXPECT_TRUE(findings().empty());
  std::get<SyncStep>(plan.steps[6]).event = 7;
  EXPECT_EQ(findings().size(), 1u) << "it was recorded too early";
}

TEST_F(PlanTouches, TheDefaultStreamWaitsForThoseThatDoNotOptOut) {
  launch(3, 0);
  launch(0, 0);
  launch(3, 0);
  EXPECT_TRUE(findings().empty());
  launch(1, 0);
  EXPECT_EQ(findings().size(), 2u);
}

TEST_F(PlanTouches, CopiesAndFillsCount) {
  launch(1, 0);
  plan.steps.push_back(FillStep{Region::linear({0, 512}, 4), 0, 2});
  EXPECT_TRUE(findings().empty());
  plan.steps.push_back(ReadStep{Region::linear({0, 0}, 4), 0, 2});
  ASSERT_EQ(findings().size(), 1u);
  EXPECT_NE(findings()[0].find("a copy to the host on stream 2 (step 5) reads"), std::string::npos);
}

TEST_F(PlanTouches, MemoryGoesWhenItsStreamComesToIt) {
  plan.buffers.push_back({64, BufferKind::Device, 0, ElementType::I32, ""});
  plan.steps.push_back(AllocStep{1, 1});
  plan.steps.push_back(FillStep{Region::linear({1, 0}, 64), 0, 1});
  plan.steps.push_back(FreeStep{1, 1});
  EXPECT_TRUE(findings().empty());
  std::get<FreeStep>(plan.steps[5]).stream = 2;
  ASSERT_EQ(findings().size(), 1u);
  EXPECT_NE(findings()[0].find("cudaFreeAsync on stream 2 (step 5) frees what a fill on stream 1"),
            std::string::npos);
  std::get<FreeStep>(plan.steps[5]).stream = std::nullopt; // cudaFree waits
  EXPECT_TRUE(findings().empty());
  std::get<FillStep>(plan.steps[4]).stream = 2;
  ASSERT_EQ(findings().size(), 1u);
  EXPECT_NE(findings()[0].find("writes what cudaMallocAsync on stream 1 (step 3) allocates"),
            std::string::npos);
}

TEST_F(PlanTouches, APageableUploadIsOnlyWeaklyAwaited) {
  static const char data[64] = {};
  options.inputs.data = {data, sizeof data};
  UploadStep upload{Region::linear({0, 0}, 64), 0, 0};
  upload.host = HostPart::Stages;
  plan.steps.push_back(upload);
  launch(1, 0);
  ASSERT_EQ(findings().size(), 1u);
  EXPECT_EQ(findings()[0].rfind("benign ", 0), 0u);
  std::get<UploadStep>(plan.steps[3]).host = HostPart::Enqueues;
  ASSERT_EQ(findings().size(), 1u);
  EXPECT_NE(findings()[0].rfind("benign ", 0), 0u);
  std::get<UploadStep>(plan.steps[3]).host = HostPart::Waits;
  EXPECT_TRUE(findings().empty());
}

TEST_F(PlanTouches, PlainImagesRecordNothing) {
  TestImage plain;
  plain.kernel("bump", bump, {8, 4, 4});
  launch(1, 0);
  launch(2, 0);
  EXPECT_TRUE(executePlan(plan, plain.load(), options).findings.empty());
}
