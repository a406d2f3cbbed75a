//===- NodeScreening.cpp --------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "NodeScreening.h"
#include "kb-opt/Screen/VaultScreen.h"
#include "kb-opt/Source/ProgramFacts.h"
#include "kb-opt/Support/Error.h"
#include "kb-opt/Support/Interrupt.h"
#include "llvm/Support/FileSystem.h"

using namespace kbopt;

//===-- What is screened --------------------------------------------------===//

llvm::Expected<std::vector<TestCase>> NodeScreening::cases() {
  auto recorded = setup.cases.original(setup.cases.recorded());
  if (!recorded)
    return recorded.takeError();
  std::vector<TestCase> screened{setup.cases.recorded()};
  uint64_t bytes = 0;
  if (llvm::sys::fs::file_size(*recorded + "/" + kbrt::dataFileName, bytes) ||
      bytes > mostVariedBytes)
    return screened;
  for (const TestCase &test : setup.cases.cases())
    if (test.variesRecorded && !test.needsConsent() && screened.size() == 1)
      screened.push_back(test);
  return screened;
}

llvm::Expected<ScreenSubject> NodeScreening::subject(const NodeId &id) {
  ProgramArtefacts program = nodes.source(id);
  if (!setup.tools.hasOwnGpu) // hosts are recorded on the CPU device
    if (llvm::Error error = nodes.addBitcode(program))
      return std::move(error);
  auto code = setup.judge.code(program);
  if (!code)
    return code.takeError();
  ScreenSubject subject{code->cubinPath, {}};
  auto tests = cases();
  if (!tests)
    return tests.takeError();
  for (const TestCase &test : *tests) {
    auto folder = plans.folder(id, program, test);
    if (!folder)
      return folder.takeError();
    subject.planFolders.push_back(std::move(*folder));
  }
  return subject;
}

//===-- The device --------------------------------------------------------===//

std::unique_ptr<ScreenDevice> NodeScreening::startVault() {
  const CandidateTools &tools = setup.tools;
  if (!setup.gpu || !tools.hasOwnGpu) // its memory is another machine's
    return nullptr;
  std::vector<std::unique_ptr<ScreenDevice>> screens;
  for (const Card &card : setup.cards) {
    VaultScreenOptions options;
    options.process.directory = setup.folder + "/screen" + card.name;
    options.process.sandboxed = tools.sandbox;
    options.process.card = card.name;
    options.process.notice = [&tools](const std::string &text) {
      tools.progress.line("gpu: " + text);
    };
    options.program = tools.input.command.shownFile;
    options.timings = &tools.timings;
    auto device = createVaultScreen(std::move(options));
    if (!device) {
      llvm::consumeError(device.takeError()); // the judge's own channel says the same
      return nullptr;
    }
    screens.push_back(std::move(*device));
  }
  return createCardsScreen(std::move(screens));
}

llvm::Expected<NodeScreening::OpenScreen>
NodeScreening::openOn(std::unique_ptr<ScreenDevice> device, const ScreenSubject &original) {
  OpenScreen opened{std::make_unique<Screen>(std::move(device)), {}};
  auto report = opened.screen->open(original);
  if (!report)
    return report.takeError();
  opened.original = std::move(*report);
  return std::move(opened);
}

llvm::Expected<NodeScreening::OpenScreen> NodeScreening::open() {
  auto original = subject(nodes.root());
  if (!original)
    return original.takeError();
  std::lock_guard<std::mutex> lock(earlyMutex); // the last early candidate comes to its end
  if (std::unique_ptr<OpenScreen> taken = takeEarly(*original))
    return std::move(*taken);
  if (vault) {
    auto opened = openOn(std::move(vault), *original);
    if (opened || interrupted())
      return opened;
    setup.tools.progress.line("gpu: candidates are screened by jobs, which takes longer: " +
                              llvm::toString(opened.takeError()));
  }
  return openOn(createJobScreen(*setup.gpu), *original);
}

//===-- Screening ---------------------------------------------------------===//

/// What \p error says of a program; an error where it says nothing of it.
static llvm::Expected<ScreenedProgram> blameProgram(llvm::Error error) {
  ScreenedProgram refused;
  llvm::Error rest = llvm::handleErrors(
      std::move(error),
      [&](std::unique_ptr<CannotFollow> unknown) { refused.reason = unknown->message; },
      [&](std::unique_ptr<KbError> wrong) -> llvm::Error {
        if (wrong->status != ExitStatus::Diagnostics)
          return llvm::Error(std::move(wrong));
        refused.verdict = VerdictKind::Incorrect;
        refused.failure = FailureClass::Runtime;
        refused.reason = wrong->message;
        return llvm::Error::success();
      });
  if (rest)
    return std::move(rest);
  return refused;
}

