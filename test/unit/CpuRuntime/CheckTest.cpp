//===- CheckTest.cpp - bounds, alignment, initialisation ------------------===//
#include "TestImage.h"

using namespace kbrt;
using namespace kbrt::test;

namespace {

/// A checked access, as compiled code does it.
template <typename T> T load(uint32_t site, const T *p) {
  kbrt_check_load(site, p, sizeof(T));
  return *static_cast<const volatile T *>(p);
}
template <typename T> void store(uint32_t site, T *p, T value) {
  kbrt_check_store(site, p, sizeof(T));
  *static_cast<volatile T *>(p) = value;
}

/// out[i] = in[i + shift]: sites 0 and 1.
void copyShifted(void **args, const Block *block, Thread *thread) {
  auto *in = argument<int *>(args, 0), *out = argument<int *>(args, 1);
  int shift = argument<int>(args, 2);
  uint32_t i = block->ctaid.x * block->ntid.x + thread->tid.x;
  store(1, out + i, load(0, in + int(i) + shift));
}

void readShared(void **args, const Block *block, Thread *thread) {
  auto *out = argument<int *>(args, 0);
  auto *shared = reinterpret_cast<int *>(block->shared);
  if (thread->linear < 8)
    store(0, shared + thread->linear, 1);
  kbrt_barrier(2, 0, 0);
  store(3, out + block->ctaid.x * 16 + thread->linear, load(1, shared + thread->linear));
}

/// tile has 8 ints, other 8 more behind it: thread 8 leaves tile but not shared memory.
void leaveTile(void **, const Block *block, Thread *thread) {
  store(0, reinterpret_cast<int *>(block->shared) + thread->linear, 1);
}

void localArray(void **args, const Block *, Thread *thread) {
  auto *out = argument<int *>(args, 0);
  int n = argument<int>(args, 1);
  int array[8];
  kbrt_local_begin(0, array, sizeof array);
  for (int i = 0; i < 4; ++i)
    store(1, array + i, i);
  out[0] = load(2, array + n);
  kbrt_local_end(array);
}

struct Pair {
  char c;
  int i;
};
void copyStruct(void **args, const Block *, Thread *) {
  auto *in = argument<Pair *>(args, 0), *out = argument<Pair *>(args, 1);
  store(0, &in->c, 'x');
  store(0, &in->i, 5);
  kbrt_check_copy(1, out, in, sizeof(Pair));
  memcpy(static_cast<void *>(out), in, sizeof(Pair));
  load(2, &out->i);
  load(3, reinterpret_cast<char *>(out) + 1); // padding that nobody wrote
}

/// The two words of a Pair of which the first has one byte, and a word of which none is written.
void moveWords(void **args, const Block *, Thread *) {
  auto *in = argument<Pair *>(args, 0);
  store(0, &in[0].c, 'x');
  store(0, &in[0].i, 5);
  kbrt_check_move(1, &in[0].c, 4);
  kbrt_check_move(1, &in[0].i, 4);
  kbrt_check_load(2, &in[0].c, 4);
  kbrt_check_move(3, &in[1].c, 4);
}

void misaligned(void **args, const Block *, Thread *) {
  auto *p = argument<char *>(args, 0);
  kbrt_check_load(0, p + 4, 16);
}

struct CheckImage : TestImage {
  CheckImage() : TestImage(ImageMode::Check) {}
  void copyKernel() {
    site(AccessKind::Load, MemorySpace::Global, 4, "in");
    site(AccessKind::Store, MemorySpace::Global, 4, "out");
    kernel("copy", copyShifted, {8, 8, 4});
    load();
  }
};

} // namespace

TEST(Check, FindsNothingInACorrectKernel) {
  CheckImage image;
  image.copyKernel();
  DeviceArray<int> in(128), out(128);
  in.fill(3);
  LaunchResult result = image.launch("copy", {2}, {64}, 0, in.data, out.data, 0);
  EXPECT_EQ(result.status, LaunchStatus::Ok);
  EXPECT_TRUE(result.findings.empty()) << toText(result.findings[0]);
  EXPECT_EQ(out.data[127], 3);
}

