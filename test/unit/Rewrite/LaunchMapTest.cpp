//===- LaunchMapTest.cpp - Plans derived from texts -------------------------===//
//
// What a derived plan holds, and what is refused because it is not certain. That derived plans are
// those that hosts make is held by test/passes/launch-map.
//
//===----------------------------------------------------------------------===//
#include "kb-opt/Rewrite/LaunchMap.h"
#include "../Source/SourceTestUtils.h"
#include "kbrt/Memory.h"
#include "llvm/ADT/StringExtras.h"
#include <cstring>

using namespace kbopt;
using namespace kbopt::test;
using namespace kbrt;

namespace {

constexpr llvm::StringLiteral kernels = R"(
__global__ void k(float *y, const float *x, int n) {}
__global__ void other(float *y, int n) {}
__global__ void fast(float *y, const float *x, int n, float scale) {}
__global__ void part(float *sums, const float *x, int n) {}
)";

Argument pointerTo(const Plan &plan, uint32_t buffer, uint64_t offset = 0) {
  const uint64_t address = plan.buffers[buffer].address + offset;
  Argument argument;
  argument.bytes.resize(8);
  std::memcpy(argument.bytes.data(), &address, 8);
  argument.pointers = {{0, {buffer, offset}}};
  return argument;
}

template <class T> Argument number(T value) {
  Argument argument;
  argument.bytes.resize(sizeof value);
  std::memcpy(argument.bytes.data(), &value, sizeof value);
  return argument;
}

/// The launch of `k` with n = 100.
LaunchStep launchOfK(const Plan &plan, uint32_t blocks = 1) {
  return {"_Z1kPfPKfi",
          {blocks, 1, 1},
          {256, 1, 1},
          0,
          0,
          {pointerTo(plan, 0), pointerTo(plan, 1), number(100)}};
}

/// Two buffers of 4 KiB, `k` on them once, and a result.
Plan planOfK() {
  Plan plan;
  for (uint64_t i = 0; i < 2; ++i) {
    plan.buffers.push_back(
        {4096, BufferKind::Device, arenaBase + (i + 1) * 0x10000, ElementType::F32, {}});
    plan.steps.push_back(AllocStep{static_cast<uint32_t>(i)});
  }
  plan.steps.push_back(launchOfK(plan));
  plan.steps.push_back(ReadStep{Region::linear({0, 0}, 400), 0, 0, false});
  return plan;
}

std::string shown(const Argument &argument) {
  if (argument.pointers.size() == 1)
    return "b" + std::to_string(argument.pointers[0].target.buffer) + "+" +
           std::to_string(argument.pointers[0].target.offset);
  int value = 0;
  std::memcpy(&value, argument.bytes.data(), std::min<size_t>(sizeof value, argument.bytes.size()));
  if (argument.bytes.size() == sizeof value)
    return std::to_string(value);
  return llvm::toHex(argument.bytes);
}

/// A word for each step: "alloc(b2 400)", "_Z1kPfPKfi<1,256>(b0+0, b1+0, 100)".
std::string shown(const Plan &plan) {
  std::vector<std::string> all;
  for (const Step &step : plan.steps) {
    std::string text = stepName(step);
    if (auto *alloc = std::get_if<AllocStep>(&step))
      text += "(b" + std::to_string(alloc->buffer) + " " +
              std::to_string(plan.buffers[alloc->buffer].bytes) + ")";
    else if (auto *free = std::get_if<FreeStep>(&step))
      text += "(b" + std::to_string(free->buffer) + ")";
    else if (auto *fill = std::get_if<FillStep>(&step))
      text += "(b" + std::to_string(fill->to.at.buffer) + " " + std::to_string(fill->to.bytes()) +
              " " + std::to_string(fill->value) + ")";
    else if (auto *launch = std::get_if<LaunchStep>(&step)) {
      std::vector<std::string> arguments;
      for (const Argument &argument : launch->arguments)
        arguments.push_back(shown(argument));
      text = launch->kernel + "<" + std::to_string(launch->grid.x) + "," +
             std::to_string(launch->block.x) +
             (launch->stream ? ",stream " + std::to_string(launch->stream) : "") + ">(" +
             llvm::join(arguments, ", ") + ")";
    }
    all.push_back(std::move(text));
  }
  return llvm::join(all, " ");
}