std::string NodeScreening::idleAddition(const ProgramArtefacts &program,
                                        const ScreenedProgram &report) {
  auto code = setup.judge.code(program);
  if (!code) {
    llvm::consumeError(code.takeError());
    return "";
  }
  std::set<std::string> launched;
  for (const ScreenedLaunch &launch : report.launches)
    launched.insert(launch.kernel);
  return launched.empty() ? "" : launches.idleAddition(nodes.root(), *code, launched);
}

llvm::Expected<ScreenedProgram> NodeScreening::screenCandidate(const NodeId &id, Screen &screen) {
  const ProgramArtefacts program = nodes.source(id);
  const std::vector<JudgedStep> steps = nodes.stepsTo(id);
  const CandidatePromise &promise = nodes.program(id).promise;
  auto inspected = setup.judge.inspect(program, steps, promise);
  if (!inspected)
    return inspected.takeError();
  if (!inspected->isCorrect()) {
    ScreenedProgram refused;
    refused.verdict = inspected->kind;
    refused.failure = inspected->failure;
    refused.reason =
        (inspected->gate ? toString(*inspected->gate).str() + ": " : "") + inspected->reason;
    return refused;
  }
  auto candidate = subject(id);
  if (!candidate)
    return blameProgram(candidate.takeError());
  const bool isAssisted =
      llvm::any_of(steps, [](const JudgedStep &step) { return !step.reply.empty(); });
  std::optional<ScreenedProgram> known;
  if (auto code = setup.judge.code(program))
    known = findEarly(code->digest, candidate->planFolders.front());
  else
    llvm::consumeError(code.takeError());
  auto report = known ? llvm::Expected<ScreenedProgram>(std::move(*known))
                      : screen.candidate(*candidate, promise.result, isAssisted);
  if (!report)
    return report;
  if (std::string idle = idleAddition(program, *report); !idle.empty()) {
    report->verdict = VerdictKind::Inconclusive;
    report->failure = FailureClass::Idle;
    report->reason = idleReason(idle);
  }
  return report;
}

llvm::Expected<ScreenedProgram> NodeScreening::compute(const NodeId &id) {
  const bool isOriginal = id == nodes.root();
  TimedPart timed(&setup.tools.timings, "effects", isOriginal ? "screen the original" : "screen");
  auto open = opened.get(0, [&] { return this->open(); });
  if (!open)
    return isOriginal ? blameProgram(open.takeError())
                      : llvm::Expected<ScreenedProgram>(open.takeError());
  return isOriginal ? open->original : screenCandidate(id, *open->screen);
}

llvm::Error NodeScreening::addKernels(const NodeId &id, const ScreenedProgram &screened,
                                      NodeJudgement &judgement) {
  // Of kernels the events of one run tell the shares of the program's time.
  double all = 0;
  for (const ScreenedLaunch &launch : screened.launches)
    all += launch.us;
  return nodes.withSession(id, [&](RewriteSession &program) -> llvm::Error {
    for (const KernelFact &fact : findKernels(program.parsed()))
      for (const KernelFact::Instance &instance : fact.instances)
        for (const ScreenedLaunch &launch : screened.launches)
          if (launch.kernel == instance.mangledName && all > 0)
            judgement.kernels[fact.name].timeUs += screened.us * launch.us / all;
    return llvm::Error::success();
  });
}

llvm::Expected<NodeJudgement> NodeScreening::screen(const NodeId &id) {
  auto screened =
      answers.ask<ScreenedProgram>(kind, answers.request({id}), [&] { return compute(id); });
  if (!screened)
    return screened.takeError();
  NodeJudgement judgement;
  judgement.verdict = screened->verdict;
  judgement.failure = screened->failure;
  judgement.reason = withShownName(screened->reason, setup.tools.input.command);
  judgement.timeUs = screened->us;
  if (screened->verdict != VerdictKind::Screened)
    return judgement;
  if (llvm::Error error = addKernels(id, *screened, judgement))
    return std::move(error);
  if (id == nodes.root()) {
    auto code = setup.judge.code(setup.original);
    if (!code)
      return code.takeError();
    judgement.code = nodes.codeWithHost(code->digest, id);
  }
  return judgement;
}

bool NodeScreening::isOriginalScreened() {
  auto isScreened = answers.has(kind, answers.request({nodes.root()}));
  if (isScreened)
    return *isScreened;
  llvm::consumeError(isScreened.takeError());
  return false;
}

double NodeScreening::proofSeconds() {
  // The user's compiler, the host to its end, every case a few times, the sanitizer's tools and two
  // series of times: on an H200 a small program takes 8 s, and one of 1 GB as long again as its
  // host.
  constexpr double least = 8, hostShare = 1.5;
  return least + hostShare * setup.cases.wholeSeconds();
}
