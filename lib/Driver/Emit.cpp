//===- Emit.cpp - Programs as IR, plans, jobs and workloads -----------===//
// SPDX-License-Identifier: Apache-2.0
#include "Modes.h"
#include "Session.h"
#include "kb-opt/Analysis/Import.h"
#include "kb-opt/Pipeline/Pipeline.h"
#include "kb-opt/Raise/Raise.h"
#include "kb-opt/Report/RemarkYaml.h"
#include "kb-opt/Rewrite/SchedulePass.h"
#include "kbrt/RecordKeeper.h"
#include "mlir/IR/MLIRContext.h"
#include "llvm/Support/FormatVariadic.h"

using namespace kbopt;

/// The program's IR as text, after \p change.
static llvm::Expected<ExitStatus> emitIr(Context &context,
                                         llvm::function_ref<void(ImportedProgram &)> change) {
  if (llvm::Error error = openInput(context))
    return std::move(error);
  auto parsed = context.parser.parse(context.command, context.text);
  if (!parsed)
    return parsed.takeError();
  auto bitcode = CodeEmitter(context.runner, compileLimits(context))
                     .emitDeviceBitcode(context.command, context.text);
  if (!bitcode)
    return bitcode.takeError();
  mlir::MLIRContext mlirContext;
  auto imported = importProgram(**parsed, *bitcode, mlirContext);
  if (!imported)
    return imported.takeError();
  change(*imported);
  std::string text;
  llvm::raw_string_ostream os(text);
  mlir::OpPrintingFlags flags;
  imported->module->print(os, flags.enableDebugInfo(false));
  if (llvm::Error error = writeResult(context, text))
    return std::move(error);
  return ExitStatus::Success;
}

llvm::Expected<ExitStatus> kbopt::emitKbIr(Context &context) {
  return emitIr(context, [](ImportedProgram &) {});
}

/// The raised kernels after -passes=, with the schedules that the passes set.
static llvm::Expected<ExitStatus> emitScheduledNests(Context &context) {
  if (llvm::Error error = openInput(context))
    return std::move(error);
  auto pipeline = pipelineOptions(context);
  if (!pipeline)
    return pipeline.takeError();
  pipeline->keepNests = true;
  auto result = runPipeline(context.text, context.command, context.options.passes, *pipeline);
  if (!result)
    return result.takeError();
  showRemarks(context, result->remarks);
  if (llvm::Error error = writeResult(context, result->nests))
    return std::move(error);
  return ExitStatus::Success;
}

llvm::Expected<ExitStatus> kbopt::emitKbNest(Context &context) {
  if (!context.options.passes.empty() && !context.options.isAuto())
    return emitScheduledNests(context);
  return emitIr(context, [](ImportedProgram &program) {
    raiseProgram(program);
    // Only the raised form: what it was made of is --emit=kb-ir.
    for (mlir::Operation &each : llvm::make_early_inc_range(program.program.getBody().front()))
      if (mlir::isa<kb::KernelOp, kb::LaunchOp>(each))
        each.erase();
  });
}

/// The schedules of \p kernel as lines: the figures of its nest, and for each the modelled time,
/// what takes most of it, and the schedule as `-passes=schedule{as="…"}` takes it.
static std::string scheduleLines(const PassContext &context, const KernelView &kernel) {
  std::string lines = "kernel '" + kernel.name().str() + "'";
  RaisedKernel raised = context.raised(kernel);
  if (!raised.nest)
    return lines + ": not raised: " + raised.reason + "\n";
  std::vector<RankedSchedule> ranked =
      rankedSchedules(context, kernel, knownSizes(context, kernel), Freedom{true, false});
  lines += ranked.empty() ? ": no schedule fits\n" : "\n";
  std::string figures;
  for (const auto &[name, value] : nestFigures(raised.nest, knownSizes(context, kernel)))
    figures += llvm::formatv(" {0}={1}", name, value);
  if (!figures.empty() && !ranked.empty())
    lines += "  nest:" + figures + "\n";
  for (const RankedSchedule &each : ranked) {
    std::string time = "not modelled";
    if (each.estimate)
      time = llvm::formatv("modelled {0:F2} us, {1}", each.estimate->us, each.estimate->limiter);
    lines += llvm::formatv("  {0,-34} {1}\n", time, scheduleText(each.schedule));
  }
  return lines;
}