/// What `plan` becomes where \p before is \p after, or "none: …".
std::string derived(llvm::StringRef before, llvm::StringRef after, const Plan &plan = planOfK()) {
  auto original = parse((kernels + before).str()), candidate = parse((kernels + after).str());
  std::string whyNot;
  auto result = LaunchMap(*original, *candidate).derivePlan(plan, whyNot);
  return result ? shown(*result) : "none: " + whyNot;
}

/// The same where \p replacement takes the place of the launch of `k` in a function.
std::string replaced(llvm::StringRef replacement, const Plan &plan = planOfK(),
                     llvm::StringRef helpers = "") {
  const std::string head = "void run(float *y, const float *x, int n, cudaStream_t s) {\n";
  return derived(head + "  k<<<(n + 255) / 256, 256>>>(y, x, n);\n}\n",
                 helpers.str() + head + replacement.str() + "\n}\n", plan);
}

/// Steps of `plan` with \p launches in the place of the launch.
std::string with(llvm::StringRef launches) {
  return ("alloc(b0 4096) alloc(b1 4096) " + launches + (launches.empty() ? "" : " ") + "read")
      .str();
}
constexpr llvm::StringLiteral unchanged = "_Z1kPfPKfi<1,256>(b0+0, b1+0, 100)";
const std::string fastOnes = "_Z4fastPfPKfif<1,128>(b0+0, b1+0, 100, 1065353216)";

TEST(LaunchMap, TakesTheBranchThatTheConditionSays) {
  EXPECT_EQ(replaced("if (n % 4 == 0) fast<<<(n + 127) / 128, 128>>>(y, x, n, 1.0f); else k<<<(n + "
                     "255) / 256, 256>>>(y, x, n);"),
            with(fastOnes));
  EXPECT_EQ(replaced("if (n % 8 == 0) fast<<<(n + 127) / 128, 128>>>(y, x, n, 1.0f); else k<<<(n + "
                     "255) / 256, 256>>>(y, x, n);"),
            with(unchanged));
}

TEST(LaunchMap, ComparesAddresses) {
  EXPECT_EQ(replaced("if (x + n <= y || y + n <= x && (size_t)x % 16 == 0) "
                     "fast<<<(n + 127) / 128, 128>>>(y, x, n, 1.0f);"),
            with(fastOnes));
  EXPECT_EQ(replaced("if ((size_t)(x + 1) % 16 == 0) fast<<<1, 128>>>(y, x, n, 1.0f); else "
                     "other<<<1, 32>>>(y + 2, n - 2);"),
            with("_Z5otherPfi<1,32>(b0+8, 98)"));
}

TEST(LaunchMap, AllocatesTemporaries) {
  EXPECT_EQ(
      replaced("float *sums; cudaMalloc(&sums, n * sizeof(float)); cudaMemsetAsync(sums, 7, n); "
               "part<<<2, 64>>>(sums, x, n); other<<<1, 32>>>(sums + 1, n); cudaFree(sums);"),
      with("alloc(b2 400) fill(b2 100 7) _Z4partPfPKfi<2,64>(b2+0, b1+0, 100) "
           "_Z5otherPfi<1,32>(b2+4, 100) free(b2)"));
}

TEST(LaunchMap, KeepsWorkspacesBetweenLaunches) {
  Plan plan = planOfK();
  plan.steps.insert(plan.steps.begin() + 3, launchOfK(plan));
  EXPECT_EQ(replaced("static float *space; static int size; if (size < n) { cudaFree(space); "
                     "cudaMalloc(&space, n * 4); size = n; } part<<<1, 64>>>(space, x, n);",
                     plan),
            with("alloc(b2 400) _Z4partPfPKfi<1,64>(b2+0, b1+0, 100) "
                 "_Z4partPfPKfi<1,64>(b2+0, b1+0, 100)"));
}

