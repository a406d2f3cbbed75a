//===- CpuImage.cpp - Device bitcode to a CPU image -----------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the order of the steps and the link. The steps are declared in Steps.h.
//
//===----------------------------------------------------------------------===//
#include "kb-opt/Eval/CpuImage.h"
#include "Reround.h"
#include "Steps.h"
#include "kb-opt/Support/FileSystem.h"
#include "llvm/Bitcode/BitcodeReader.h"
#include "llvm/IR/DebugInfo.h"
#include "llvm/IR/DiagnosticInfo.h"
#include "llvm/IR/DiagnosticPrinter.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IRReader/IRReader.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;

namespace kbopt {

StringRef cpuImageBuilder() {
  return
#include "CpuImageBuilder.inc"
      ;
}

std::string UnsupportedConstruct::describe() const {
  std::string text;
  raw_string_ostream stream(text);
  if (!file.empty())
    stream << file << ':' << line << ':' << column << ": ";
  stream << construct << " (" << join(kernels, ", ") << ")";
  return text;
}

namespace cpu {

static Expected<std::unique_ptr<Module>> parse(StringRef bitcode, LLVMContext &context) {
  SMDiagnostic problem;
  std::unique_ptr<Module> module =
      parseIR(MemoryBufferRef(bitcode, "device code"), problem, context);
  if (module && module->getTargetTriple().isNVPTX())
    return module;
  std::string why =
      module ? "it is for " + module->getTargetTriple().str() : problem.getMessage().str();
  return make_error<UsageError>("the device code is not readable: " + why,
                                "compile the device side with clang -x cuda --cuda-device-only "
                                "-emit-llvm -c",
                                ExitStatus::Diagnostics);
}

/// Keeps errors; what the optimisers remark is of no interest here.
static void noteProblem(const DiagnosticInfo *info, void *problems) {
  if (info->getSeverity() != DS_Error)
    return;
  raw_string_ostream stream(*static_cast<std::string *>(problems));
  DiagnosticPrinterRawOStream printer(stream);
  info->print(printer);
}

/// Everything up to tables; afterwards the module is the host's.
static Error translate(ImageContext &context, TargetMachine &host) {
  Module &module = context.module;
  collectMetadata(context);
  prepareDevice(context);
  translateInlineAsm(context);
  expandMemoryIntrinsics(context);
  if (context.mode == kbrt::ImageMode::Check)
    markSkippedBarriers(context);
  if (Error error = optimizeDevice(context))
    return error;
  contractMultiplyAdd(context);
  reround(context);
  markSpinLoops(context);
  for (Kernel &kernel : context.kernels)
    kernel.usesAtomics = usesAtomics(context, *kernel.function);
  if (context.mode == kbrt::ImageMode::Count)
    instrumentCounts(context);
  if (context.mode == kbrt::ImageMode::Check) {
    instrumentChecks(context);
    instrumentCoverage(context);
  }
  if (context.mode == kbrt::ImageMode::Search) {
    instrumentCoverage(context);
    instrumentBranches(context);
  }
  if (context.mode == kbrt::ImageMode::Oracle)
    instrumentOracle(context);
  markWays(context);
  for (Kernel &kernel : context.kernels) {
    kernel.function = addStateParameters(*kernel.function);
    if (kernel.counted)
      kernel.counted = addStateParameters(*kernel.counted);
  }
  ThreadStates states(context);
  lowerIntrinsics(context, states);
  flushDenormals(context);
  flattenMemory(context, states);
  module.setDataLayout(host.createDataLayout());
  module.setTargetTriple(host.getTargetTriple());
  lowerSmallFloats(context);
  StripDebugInfo(module);
  buildEntries(context);
  emitTables(context);
  return Error::success();
}

static Error link(ArrayRef<std::string> objects, StringRef outputPath, ProcessRunner &runner) {
  Expected<TemporaryDirectory> directory = TemporaryDirectory::create("kb-image");
  if (!directory)
    return directory.takeError();
  std::vector<std::string> paths;
  for (const std::string &object : objects) {
    paths.push_back(directory->file("image" + std::to_string(paths.size()) + ".o"));
    if (Error error = realFileSystem().write(paths.back(), object))
      return error;
  }
  ProcessRequest request;
  request.wallSeconds = 120;
  request.purpose = "link CPU image";
  // The plain linker does what is needed here in a fifth of the time; where it lacks the
  // library's folder, a compiler driver knows it.
  if (std::optional<std::string> linker = findProgram("ld")) {
    request.argv = {*linker, "-shared", "-z", "noexecstack", "-o", outputPath.str()};
    append_range(request.argv, paths);
    request.argv.push_back("-lm");
    Expected<ProcessResult> result = runner.run(request);
    if (!result)
      return result.takeError();
    if (result->succeeded())
      return Error::success();
  }
  std::optional<std::string> compiler;
  for (const char *name : {"clang-22", "clang", "cc"})
    if (!compiler)
      compiler = findProgram(name);
  if (!compiler)
    return make_error<ToolError>("no linker for the CPU image", std::vector<std::string>{"ld"}, 1,
                                 "", "install clang-22 or put it in PATH");
  request.argv = {*compiler, "-shared",       "-nostartfiles", "-Wl,-z,noexecstack",
                  "-o",      outputPath.str()};
  append_range(request.argv, paths);
  request.argv.push_back("-lm");
  if (findProgram("ld.lld") && StringRef(*compiler).contains("clang"))
    request.argv.push_back("-fuse-ld=lld");
  Expected<ProcessResult> result = runner.run(request);
  if (!result)
    return result.takeError();
  if (!result->succeeded())
    return make_error<ToolError>("cannot link the CPU image " + outputPath.str() + ": " +
                                     result->describe(),
                                 request.argv, result->exitStatus, result->errorTail());
  return Error::success();
}

static CpuImage summarize(const ImageContext &context, StringRef path) {
  CpuImage image;
  image.path = path.str();
  image.mode = context.mode;
  image.unsupported = context.unsupported;
  for (const Kernel &kernel : context.kernels) {
    image.kernels.push_back(kernel.name);
    for (uint32_t index : kernel.unsupported)
      image.unsupported[index].kernels.push_back(kernel.name);
  }
  erase_if(image.unsupported, [](const UnsupportedConstruct &u) { return u.kernels.empty(); });
  return image;
}

} // namespace cpu

Expected<CpuImage> buildCpuImage(StringRef bitcode, const CpuImageOptions &options,
                                 ProcessRunner &runner, StringRef outputPath) {
  Expected<std::unique_ptr<TargetMachine>> host = cpu::createHostMachine(options.hostCpu);
  if (!host)
    return host.takeError();
  LLVMContext llvmContext;
  std::string problems;
  llvmContext.setDiagnosticHandlerCallBack(cpu::noteProblem, &problems, true);
  Expected<std::unique_ptr<Module>> module = cpu::parse(bitcode, llvmContext);
  if (!module)
    return module.takeError();
  cpu::ImageContext context(**module, options.mode);
  // Checks follow single threads through their barriers, and shadows are too many to be remembered
  // at each.
  context.splitsBarriers = options.splitBarriers && options.mode != kbrt::ImageMode::Check &&
                           options.mode != kbrt::ImageMode::Oracle;
  {
    TimedPart timed(options.timings, "CPU images", "  translate and instrument");
    if (Error error = cpu::translate(context, **host))
      return std::move(error);
  }
  if (!options.hostIrPath.empty()) {
    std::string text;
    raw_string_ostream stream(text);
    (*module)->print(stream, nullptr);
    if (Error error = realFileSystem().write(options.hostIrPath, text))
      return std::move(error);
  }
  Expected<std::vector<std::string>> objects = [&] {
    TimedPart timed(options.timings, "CPU images", "  compile for the host");
    return cpu::compileParts(context, **host, cpuImageBuilder(), options.compiles);
  }();
  if (!objects)
    return objects.takeError();
  if (!problems.empty())
    return make_error<ToolError>("cannot compile for this host: " + problems,
                                 std::vector<std::string>{}, 0, "",
                                 "report the kernel; other devices are not affected");
  TimedPart timed(options.timings, "CPU images", "  link");
  if (Error error = cpu::link(*objects, outputPath, runner))
    return std::move(error);
  return cpu::summarize(context, outputPath);
}

} // namespace kbopt