llvm::Expected<ExitStatus> kbopt::emitSchedules(Context &context) {
  if (llvm::Error error = openInput(context))
    return std::move(error);
  auto pipeline = pipelineOptions(context);
  if (!pipeline)
    return pipeline.takeError();
  auto session = RewriteSession::create(context.text, context.command, *pipeline);
  if (!session)
    return session.takeError();
  std::string text;
  llvm::Error error = (*session)->withPassContext([&](const PassContext &passContext) {
    for (const KernelView &kernel : passContext.kernels())
      text += scheduleLines(passContext, kernel);
    return llvm::Error::success();
  });
  if (error)
    return std::move(error);
  if (llvm::Error written = writeResult(context, text))
    return std::move(written);
  return ExitStatus::Success;
}

llvm::Expected<ExitStatus> kbopt::emitWorkload(Context &context) {
  if (llvm::Error error = openInput(context))
    return std::move(error);
  auto parsed = context.parser.parse(context.command, context.text);
  if (!parsed)
    return parsed.takeError();
  auto entries = possibleEntries(**parsed);
  if (entries.empty())
    return llvm::make_error<UsageError>("no kernels in '" + context.options.input + "'",
                                        "a workload calls a kernel or a function that launches one",
                                        ExitStatus::Diagnostics);
  const std::string &wanted = context.options.entry;
  auto chosen = wanted.empty() ? entries.front() : findSignature(**parsed, wanted);
  if (!chosen) {
    std::string names;
    for (const Signature &entry : entries)
      names += (names.empty() ? "" : ", ") + entry.name;
    return llvm::make_error<UsageError>(
        "no function '" + wanted + "' in '" + context.options.input + "' that a workload can call",
        "those that launch kernels, and kernels, are " + names, ExitStatus::Diagnostics);
  }
  if (llvm::Error error = writeResult(context, workloadSkeleton(*chosen)))
    return std::move(error);
  for (const Signature &other : entries)
    if (other.name != chosen->name)
      context.progress.line("'" + other.name + "' can be called too (" + other.place +
                            "): --entry=" + other.name);
  return ExitStatus::Success;
}

llvm::Expected<ExitStatus> kbopt::emitPlan(Context &context) {
  auto session = openSession(context);
  if (!session)
    return session.takeError();
  auto folder = (*session)->cases->original((*session)->cases->cases().front());
  llvm::SmallVector<llvm::StringRef> printed;
  (*session)->cases->originalOutput().trim().split(printed, '\n', -1, /*KeepEmpty=*/false);
  for (llvm::StringRef line : printed)
    context.progress.line("program: " + line.str());
  if (!folder)
    return folder.takeError();
  auto plan = context.files.read(*folder + "/" + kbrt::planFileName);
  if (!plan)
    return plan.takeError();
  if (llvm::Error error = writeResult(context, *plan))
    return std::move(error);
  return ExitStatus::Success;
}

llvm::Expected<ExitStatus> kbopt::emitJob(Context &context) {
  auto session = openSession(context);
  if (!session)
    return session.takeError();
  auto code = (*session)->compiler.compile((*session)->original);
  if (!code)
    return code.takeError();
  if (code->cubinPath.empty())
    return llvm::make_error<ToolError>("a job needs machine code, which nvcc makes",
                                       std::vector<std::string>{"nvcc"}, -1, "",
                                       "set CUDA_PATH to a CUDA toolkit");
  auto folder = (*session)->cases->original((*session)->cases->cases().front());
  if (!folder)
    return folder.takeError();
  FileSystem &files = context.files;
  const std::string &output = context.options.output;
  if (llvm::Error error = files.createDirectories(output))
    return std::move(error);
  std::vector<std::pair<std::string, std::string>> copies = {{code->cubinPath, "image.cubin"}};
  for (llvm::StringRef name : {kbrt::planFileName, kbrt::dataFileName})
    copies.emplace_back(*folder + "/" + name.str(), name.str());
  for (const auto &[from, name] : copies) {
    auto bytes = files.read(from);
    if (!bytes)
      return bytes.takeError();
    if (llvm::Error error = files.write(output + "/" + name, *bytes))
      return std::move(error);
  }
  std::string problem;
  auto observables = kbrt::readObservables(*folder, problem);
  if (!observables)
    return llvm::make_error<StoreError>(problem);
  if (llvm::Error error = files.write(output + "/" + kbrt::observablesFileName, *observables))
    return std::move(error);
  llvm::json::Object job{
      {"version", 1}, {"device", "cuda"}, {"plan", "."}, {"image", "image.cubin"}};
  if (llvm::Error error = files.write(
          output + "/job.json", llvm::formatv("{0:2}\n", llvm::json::Value(std::move(job))).str()))
    return std::move(error);
  return ExitStatus::Success;
}