TEST(LaunchMap, FollowsLongPlans) {
  Plan plan = planOfK();
  for (int i = 0; i < 20000; ++i) {
    LaunchStep launch = launchOfK(plan);
    launch.arguments[2] = number(100 + i % 50);
    plan.steps.insert(plan.steps.end() - 1, launch);
  }
  auto original = parse((kernels + "void run(float *y, const float *x, int n) {\n"
                                   "k<<<1, 256>>>(y, x, n); }")
                            .str());
  auto candidate = parse((kernels + "void run(float *y, const float *x, int n) {\n"
                                    "if (n % 2 == 0) other<<<1, 32>>>(y, n); }")
                             .str());
  std::string whyNot;
  auto result = LaunchMap(*original, *candidate).derivePlan(plan, whyNot);
  ASSERT_TRUE(result) << whyNot;
  EXPECT_EQ(result->steps.size(), 3u + 1 + 10000);
  EXPECT_EQ(shown(*result).substr(0, 64), with("_Z5otherPfi<1,32>(b0+0, 100) _Z5ot").substr(0, 64));
}

TEST(LaunchMap, KeepsWhatComesBetweenLaunchesInARow) {
  Plan plan = planOfK();
  plan.buffers.push_back({64, BufferKind::Pinned, arenaBase + 0x90000, ElementType::F32, {}});
  for (int i = 0; i < 2; ++i)
    plan.steps.insert(plan.steps.end() - 1, launchOfK(plan));
  plan.steps.insert(plan.steps.begin() + 4, AllocStep{2});
  plan.steps.insert(plan.steps.end() - 1, launchOfK(plan));
  const std::string head = "void run(float *y, const float *x, int n) {\n";
  EXPECT_EQ(derived(head + "k<<<1, 256>>>(y, x, n);\nk<<<1, 256>>>(y, x, n); }",
                    head + "k<<<1, 256>>>(y, x, n);\nother<<<1, 32>>>(y, n); }", plan),
            with((unchanged + " _Z5otherPfi<1,32>(b0+0, 100) alloc(b2 64) " + unchanged +
                  " _Z5otherPfi<1,32>(b0+0, 100)")
                     .str()));
}

TEST(LaunchMap, MakesRecords) {
  const std::string record = "struct Half { int of, rest = 3; explicit Half(int n) : of(n / 2) { "
                             "while (rest < 5) ++rest; } };\n"
                             "__global__ void h(float *y, Half half) {}\n";
  EXPECT_EQ(replaced("h<<<1, 32>>>(y, Half(n));", planOfK(), record),
            with("_Z1hPf4Half<1,32>(b0+0, 3200000005000000)"));
}

TEST(LaunchMap, FollowsFunctionsLoopsAndVariables) {
  EXPECT_EQ(
      replaced(
          "int blocks = 0; for (int i = 0; i < 3; ++i) blocks += i; dim3 grid(blocks); "
          "if (fits(n, 100)) fast<<<grid, std::min(n, 64)>>>(y, x, n, half(2.0f));",
          planOfK(),
          "#include <algorithm>\nstatic inline bool fits(long n, int most) { return n <= most; }\n"
          "float half(float x) { return x / 2; }\n"),
      with("_Z4fastPfPKfif<3,64>(b0+0, b1+0, 100, 1065353216)"));
}

TEST(LaunchMap, TellsAllocationsApart) {
  const std::string test = "static inline bool lie_in_different_allocations(const void *a, const "
                           "void *b) { return !a; }\n";
  const std::string choice = "if (lie_in_different_allocations(x, y)) "
                             "fast<<<1, 128>>>(y, x, n, 1.0f); else k<<<1, 1>>>(y, x, n);";
  EXPECT_EQ(replaced(choice, planOfK(), test), with(fastOnes));
  Plan plan = planOfK();
  std::get<LaunchStep>(plan.steps[2]).arguments[1] = pointerTo(plan, 0, 1024);
  EXPECT_EQ(replaced(choice, plan, test), with("_Z1kPfPKfi<1,1>(b0+0, b0+1024, 100)"));
  // The user's own function of that name is what it is.
  EXPECT_EQ(derived(test + "void run(float *y, const float *x, int n) { k<<<1, 256>>>(y, x, n); }",
                    test + "void run(float *y, const float *x, int n) { " + choice + " }"),
            with("_Z1kPfPKfi<1,1>(b0+0, b1+0, 100)"));
}

