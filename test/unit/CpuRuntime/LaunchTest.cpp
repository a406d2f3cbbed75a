//===- LaunchTest.cpp - threads, blocks and how they end ------------------===//
#include "TestImage.h"
#include <algorithm>

using namespace kbrt;
using namespace kbrt::test;

namespace {

void writeIndex(void **args, const Block *block, Thread *thread) {
  int *out = argument<int *>(args, 0);
  uint32_t i = block->ctaid.x * block->ntid.x + thread->tid.x;
  out[i] = int(i) * 3;
}

void writeIndexLoop(void **args, const Block *block, Thread *thread, uint32_t first,
                    uint32_t last) {
  for (uint32_t i = first; i < last; ++i) {
    thread->tid = {i, 0, 0};
    thread->linear = i;
    writeIndex(args, block, thread);
  }
}

void orderOfThreads(void **args, const Block *, Thread *thread) {
  int *out = argument<int *>(args, 0);
  out[++out[0]] = int(thread->linear);
}

void readNull(void **, const Block *, Thread *) {
  volatile int *p = nullptr;
  (void)*p;
}

int recurse(volatile int *depth) {
  volatile char frame[4096];
  frame[0] = char(*depth);
  *depth = *depth + 1;
  return *depth < 0 ? 0 : recurse(depth) + frame[0];
}
void recurseForever(void **, const Block *, Thread *) {
  volatile int depth = 0;
  recurse(&depth);
}

__attribute__((no_sanitize("undefined"))) void divide(void **args, const Block *, Thread *) {
  volatile int zero = argument<int>(args, 0);
  volatile int numerator = 100;
  volatile int x = numerator / zero;
  (void)x;
}

void loopForever(void **, const Block *, Thread *) {
  for (volatile int i = 0;; i = i + 1)
    ;
}

void spinForever(void **args, const Block *, Thread *) {
  volatile int *flag = argument<int *>(args, 0);
  while (!*flag)
    kbrt_yield(0);
}

void trapThread5(void **, const Block *, Thread *thread) {
  if (thread->linear == 5)
    kbrt_trap(0);
}
void assertThread5(void **, const Block *, Thread *thread) {
  if (thread->linear == 5)
    kbrt_assertfail(0, "x > 0", "k.cu", 12, "void k()");
}
void reachUnsupported(void **, const Block *, Thread *) { kbrt_unsupported(0); }

void print(void **, const Block *block, Thread *) {
  struct {
    int i;
    double d;
    const char *s;
    long long l;
  } arguments = {7, 2.5, "text", -5};
  kbrt_vprintf("%d %5.2f [%s] %lld %%\n", &arguments);
}

void writeOutside(void **args, const Block *, Thread *) {
  auto *p = argument<volatile int *>(args, 0);
  p[17] = 1;
}

void heap(void **args, const Block *, Thread *thread) {
  auto **out = argument<int **>(args, 0);
  if (out[thread->linear]) {
    kbrt_free(out[thread->linear]);
    return;
  }
  out[thread->linear] = static_cast<int *>(kbrt_malloc(4));
  *out[thread->linear] = int(thread->linear);
}

} // namespace

TEST(Launch, RunsEveryThreadOfEveryBlock) {
  TestImage image;
  image.kernel("k", writeIndex);
  image.kernel("loop", writeIndex).loop = writeIndexLoop;
  image.kernels.back().needsFibers = 0;
  for (const char *name : {"k", "loop"})
    for (uint64_t seed : {0, 1, 99}) {
      DeviceArray<int> out(7 * 33);
      image.options.seed = seed;
      LaunchResult result = image.launch(name, {7}, {33}, 0, out.data);
      EXPECT_EQ(result.status, LaunchStatus::Ok) << result.message;
      EXPECT_TRUE(result.findings.empty());
      for (int i = 0; i < 7 * 33; ++i)
        ASSERT_EQ(out.data[i], i * 3);
    }
}

TEST(Launch, ShufflesThreadsBySeed) {
  TestImage image;
  image.kernel("k", orderOfThreads);
  auto orderWith = [&](uint64_t seed) {
    DeviceArray<int> out(65);
    out.fill(0);
    image.options.seed = seed;
    image.launch("k", {1}, {64}, 0, out.data);
    return std::vector<int>(out.data + 1, out.data + 65);
  };
  std::vector<int> natural = orderWith(0), one = orderWith(1);
  for (int i = 0; i < 64; ++i)
    EXPECT_EQ(natural[i], i);
  EXPECT_NE(one, natural);
  EXPECT_EQ(one, orderWith(1));
  EXPECT_NE(one, orderWith(2));
  std::sort(one.begin(), one.end());
  EXPECT_EQ(one, natural);
}

