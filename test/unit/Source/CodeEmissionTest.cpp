//===- CodeEmissionTest.cpp - Bitcode, objects, the host program ----------===//
#include "kb-opt/Source/CodeEmission.h"
#include "SourceTestUtils.h"
#include "llvm/Bitcode/BitcodeReader.h"
#include "llvm/IR/DebugInfoMetadata.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicsNVPTX.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Object/ObjectFile.h"
#include <set>

using namespace kbopt;
using namespace kbopt::test;

namespace {

class CodeEmissionTest : public testing::Test {
protected:
  CodeEmissionTest() : folder(makeFolder()), emitter(realProcessRunner()) {
    llvm::cantFail(realFileSystem().createDirectories(folder.file("src")));
    writeFile(folder.file("src/k.cu"), "this text on disk is never compiled\n");
    writeFile(folder.file("src/size.h"), "#define SIZE 4\n");
  }
  CompileCommand command(std::vector<std::string> flags = {}) {
    CommandQuery query;
    query.file = "src/k.cu";
    query.workingDirectory = folder.path().str();
    query.flags = std::move(flags);
    return llvm::cantFail(findCompileCommand(query, toolkit()));
  }
  std::unique_ptr<llvm::Module> device(llvm::StringRef text, std::vector<std::string> flags = {}) {
    bitcode = llvm::cantFail(emitter.emitDeviceBitcode(command(std::move(flags)), text));
    return llvm::cantFail(llvm::parseBitcodeFile({bitcode, "k"}, context));
  }

  TemporaryDirectory folder;
  CodeEmitter emitter;
  llvm::LLVMContext context;
  std::string bitcode;
};

/// Calls of the intrinsic \p id in all of \p module.
unsigned countCalls(const llvm::Module &module, llvm::Intrinsic::ID id) {
  unsigned calls = 0;
  for (const llvm::Function &function : module)
    if (function.getIntrinsicID() == id)
      for (const llvm::User *user : function.users())
        calls += llvm::isa<llvm::CallBase>(user);
  return calls;
}

} // namespace

TEST_F(CodeEmissionTest, DeviceBitcode) {
  auto module = device("#include \"size.h\"\n"
                       "__device__ float table[SIZE];\n"
                       "__global__ void k(float *out, int n) {\n"
                       "  int i = threadIdx.x;\n"
                       "  if (i < n)\n"
                       "    out[i] = table[i] * 2.0f + 1.0f;\n"
                       "}\n"
                       "const char *name() { return __FILE__; }\n");
  EXPECT_EQ(module->getTargetTriple().str(), "nvptx64-nvidia-cuda");
  ASSERT_TRUE(module->getFunction("_Z1kPfi"));
  ASSERT_TRUE(module->getGlobalVariable("table"));
  const llvm::Function &kernel = *module->getFunction("_Z1kPfi");
  EXPECT_EQ(kernel.getArg(0)->getName(), "out");
  bool sawStore = false, sawMultiply = false;
  for (const llvm::Instruction &instruction : llvm::instructions(kernel)) {
    if (instruction.getOpcode() == llvm::Instruction::FMul) {
      sawMultiply = true;
      EXPECT_TRUE(instruction.hasAllowContract());
      const llvm::DebugLoc &place = instruction.getDebugLoc();
      ASSERT_TRUE(place);
      EXPECT_EQ(place.getLine(), 6u);
      EXPECT_EQ(place.getCol(), 23u);
      EXPECT_TRUE(place->getFilename().ends_with("src/k.cu")) << place->getFilename().str();
    }
    sawStore |= llvm::isa<llvm::StoreInst>(instruction);
  }
  EXPECT_TRUE(sawStore);
  EXPECT_TRUE(sawMultiply);
}

TEST_F(CodeEmissionTest, SameTextSameBytes) {
  llvm::StringRef text = "__global__ void k(float *a) { *a = sqrtf(*a); }\n";
  std::string first = llvm::cantFail(emitter.emitDeviceBitcode(command(), text));
  EXPECT_TRUE(first == llvm::cantFail(emitter.emitDeviceBitcode(command(), text)));
}