TEST(Check, FindsReadsPastTheEnd) {
  CheckImage image;
  image.copyKernel();
  DeviceArray<int> in(128), out(128);
  in.fill(3);
  LaunchResult result = image.launch("copy", {2}, {64}, 0, in.data, out.data, 2);
  ASSERT_EQ(result.findings.size(), 1u);
  EXPECT_EQ(result.findings[0].kind, FindingKind::OutOfBounds);
  EXPECT_EQ(toText(result.findings[0]), "out-of-bounds in copy at dir/k.cu:1, array in: load of 4 "
                                        "bytes 0 bytes past the end of in (512 bytes) "
                                        "(block (1,0,0), thread (62,0,0)), 2 times");
}

TEST(Check, FindsReadsBeforeTheStart) {
  CheckImage image;
  image.copyKernel();
  DeviceArray<int> in(64), out(64);
  in.fill(3);
  LaunchResult result = image.launch("copy", {1}, {64}, 0, in.data, out.data, -1);
  ASSERT_EQ(result.findings.size(), 1u);
  EXPECT_NE(result.findings[0].message.find("4 bytes before the start of in"), std::string::npos)
      << result.findings[0].message;
}

TEST(Check, NamesTheSiteOfAFaultFarOutside) {
  CheckImage image;
  image.copyKernel();
  DeviceArray<int> in(64), out(64);
  in.fill(3);
  LaunchResult result = image.launch("copy", {1}, {64}, 0, in.data, out.data, 1 << 30);
  EXPECT_EQ(result.status, LaunchStatus::Fault);
  EXPECT_NE(result.message.find("k.cu:1"), std::string::npos) << result.message;
  ASSERT_EQ(result.findings.size(), 1u);
  EXPECT_EQ(result.findings[0].kind, FindingKind::OutOfBounds);
}

TEST(Check, FindsReadsOfWhatNobodyWrote) {
  CheckImage image;
  image.copyKernel();
  DeviceArray<int> in(64), out(64);
  memset(in.data, 0, 256);
  DeviceMemory::get().noteHostWrite(in.data, 40 * 4);
  LaunchResult result = image.launch("copy", {1}, {64}, 0, in.data, out.data, 0);
  ASSERT_EQ(result.findings.size(), 1u);
  EXPECT_EQ(result.findings[0].kind, FindingKind::UninitialisedGlobal);
  EXPECT_EQ(result.findings[0].count, 24u);
  EXPECT_EQ(result.findings[0].offset, 160u);
  // What a kernel wrote counts as written for the next one.
  DeviceArray<int> again(64);
  result = image.launch("copy", {1}, {64}, 0, out.data, again.data, 0);
  EXPECT_TRUE(result.findings.empty());
}

TEST(Check, FindsReadsOfSharedMemoryThatNobodyWrote) {
  CheckImage image;
  image.site(AccessKind::Store, MemorySpace::Shared, 4, "tile");
  image.site(AccessKind::Load, MemorySpace::Shared, 4, "tile");
  image.site(AccessKind::Barrier);
  image.site(AccessKind::Store, MemorySpace::Global, 4, "out");
  static const SharedInfo shared[] = {{"tile", 0, 64, 4, "int", 1}};
  KernelInfo &kernel = image.kernel("k", readShared);
  kernel.sharedSpan = 64;
  kernel.shared = shared;
  kernel.sharedCount = 1;
  DeviceArray<int> out(32);
  LaunchResult result = image.launch("k", {2}, {16}, 0, out.data);
  ASSERT_EQ(result.findings.size(), 1u);
  EXPECT_EQ(result.findings[0].kind, FindingKind::UninitialisedShared);
  EXPECT_EQ(result.findings[0].array, "tile");
  EXPECT_EQ(result.findings[0].offset, 32u);
  EXPECT_EQ(result.findings[0].count, 16u);
}