TEST(LaunchMap, GivesMemoryToLaunches) {
  const std::string given =
      "static inline void *memory_for_launch(size_t bytes, cudaStream_t stream) { void *memory; "
      "return cudaMallocAsync(&memory, bytes, stream) == cudaSuccess ? memory : nullptr; }\n";
  const std::string choice =
      "if (float *sums = n % 4 == 0 ? (float *)memory_for_launch(sizeof(float) * n, 0) : nullptr) "
      "{ "
      "part<<<2, 64>>>(sums, x, n); cudaFreeAsync(sums, 0); } else k<<<1, 1>>>(y, x, n);";
  EXPECT_EQ(replaced(choice, planOfK(), given),
            with("alloc(b2 400) _Z4partPfPKfi<2,64>(b2+0, b1+0, 100) free(b2)"));
  const std::string other = llvm::join(llvm::split(choice, "% 4"), "% 8");
  EXPECT_EQ(replaced(other, planOfK(), given), with("_Z1kPfPKfi<1,1>(b0+0, b1+0, 100)"));
}

TEST(LaunchMap, TakesStreams) {
  Plan plan = planOfK();
  plan.streams = {{3, false, 0}};
  std::get<LaunchStep>(plan.steps[2]).stream = 3;
  const std::string head =
      "void run(float *y, const float *x, int n, cudaStream_t s, cudaStream_t t) {\n";
  EXPECT_EQ(derived(head + "k<<<1, 256, 0, s>>>(y, x, n); }",
                    head + "other<<<1, 32, 0, s>>>(y, n); other<<<1, 32>>>(y, n); }", plan),
            with("_Z5otherPfi<1,32,stream 3>(b0+0, 100) _Z5otherPfi<1,32>(b0+0, 100)"));
  EXPECT_EQ(derived(head + "k<<<1, 256, 0, s>>>(y, x, n); }",
                    head + "other<<<1, 32, 0, t>>>(y, n); }", plan),
            "none: line 7: the launch does not tell what 't' is");
}

TEST(LaunchMap, JoinsLaunches) {
  Plan plan = planOfK();
  plan.steps.insert(
      plan.steps.begin() + 3,
      LaunchStep{"_Z5otherPfi", {1, 1, 1}, {32, 1, 1}, 0, 0, {pointerTo(plan, 0), number(50)}});
  const std::string head = "void run(float *y, const float *x, int n, int m) {\n";
  EXPECT_EQ(derived(head + "k<<<1, 256>>>(y, x, n); other<<<1, 32>>>(y, m); }",
                    head + "fast<<<1, m + 1>>>(y, x, n, 1.0f); }", plan),
            with("_Z4fastPfPKfif<1,51>(b0+0, b1+0, 100, 1065353216)"));
}

TEST(LaunchMap, ChangedConstantsAndGridsAreComputedAnew) {
  const std::string tail = "const int threads = SIZE; dim3 grid((n + kMost - 1) / kMost);\n"
                           "k<<<grid, threads>>>(y, x, n); }";
  auto program = [&](llvm::StringRef most, llvm::StringRef size) {
    return ("#define SIZE " + size + "\nconstexpr int kMost = " + most +
            ";\nvoid run(float *y, const float *x, int n) {\n" + tail)
        .str();
  };
  EXPECT_EQ(derived(program("256", "256"), program("64", "128")),
            with("_Z1kPfPKfi<2,128>(b0+0, b1+0, 100)"));
  // Not where the host does anything else with them.
  EXPECT_EQ(
      derived("constexpr int kMost = 256; int most() { return kMost; }\nvoid run(float *y, const "
              "float *x, int n) { k<<<1, kMost>>>(y, x, n); }",
              "constexpr int kMost = 128; int most() { return kMost; }\nvoid run(float *y, const "
              "float *x, int n) { k<<<1, kMost>>>(y, x, n); }"),
      "none: 'most' differs in more than launches at line 6 of the original");
}

