//===- HostQuestions.cpp - What hosts ask, and the calls that they make ---===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns what is known of a host beside its plans: whether it asks for the device, for arguments,
// files or random numbers, the branches that no run took, and its calls at sizes that nothing
// holds.
//
//===----------------------------------------------------------------------===//
#include "HostWays.h"
#include "kb-opt/Candidate/RecordedCases.h"
#include "kb-opt/Support/Error.h"

using namespace kbopt;

llvm::Expected<bool> RecordedCases::asksDevice(const ProgramArtefacts &program) {
  auto host = executable(sharesHost(program) ? first : program, recipes.recorded());
  if (!host)
    return host.takeError();
  return mayCall(*host, {"cudaDeviceGetAttribute", "cudaGetDeviceProperties",
                         "cudaFuncGetAttributes", "cudaOccupancy", "cudaDeviceGetLimit"});
}

llvm::Expected<bool> RecordedCases::asksOutside(const ProgramArtefacts &program) {
  if (workload.kind != WorkloadKind::Program || !workload.arguments.empty() ||
      !workload.standardInput.empty() || llvm::StringRef(program.text).contains("argv"))
    return true;
  auto host = executable(program, recipes.recorded());
  if (!host)
    return host.takeError();
  return mayCall(*host, {"rand",
                         "lrand48",
                         "drand48",
                         "erand48",
                         "fopen",
                         "open",
                         "fgets",
                         "fread",
                         "scanf",
                         "getenv",
                         "secure_getenv",
                         "time",
                         "clock",
                         "gettimeofday",
                         "getpid",
                         "_ZNSt6chrono",
                         "_ZNSt13basic_filebuf",
                         "_ZNSt14basic_ifstream",
                         "_ZSt3cin",
                         "cudaDeviceGet",
                         "cudaGetDevice",
                         "cudaFuncGetAttributes",
                         "cudaOccupancy",
                         "cudaMemGetInfo",
                         "cudaEventElapsedTime",
                         "cudaPointerGetAttributes",
                         "cudaRuntimeGetVersion",
                         "cudaDriverGetVersion"});
}

llvm::Expected<std::vector<std::string>>
RecordedCases::branchesNotTaken(const ProgramArtefacts &program) {
  if (sharesHost(program))
    return std::vector<std::string>();
  auto isOpen = asksOutside(program);
  if (!isOpen)
    return isOpen.takeError();
  return ways->notTaken(program.text, !*isOpen);
}

llvm::Expected<bool> RecordedCases::hasSources() {
  auto base = record(recipes.recorded());
  if (!base)
    return base.takeError();
  constexpr double mostSeconds = 2; // it is run once more, kernels and all
  if (wholeSeconds() > mostSeconds)
    return false;
  auto host = ways->noted(first.text);
  if (!host)
    return host.takeError();
  if (!host->seeds.empty())
    return true;
  auto program = executable(first, recipes.recorded());
  if (!program)
    return program.takeError();
  return mayCall(*program, {"rand", "lrand48", "drand48", "erand48", "fopen", "open",
                            "_ZNSt13basic_filebuf", "_ZNSt14basic_ifstream"});
}

llvm::Error RecordedCases::checkSeeds(const ProgramArtefacts &program) {
  auto own = ways->noted(first.text), its = ways->noted(program.text);
  if (!own || !its)
    return llvm::joinErrors(own.takeError(), its.takeError());
  if (own->seeds == its->seeds)
    return llvm::Error::success();
  return llvm::make_error<CannotFollow>(
      "the candidate seeds its generators of random numbers in other lines", "");
}

llvm::Expected<std::string> RecordedCases::recordCalls(const ProgramArtefacts &program,
                                                       const CaseRecipe &recipe) {
  auto base = record(recipes.recorded()); // says what device there is
  if (!base)
    return base.takeError();
  return once("calls " + digestOf(program.text) + recipe.test.name,
              [&](const std::string &folder) -> llvm::Error {
                auto host = executable(program, recipe);
                if (!host)
                  return host.takeError();
                auto image = imageFor(program);
                if (!image)
                  return image.takeError();
                auto calls = request(program, recipe, *host, *image, folder);
                if (!calls)
                  return calls.takeError();
                // Nothing runs, and a host that touches what it hands over has no business here.
                constexpr double mostSeconds = 1.5;
                constexpr uint64_t mostLaunches = 500; // the first ones tell of the grid
                constexpr uint64_t deviceBytes = uint64_t(56) << 30, hostBytes = uint64_t(120)
                                                                                 << 30;
                calls->isDry = true;
                calls->limits.launches = mostLaunches;
                calls->limits.wallSeconds = std::min(calls->limits.wallSeconds, mostSeconds);
                calls->limits.deviceBytes = deviceBytes;
                calls->limits.hostBytes = hostBytes; // of addresses
                auto recording = recordOracleFed(tools.runner, *calls, *base);
                if (!recording)
                  return recording.takeError();
                ways->take(program.text, recording->plan.outcome.taken, HostRunKind::CallsAlone);
                if (recording->status == RecordStatus::Good)
                  return llvm::Error::success();
                recording->message += " on case " + recipe.test.name;
                if (recording->status == RecordStatus::ProgramFailed ||
                    recording->status == RecordStatus::Crashed)
                  return recording->asError();
                return llvm::make_error<CannotFollow>(recording->message, recording->note);
              });
}
