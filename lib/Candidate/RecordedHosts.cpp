//===- RecordedHosts.cpp - Hosts as executables, and their runs -----------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns how the host side of a program becomes an executable, what the recorder is asked for, and
// the runs of the original and of whole programs.
//
//===----------------------------------------------------------------------===//
#include "CaseKeys.h"
#include "HostWays.h"
#include "kb-opt/Candidate/RecordedCases.h"
#include "kb-opt/Plan/KeptRecording.h"
#include "kb-opt/Support/Error.h"
#include "kb-opt/Support/Parallel.h"
#include "llvm/Support/Path.h"

using namespace kbopt;

std::vector<DriverRun> RecordedCases::runsWith(const CaseRecipe &recipe) const {
  if (!recipe.run)
    return {recipe.driverRun()};
  if (recipe.group.empty())
    return CaseRecipes::runsOf(recipes.all());
  std::lock_guard<std::mutex> lock(mutex);
  return CaseRecipes::runsOf(further.at(recipe.group));
}

llvm::Expected<std::string> RecordedCases::executable(const ProgramArtefacts &program,
                                                      const CaseRecipe &recipe) {
  auto library = findRecordLibrary();
  if (!library)
    return library.takeError();
  bool whole = workload.kind == WorkloadKind::Program;
  std::string key = "host " + digestOf(program.text) +
                    (whole ? "" : " " + (recipe.run ? recipe.group : recipe.test.name));
  const std::string inProgram = recipe.testRun ? recipe.testRun->program : "";
  key += " " + inProgram;
  auto host = ways->noted(program.text);
  if (!host)
    return host.takeError();
  auto folder = once(key, [&](const std::string &folder) -> llvm::Error {
    std::string text = host->text;
    CompileCommand command = *tools.input.command.findProgram(inProgram);
    if (!whole) {
      std::string copy = joinPath(folder, llvm::sys::path::filename(program.sourcePath));
      if (llvm::Error error = tools.files.write(copy, text))
        return error;
      // One program for all cases: compiling takes longer than running.
      auto main = generateMain(workload, signature, copy, runsWith(recipe));
      if (!main)
        return main.takeError();
      text = std::move(*main);
      // What the copy includes lies beside the original.
      if (llvm::StringRef(program.text).contains("#include \""))
        command.hostFlags.insert(
            command.hostFlags.end(),
            {"-iquote", llvm::sys::path::parent_path(program.sourcePath).str()});
    }
    return emitter.linkHostProgram(command, text, *library, joinPath(folder, "program"));
  });
  if (!folder)
    return folder.takeError();
  return joinPath(*folder, "program");
}

void RecordedCases::recordOnGpu(DeviceCompiler &compiler, unsigned index, std::string gpu) {
  machine = std::move(gpu);
  gpuCompiler = &compiler;
  gpuIndex = index;
}

llvm::Expected<std::string> RecordedCases::imageFor(const ProgramArtefacts &program) {
  if (!gpuCompiler) {
    auto image = device.build(program, RunMode::Plain);
    if (!image)
      return image.takeError();
    return image->path;
  }
  auto code = gpuCompiler->compileFor(program);
  if (!code)
    return code.takeError();
  if (code->cubinPath.empty())
    return llvm::make_error<ToolError>("recording on a GPU needs machine code, which nvcc makes",
                                       std::vector<std::string>{"nvcc"}, -1, "",
                                       "set CUDA_PATH to a CUDA toolkit");
  return code->cubinPath;
}

llvm::Expected<RecordRequest> RecordedCases::request(const ProgramArtefacts &program,
                                                     const CaseRecipe &recipe,
                                                     std::string executable, std::string image,
                                                     std::string folder) const {
  RecordRequest request;
  if (compiler && !gpuCompiler) {
    auto asks = mayCall(executable, {"cudaFuncGetAttributes", "cudaOccupancy"});
    if (!asks)
      return asks.takeError();
    auto code = *asks ? compiler->compileFor(program) : llvm::Expected<DeviceCode>(DeviceCode());
    if (!code)
      return code.takeError();
    for (const auto &[name, kernel] : code->kernels)
      if (kernel.registers)
        request.registers[name] = *kernel.registers;
  }
  const CompileCommand &command = tools.input.command;
  const std::string &inProgram = recipe.testRun && !recipe.testRun->program.empty()
                                     ? recipe.testRun->program
                                     : command.program;
  request.name = inProgram.empty() ? command.shownFile : llvm::sys::path::filename(inProgram).str();
  request.executable = std::move(executable);
  request.image = std::move(image);
  request.arguments = recipe.arguments.value_or(workload.arguments);
  request.otherSources = recipe.otherSources;
  if (recipe.run)
    request.arguments = {std::to_string(*recipe.run)};
  if (recipe.testRun)
    request.arguments = recipe.testRun->arguments;
  request.standardInput = workload.standardInput;
  request.environment = workload.environment;
  std::string sourceFolder = llvm::sys::path::parent_path(tools.input.command.file).str();
  request.workingDirectory =
      workload.workingDirectory.empty() ? sourceFolder : workload.workingDirectory;
  if (recipe.testRun) {
    request.environment = recipe.testRun->environment;
    request.workingDirectory = recipe.testRun->workingDirectory;
  }
  request.folder = std::move(folder);
  if (workload.limitSeconds > 0)
    request.limits.wallSeconds = workload.limitSeconds;
  request.limits.launches = workload.limitLaunches;
  request.deviceIndex = gpuIndex;
  request.kernelTypes = kernelTypes;
  if (gpuCompiler) // real sizes; the GPU's memory is a limit, too
    request.limits.deviceBytes = request.limits.fileBytes = uint64_t{40} << 30;
  if (workload.limitGibibytes > 0)
    request.limits.hostBytes = request.limits.deviceBytes = request.limits.fileBytes =
        static_cast<uint64_t>(workload.limitGibibytes * (uint64_t{1} << 30));
  // A program may take no longer than the search with it, which needs time to say so.
  constexpr double programShare = 0.8;
  if (tools.budgetSeconds > 0)
    request.limits.wallSeconds =
        std::min(std::max(programShare * tools.budgetSeconds, 1.0), request.limits.wallSeconds);
  constexpr double askedSeconds = 30;
  if (recipe.test.asksMore)
    request.limits.wallSeconds = std::min(request.limits.wallSeconds, askedSeconds);
  if (tools.sandbox) // no recording is in sight
    request.sandbox = Sandbox{
        .readable = {sourceFolder, request.workingDirectory}, .writable = {}, .hidden = {root}};
  return request;
}