TEST_F(CodeEmissionTest, RootAndDivisionRoundAsInNvcc) {
  llvm::StringRef text = "__global__ void k(float *a) { a[0] = sqrtf(a[1]) / a[2]; }\n";
  auto approximate = [](const llvm::Module &module) {
    for (const llvm::Instruction &instruction : llvm::instructions(*module.getFunction("_Z1kPf")))
      if (instruction.getOpcode() == llvm::Instruction::FDiv)
        return instruction.hasApproxFunc();
    ADD_FAILURE() << "no division";
    return false;
  };
  // What libdevice asked about is settled: only constants are left, so the
  // branch that is taken can be told from them.
  auto precise = device(text);
  EXPECT_FALSE(precise->getFunction("__nvvm_reflect"));
  EXPECT_FALSE(approximate(*precise));
  auto fast = device(text, {"--use_fast_math"});
  EXPECT_TRUE(approximate(*fast));
  auto rootOnly = device(text, {"-prec-sqrt=false"});
  EXPECT_FALSE(approximate(*rootOnly));
  EXPECT_NE(countCalls(*precise, llvm::Intrinsic::nvvm_sqrt_rn_f), 0u);
}

TEST_F(CodeEmissionTest, ContractionCanBeTurnedOff) {
  auto module =
      device("__global__ void k(float *a) { a[0] = a[1] * a[2] + a[3]; }\n", {"-fmad=false"});
  unsigned seen = 0;
  for (const llvm::Instruction &instruction : llvm::instructions(*module->getFunction("_Z1kPf")))
    if (instruction.getOpcode() == llvm::Instruction::FMul) {
      ++seen;
      EXPECT_FALSE(instruction.hasAllowContract());
    }
  EXPECT_EQ(seen, 1u);
  EXPECT_TRUE(module->getModuleFlag("kb-fmad-off")); // for inline PTX
}

TEST_F(CodeEmissionTest, CacheHintsArePlainAccesses) {
  auto module = device("#include <cuda_fp16.h>\n"
                       "__global__ void k(float *f, float4 *v, char *c, short2 *s, __half *h) {\n"
                       "  f[0] = __ldcs(f + 1); __stwt(f + 2, f[3]);\n"
                       "  v[0] = __ldcg(v + 1); __stwt(v + 2, v[3]);\n"
                       "  c[0] = __ldcv(c + 1); __stwt(c + 2, c[3]);\n"
                       "  s[0] = __ldcs(s + 1); __stwt(s + 2, s[3]);\n"
                       "  h[0] = __ldcs(h + 1); __stcs(h + 2, h[3]);\n"
                       "}\n");
  unsigned vectorLoads = 0, vectorStores = 0;
  for (const llvm::Function &function : *module)
    for (const llvm::Instruction &instruction : llvm::instructions(function)) {
      if (const auto *call = llvm::dyn_cast<llvm::CallInst>(&instruction)) {
        EXPECT_FALSE(call->isInlineAsm()) << function.getName().str();
      }
      const auto *load = llvm::dyn_cast<llvm::LoadInst>(&instruction);
      const auto *store = llvm::dyn_cast<llvm::StoreInst>(&instruction);
      auto isFloat4 = [](const llvm::Type *type) {
        const auto *vector = llvm::dyn_cast<llvm::FixedVectorType>(type);
        return vector && vector->getNumElements() == 4 && vector->getElementType()->isFloatTy();
      };
      if (load && isFloat4(load->getType())) {
        ++vectorLoads;
        EXPECT_EQ(load->getAlign().value(), 16u);
      }
      vectorStores += store && isFloat4(store->getValueOperand()->getType());
    }
  EXPECT_EQ(vectorLoads, 1u);
  EXPECT_EQ(vectorStores, 1u);
}

TEST_F(CodeEmissionTest, OtherInlinePtxStays) {
  auto module =
      device("__global__ void k(int *a) {\n"
             "  int x;\n"
             "  asm volatile(\"ld.global.acquire.gpu.s32 %0, [%1];\" : \"=r\"(x) : \"l\"(a));\n"
             "  *a = x;\n"
             "}\n");
  unsigned assembly = 0;
  for (const llvm::Instruction &instruction : llvm::instructions(*module->getFunction("_Z1kPi")))
    if (const auto *call = llvm::dyn_cast<llvm::CallInst>(&instruction))
      assembly += call->isInlineAsm();
  EXPECT_EQ(assembly, 1u);
}

