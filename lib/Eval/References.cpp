//===- References.cpp - What the original gives, and how rounding moves it -===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the oracle of each case: the original's outputs, how far other roundings and
// orders of threads move them, and how many roundings lie behind one element.
//
//===----------------------------------------------------------------------===//
#include "JudgeImpl.h"
#include "WideIslands.h"
#include "kb-opt/Eval/DirectedRounding.h"
#include "kb-opt/Plan/PlanTransform.h"
#include "kb-opt/Support/Error.h"
#include "kb-opt/Support/Interrupt.h"
#include "kb-opt/Support/Parallel.h"
#include "llvm/Support/FileSystem.h"
#include <algorithm>
#include <array>
#include <cmath>

using namespace llvm;

namespace kbopt {

void Reference::widen(const RunResult &other, bool narrowed) {
  // Under another rounding a program may take another path and fail; such a
  // run says nothing about rounding.
  if (other.status != RunStatus::Ok || other.outputs.size() != outputs.size() ||
      run->outputs.size() != outputs.size())
    return;
  moved.resize(outputs.size());
  for (size_t i = 0; i < outputs.size(); ++i)
    if (!narrowed || unitRoundoff(outputs[i].type) >= unitRoundoff(Precision::Float32))
      widenMoves(outputs[i].type, bytesOf(run->outputs[i]), bytesOf(other.outputs[i]), moved[i]);
}

Expected<Reference> Judge::Impl::measureReference(const TestCase &test) {
  Expected<std::string> folder = plan(baselineProgram, test);
  if (!folder)
    return folder.takeError();
  Expected<std::vector<OutputSpec>> specs = outputSpecs(*folder);
  if (!specs)
    return specs.takeError();
  Expected<RunPointer> natural = run(baselineProgram, test, RunMode::Plain, runOptions());
  if (!natural)
    return natural.takeError();
  Reference reference;
  reference.planFolder = *folder;
  reference.outputs = std::move(*specs);
  reference.run = *natural;
  reference.deterministic = !baseline || baseline->deterministic;
  if (reference.deterministic)
    return reference;
  for (unsigned order = 1; order <= options.shuffles + 1; ++order) {
    RunOptions shuffled = runOptions();
    shuffled.seed = order;
    Expected<RunPointer> again = run(baselineProgram, test, RunMode::Plain, shuffled);
    if (!again)
      return again.takeError();
    reference.widen(**again);
  }
  return reference;
}

using kbrt::Op;
static constexpr Op additions[] = {Op::FAdd, Op::FFma, Op::DAdd, Op::DFma, Op::HAdd, Op::HFma};
static constexpr Op roundedOperations[] = {Op::FAdd, Op::FMul, Op::FFma, Op::FDiv,
                                           Op::DAdd, Op::DMul, Op::DFma, Op::DDiv,
                                           Op::HAdd, Op::HMul, Op::HFma, Op::Special};
/// Of four bytes: a launch that stores shorter ones has more of them, and n only smaller.
static constexpr double elementBytes = 4;

/// The most of \p operations per stored element, or per thread where fewer are
/// stored, in a launch of \p run. Of additions: about the longest sum behind one
/// element, of which there are no more than \p elements: a sum in memory is stored again and
/// again. 0: unknown.
static uint64_t perElement(const RunResult &run, ArrayRef<Op> operations, double elements) {
  double longest = 0;
  for (const LaunchRecord &launch : run.launches) {
    if (!launch.counters)
      return 0;
    const kbrt::KernelCounters &counters = *launch.counters;
    double sum = 0;
    for (Op op : operations)
      sum += counters.threadInstructionsByOp[static_cast<size_t>(op)];
    double threads = static_cast<double>(counters.blocks) * counters.threadsPerBlock;
    double stored = std::min(counters.globalStore.bytesRequested / elementBytes, elements);
    longest = std::max(longest, sum / std::max({threads, stored, 1.0}));
  }
  return static_cast<uint64_t>(std::ceil(longest));
}

/// The same from a GPU's counters of machine code. \p mul: whether products count. A division is
/// many fused operations of machine code, which are no terms of a sum: they do not count in a
/// kernel that divides.
static uint64_t perElement(const GpuProfile &profile, const PtxCensus &census, bool mul,
                           double elements) {
  double longest = 0;
  for (const LaunchMetrics &launch : profile.launches) {
    auto known = census.functions.find(launch.kernel);
    const bool fma = known != census.functions.end()
                         ? known->second.exactDivisions == 0
                         : llvm::none_of(census.functions, [](const auto &function) {
                             return function.second.exactDivisions > 0;
                           });
    auto metric = [&](StringRef name) {
      auto found = launch.metrics.find(name.str());
      return found == launch.metrics.end() ? 0.0 : found->second;
    };
    double sum = 0;
    for (StringRef type : {"f", "d", "h"}) {
      auto count = [&](StringRef operation) {
        return metric(
            ("smsp__sass_thread_inst_executed_op_" + type + operation + "_pred_on.sum").str());
      };
      sum += count("add") + (fma ? count("fma") : 0) + (mul ? count("mul") : 0);
    }
    constexpr double sectorBytes = 32;
    double stored = metric("l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum") * sectorBytes / 100 *
                    metric("smsp__sass_average_data_bytes_per_sector_mem_global_op_st.pct");
    double threads = 1;
    for (int i = 0; i < 3; ++i)
      threads *= static_cast<double>(launch.grid[i]) * launch.block[i];
    longest = std::max(longest,
                       sum / std::max({threads, std::min(stored / elementBytes, elements), 1.0}));
  }
  return static_cast<uint64_t>(std::ceil(longest));
}

/// Whether no launch of \p run computes in half or bf16.
static bool computesInFloat(const RunResult &run) {
  return llvm::all_of(run.launches, [](const LaunchRecord &launch) {
    return launch.counters &&
           llvm::all_of(std::array{Op::HAdd, Op::HMul, Op::HFma, Op::Tensor}, [&](Op op) {
             return launch.counters->threadInstructionsByOp[static_cast<size_t>(op)] == 0;
           });
  });
}

/// The same from a GPU's counters, whose tensor pipe \p ptx tells of.
static bool computesInFloat(const GpuProfile &profile, llvm::StringRef ptx) {
  if (ptx.contains("mma"))
    return false;
  return llvm::all_of(profile.launches, [](const LaunchMetrics &launch) {
    return llvm::all_of(std::array{"add", "mul", "fma"}, [&](llvm::StringRef operation) {
      auto found = launch.metrics.find(
          ("smsp__sass_thread_inst_executed_op_h" + operation + "_pred_on.sum").str());
      return found != launch.metrics.end() && found->second == 0;
    });
  });
}

Expected<OperationCounts> Judge::Impl::countOperations(const TestCase &test) {
  OperationCounts counts;
  Expected<const PlanFacts &> here = facts(baselineProgram, test);
  if (!here)
    return here.takeError();
  const double elements = here->bufferBytes / elementBytes;
  Expected<std::optional<std::string>> refusal = cpuRefusal(test);
  if (!refusal)
    return refusal.takeError();
  std::string why = refusal->value_or("");
  if (!*refusal) {
    Expected<RunPointer> counted =
        run(baselineProgram, test, RunMode::Count, cpuOptions(baselineProgram));
    if (!counted)
      return counted.takeError();
    if ((*counted)->status == RunStatus::Ok) {
      counts.reductionLength = perElement(**counted, additions, elements);
      counts.roundings = perElement(**counted, roundedOperations, elements);
      counts.sumsInFloat = computesInFloat(**counted);
      return counts;
    }
    why = (*counted)->message;
  }
  if (!gpu)
    return counts;
  // The GPU's counters are those of the recorded case; another shape has other sums.
  Expected<const PlanFacts &> recorded = facts(baselineProgram, recordedCase());
  if (!recorded)
    return recorded.takeError();
  if (here->launches != recorded->launches) {
    counts.limits = "operations are not counted: " + why;
    return counts;
  }
  Expected<const GpuProfile &> counters = profile();
  if (!counters)
    return counters.takeError();
  if (counters->status != RunStatus::Ok || !counters->degraded.empty()) {
    counts.limits = "operations are not counted: " + why + "; no counters on the GPU: " +
                    (counters->degraded.empty() ? counters->message : counters->degraded);
    return counts;
  }
  Expected<const DeviceCode &> compiled = code(original);
  if (!compiled)
    return compiled.takeError();
  const PtxCensus census = takePtxCensus(compiled->ptx);
  counts.reductionLength = perElement(*counters, census, false, elements);
  counts.roundings = perElement(*counters, census, true, elements);
  counts.sumsInFloat = computesInFloat(*counters, compiled->ptx);
  return counts;
}

Expected<DeviceImage> Judge::Impl::directedImage(const Rerounding &rounding) {
  Expected<std::string> path = scratchFile(rounding.name() + (gpu ? ".ptx" : ".bc"));
  if (!path)
    return path.takeError();
  if (!gpu) {
    if (Error error = writeRerounded(original.bitcodePath, rounding, *path))
      return std::move(error);
    ProgramArtefacts again = original;
    again.bitcodePath = *path;
    return device.build(again, RunMode::Plain);
  }
  Expected<const DeviceCode &> compiled = code(original);
  if (!compiled)
    return compiled.takeError();
  // It is the original's code, and may share its processes: they take long to open a device.
  Expected<const DeviceImage *> own = this->image(baselineProgram, RunMode::Plain);
  if (!own)
    return own.takeError();
  DeviceImage image;
  if (Expected<Digest> owner = files.get((*own)->path))
    image.owner = *owner;
  else
    consumeError(owner.takeError()); // it has a process of its own
  std::string text = withRounding(compiled->ptx, rounding);
  image.digest = digestOf(text);
  image.path = *path;
  if (Error error = realFileSystem().write(image.path, text))
    return std::move(error);
  return image;
}

Expected<RunPointer> Judge::Impl::directedRun(const TestCase &test, const Rerounding &rounding,
                                              std::string &limits) {
  RunOptions directed = runOptions();
  directed.rounding = rounding.direction;
  // The host rounds all operations alike by itself.
  const bool isByHost = !gpu && !rounding.pattern && !rounding.narrow;
  if (isByHost && test.runsAgainOn.empty())
    return run(baselineProgram, test, RunMode::Plain, directed);
  Expected<std::string> folder = plan(baselineProgram, test);
  if (!folder)
    return folder.takeError();
  auto execute = [&](const std::string &planFolder) -> Expected<RunResult> {
    if (isByHost) {
      Expected<const DeviceImage *> own = image(baselineProgram, RunMode::Plain);
      return own ? device.run(**own, planFolder, directed) : own.takeError();
    }
    Expected<const DeviceImage &> built =
        directedImages.get(rounding, [&] { return directedImage(rounding); });
    if (!built)
      return built.takeError();
    return gpu ? gpu->run(*built, planFolder, runOptions())
               : device.run(*built, planFolder, directed);
  };
  Expected<RunResult> result =
      test.runsAgainOn.empty() ? execute(*folder) : executeWithHost(test, *folder, execute);
  if (result)
    return std::make_shared<const RunResult>(std::move(*result));
  // A driver older than the compiler takes no PTX of it; that is not the program's fault.
  if (interrupted())
    return result.takeError();
  limits = "no runs under other roundings: " + llvm::toString(result.takeError());
  return RunPointer();
}

Error Judge::Impl::addRoundings(const TestCase &test, Reference &reference,
                                ArrayRef<Rerounding> roundings) {
  // Of so many the results are there at once.
  const unsigned together = gpu ? runsTogether() : 1;
  while (!roundings.empty()) {
    ArrayRef<Rerounding> part = roundings.take_front(together);
    roundings = roundings.drop_front(part.size());
    std::vector<std::optional<Expected<RunPointer>>> runs(part.size());
    std::vector<std::string> limits(part.size());
    parallelFor(together, part.size(),
                [&](size_t i) { runs[i].emplace(directedRun(test, part[i], limits[i])); });
    Error failure = Error::success();
    for (auto &run : runs)
      failure = joinErrors(std::move(failure), run->takeError());
    if (failure)
      return failure;
    for (size_t i = 0; i < part.size(); ++i) {
      const RunPointer &moved = **runs[i];
      if (!moved) {
        reference.limits += (reference.limits.empty() ? "" : "; ") + limits[i];
        return Error::success();
      }
      reference.widen(*moved, part[i].narrow);
    }
  }
  return Error::success();
}

Expected<Reference> Judge::Impl::withCounts(const TestCase &test, Reference reference) {
  Expected<const PlanFacts &> known = facts(baselineProgram, test);
  if (!known)
    return known.takeError();
  // Beside a GPU, cases of the same launches are counted once: they have the same sums.
  Expected<const OperationCounts &> counts =
      operationCounts.get(gpu ? known->launches : test.name, [&] { return countOperations(test); });
  if (!counts)
    return counts.takeError();
  reference.reductionLength = counts->reductionLength;
  reference.roundings = counts->roundings;
  reference.sumsInFloat = counts->sumsInFloat;
  reference.limits = counts->limits;
  return reference;
}

Expected<Reference> Judge::Impl::withRoundings(const TestCase &test, Reference reference) {
  // Two mixtures beside the three directions: why, and why two, is in docs/VerificationNumerics.md.
  if (Error error = addRoundings(test, reference,
                                 {Rounding::Up, Rounding::Down, Rounding::Zero,
                                  Rerounding::mixed(1), Rerounding::mixed(2)}))
    return std::move(error);
  return reference;
}

Expected<Reference> Judge::Impl::withNarrowing(const TestCase &test, Reference reference) {
  Expected<const DeviceCode &> compiled = code(original);
  if (!compiled)
    return compiled.takeError();
  reference.narrows = isWideBetweenFloats(compiled->ptx);
  if (!reference.narrows)
    return reference;
  if (Error error =
          addRoundings(test, reference,
                       {Rerounding(Rounding::Up).narrowed(), Rerounding(Rounding::Down).narrowed(),
                        Rerounding::mixed(1).narrowed(), Rerounding::mixed(2).narrowed()}))
    return std::move(error);
  return reference;
}

Expected<Reference> Judge::Impl::withDraws(const TestCase &test, Reference reference) {
  /// As many as leave a few elements in a million of those that the usual runs left.
  constexpr unsigned draws = 8;
  std::vector<Rerounding> drawn;
  for (unsigned pattern = 1; pattern <= draws; ++pattern)
    drawn.push_back(reference.narrows ? Rerounding::drawn(pattern).narrowed()
                                      : Rerounding::drawn(pattern));
  // Large inputs take the host as long to nudge as the device takes for all of the runs.
  constexpr unsigned nudges = 2;
  std::vector<std::optional<Expected<RunResult>>> nudged(test.hasExactSums ? 0 : nudges);
  std::optional<Error> drew;
  parallelFor(gpu && runsTogether() > 1 ? 1 + nudges : 1, 1 + nudged.size(), [&](size_t i) {
    if (i == 0)
      drew.emplace(addRoundings(test, reference, drawn));
    else
      nudged[i - 1].emplace(nudgedRun(reference.planFolder, static_cast<unsigned>(i)));
  });
  Error failure = std::move(*drew);
  for (auto &run : nudged) {
    if (*run)
      reference.widen(**run);
    failure = joinErrors(std::move(failure), run->takeError());
  }
  if (failure)
    return std::move(failure);
  return reference;
}

Expected<RunResult> Judge::Impl::nudgedRun(const std::string &planFolder, unsigned seed) {
  Expected<RecordedPlan> recorded = readRecordedPlan(planFolder);
  if (!recorded)
    return recorded.takeError();
  Expected<const DeviceImage *> built = image(baselineProgram, RunMode::Plain);
  if (!built)
    return built.takeError();
  Expected<std::string> data = nudgeInputs(recorded->plan, recorded->data(), seed);
  if (!data)
    return data.takeError();
  Expected<std::string> folder = writeCopy(recorded->plan, *data);
  if (!folder)
    return folder.takeError();
  Expected<RunResult> result =
      deviceFor(RunMode::Plain, Where::Usual).run(**built, *folder, runOptions());
  (void)sys::fs::remove_directories(*folder);
  return result;
}

Spread spreadFor(const CandidatePromise &promise) {
  switch (promise.result) {
  case Promise::Bitwise:
    return Spread::None;
  case Promise::Reassociates:
    return Spread::Rounded;
  case Promise::LowerPrecision:
    return Spread::Narrowed;
  }
  return Spread::None;
}

Expected<const Reference *> Judge::Impl::reference(const TestCase &test, Spread spread) {
  if (test.elsewhere)
    return reference(recordedCase(), spread);
  Expected<const Reference &> plain =
      references.get(test.name, [&] { return measureReference(test); });
  if (!plain)
    return plain.takeError();
  if ((spread == Spread::None && plain->deterministic) || plain->run->status != RunStatus::Ok)
    return &*plain;
  Expected<const Reference &> counted =
      countedReferences.get(test.name, [&] { return withCounts(test, *plain); });
  if (!counted)
    return counted.takeError();
  if (spread == Spread::Counted && plain->deterministic)
    return &*counted;
  Expected<const Reference &> rounded =
      spreadReferences.get(test.name, [&] { return withRoundings(test, *counted); });
  if (!rounded)
    return rounded.takeError();
  if (spread != Spread::Narrowed)
    return &*rounded;
  Expected<const Reference &> narrowed =
      narrowedReferences.get(test.name, [&] { return withNarrowing(test, *rounded); });
  if (!narrowed)
    return narrowed.takeError();
  return &*narrowed;
}

Expected<const Reference *> Judge::Impl::closerReference(const TestCase &test, Spread spread) {
  Expected<const Reference *> usual = reference(test, spread);
  if (!usual)
    return usual.takeError();
  Expected<const Reference &> closer =
      closerReferences.get({test.name, spread}, [&] { return withDraws(test, **usual); });
  if (!closer)
    return closer.takeError();
  return &*closer;
}

} // namespace kbopt