TEST(Check, FindsStoresPastTheNamedSharedArray) {
  CheckImage image;
  image.site(AccessKind::Store, MemorySpace::Shared, 4, "tile");
  static const SharedInfo shared[] = {{"tile", 0, 32, 4, "int", 1}, {"other", 32, 32, 4, "int", 2}};
  KernelInfo &kernel = image.kernel("k", leaveTile);
  kernel.sharedSpan = 64;
  kernel.shared = shared;
  kernel.sharedCount = 2;
  LaunchResult result = image.launch("k", {1}, {9}, 0, nullptr);
  ASSERT_EQ(result.findings.size(), 1u);
  EXPECT_EQ(result.findings[0].kind, FindingKind::OutOfBounds);
  EXPECT_NE(result.findings[0].message.find("0 bytes past the end of tile (32 bytes)"),
            std::string::npos);
}

TEST(Check, FindsMisuseOfLocalArrays) {
  for (auto [index, kind] : {std::pair{3, -1}, {6, int(FindingKind::UninitialisedLocal)}}) {
    CheckImage image;
    image.site(AccessKind::LocalArray, MemorySpace::Local, 32, "array");
    image.site(AccessKind::Store, MemorySpace::Local, 4, "array");
    image.site(AccessKind::Load, MemorySpace::Local, 4, "array");
    image.kernel("k", localArray, {8, 4});
    DeviceArray<int> out(1);
    LaunchResult result = image.launch("k", {1}, {2}, 0, out.data, index);
    ASSERT_EQ(result.findings.size(), kind < 0 ? 0u : 1u);
    if (kind >= 0)
      EXPECT_EQ(int(result.findings[0].kind), kind);
  }
}

TEST(Check, LetsPaddingTravelInStructCopies) {
  CheckImage image;
  for (int i = 0; i < 4; ++i)
    image.site(i < 1 ? AccessKind::Store : AccessKind::Load, MemorySpace::Global, i == 3 ? 1 : 4,
               "s");
  image.kernel("k", copyStruct, {8, 8});
  image.load(); // memory that is allocated before is taken for written
  DeviceArray<Pair> in(1), out(1);
  LaunchResult result = image.launch("k", {1}, {1}, 0, in.data, out.data);
  ASSERT_EQ(result.findings.size(), 1u);
  EXPECT_EQ(result.findings[0].kind, FindingKind::UninitialisedGlobal);
  EXPECT_EQ(result.findings[0].place.site, 3u);
}

TEST(Check, LetsPaddingBeMovedButNotUsed) {
  CheckImage image;
  for (int i = 0; i < 4; ++i)
    image.site(i < 1 ? AccessKind::Store : AccessKind::Load, MemorySpace::Global, 4, "s");
  image.kernel("k", moveWords, {8});
  image.load();
  DeviceArray<Pair> in(2);
  LaunchResult result = image.launch("k", {1}, {1}, 0, in.data);
  ASSERT_EQ(result.findings.size(), 2u);
  EXPECT_EQ(result.findings[0].place.site, 2u); // used
  EXPECT_EQ(result.findings[1].place.site, 3u); // nothing of it was written
}

TEST(Check, FindsMisalignedVectors) {
  CheckImage image;
  image.site(AccessKind::Load, MemorySpace::Global, 16, "v");
  image.kernel("k", misaligned);
  DeviceArray<char> p(64);
  p.fill(0);
  LaunchResult result = image.launch("k", {1}, {1}, 0, p.data);
  ASSERT_EQ(result.findings.size(), 1u);
  EXPECT_EQ(result.findings[0].kind, FindingKind::Misaligned);
}

TEST(Check, FindsStoresToConstantMemory) {
  CheckImage image;
  static void *slot;
  image.variables.push_back(
      {"c", VariableKind::Constant, 0, 4, 256, nullptr, &slot, nullptr, 0, "int", 1});
  image.copyKernel();
  int *constant = static_cast<int *>(slot);
  LaunchResult result = image.launch("copy", {1}, {1}, 0, constant, constant, 0);
  ASSERT_EQ(result.findings.size(), 1u);
  EXPECT_EQ(result.findings[0].kind, FindingKind::WriteToConstant);
}
