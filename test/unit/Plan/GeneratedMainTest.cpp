//===- GeneratedMainTest.cpp - Drivers for entries and kernels --------------===//
#include "kb-opt/Plan/GeneratedMain.h"
#include "gtest/gtest.h"

using namespace kbopt;

namespace {

constexpr const char kernelYaml[] = R"yaml(kernel: scale
sizes: {n: 1000, width: 2}
parameters:
  - {name: x, type: f32, shape: [n, width], role: inout, init: "normal(1, 2)"
}
  - {name: h, type: f16, shape: n, role: in, init: iota}
  - {name: out, type: i32, shape: n, role: out}
  - {name: n, value: n}
  - {name: p, cxx: "Params{n, 2.5f, n_other}"}
grid: ceildiv(n, 128)
block: [64, 2]
shared: 8*n
)yaml";

Signature kernelSignature() {
  return {"scale",
          true,
          "void",
          {{"x", "float2 *"},
           {"h", "const __half *"},
           {"out", "int *__restrict__"},
           {"n", "unsigned int"},
           {"p", "Params"}},
          "k.cu:1:1"};
}

Workload parsed(llvm::StringRef text) { return llvm::cantFail(parseWorkload(text, "w.yaml")); }

std::string mainOf(llvm::StringRef yaml, const Signature &signature, SizeMap sizes = {},
                   uint64_t seed = 1) {
  Workload workload = parsed(yaml);
  if (sizes.empty())
    sizes = workload.sizes;
  auto text = generateMain(workload, signature, "/src/k.cu", sizes, seed);
  return text ? *text : llvm::toString(text.takeError());
}

bool contains(const std::string &text, llvm::StringRef part) {
  return llvm::StringRef(text).contains(part);
}

TEST(GeneratedMain, AllocatesFillsLaunchesAndReadsBack) {
  std::string text = mainOf(kernelYaml, kernelSignature());
  EXPECT_TRUE(contains(text, "#define main kb_original_main\n#include \"/src/k.cu\"\n"));
  EXPECT_TRUE(contains(text, "float *buffer0 = kb_driver::device(kb_driver::normal<float>(2000, "));
  EXPECT_TRUE(contains(text, "kb_driver::iota<kb_driver::Half>(1000)"));
  EXPECT_TRUE(contains(text, "int *buffer2 = kb_driver::deviceUnset<int>(1000, \"out\", 0)"));
  EXPECT_TRUE(contains(text, "scale<<<dim3(8), dim3(64, 2), 8000>>>("
                             "reinterpret_cast<float2 *>(buffer0),\n"
                             "      reinterpret_cast<__half *>(buffer1),\n"
                             "      reinterpret_cast<int *>(buffer2),\n"
                             "      static_cast<unsigned int>(1000ll),\n"
                             "      Params{1000, 2.5f, n_other});\n"))
      << text;
  // In the order of the parameters; what is only read is not an observable.
  size_t x = text.find("readBack(buffer0, 2000, \"x\")");
  size_t out = text.find("readBack(buffer2, 1000, \"out\")");
  EXPECT_LT(x, out);
  EXPECT_NE(out, std::string::npos);
  EXPECT_FALSE(contains(text, "readBack(buffer1"));
  EXPECT_FALSE(contains(text, "cudaFuncSetAttribute"));
}

TEST(GeneratedMain, MisalignedBuffersBeginOneElementLater) {
  Workload workload = parsed(kernelYaml);
  std::string text = llvm::cantFail(generateMain(workload, kernelSignature(), "/src/k.cu",
                                                 workload.sizes, 1, BufferLayout::Misaligned));
  EXPECT_TRUE(contains(text, "deviceUnset<int>(1000, \"out\", 1)"));
  EXPECT_TRUE(contains(text, "cudaFree(buffer2 - 1);"));
}

TEST(GeneratedMain, OutputsMayHaveTheMemoryOfInputs) {
  Workload workload = parsed("kernel: k\nsizes: {n: 8}\ngrid: [1]\nblock: [8]\nparameters:\n"
                             "  - {name: y, type: f32, shape: n, role: out}\n"
                             "  - {name: x, type: f32, shape: n, role: in}\n"
                             "  - {name: z, type: f32, shape: n, role: out}\n");
  auto pairsWith = [&](std::string input, std::string output) {
    Signature signature{
        "k", true, "void", {{"y", output}, {"x", input}, {"z", output}}, "k.cu:1:1"};
    return llvm::cantFail(overlappingBuffers(workload, signature, workload.sizes)).size();
  };
  EXPECT_EQ(pairsWith("const float *", "float *"), 1u); // x serves one of them
  EXPECT_EQ(pairsWith("const float *__restrict", "float *"), 0u);
  EXPECT_EQ(pairsWith("const float *", "float *__restrict"), 0u);
  Signature signature{
      "k", true, "void", {{"y", "float *"}, {"x", "const float *"}, {"z", "float *"}}, "k.cu:1:1"};
  std::string text = llvm::cantFail(
      generateMain(workload, signature, "/src/k.cu", workload.sizes, 1, BufferLayout::Overlapping));
  EXPECT_LT(text.find("float *buffer1 = kb_driver::device("),
            text.find("float *buffer0 = buffer1;"));
  EXPECT_TRUE(contains(text, "float *buffer2 = kb_driver::deviceUnset<float>(8, \"z\", 0)"));
  EXPECT_FALSE(contains(text, "cudaFree(buffer0"));
}