TEST(Launch, RefusesWhatCudaRefuses) {
  TestImage image;
  image.kernel("k", writeIndex);
  image.kernel("bounded", writeIndex).maxThreads = 128;
  int *none = nullptr;
  for (auto [grid, block] :
       {std::pair<Dim3, Dim3>{{1}, {1025}}, {{0}, {32}}, {{1, 65536}, {32}}, {{1}, {1, 1, 65}}}) {
    LaunchResult result = image.launch("k", grid, block, 0, none);
    EXPECT_EQ(result.status, LaunchStatus::InvalidLaunch);
    EXPECT_FALSE(result.message.empty());
  }
  EXPECT_EQ(image.launch("bounded", {1}, {129}, 0, none).status, LaunchStatus::InvalidLaunch);
  EXPECT_EQ(image.launch("k", {1}, {32}, 300000, none).status, LaunchStatus::InvalidLaunch);
}

TEST(Launch, ReportsANullPointer) {
  TestImage image;
  image.kernel("k", readNull);
  LaunchResult result = image.launch("k", {1}, {32}, 0, nullptr);
  EXPECT_EQ(result.status, LaunchStatus::Fault);
  EXPECT_NE(result.message.find("null pointer"), std::string::npos) << result.message;
  EXPECT_NE(result.message.find("block (0,0,0), thread (0,0,0)"), std::string::npos)
      << result.message;
}

TEST(Launch, ReportsAStackOverflow) {
  TestImage image;
  image.kernel("k", recurseForever);
  LaunchResult result = image.launch("k", {1}, {32}, 0, nullptr);
  EXPECT_EQ(result.status, LaunchStatus::Fault);
  EXPECT_NE(result.message.find("stack overflow"), std::string::npos) << result.message;
}

TEST(Launch, ReportsADivisionByZero) {
  TestImage image;
  image.kernel("k", divide, {4});
  LaunchResult result = image.launch("k", {1}, {32}, 0, 0);
  EXPECT_EQ(result.status, LaunchStatus::Fault);
  EXPECT_NE(result.message.find("division by zero"), std::string::npos) << result.message;
}

TEST(Launch, WorksAgainAfterAFault) {
  TestImage image;
  image.kernel("bad", readNull);
  image.kernel("k", writeIndex);
  DeviceArray<int> out(32);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(image.launch("bad", {1}, {32}, 0, nullptr).status, LaunchStatus::Fault);
    EXPECT_EQ(image.launch("k", {1}, {32}, 0, out.data).status, LaunchStatus::Ok);
    EXPECT_EQ(out.data[31], 93);
  }
}

TEST(Launch, EndsAnEndlessLoopAtTheWallLimit) {
  TestImage image;
  image.kernel("k", loopForever);
  image.options.wallSeconds = 0.05;
  LaunchResult result = image.launch("k", {1}, {32}, 0, nullptr);
  EXPECT_EQ(result.status, LaunchStatus::Timeout);
  EXPECT_LT(result.wallSeconds, 2);
}

TEST(Launch, NamesASpinThatCannotEnd) {
  TestImage image;
  image.site(AccessKind::Spin);
  image.kernel("k", spinForever);
  DeviceArray<int> flag(1);
  flag.fill(0);
  LaunchResult result = image.launch("k", {2}, {32}, 0, flag.data);
  EXPECT_EQ(result.status, LaunchStatus::Timeout);
  EXPECT_NE(result.message.find("k.cu:1"), std::string::npos) << result.message;
  EXPECT_NE(result.message.find("one after the other"), std::string::npos) << result.message;
}

TEST(Launch, ReportsTrapAssertAndUnsupported) {
  TestImage image;
  image.site(AccessKind::Trap);
  image.unsupported.push_back({"tex.2d", "dir/k.cu", 4, 1});
  image.kernel("trap", trapThread5);
  image.kernel("assert", assertThread5);
  image.kernel("unsupported", reachUnsupported);
  LaunchResult result = image.launch("trap", {1}, {32}, 0, nullptr);
  EXPECT_EQ(result.status, LaunchStatus::Trap);
  EXPECT_EQ(result.message, "trap in kernel trap, block (0,0,0), thread (5,0,0), k.cu:1");
  result = image.launch("assert", {1}, {32}, 0, nullptr);
  EXPECT_EQ(result.status, LaunchStatus::Assert);
  EXPECT_EQ(result.message,
            "k.cu:12: void k(): block: [0,0,0], thread: [5,0,0] Assertion `x > 0` failed.");
  result = image.launch("unsupported", {1}, {32}, 0, nullptr);
  EXPECT_EQ(result.status, LaunchStatus::Unsupported);
  EXPECT_NE(result.message.find("'tex.2d' (k.cu:4)"), std::string::npos) << result.message;
}