/// What the generated driver says of a recording's host side, beside its plan.
llvm::Error RecordedCases::writeHostResults(const Recording &recording) const {
  if (workload.kind == WorkloadKind::Program)
    return llvm::Error::success();
  std::string lines;
  llvm::SmallVector<llvm::StringRef> all;
  llvm::StringRef(recording.out).split(all, '\n');
  for (llvm::StringRef line : all)
    if (line.starts_with(hostResultWord))
      lines += line.str() + "\n";
  return tools.files.write(joinPath(recording.folder, hostResultsFileName), lines);
}

llvm::Expected<std::string> RecordedCases::record(const CaseRecipe &recipe) {
  return once("record " + recipe.test.name, [&](const std::string &folder) -> llvm::Error {
    // Neither compile needs the other.
    std::optional<llvm::Expected<std::string>> image, program;
    parallelFor(tools.jobs == 1 ? 1 : 2, 2, [&](size_t which) {
      if (which == 0)
        image.emplace(imageFor(first));
      else
        program.emplace(executable(first, recipe));
    });
    if (!*program && !*image)
      llvm::consumeError(program->takeError());
    if (!*image)
      return image->takeError();
    if (!*program)
      return program->takeError();
    auto recordRequest = request(first, recipe, **program, **image, folder);
    if (!recordRequest)
      return recordRequest.takeError();
    auto replacement = replacementFor(recipe);
    if (!replacement)
      return replacement.takeError();
    recordRequest->replacement = std::move(*replacement);
    if (recipe.test.name == recipes.recorded().test.name)
      recordRequest->onDraft = onDraft;
    auto recording =
        recordOrReuse(tools.runner, *recordRequest, tools.recordings, tools.digests, machine);
    if (!recording)
      return recording.takeError();
    if (recipe.test.name == recipes.recorded().test.name)
      printed = {recording->exitStatus, recording->out, {}, recording->err};
    {
      std::lock_guard<std::mutex> lock(mutex);
      recordSeconds[recipe.test.name] = recording->wallSeconds;
    }
    // It may well say what is wrong with other inputs.
    if (recipe.replacement && hasEndedByItself(*recording))
      recording->status = RecordStatus::Good;
    if (recording->status != RecordStatus::Good && !recipe.test.recorded)
      recording->message += " on case " + recipe.test.name;
    if (llvm::Error error = recording->asError())
      return error;
    return writeHostResults(*recording);
  });
}

std::optional<llvm::Expected<CaseSource::WholeRun>>
RecordedCases::wholeProgram(const ProgramArtefacts &program, llvm::StringRef otherImage,
                            Rounding rounding) {
  if (workload.kind != WorkloadKind::Program)
    return std::nullopt;
  auto run = [&]() -> llvm::Expected<WholeRun> {
    const CaseRecipe &recipe = recipes.recorded();
    auto host = executable(sharesHost(program) ? first : program, recipe);
    if (!host)
      return host.takeError();
    auto image =
        otherImage.empty() ? imageFor(program) : llvm::Expected<std::string>(otherImage.str());
    if (!image)
      return image.takeError();
    const unsigned number = wholeRuns++; // several may run at once
    std::string folder = joinPath(root, "whole" + std::to_string(number));
    if (llvm::Error error = tools.files.createDirectories(folder))
      return std::move(error);
    auto whole = request(program, recipe, *host, *image, folder);
    if (!whole)
      return whole.takeError();
    whole->rounding = toString(rounding).str();
    whole->clockPace = 1 + number % clockPaces;
    auto ended = executeProgram(tools.runner, *whole);
    if (!ended)
      return ended.takeError();
    if (ended->status == RecordStatus::NoDevice) // says nothing about the program
      return ended->asError();
    return WholeRun{ended->exitStatus, ended->out, ended->written, ended->err};
  };
  return run();
}

double RecordedCases::wholeSeconds() {
  std::lock_guard<std::mutex> lock(mutex);
  auto own = recordSeconds.find(recipes.recorded().test.name);
  return own == recordSeconds.end() ? 0 : own->second;
}
