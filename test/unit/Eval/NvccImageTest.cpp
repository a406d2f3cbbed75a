#include "kb-opt/Eval/NvccImage.h"
#include "kb-opt/Eval/DirectedRounding.h"
#include "kb-opt/Support/Error.h"
#include "kb-opt/Support/FileSystem.h"
#include "kb-opt/Support/Process.h"
#include "gtest/gtest.h"

using namespace kbopt;

namespace {

TEST(PtxasReport, ReadsResourcesPerKernel) {
  auto kernels =
      parsePtxasReport("ptxas info    : 7 bytes gmem\n"
                       "ptxas info    : Compiling entry function '_Z1hv' for 'sm_90'\n"
                       "ptxas info    : Function properties for _Z1hv\n"
                       "    16 bytes stack frame, 8 bytes spill stores, 12 bytes spill loads\n"
                       "ptxas info    : Used 24 registers, used 1 barriers, 256 bytes smem, 380 "
                       "bytes cmem[0], 8 bytes cmem[2]\n"
                       "ptxas info    : Compile time = 18.846 ms\n"
                       "ptxas info    : Function properties for _Z6helperf\n"
                       "    99 bytes stack frame, 99 bytes spill stores, 99 bytes spill loads\n"
                       "ptxas info    : Compiling entry function '_Z1kv' for 'sm_90'\n"
                       "ptxas info    : Function properties for _Z1kv\n"
                       "    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
                       "ptxas info    : Used 8 registers, used 0 barriers\n");
  ASSERT_EQ(kernels.size(), 2u);
  const KernelResources &h = kernels.at("_Z1hv");
  EXPECT_EQ(h.registers, 24u);
  EXPECT_EQ(h.stackBytes, 16u);
  EXPECT_EQ(h.spillStoreBytes, 8u);
  EXPECT_EQ(h.spillLoadBytes, 12u);
  EXPECT_EQ(h.sharedBytes, 256u);
  EXPECT_EQ(h.constantBytes, 388u);
  EXPECT_EQ(h.barriers, 1u);
  EXPECT_EQ(kernels.at("_Z1kv").sharedBytes, 0u);
}

TEST(PtxasReport, TextWithoutKernelsIsEmpty) {
  EXPECT_TRUE(parsePtxasReport("ptxas fatal   : nothing here\n").empty());
}

TEST(PtxDigest, IgnoresLinesAndComments) {
  std::map<std::string, KernelResources> a, b, c;
  Digest first =
      digestPtx(".visible .entry k(\n)\n{\n\t.loc 1 2 3\n\tadd.f32 %f1, %f2, %f3;\n}\n", a);
  Digest second = digestPtx(
      "// other\n.visible .entry k(\n)\n{\n\t.loc 1 9 9\n\tadd.f32 %f1, %f2, %f3; // x\n}\n", b);
  Digest third = digestPtx(".visible .entry k(\n)\n{\n\tmul.f32 %f1, %f2, %f3;\n}\n", c);
  EXPECT_EQ(first, second);
  EXPECT_EQ(a.at("k").code, b.at("k").code);
  EXPECT_NE(first, third);
}

TEST(CubinDigest, WhatIsNoElfIsAnError) {
  std::map<std::string, KernelResources> kernels;
  llvm::Expected<Digest> digest = digestCubin("not an ELF file", kernels);
  ASSERT_FALSE(digest);
  EXPECT_NE(llvm::toString(digest.takeError()).find("the cubin cannot be read"), std::string::npos);
}

/// With the toolkit's compiler.
struct NvccTest : testing::Test {
  std::optional<TemporaryDirectory> folder;
  void SetUp() override {
    if (!findNvcc())
      GTEST_SKIP() << "nvcc is not installed";
    auto created = TemporaryDirectory::create("nvcc-test");
    ASSERT_TRUE(bool(created));
    folder.emplace(std::move(*created));
  }
  llvm::Expected<DeviceCode> compile(std::string text, std::vector<std::string> flags = {}) {
    ProgramArtefacts program;
    program.name = "k.cu";
    program.sourcePath = folder->file("k.cu");
    program.text = std::move(text);
    program.workingDirectory = folder->path().str();
    program.flags = std::move(flags);
    return NvccCompiler(realProcessRunner(), folder->path().str()).compile(program);
  }
};

TEST_F(NvccTest, ReroundedPtxAssembles) {
  auto code = compile(
      "__global__ void k(float *x, double *y, int n) {\n"
      "  int i = threadIdx.x; float a = x[i]; double b = y[i];\n"
      "  if (n > 3) a = a * x[n] + 2.5f;\n"
      "  x[i] = (a + 1.5f) / x[i + 1] - sqrtf(a) + __saturatef(a - x[i + 2]) + 1 / x[i + 3] + n;\n"
      "  y[i] = (b * 0.1 - y[i + 1]) / y[i + 2] + sqrt(b) + 1 / b; x[i + 4] = (float)b; }\n");
  ASSERT_TRUE(bool(code)) << llvm::toString(code.takeError());
  NvccCompiler compiler(realProcessRunner(), folder->path().str());
  for (const Rerounding &rounding :
       {Rerounding(Rounding::Up), Rerounding::mixed(1), Rerounding::mixed(1).narrowed(),
        Rerounding::drawn(1), Rerounding::drawn(1).narrowed()}) {
    std::string path = folder->file(rounding.name() + ".ptx");
    ASSERT_FALSE(bool(realFileSystem().write(path, withRounding(code->ptx, rounding))));
    llvm::Expected<std::string> cubin = compiler.assemble(path, "sm_90");
    ASSERT_TRUE(bool(cubin)) << rounding.name() << ": " << llvm::toString(cubin.takeError());
    std::map<std::string, KernelResources> kernels;
    EXPECT_FALSE(llvm::cantFail(digestCubin(llvm::cantFail(realFileSystem().read(*cubin)), kernels))
                     .empty());
  }
}

TEST_F(NvccTest, TextThatIsNoPtxIsRefusedWithTheAssemblersWords) {
  std::string path = folder->file("wrong.ptx");
  ASSERT_FALSE(bool(realFileSystem().write(path, ".version 7.0\n.target sm_90\nnonsense\n")));
  llvm::Expected<std::string> cubin =
      NvccCompiler(realProcessRunner(), folder->path().str()).assemble(path, "sm_90");
  ASSERT_FALSE(cubin);
  llvm::handleAllErrors(cubin.takeError(), [](const ToolError &error) {
    EXPECT_NE(error.stderrTail.find("wrong.ptx, line 3"), std::string::npos) << error.stderrTail;
  });
}

TEST_F(NvccTest, CodeIsNamedByWhatItDoes) {
  auto text = [](std::string operation) {
    return "__device__ int total; static __device__ float scale = 2;\n"
           "__global__ void k(float *x) { __shared__ float s[32]; s[threadIdx.x] = x[threadIdx.x]; "
           "__syncthreads(); x[threadIdx.x] = scale * (s[31 - threadIdx.x] " +
           operation + " 3.0f); atomicAdd(&total, 1); }\n";
  };
  auto plain = compile(text("*"));
  ASSERT_TRUE(bool(plain)) << llvm::toString(plain.takeError());
  const KernelResources &kernel = plain->kernels.at("_Z1kPf");
  EXPECT_GT(*kernel.registers, 0u);
  EXPECT_EQ(kernel.sharedBytes, 128u);
  EXPECT_TRUE(llvm::StringRef(plain->producer).starts_with("nvcc 1"));
  EXPECT_NE(plain->ptx.find(".entry _Z1kPf"), std::string::npos);

  auto moved = compile("// a comment\n\n\n" + text("*"), {"-lineinfo"});
  ASSERT_TRUE(bool(moved));
  EXPECT_EQ(plain->digest, moved->digest) << "lines and line tables do not matter";
  EXPECT_EQ(kernel.code, moved->kernels.at("_Z1kPf").code);

  auto other = compile(text("+"));
  ASSERT_TRUE(bool(other));
  EXPECT_NE(plain->digest, other->digest);
}

TEST_F(NvccTest, ErrorsCarryTheCompilersWordsAndTheUsersFile) {
  auto code = compile("__global__ void k(float *x) { x[0] = y; }\n");
  ASSERT_FALSE(code);
  bool seen = false;
  llvm::handleAllErrors(code.takeError(), [&](const ToolError &error) {
    seen = true;
    EXPECT_EQ(error.status, ExitStatus::Diagnostics);
    EXPECT_NE(error.message.find("k.cu does not compile"), std::string::npos);
    EXPECT_NE(error.stderrTail.find("k.cu(1): error: identifier \"y\" is undefined"),
              std::string::npos)
        << error.stderrTail;
  });
  EXPECT_TRUE(seen);
}

} // namespace