TEST(Launch, PrintsLikeCuda) {
  TestImage image;
  image.kernel("k", print);
  std::string printed;
  image.options.print = [&](std::string_view text) { printed += text; };
  image.launch("k", {1}, {1}, 0, nullptr);
  EXPECT_EQ(printed, "7  2.50 [text] -5 %\n");
}

TEST(Launch, FindsAChangedGuardZoneInPlainMode) {
  TestImage image;
  image.kernel("k", writeOutside);
  DeviceArray<int> a(16, "d_a");
  LaunchResult result = image.launch("k", {1}, {1}, 0, a.data);
  EXPECT_EQ(result.status, LaunchStatus::Ok);
  ASSERT_EQ(result.findings.size(), 1u);
  EXPECT_EQ(result.findings[0].kind, FindingKind::GuardZoneChanged);
  EXPECT_EQ(result.findings[0].array, "d_a");
  EXPECT_EQ(result.findings[0].offset, 68u);
}

TEST(Launch, HasAHeap) {
  TestImage image;
  image.kernel("k", heap);
  DeviceArray<int *> out(40);
  out.fill(nullptr);
  uint64_t before = DeviceMemory::get().getLiveBytes();
  EXPECT_EQ(image.launch("k", {1}, {40}, 0, out.data).status, LaunchStatus::Ok);
  EXPECT_EQ(*out.data[39], 39);
  EXPECT_EQ(DeviceMemory::get().getLiveBytes(), before + 160);
  EXPECT_EQ(image.launch("k", {1}, {40}, 0, out.data).status, LaunchStatus::Ok);
  EXPECT_EQ(DeviceMemory::get().getLiveBytes(), before);
}

TEST(Launch, RefusesAnImageOfAnotherVersion) {
  ImageInfo info{};
  info.abiVersion = imageAbiVersion + 1;
  std::string error;
  EXPECT_EQ(Image::fromInfo(info, error), nullptr);
  EXPECT_NE(error.find("device ABI"), std::string::npos);
  EXPECT_EQ(Image::load("no/such/image.so", error), nullptr);
  EXPECT_NE(error.find("cannot load the image"), std::string::npos);
}

TEST(Image, PlacesAndResetsVariables) {
  TestImage image;
  static void *slots[2];
  static const int initial[3] = {1, 2, 3};
  static const VariableRelocation relocation{0, 0, 8};
  image.variables.push_back(
      {"table", VariableKind::Device, 0, 4, 12, initial, &slots[0], nullptr, 0, "int", 1});
  image.variables.push_back(
      {"pointer", VariableKind::Device, 0, 8, 8, nullptr, &slots[1], &relocation, 1, "int", 2});
  Image &loaded = image.load();
  const SymbolInfo *table = loaded.findSymbol("table");
  ASSERT_TRUE(table);
  EXPECT_EQ(table->address, reinterpret_cast<uint64_t>(slots[0]));
  int *values = static_cast<int *>(slots[0]);
  EXPECT_EQ(**static_cast<int **>(slots[1]), 3);
  values[1] = 77;
  loaded.resetSymbols();
  EXPECT_EQ(values[1], 2);
  EXPECT_EQ(loaded.findSymbol("other"), nullptr);
}

TEST(Image, FindsKernelsByPlainNameOnlyIfUnique) {
  TestImage image;
  image.kernel("_Z1kPf", writeIndex).displayName = "k(float*)";
  image.kernel("_Z1fIiEvPT_", writeIndex).displayName = "void ns::f<int>(int*)";
  image.kernel("_Z1fIfEvPT_", writeIndex).displayName = "void ns::f<float>(float*)";
  Image &loaded = image.load();
  EXPECT_EQ(loaded.findKernel("k"), loaded.findKernel("_Z1kPf"));
  EXPECT_TRUE(loaded.findKernel("k"));
  EXPECT_EQ(loaded.findKernel("f"), nullptr);
  EXPECT_TRUE(loaded.findKernel("_Z1fIfEvPT_"));
}
