//===- CaseSpaceTest.cpp --------------------------------------------------===//
#include "kb-opt/Candidate/CaseSpace.h"
#include "kb-opt/Support/Error.h"
#include "kb-opt/Support/FileSystem.h"
#include "kb-opt/Support/FreeSpace.h"

using namespace kbopt;

namespace {

constexpr uint64_t gibibyte = uint64_t(1) << 30;

std::string refusal(CaseSpace needed, CaseSpace left, bool inMemory = false) {
  return llvm::toString(checkSpace(needed, left, "/tmp", inMemory, "x.cu"));
}

TEST(CaseSpace, RefusesWithTheFigures) {
  EXPECT_EQ(refusal({5 * gibibyte, 2 * gibibyte}, {5 * gibibyte, 2 * gibibyte}), "");
  EXPECT_EQ(refusal({5 * gibibyte + gibibyte / 5, 0}, {3 * gibibyte + gibibyte / 10, 0}),
            "kb-opt needs 5.2 GiB in '/tmp' for the test cases of 'x.cu', and 3.1 GiB are free");
  EXPECT_EQ(refusal({0, 2 * gibibyte}, {0, gibibyte}),
            "kb-opt needs 2.0 GiB of memory for the test cases of 'x.cu', and 1.0 GiB are "
            "available");
  // Files in memory take it, too.
  EXPECT_EQ(refusal({2 * gibibyte, gibibyte}, {4 * gibibyte, 2 * gibibyte}), "");
  EXPECT_EQ(refusal({2 * gibibyte, gibibyte}, {4 * gibibyte, 2 * gibibyte}, /*inMemory=*/true),
            "kb-opt needs 3.0 GiB of memory for the test cases of 'x.cu', and 2.0 GiB are "
            "available");
}

TEST(CaseSpace, CountsOtherInputsOnlyWhereTheyDiffer) {
  TemporaryDirectory folder = llvm::cantFail(TemporaryDirectory::create("case-space"));
  FileSystem &files = realFileSystem();
  llvm::cantFail(files.write(folder.file(kbrt::dataFileName), std::string(1000, 'd')));
  llvm::cantFail(files.write(folder.file(kbrt::observablesFileName), std::string(100, 'o')));
  kbrt::Plan plan;
  plan.buffers.resize(1);
  plan.buffers[0].bytes = 1000;
  plan.buffers[0].element = kbrt::ElementType::F32;
  plan.steps.push_back(kbrt::UploadStep{kbrt::Region::linear({0, 0}, 1000), 0});
  CaseSpace space = spaceForCases(plan, folder.path());
  EXPECT_EQ(space.diskBytes, 3 * 1000u + 100);
  EXPECT_EQ(space.memoryBytes, 3 * 100u);
  plan.buffers[0].element = kbrt::ElementType::I32;
  EXPECT_EQ(spaceForCases(plan, folder.path()).diskBytes, 100u);
}

TEST(FreeSpace, IsThatOfThisMachine) {
  EXPECT_GT(availableMemory(), uint64_t(1) << 20);
  EXPECT_LT(availableMemory(), uint64_t(1) << 60);
  EXPECT_GT(freeDiskSpace("/"), 0u);
  EXPECT_EQ(freeDiskSpace("/no/such/folder"), std::numeric_limits<uint64_t>::max());
  EXPECT_FALSE(liesInMemory("/proc"));
}

} // namespace
