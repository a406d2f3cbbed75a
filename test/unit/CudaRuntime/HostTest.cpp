//===- HostTest.cpp - what runtime/cuda knows without a device ------------===//
#include "HelperKernels.h"
#include "SlabLayout.h"
#include "kbrt/CudaPlan.h"
#include "kbrt/PointeeTypes.h"
#include "kbrt/Sha256.h"
#include <cstring>
#include <gtest/gtest.h>

using namespace kbrt;
using namespace kbrt::cuda;

namespace {

Plan planOf(std::vector<uint64_t> bytes, std::vector<Step> steps) {
  Plan plan;
  for (uint64_t count : bytes) {
    plan.buffers.emplace_back();
    plan.buffers.back().bytes = count;
    plan.buffers.back().address = 0x600000001000 + (plan.buffers.size() << 24);
  }
  plan.steps = std::move(steps);
  return plan;
}

TEST(SlabLayout, KeepsGuardZonesBetweenBuffers) {
  SlabLayout layout = SlabLayout::of(planOf({100, 513}, {AllocStep{0}, AllocStep{1}}));
  EXPECT_EQ(layout.offset[0], guardBytes);
  EXPECT_EQ(layout.offset[0] % slabAlignment, 0u);
  EXPECT_GE(layout.offset[1], layout.offset[0] + 100 + 2 * guardBytes);
  EXPECT_EQ(layout.offset[1] % slabAlignment, 0u);
  EXPECT_EQ(layout.bytes, layout.offset[1] + 513 + SlabLayout::guardAfter(513));
  EXPECT_EQ(layout.peakBytes, 613u);
}

TEST(SlabLayout, UsesFreedPlacesAgain) {
  SlabLayout layout = SlabLayout::of(planOf(
      {4096, 4096, 8192}, {AllocStep{0}, FreeStep{0}, AllocStep{1}, FreeStep{1}, AllocStep{2}}));
  EXPECT_EQ(layout.offset[1], layout.offset[0]);
  EXPECT_GT(layout.offset[2], layout.offset[0]) << "the hole is too small";
  EXPECT_EQ(layout.peakBytes, 8192u);
}

TEST(SlabLayout, JoinsNeighbouringHoles) {
  SlabLayout layout =
      SlabLayout::of(planOf({4096, 4096, 4096, 8192}, {AllocStep{0}, AllocStep{1}, AllocStep{2},
                                                       FreeStep{1}, FreeStep{0}, AllocStep{3}}));
  EXPECT_EQ(layout.offset[3], layout.offset[0]);
}

std::string elf(uint8_t abi, uint32_t flags, uint16_t machine = 190) {
  std::string bytes(64, 0);
  std::memcpy(bytes.data(), "\177ELF", 4);
  bytes[8] = static_cast<char>(abi);
  std::memcpy(&bytes[18], &machine, 2);
  std::memcpy(&bytes[48], &flags, 4);
  return bytes;
}

TEST(ImageKind, ReadsTheArchitectureOfCubins) {
  EXPECT_EQ(imageKind(elf(8, 0x06005a04)).arch, "sm_90"); // as CUDA 13.0 writes it
  EXPECT_EQ(imageKind(elf(7, 0x005a055a)).arch, "sm_90"); // as CUDA 12 writes it
  EXPECT_EQ(imageKind(elf(8, 0x06006402)).arch, "sm_100");
  EXPECT_EQ(imageKind(elf(8, 0x06005a04, 62)).format, ImageKind::Unknown); // x86-64
}

TEST(ImageKind, ReadsTheTargetOfPtx) {
  ImageKind kind = imageKind("// comment\n.version 8.0\n.target sm_90a\n.address_size 64\n");
  EXPECT_EQ(kind.format, ImageKind::Ptx);
  EXPECT_EQ(kind.arch, "sm_90a");
  EXPECT_EQ(imageKind("int main() {}").format, ImageKind::Unknown);
}

TEST(ImageKind, ChecksTheArchitectureAgainstTheDevice) {
  DeviceFacts facts;
  facts.name = "NVIDIA H200";
  facts.major = 9;
  Problem problem;
  EXPECT_TRUE(checkImage(elf(8, 0x5a00), "a.cubin", facts, problem));
  EXPECT_TRUE(checkImage(".version 8.0\n.target sm_80\n", "a.ptx", facts, problem));
  EXPECT_FALSE(checkImage(elf(8, 0x5000), "a.cubin", facts, problem));
  EXPECT_EQ(problem.status, LaunchStatus::Environment);
  EXPECT_EQ(problem.message, "a.cubin: is for sm_80, the device (NVIDIA H200) is sm_90");
  EXPECT_NE(problem.note.find("-arch=sm_90"), std::string::npos);
}

TEST(ImageKind, ShowsTheDeviceRuntime) {
  EXPECT_TRUE(
      canLaunchFromDevice(elf(8, 0x5a00) + std::string("\0.text.__cudaCDP2LaunchDeviceV2", 31)));
  EXPECT_TRUE(canLaunchFromDevice(".extern .func cudaGraphLaunch"));
  EXPECT_FALSE(canLaunchFromDevice(elf(8, 0x5a00) + "_Z6launchv"));
}

TEST(HelperPtx, HashesWordsAndBytesByOneText) {
  std::string text = helperPtx();
  EXPECT_NE(text.find(".entry kb_hash4("), std::string::npos);
  EXPECT_NE(text.find(".entry kb_hash1("), std::string::npos);
  for (const char *hole : {"@NAME@", "@TYPE@", "@SHIFT@"})
    EXPECT_EQ(text.find(hole), std::string::npos);
}

TEST(MetricSets, DifferByChip) {
  auto has = [](const std::vector<std::string> &names, const std::string &part) {
    for (const std::string &name : names)
      if (name.find(part) != std::string::npos)
        return true;
    return false;
  };
  EXPECT_EQ(metricNames("A", "GH100").size(), 15u);
  EXPECT_TRUE(has(metricNames("B", "GH100"), "_gmma_"));
  EXPECT_FALSE(has(metricNames("B", "GA100"), "_gmma_"));
  EXPECT_FALSE(has(metricNames("A", "GH100"), "{}"));
}

/// CUPTI answers without a device; without CUPTI there is nothing to ask.
TEST(MetricSets, AreKnownToCuptiInTheExpectedPasses) {
  Problem problem;
  for (auto [sets, passes] : {std::pair{"A", 2u}, {"AB", 8u}, {"ABC", 9u}}) {
    auto check = checkMetrics("GH100", metricNames(sets, "GH100"), problem);
    if (!check && problem.message.starts_with("no CUPTI"))
      GTEST_SKIP() << problem.message;
    ASSERT_TRUE(check) << problem.message;
    EXPECT_TRUE(check->unknown.empty()) << check->unknown.front();
    EXPECT_LE(check->passes, passes) << sets;
  }
  auto check = checkMetrics("GH100", {"gpu__time_duration.sum", "no_such__metric.sum"}, problem);
  ASSERT_TRUE(check);
  EXPECT_EQ(check->unknown, std::vector<std::string>{"no_such__metric.sum"});
  for (const char *chip : {"GA100", "AD102", "GB100"}) {
    auto known = checkMetrics(chip, metricNames("ABCD", chip), problem);
    ASSERT_TRUE(known) << problem.message;
    EXPECT_TRUE(known->unknown.empty()) << chip << " lacks " << known->unknown.front();
  }
}

TEST(Device, SaysWhyThereIsNone) {
  Problem problem;
  auto device = Device::open({}, problem);
  if (device)
    GTEST_SKIP() << "this machine has a device";
  EXPECT_EQ(problem.status, LaunchStatus::Environment);
  EXPECT_FALSE(problem.message.empty());
  EXPECT_FALSE(problem.note.empty());
}

TEST(Sha256, FollowsTheStandard) {
  EXPECT_EQ(sha256("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha256(std::string(56, 'x')),
            "04c26261370ee7541549d16dee320c723e3fd14671e66a099afe0a377c16888e");
}

TEST(StoredPointers, AreFoundInWhatKernelsDoNotTakeForNumbers) {
  Plan plan = planOf({16, 32, 16}, {AllocStep{0}, AllocStep{1}, AllocStep{2},
                                    UploadStep{Region::linear({0, 0}, 16), 0, 0},
                                    UploadStep{Region::linear({2, 0}, 16), 0, 0}});
  plan.buffers[2].element = ElementType::I32;
  uint64_t words[] = {plan.buffers[1].address + 8, 0x600fffff0000};
  noteStoredPointers(plan, {reinterpret_cast<const char *>(words), sizeof words});
  std::vector<PointerWord> expected = {{0, {1, 8}}};
  EXPECT_EQ(std::get<UploadStep>(plan.steps[3]).pointers, expected);
  EXPECT_TRUE(std::get<UploadStep>(plan.steps[4]).pointers.empty()) << "numbers are not searched";
  std::string error;
  auto again = planFromJson(planToJson(plan), "plan.json", error);
  ASSERT_TRUE(again) << error;
  EXPECT_EQ(std::get<UploadStep>(again->steps[3]).pointers, expected);
}

TEST(KernelTypes, TellPointersToConst) {
  EXPECT_EQ(constPointerParameters("_Z5saxpyifPKfPf"),
            (std::vector<bool>{false, false, true, false}));
  EXPECT_EQ(constPointerParameters("saxpy"), std::nullopt);
}

TEST(KernelTypes, ArraysHaveTheTypeOfTheirElements) {
  // void f(float const (*a)[8][32], double (*b)[4], float (**c)[4], void (*d)(int), float *e[4])
  const char *kernel = "_Z1fPA8_A32_KfPA4_dPPA4_fPFviEPPf";
  EXPECT_EQ(pointerParameterTypes(kernel),
            (std::vector<ElementType>{ElementType::F32, ElementType::F64, ElementType::Unknown,
                                      ElementType::Unknown, ElementType::Unknown}));
  EXPECT_EQ(constPointerParameters(kernel), (std::vector<bool>{true, false, false, false, false}));
}

TEST(KernelTypes, AreTheSameAfterTheyWereText) {
  const KernelTypes types = {
      {"plain", {{{0, {ElementType::F32}}}, {}}},
      {"inStruct", {{}, {{0, {ElementType::I32}}, {8, {ElementType::Unknown, ElementType::F64}}}}}};
  EXPECT_EQ(kernelTypesFromText(kernelTypesText(types)), types);
}

} // namespace
