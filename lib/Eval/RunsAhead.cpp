//===- RunsAhead.cpp - Runs that gates are about to ask for ----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the order in which runs are made where there is more than one thread: a
// gate asks for one after the other, but most of them do not depend on each other.
// What a run means is the gates' business, and so is every failure: what does not
// come out well here is asked for again.
//
//===----------------------------------------------------------------------===//
#include "JudgeImpl.h"
#include "kb-opt/Support/Parallel.h"

using namespace llvm;

namespace kbopt {

RunOptions Judge::Impl::otherMemory() const {
  RunOptions other = runOptions();
  other.memoryPoison = static_cast<uint8_t>(~other.memoryPoison);
  other.sharedPoison = 0;
  return other;
}

TestCase Judge::Impl::elsewhereCase(const OtherDevice &device) {
  TestCase test = recordedCase();
  test.name = (device.name + " and other addresses").str();
  test.elsewhere = &device;
  test.recorded = false;
  return test;
}

RunOptions Judge::Impl::repeatedRun(JudgeEffort effort) const {
  RunOptions together = runOptions();
  together.repetitions = options.determinismRuns;
  if (effort == JudgeEffort::Search)
    together.repetitions = std::max(2u, together.repetitions / 10);
  return together;
}

std::vector<RunRequest> Judge::Impl::gpuRuns(JudgeEffort effort, unsigned caseCount,
                                             const std::set<Assumption> &assumes) {
  std::vector<RunRequest> requests;
  auto add = [&](const TestCase &test, const RunOptions &how, bool isAudited = false) {
    requests.push_back({test, RunMode::Plain, how, Where::Usual, isAudited});
  };
  const bool final = effort == JudgeEffort::Final;
  std::vector<TestCase> seen = seenCases(caseCount);
  add(seen.back(), runOptions()); // the recorded one is G6's
  for (const TestCase &test : ArrayRef(seen).drop_back())
    add(test, runOptions());
  const TestCase small = checkCase();
  add(small, runOptions());
  add(small, otherMemory());
  add(small, runOptions(), /*isAudited=*/true);
  add(small, repeatedRun(effort));
  for (const TestCase &test : cases.cases())
    if (final && test.unseen)
      add(test, runOptions());
  if (final)
    add(elsewhereCase(otherDevices().front()), runOptions());
  // The original may not allow these, and then neither need the candidate: they come last.
  for (const TestCase &test : cases.cases())
    if (test.breaks && (final || assumes.count(*test.breaks)))
      add(test, runOptions());
  return requests;
}

std::vector<RunRequest> Judge::Impl::orderRuns(const TestCase &test, Where where) {
  std::vector<RunRequest> requests;
  for (unsigned order = 0; order <= options.shuffles + 1; ++order) {
    RunOptions shuffled = where == Where::Cpu ? cpuOptions(baselineProgram) : runOptions();
    shuffled.seed = order;
    requests.push_back({test, RunMode::Plain, shuffled, where});
  }
  return requests;
}

RunRequest Judge::Impl::ordersTogether(const TestCase &test) const {
  RunOptions together = runOptions();
  together.repetitions = options.shuffles + 2;
  return {test, RunMode::Plain, together};
}

std::vector<RunRequest> Judge::Impl::originalRuns() {
  std::vector<RunRequest> requests = gpuRuns(JudgeEffort::Search, options.searchCases + 1, {});
  llvm::erase_if(requests,
                 [](const RunRequest &request) { return request.options.repetitions > 1; });
  const TestCase small = checkCase();
  requests.push_back({small, RunMode::Check, cpuOptions(baselineProgram)});
  if (gpu)
    requests.push_back(ordersTogether(small));
  else
    for (RunRequest &order : orderRuns(small, Where::Usual))
      requests.push_back(std::move(order));
  for (const TestCase &seen : seenCases(options.searchCases + 1)) // for the decoys
    if (std::optional<TestCase> other = cases.reseeded(seen))
      requests.push_back({*other, RunMode::Plain, runOptions()});
  for (const TestCase &test : cases.cases())
    if (test.breaks) // G7's question whether it allows them
      for (unsigned order : {0, 1}) {
        RunOptions shuffled = runOptions();
        shuffled.seed = order;
        requests.push_back({test, RunMode::Plain, shuffled});
      }
  return requests;
}

/// \p body on each of \p requests until it fails; says whether it did.
template <typename Body>
static bool eachInParallel(unsigned threads, ArrayRef<const RunRequest *> requests,
                           const std::atomic<bool> &stop, Body body) {
  std::atomic<bool> isOver = false;
  parallelFor(threads, requests.size(), [&](size_t i) {
    if (!stop && !isOver && !body(*requests[i]))
      isOver = true;
  });
  return !isOver;
}

unsigned Judge::Impl::runsTogether() {
  // Most of a run on a GPU is the host's: files, copies, digests. Beside each other the data of a
  // few fit, unless the program is large.
  constexpr unsigned mostOnGpu = 3;
  constexpr double mostBytes = 4.0 * (1 << 30);
  Expected<const PlanFacts &> size = facts(baselineProgram, recordedCase());
  if (size)
    return size->bufferBytes <= mostBytes ? std::min(mostOnGpu, options.threads) : 1;
  consumeError(size.takeError()); // where it is run, the same error is said
  return 1;
}

void Judge::Impl::runTogether(JudgedProgram &program, ArrayRef<RunRequest> requests,
                              const std::atomic<bool> &stop,
                              const std::function<void()> &afterGpu) {
  if (options.threads <= 1)
    return;
  std::vector<const RunRequest *> onGpu, others, all;
  for (const RunRequest &request : requests) {
    const bool isGpus = gpu && &deviceFor(request.mode, request.where) == gpu;
    (isGpus ? onGpu : others).push_back(&request);
    all.push_back(&request);
  }
  auto isDone = [](auto answer) {
    if (answer)
      return true;
    consumeError(answer.takeError());
    return false;
  };
  // Recording a changed host program takes longer than executing its kernels.
  (void)eachInParallel(options.threads, all, stop, [&](const RunRequest &request) {
    (void)isDone(plan(program, request.test));
    return true;
  });
  auto make = [&](const RunRequest &request) {
    Expected<RunPointer> run = this->run(program, request);
    if (!run)
      return isDone(std::move(run));
    if ((*run)->status == RunStatus::Ok && (*run)->defects().empty())
      return true;
    // An original does not end well on every input that is made up, and then neither need a
    // candidate: the other runs are asked for all the same.
    if ((*run)->status == RunStatus::Timeout || request.test.recorded)
      return false;
    if (program.isOriginal)
      return true;
    Expected<RunPointer> own = this->run(baselineProgram, request);
    return own ? (*own)->status != RunStatus::Ok : isDone(std::move(own));
  };
  // What is not kept would be made twice.
  auto isKept = [&](const RunRequest &request) {
    if (request.test.elsewhere) // and run only where its launches differ, which the gate finds out
      return false;
    Expected<const PlanFacts &> known = facts(program, request.test);
    if (!known) {
      consumeError(known.takeError());
      return true; // where it is made, the same error ends the row
    }
    if (request.mode != RunMode::Plain || !mayKeep(program, known->outputBytes) || !request.audited)
      return request.mode != RunMode::Plain || mayKeep(program, known->outputBytes);
    Expected<const AuditedPlan &> changed = audited(program, request.test);
    return changed ? mayKeep(program, changed->outputBytes) : isDone(std::move(changed));
  };
  for (auto *list : {&onGpu, &others})
    llvm::erase_if(*list, [&](const RunRequest *request) { return !isKept(*request); });
  const unsigned onGpuTogether = runsTogether();
  parallelFor(2, 2, [&](size_t which) {
    bool isWell =
        eachInParallel(which ? options.threads : onGpuTogether, which ? others : onGpu, stop, make);
    if (which == 0 && isWell && !stop && afterGpu)
      afterGpu();
  });
}

void Judge::Impl::measureTogether(unsigned count, Spread spread) {
  const std::vector<TestCase> tests = seenCases(count);
  if (options.threads > 1)
    parallelFor(options.threads, tests.size(), [&](size_t i) {
      if (Expected<const Reference *> known = reference(tests[i], spread); !known)
        consumeError(known.takeError());
    });
}

void Judge::prepare(const ProgramArtefacts &program) {
  // Without a GPU, candidates of a search are judged beside each other.
  if (impl->options.threads <= 1 || !(impl->gpu || program.exactly))
    return;
  auto drop = [](auto answer) {
    if (!answer)
      consumeError(answer.takeError());
  };
  std::vector<std::function<void()>> parts = {
      [&] { drop(impl->code(program)); },
      [&] { drop(impl->device.build(program, impl->gpu ? RunMode::Count : RunMode::Plain)); },
      [&] { drop(impl->device.build(program, RunMode::Check)); }};
  for (const TestCase &test : impl->seenCases(impl->options.searchCases + 1))
    parts.push_back([&, test] { drop(impl->cases.candidate(program, test)); });
  if (program.exactly) {
    // A host that computes for seconds does so beside itself, and beside the original's checks.
    parts.push_back([&] {
      drop(impl->cases.candidateElsewhere(program, impl->recordedCase(), otherDevices().front()));
    });
    parts.push_back([&] {
      std::string why;
      Expected<std::optional<TestCase>> checkable = impl->cpuCase(why);
      if (!checkable)
        return consumeError(checkable.takeError());
      drop(impl->isCheckedInPart(checkable->value_or(impl->checkCase()), why));
    });
  }
  parallelFor(impl->options.threads, parts.size(), [&](size_t i) { parts[i](); });
}

RunsAhead::RunsAhead(Judge::Impl &judge, JudgedProgram &program, std::vector<RunRequest> requests,
                     std::function<void()> afterGpu) {
  if (judge.options.threads > 1 && !requests.empty())
    thread = std::thread(
        [this, &judge, &program, requests = std::move(requests), afterGpu = std::move(afterGpu)] {
          judge.runTogether(program, requests, stop, afterGpu);
        });
}

RunsAhead::~RunsAhead() {
  stop = true;
  wait();
}

void RunsAhead::wait() {
  if (thread.joinable())
    thread.join();
}

} // namespace kbopt