TEST(GeneratedMain, SizesAndSeedDecideTheValues) {
  std::string text = mainOf(kernelYaml, kernelSignature());
  EXPECT_EQ(text, mainOf(kernelYaml, kernelSignature()));
  EXPECT_NE(text, mainOf(kernelYaml, kernelSignature(), {}, 2));
  std::string large = mainOf(kernelYaml, kernelSignature(), {{"n", 10000}, {"width", 1}});
  EXPECT_TRUE(contains(large, "<<<dim3(79), dim3(64, 2), 80000>>>"));
  EXPECT_TRUE(contains(large, "cudaFuncAttributeMaxDynamicSharedMemorySize, 80000"));
}

TEST(GeneratedMain, LaterCallsHaveOtherDataInTheSameBuffers) {
  Workload workload = parsed("entry: f\nsizes: {n: 8}\nparameters:\n"
                             "  - {name: x, type: f32, shape: n, role: inout}\n"
                             "  - {name: a, cxx: \"1.5f\"}\n"
                             "  - {name: s, cxx: \"0\"}\n");
  Signature signature{
      "f", false, "int", {{"x", "float *"}, {"a", "float"}, {"s", "CUstream_st *"}}, ""};
  EXPECT_TRUE(hasOtherScalars(workload));
  EXPECT_TRUE(takesStream(workload, signature));
  DriverRun twice{
      {{{{"n", 5}}, 1}, {{{"n", 9}}, 2, /*otherScalars=*/true}}, BufferLayout::Separate, true};
  std::string text = llvm::cantFail(
      generateMain(workload, signature, "/src/k.cu", {DriverRun{{{workload.sizes, 1}}}, twice}));
  EXPECT_TRUE(contains(text, "deviceUnset<float>(9, \"x\", 0)")) << text; // the larger of the two
  EXPECT_TRUE(contains(text, "refill(buffer0, kb_driver::uniform<float>(5,"));
  EXPECT_TRUE(contains(text, "(1.5f * 0.75f),\n      kb_stream"));
  EXPECT_TRUE(contains(text, "printReturn(f("));
  EXPECT_TRUE(contains(text, "readBack(buffer0, 9, \"x\", kb_stream)"));
  EXPECT_TRUE(contains(text, "case 1: kb_run1(); break;"));
}

TEST(GeneratedMain, EntriesTakeHostMemoryToo) {
  std::string text =
      mainOf("entry: app::add\nsizes: {n: 8}\nparameters:\n"
             "  - {name: a, type: f64, shape: n, role: in, memory: host}\n"
             "  - {name: c, type: f64, shape: n, role: out, memory: host}\n",
             {"app::add", false, "int", {{"a", "const double *"}, {"c", "double *"}}, ""});
  EXPECT_TRUE(contains(text, "std::vector<double> host0 = kb_driver::uniform<double>(8, "));
  EXPECT_TRUE(contains(text, "app::add(reinterpret_cast<double *>(buffer0),"));
  EXPECT_TRUE(contains(text, "kb_driver::print(buffer1, 8, \"c\");"));
  EXPECT_FALSE(contains(text, "readBack(buffer"));
}

TEST(GeneratedMain, TemplatesTakeAnyPointerOrDeducedOnes) {
  const char *parameters = "sizes: {n: 8}\nparameters:\n"
                           "  - {name: a, type: f32, shape: n, role: inout}\n";
  Signature signature{"f", false, "void", {{"a", "T *"}}, ""};
  EXPECT_TRUE(contains(mainOf(std::string("entry: f<float>\n") + parameters, signature),
                       "f<float>(kb_driver::AnyPointer{buffer0})"));
  EXPECT_TRUE(contains(mainOf(std::string("entry: f\n") + parameters, signature),
                       "f(reinterpret_cast<float *>(buffer0))"));
}

TEST(GeneratedMain, RefusesWhatCannotRun) {
  EXPECT_EQ(mainOf(kernelYaml, kernelSignature(), {{"n", 0}, {"width", 2}}),
            "w.yaml:1:9: the grid of kernel 'scale' is empty or too large: 'ceildiv(n, 128)' is 0");
  EXPECT_EQ(mainOf("entry: f\nsizes: {n: 2}\nparameters:\n"
                   "  - {name: a, type: f32, shape: n - 3, role: in}\n",
                   {"f", false, "void", {{"a", "float *"}}, ""}),
            "w.yaml:4:6: buffer 'a' has a negative shape: 'n - 3' is -1");
  EXPECT_EQ(mainOf("program: true\n", {"main", false, "int", {}, ""}),
            "w.yaml:1:10: a whole program has its own main");
  Signature wrong = kernelSignature();
  wrong.parameters[3].name = "count";
  EXPECT_TRUE(contains(mainOf(kernelYaml, wrong), "the function has 'count' in its place"));
}

} // namespace