TEST(LaunchMap, RefusesWhatIsNotCertain) {
  EXPECT_EQ(replaced("fast<<<1, 128>>>(y, x, n, 1.0f); y = nullptr;"),
            "none: line 7: 'y' is not a variable of the new statements");
  EXPECT_EQ(
      replaced("fast<<<atoi(\"1\"), 128>>>(y, x, n, 1.0f);", planOfK(), "#include <cstdlib>\n"),
      "none: line 8: what 'atoi' returns is not known");
  EXPECT_EQ(replaced("return;"), "none: line 7: what follows the launch may not run");
  EXPECT_EQ(replaced("fast<<<0, 128>>>(y, x, n, 1.0f);"),
            "none: line 7: the launch has a shape that fails");
  EXPECT_EQ(replaced("fast<<<1, 128, 100000>>>(y, x, n, 1.0f);"),
            "none: line 7: it is not known whether the kernel may have so much shared memory");
  EXPECT_EQ(
      replaced("cudaFuncSetAttribute(fast, cudaFuncAttributeMaxDynamicSharedMemorySize, 100000); "
               "fast<<<1, 128, 100000>>>(y, x, n, 1.0f);"),
      with(fastOnes));
  EXPECT_EQ(replaced("int device; cudaGetDevice(&device); fast<<<device, 128>>>(y, x, n, 1.0f);"),
            "none: line 7: what 'cudaGetDevice' returns is not known");
  EXPECT_EQ(replaced("for (int i = 0; i < 1000000; ++i) ; k<<<1, 256>>>(y, x, n);"),
            "none: line 7: too much is computed in the place of a launch");
  EXPECT_EQ(replaced("fast<<<(n << 30) * 2, 128>>>(y, x, n, 1.0f);"),
            "none: line 7: 'n << 30' is not followed");
}

TEST(LaunchMap, RefusesOtherHosts) {
  const std::string head = "void run(float *y, const float *x, int n) {\n";
  const std::string launch = "k<<<1, 256>>>(y, x, n);\n";
  EXPECT_EQ(derived(head + launch + "cudaDeviceSynchronize(); }", head + launch + "}"),
            "none: 'run' differs in more than launches at line 8 of the original");
  EXPECT_EQ(derived(head + "n += 1;\n" + launch + "}", head + "n += 2;\n" + launch + "}"),
            "none: 'run' differs in more than launches at line 7 of the original");
  EXPECT_EQ(derived(head + launch + "}", "int calls;\n" + head + launch + "}"),
            "none: the candidate adds the variable 'int calls'");
  EXPECT_EQ(derived("int calls;\n" + head + launch + "}", head + launch + "}"),
            "none: 'int calls' of the original is not in the candidate");
  EXPECT_EQ(derived(head + launch + "}\nint f() { return 1; }", head + launch + "}"),
            "none: 'f' of the original is not in the candidate");
}

TEST(LaunchMap, RefusesLaunchesThatMayBeOfTwoPlaces) {
  const std::string head = "void run(float *y, const float *x, int n) {\n";
  const std::string before =
      head + "if (n > 5)\nk<<<1, 256>>>(y, x, n);\nelse\nk<<<1, 256>>>(y, x, n); }";
  EXPECT_EQ(derived(before, head + "if (n > 5)\nfast<<<1, 128>>>(y, x, n, 1.0f);\nelse\nk<<<1, "
                                   "256>>>(y, x, n); }"),
            "none: it is not known whether the launch at line 8 or that at line 10 of the original "
            "was recorded");
  EXPECT_EQ(derived(before, head + "if (n > 5)\nfast<<<1, 128>>>(y, x, n, 1.0f);\nelse\nfast<<<1, "
                                   "128>>>(y, x, n, 1.0f); }"),
            with(fastOnes));
  // A constant tells them apart.
  EXPECT_EQ(
      derived(head + "if (n > 5)\nk<<<1, 256>>>(y, x, n);\nelse\nk<<<1, 64>>>(y, x, n); }",
              head +
                  "if (n > 5)\nfast<<<1, 128>>>(y, x, n, 1.0f);\nelse\nk<<<1, 64>>>(y, x, n); }"),
      with(fastOnes));
}