TEST_F(CodeEmissionTest, HostObjectRegistersKernelsAndVariables) {
  std::string object = llvm::cantFail(
      emitter.emitHostObject(command(), "__constant__ float weights[4];\n"
                                        "__global__ void k(float *a) { *a = weights[0]; }\n"
                                        "void run(float *a) { k<<<1, 1>>>(a); }\n"));
  auto file = llvm::cantFail(llvm::object::ObjectFile::createObjectFile({object, "k.o"}));
  std::set<std::string> names;
  for (const llvm::object::SymbolRef &symbol : file->symbols())
    names.insert(llvm::cantFail(symbol.getName()).str());
  for (const char *name : {"__cudaRegisterFatBinary", "__cudaRegisterFunction", "__cudaRegisterVar",
                           "cudaLaunchKernel", "_Z3runPf"})
    EXPECT_TRUE(names.count(name)) << name;
  // The names by which they are registered.
  EXPECT_NE(object.find(std::string("_Z1kPf\0", 7)), std::string::npos);
  EXPECT_NE(object.find(std::string("weights\0", 8)), std::string::npos);
  EXPECT_NE(object.find(kbrtFatbinMarker.str()), std::string::npos);
}

TEST_F(CodeEmissionTest, PrecompiledHeadersChangeNothing) {
  llvm::StringRef text = "#include <cuda_fp16.h>\n"
                         "__global__ void k(float *a, __half *h) { *a = sqrtf(*a) + float(*h); }\n";
  std::string cache = folder.file("cache");
  CodeEmitter cached(realProcessRunner(), CompileLimits{120, 0, 0, cache});
  std::string made = llvm::cantFail(cached.emitDeviceBitcode(command(), text));
  ASSERT_EQ(realFileSystem().list(cache + "/cuda-headers").size(), 1u);
  std::string entry = cache + "/cuda-headers/" + realFileSystem().list(cache + "/cuda-headers")[0];
  EXPECT_TRUE(realFileSystem().exists(entry + "/toolkit.pch"));
  std::string used = llvm::cantFail(cached.emitDeviceBitcode(command(), text));
  EXPECT_TRUE(made == used);
  // A file where the cache would be: the headers are read each time.
  writeFile(folder.file("no-folder"), "");
  CodeEmitter uncached(realProcessRunner(), CompileLimits{120, 0, 0, folder.file("no-folder")});
  EXPECT_TRUE(used == llvm::cantFail(uncached.emitDeviceBitcode(command(), text)));
  // A damaged entry costs time and nothing else.
  writeFile(entry + "/toolkit.pch", "not a precompiled header");
  EXPECT_TRUE(used == llvm::cantFail(cached.emitDeviceBitcode(command(), text)));
  EXPECT_FALSE(realFileSystem().exists(entry + "/toolkit.pch"));
}

TEST_F(CodeEmissionTest, ErrorsOfTheTextAreTheUsers) {
  Failure failure =
      failureOf(emitter.emitDeviceBitcode(command(), "__global__ void k() { undeclared(); }\n"));
  EXPECT_EQ(failure.status, ExitStatus::Diagnostics);
  EXPECT_NE(failure.message.find("the device code of 'src/k.cu' does not compile"),
            std::string::npos);
  EXPECT_NE(failure.message.find("k.cu:1:23: error: use of undeclared identifier 'undeclared'"),
            std::string::npos)
      << failure.message;
}

TEST_F(CodeEmissionTest, LimitsStopTheCompiler) {
  std::string text; // that takes far longer on any machine
  for (int kernel = 0; kernel < 3000; ++kernel)
    text += "__global__ void k" + std::to_string(kernel) + "(float *x) { x[threadIdx.x] *= 2; }\n";
  CodeEmitter impatient(realProcessRunner(), CompileLimits{0.02, 0});
  Failure failure = failureOf(impatient.emitDeviceBitcode(command(), text));
  EXPECT_EQ(failure.status, ExitStatus::Diagnostics);
  EXPECT_NE(failure.message.find("no end within"), std::string::npos) << failure.message;
}

