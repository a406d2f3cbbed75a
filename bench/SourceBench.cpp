//===- SourceBench.cpp - Parsing and importing ----------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// First parse and re-parse after an edit against clang -fsyntax-only, and the
// import into kb IR.
//
//===----------------------------------------------------------------------===//
#include "kb-opt/Analysis/Import.h"
#include "kb-opt/Source/CodeEmission.h"
#include "kb-opt/Source/ParsedProgram.h"
#include "mlir/IR/MLIRContext.h"
#include <benchmark/benchmark.h>

using namespace kbopt;

/// The example program under default flags; ends the benchmark on any failure.
static const CompileCommand &command() {
  static const CompileCommand instance = [] {
    auto toolkit = llvm::cantFail(findCudaToolkit(ToolkitSearch::fromEnvironment()));
    CommandQuery query;
    query.file = KBOPT_SOURCE_DIR "/examples/dense-layer/dense_layer.cu";
    query.flags.emplace();
    return llvm::cantFail(findCompileCommand(query, toolkit));
  }();
  return instance;
}

static const std::string &source() {
  static const std::string text = llvm::cantFail(readSource(command()));
  return text;
}

static void clangSyntaxOnly(benchmark::State &state) {
  ProcessRequest request;
  request.argv = {llvm::cantFail(findClang()), "-fsyntax-only"};
  for (const std::string &argument : command().deviceArguments())
    request.argv.push_back(argument);
  request.argv.push_back(command().file);
  for (auto _ : state) {
    auto result = llvm::cantFail(realProcessRunner().run(request));
    if (!result.succeeded())
      state.SkipWithError(result.errorTail(3).c_str());
  }
}

static void firstParse(benchmark::State &state) {
  for (auto _ : state) {
    ProgramParser parser;
    llvm::cantFail(parser.parse(command(), source()));
  }
}

static void reparseAfterEdit(benchmark::State &state) {
  ProgramParser parser;
  llvm::cantFail(parser.parse(command(), source()));
  unsigned edit = 0;
  for (auto _ : state)
    llvm::cantFail(parser.parse(command(), source() + "// edit " + std::to_string(edit++) + "\n"));
}

static void deviceBitcode(benchmark::State &state) {
  for (auto _ : state)
    llvm::cantFail(CodeEmitter(realProcessRunner()).emitDeviceBitcode(command(), source()));
}

static void importKbIr(benchmark::State &state) {
  ProgramParser parser;
  auto parsed = llvm::cantFail(parser.parse(command(), source()));
  auto bitcode =
      llvm::cantFail(CodeEmitter(realProcessRunner()).emitDeviceBitcode(command(), source()));
  for (auto _ : state) {
    mlir::MLIRContext context;
    benchmark::DoNotOptimize(llvm::cantFail(importProgram(*parsed, bitcode, context)));
  }
}

BENCHMARK(clangSyntaxOnly)->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK(firstParse)->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK(reparseAfterEdit)->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK(deviceBitcode)->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK(importKbIr)->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK_MAIN();