TEST(LaunchMap, ValuesThatChangeAreNotTheirInitialisers) {
  const std::string head = "void run(float *y, const float *x, int m, int n) {\n";
  EXPECT_EQ(derived(head + "int size = m;\nm = 7;\nk<<<1, 256>>>(y, x, n); }",
                    head + "int size = m;\nm = 7;\nother<<<1, 32>>>(y, size); }"),
            "none: line 9: the launch does not tell what 'size' is");
  EXPECT_EQ(derived(head + "int size = n;\nn = 100;\nk<<<1, 256>>>(y, x, n); }",
                    head + "int size = n;\nn = 100;\nother<<<1, 32>>>(y, size); }"),
            "none: line 9: the launch does not tell what 'size' is");
  EXPECT_EQ(derived(head + "int size = n / 2;\nk<<<1, 256>>>(y, x, n); }",
                    head + "int size = n / 2;\nother<<<1, 32>>>(y, size); }"),
            with("_Z5otherPfi<1,32>(b0+0, 50)"));
}

TEST(LaunchMap, ArgumentsThatTheKernelCutsOffAreNotKnown) {
  Plan plan = planOfK();
  const std::string head = "void run(float *y, const float *x, size_t n) {\n";
  EXPECT_EQ(derived(head + "k<<<1, 256>>>(y, x, n); }",
                    head + "if (n < 1000) other<<<1, 32>>>(y, n); else k<<<1, 256>>>(y, x, n); }",
                    plan),
            "none: line 7: the launch does not tell what 'n' is");
  EXPECT_EQ(derived(head + "k<<<1, 256>>>(y, x, n); }",
                    head + "if ((int)n < 1000) other<<<1, 32>>>(y, n); }", plan),
            with("_Z5otherPfi<1,32>(b0+0, 100)"));
}

TEST(LaunchMap, RefusesSideEffectsAndLaunchesOutOfSight) {
  const std::string head = "void run(float *y, const float *x, int n) {\n";
  EXPECT_EQ(derived(head + "k<<<1, 256>>>(y, x, n++); }", head + "other<<<1, 32>>>(y, 1); }"),
            "none: line 7 launches with arguments that have side effects");
  const std::string elsewhere = "void call(void (*)(float *, const float *, int));\n"
                                "void indirect() { call(k); }\n";
  EXPECT_EQ(derived(elsewhere + head + "k<<<1, 256>>>(y, x, n); }",
                    elsewhere + head + "other<<<1, 32>>>(y, n); }"),
            "none: line 9 launches a kernel that may be launched out of sight");
  EXPECT_EQ(derived(head + "auto f = k;\nf<<<1, 256>>>(y, x, n); }",
                    head + "auto f = k;\nf<<<1, 256>>>(y, x, n); }"),
            "none: line 8 launches a kernel that is not named");
  Plan plan = planOfK();
  plan.buffers.push_back({64, BufferKind::Managed, arenaBase + 0x90000, ElementType::F32, {}});
  EXPECT_EQ(replaced("float *t; cudaMalloc(&t, 4); other<<<1, 32>>>(t, n); cudaFree(t);", plan),
            "none: line 7: freeing waits for kernels that share memory with the host");
}

TEST(LaunchMap, TellsInstancesApart) {
  const std::string kernel =
      "template <class T, int N> __global__ void fill(T *y, const float *x, int n) {}\n";
  const std::string head = kernel + "template <class T> void any(T *y, const float *x, int n) {\n";
  const std::string tail = "}\ntemplate void any<float>(float *, const float *, int);\n"
                           "template void any<double>(double *, const float *, int);\n";
  const std::string launch = "fill<T, 8><<<1, 256>>>(y, x, n);\n";
  Plan plan = planOfK();
  std::get<LaunchStep>(plan.steps[2]).kernel = "_Z4fillIfLi8EEvPT_PKfi";
  const std::string choice = "if ((const void *)fill<T, 8> == (const void *)fill<float, 8>) "
                             "fast<<<1, 128>>>((float *)y, x, n, 1.0f); else " +
                             launch;
  EXPECT_EQ(derived(head + launch + tail, head + choice + tail, plan), with(fastOnes));
  std::get<LaunchStep>(plan.steps[2]).kernel = "_Z4fillIdLi8EEvPT_PKfi";
  EXPECT_EQ(derived(head + launch + tail, head + choice + tail, plan),
            with("_Z4fillIdLi8EEvPT_PKfi<1,256>(b0+0, b1+0, 100)"));
}

} // namespace