TEST_F(CodeEmissionTest, BombsStayInTheirWalls) {
  if (llvm::Error error = checkSandbox(realProcessRunner()))
    GTEST_SKIP() << llvm::toString(std::move(error));
  CompileLimits limits;
  limits.sandboxed = true;
  CodeEmitter walled(realProcessRunner(), limits);
  // Behind walls a good text gives the same bytes.
  llvm::StringRef good = "__global__ void k(float *a) { *a = 1; }\n";
  EXPECT_TRUE(llvm::cantFail(walled.emitDeviceBitcode(command(), good)) ==
              llvm::cantFail(emitter.emitDeviceBitcode(command(), good)));
  EXPECT_EQ(failureOf(walled.emitDeviceBitcode(command(), "#include \"/etc/passwd\"\n")).status,
            ExitStatus::Diagnostics);
  limits.wallSeconds = 1;
  limits.memoryBytes = uint64_t(1) << 30;
  CodeEmitter limited(realProcessRunner(), limits);
  std::string tokens = "#define A0 1+1+\n";
  for (int level = 1; level != 12; ++level) {
    std::string before = " A" + std::to_string(level - 1);
    tokens += "#define A" + std::to_string(level);
    for (int copy = 0; copy != 10; ++copy)
      tokens += before;
    tokens += "\n";
  }
  EXPECT_EQ(failureOf(limited.emitDeviceBitcode(command(), tokens + "int x = A11 0;\n")).status,
            ExitStatus::Diagnostics);
  EXPECT_EQ(
      failureOf(limited.emitDeviceBitcode(
                    command(),
                    "template <int a, int b> struct T : T<a - 1, 2 * b>, T<a - 1, 2 * b + 1> {};\n"
                    "template <int b> struct T<0, b> {};\n"
                    "T<26, 1> t;\n"))
          .status,
      ExitStatus::Diagnostics);
}

TEST_F(CodeEmissionTest, LinkedProgramRuns) {
  // A runtime of three functions stands for the recorder.
  writeFile(folder.file("runtime.cpp"), R"(
#include <cstdio>
extern "C" {
void **__cudaRegisterFatBinary(void *) { static void *handle; return &handle; }
void __cudaRegisterFatBinaryEnd(void **) {}
void __cudaUnregisterFatBinary(void **) {}
int __cudaRegisterFunction(void **, const char *, char *, const char *name, int, void *, void *,
                           void *, void *, int *) {
  printf("kernel %s\n", name);
  return 0;
}
void __cudaRegisterVar(void **, char *, char *, const char *name, int, unsigned long size, int, int) {
  printf("variable %s %lu\n", name, size);
}
unsigned __cudaPushCallConfiguration(...) { return 0; }
int __cudaPopCallConfiguration(...) { return 0; }
int cudaLaunchKernel(...) { puts("launch"); return 0; }
int cudaFree(void *) { return 0; }
}
)");
  ProcessRequest compile;
  compile.argv = {
      llvm::cantFail(findClang()), "-w", "-shared", "-fPIC", "-o", folder.file("libruntime.so"),
      folder.file("runtime.cpp")};
  ProcessResult compiled = llvm::cantFail(realProcessRunner().run(compile));
  ASSERT_TRUE(compiled.succeeded()) << compiled.err;
  llvm::cantFail(emitter.linkHostProgram(command(),
                                         "#include <cstdio>\n"
                                         "#include <cufft.h>\n"
                                         "__device__ int counter[3];\n"
                                         "__global__ void k(int a) { counter[0] = a; }\n"
                                         "int main(int argc, char **) {\n"
                                         "  k<<<1, 1>>>(1);\n"
                                         "  puts(__FILE__);\n"
                                         "  if (argc > 1)\n"
                                         "    cufftDestroy(cudaFree(0));\n"
                                         "}\n",
                                         folder.file("libruntime.so"), folder.file("program")));
  ProcessRequest run;
  run.argv = {folder.file("program")};
  ProcessResult ran = llvm::cantFail(realProcessRunner().run(run));
  EXPECT_TRUE(ran.succeeded()) << ran.describe() << ran.err;
  EXPECT_EQ(ran.out,
            "kernel _Z1ki\nvariable counter 12\nlaunch\n" + folder.file("src/k.cu") + "\n");

  // What the runtime lacks is named when it is called, and not before.
  run.argv.push_back("x");
  ran = llvm::cantFail(realProcessRunner().run(run));
  EXPECT_EQ(ran.exitStatus, 70);
  EXPECT_NE(ran.err.find("cufftDestroy is not supported by the recorder"), std::string::npos)
      << ran.err;
}
