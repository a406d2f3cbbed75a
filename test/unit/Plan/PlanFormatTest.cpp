//===- PlanFormatTest.cpp - plan.json there and back ------------------------===//
#include "kbrt/Plan.h"
#include "gtest/gtest.h"

using namespace kbrt;

namespace {

Plan makePlan() {
  Plan plan;
  plan.buffers.push_back({4096, BufferKind::Device, 0x600000001000, ElementType::F32, ""});
  plan.buffers.push_back(
      {64, BufferKind::Symbol, 0x600e00000000, ElementType::Unknown, "_ZL5table"});
  plan.streams.push_back({1, true, -2});
  LaunchStep launch;
  launch.kernel = "_Z1kPfi";
  launch.grid = {4, 2, 1};
  launch.block = {256, 1, 1};
  launch.sharedBytes = 1024;
  launch.stream = 1;
  launch.arguments = {{{0, 0x10, 0, 0, 0, 0x60, 0, 0}, {{0, {0, 4096}}}}, {{7, 0, 0, 0}, {}}};
  plan.steps = {AllocStep{0},
                UploadStep{Region::linear({0, 16}, 64), 128, 1},
                UploadStep{{{0, 0}, 10, 3, 32}, 192, 0},
                FillStep{Region::linear({0, 0}, 4), 255, 0},
                CopyStep{Region::linear({1, 0}, 8), Region::linear({0, 8}, 8), 0},
                launch,
                EventStep{3, 1},
                WaitStep{3, 0},
                SyncStep{1},
                SyncStep{},
                ReadStep{Region::linear({0, 0}, 4096), 0, 0, true},
                ErrorStep{"cudaLaunchKernel", 9, "cudaErrorInvalidConfiguration"},
                MatmulStep{3,
                           2,
                           4,
                           2,
                           0.5f,
                           1,
                           {{0, 0}, 4, 12, true},
                           {{0, 256}, 4, 8, false},
                           {{0, 512}, 3, 6, false},
                           1},
                SyncStep{std::nullopt, 3},
                FreeStep{0, 0}};
  std::get<UploadStep>(plan.steps[1]).host = HostPart::Stages;
  plan.outcome = {Ending::Exit, "", 3, "abcd"};
  return plan;
}

std::string errorOf(std::string text) {
  std::string error;
  EXPECT_FALSE(planFromJson(text, "plan.json", error));
  return error;
}

/// The text of `makePlan` with one change.
std::string changed(const std::string &from, const std::string &to) {
  std::string text = planToJson(makePlan());
  size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

TEST(PlanFormat, RoundTripKeepsEverything) {
  std::string text = planToJson(makePlan()), error;
  auto plan = planFromJson(text, "plan.json", error);
  ASSERT_TRUE(plan) << error;
  EXPECT_EQ(planToJson(*plan), text);
  ASSERT_EQ(plan->steps.size(), makePlan().steps.size());
  EXPECT_EQ(std::get<LaunchStep>(plan->steps[5]), std::get<LaunchStep>(makePlan().steps[5]));
  EXPECT_EQ(plan->buffers[1].symbol, "_ZL5table");
  EXPECT_EQ(plan->outcome.exitStatus, 3);
  EXPECT_TRUE(std::get<ReadStep>(plan->steps[10]).implicit);
  EXPECT_EQ(std::get<SyncStep>(plan->steps[8]).stream, 1u);
  EXPECT_FALSE(std::get<SyncStep>(plan->steps[9]).stream);
  EXPECT_EQ(std::get<UploadStep>(plan->steps[1]).host, HostPart::Stages);
  EXPECT_EQ(std::get<SyncStep>(plan->steps[13]).event, 3u);
  EXPECT_EQ(std::get<FreeStep>(plan->steps[14]).stream, 0u);
  EXPECT_EQ(observableBytes(*plan), 4096u);
}

TEST(PlanFormat, ErrorsNameThePathAndTheField) {
  EXPECT_EQ(errorOf(changed("\"buffer\":0,\"offset\":16", "\"buffer\":7,\"offset\":16")),
            "plan.json: steps[1].to.buffer: no buffer 7 (the plan has 2)");
  EXPECT_EQ(errorOf(changed("\"offset\":16", "\"offset\":4090")),
            "plan.json: steps[1].to: reaches beyond the 4096 bytes of buffer 0");
  EXPECT_EQ(errorOf(changed("\"version\": 1", "\"version\": 2")),
            "plan.json: version: version 2, this reader knows 1");
  EXPECT_EQ(errorOf(changed("\"step\":\"fill\"", "\"step\":\"flood\"")),
            "plan.json: steps[3].step: 'flood' is no kind of step");
  EXPECT_EQ(errorOf(changed("\"grid\":[4,2,1]", "\"grid\":[4,0,1]")),
            "plan.json: steps[5].grid[1]: 0 is out of range");
  EXPECT_EQ(errorOf(changed("\"at\":0", "\"at\":4")),
            "plan.json: steps[5].arguments[0].pointers[0].at: expected ascending multiples of 8 "
            "inside the argument's 8 bytes");
  EXPECT_EQ(errorOf(changed("\"value\":255", "\"value\":256")),
            "plan.json: steps[3].value: 256 is out of range");
  EXPECT_EQ(errorOf(changed("\"kind\":\"device\"", "\"kind\":\"magic\"")),
            "plan.json: buffers[0].kind: 'magic' is none of device, managed, pinned, symbol");
  EXPECT_EQ(errorOf(changed("{\"step\":\"alloc\",\"buffer\":0}", "{\"step\":\"sync\"}")),
            "plan.json: steps[1].to.buffer: buffer 0 is not allocated at this step");
  EXPECT_EQ(errorOf(changed("\"offset\":512,\"leading\":3", "\"offset\":4092,\"leading\":3")),
            "plan.json: steps[12].c: reaches beyond the 4096 bytes of buffer 0");
  EXPECT_EQ(errorOf(changed("\"leading\":3", "\"leading\":2")),
            "plan.json: steps[12].c: reaches beyond the 4096 bytes of buffer 0");
  EXPECT_EQ(errorOf("{}"), "plan.json: lacks the field 'version'");
  EXPECT_EQ(errorOf("[1]"), "plan.json: expected an object");
  EXPECT_NE(errorOf("{\"version\": ").find("parse error"), std::string::npos);
}

TEST(PlanFormat, HugeRegionsDoNotOverflow) {
  EXPECT_NE(errorOf(changed("\"height\":3,\"pitch\":32",
                            "\"height\":18446744073709551615,\"pitch\":18446744073709551615"))
                .find("reaches beyond"),
            std::string::npos);
  EXPECT_NE(errorOf(changed("\"data\":128", "\"data\":18446744073709551615")).find("overflow"),
            std::string::npos);
}

TEST(PlanFormat, MissingFolderIsNamed) {
  std::string error;
  EXPECT_FALSE(readPlan("/nonexistent/folder", error));
  EXPECT_EQ(error, "/nonexistent/folder/plan.json: No such file or directory");
  EXPECT_FALSE(writePlan(makePlan(), "/nonexistent/folder", error));
  EXPECT_EQ(error, "/nonexistent/folder/plan.json: No such file or directory");
}

TEST(ElementTypes, NamesRoundTrip) {
  for (int i = 0; i <= static_cast<int>(ElementType::F64); ++i) {
    auto type = static_cast<ElementType>(i);
    EXPECT_EQ(elementTypeFromName(elementTypeName(type)), type);
  }
  EXPECT_FALSE(elementTypeFromName("float"));
  EXPECT_EQ(elementBytes(ElementType::BF16), 2u);
  EXPECT_TRUE(isFloatingPoint(ElementType::F16));
  EXPECT_FALSE(isFloatingPoint(ElementType::U64));
}

using Types = std::vector<ElementType>;

TEST(ElementTypes, ComeFromMangledNames) {
  // k(float const*, double*, int, float4*, unsigned char*)
  EXPECT_EQ(pointerParameterTypes("_Z1kPKfPdiP6float4Ph"),
            (Types{ElementType::F32, ElementType::F64, ElementType::Unknown, ElementType::F32,
                   ElementType::U8}));
  // void k<float, 4>(float*, S<float, int>*, float**)
  EXPECT_EQ(pointerParameterTypes("_Z1kIfLi4EEvPT_P1SIS0_iEPS1_"),
            (Types{ElementType::F32, ElementType::Unknown, ElementType::Unknown}));
  EXPECT_EQ(pointerParameterTypes("_Z1kP6__half"), Types{ElementType::F16});
  EXPECT_EQ(pointerParameterTypes("_Z1kv"), Types{});
  EXPECT_FALSE(pointerParameterTypes("plain"));
}

} // namespace
