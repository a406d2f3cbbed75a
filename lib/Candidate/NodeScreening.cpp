//===- NodeScreening.cpp - Programs that are timed before they are proven ---===//
//
// Owns the part of ProgramEnvironment that screens nodes: their plans, the inputs that they are
// compared on, and what one proof takes.
//
//===----------------------------------------------------------------------===//
#include "kb-opt/Candidate/ProgramEnvironment.h"
#include "kb-opt/Plan/PlanTransform.h"
#include "kb-opt/Rewrite/LaunchMap.h"
#include "kb-opt/Rewrite/RewritePass.h"
#include "kb-opt/Screen/VaultScreen.h"
#include "kb-opt/Source/DeviceText.h"
#include "kb-opt/Source/ProgramFacts.h"
#include "kb-opt/Support/Error.h"
#include "kb-opt/Support/Interrupt.h"
#include "kb-opt/Support/Parallel.h"
#include "llvm/Support/FileSystem.h"

using namespace kbopt;
namespace json = llvm::json;

/// With more uploads than this, in bytes, making other inputs takes longer than screening is to
/// take: then the recorded ones are all.
static constexpr uint64_t mostVariedBytes = uint64_t(128) << 20;

llvm::Expected<std::vector<TestCase>> ProgramEnvironment::screenedCases() {
  auto recorded = cases.original(cases.recorded());
  if (!recorded)
    return recorded.takeError();
  std::vector<TestCase> screened{cases.recorded()};
  uint64_t bytes = 0;
  if (llvm::sys::fs::file_size(*recorded + "/" + kbrt::dataFileName, bytes) ||
      bytes > mostVariedBytes)
    return screened;
  for (const TestCase &test : cases.cases())
    if (test.variesRecorded && !test.needsConsent() && screened.size() == 1)
      screened.push_back(test);
  return screened;
}

void ProgramEnvironment::lookUpLaunches(const NodeId &id) {
  if (!screens() || id == rootNode)
    return;
  auto known = launches.get(digestOf(node(id).text),
                            [&]() -> llvm::Expected<llvm::StringMap<RecordedLaunch>> {
                              auto folder = planFolder(id, sourceOf(id), cases.recorded());
                              if (!folder)
                                return folder.takeError();
                              std::string problem;
                              auto plan = kbrt::readPlan(*folder, problem);
                              if (!plan)
                                return llvm::make_error<StoreError>(problem);
                              return recordedLaunches(*plan);
                            });
  if (!known)
    llvm::consumeError(known.takeError()); // the host cannot be followed: the judge says so
}

llvm::Expected<std::string> ProgramEnvironment::mappedFolder(const NodeId &id,
                                                             const TestCase &test) {
  auto folder = mapped.get({id, test.name}, [&] { return mapPlan(id, test); });
  if (!folder)
    return folder.takeError();
  return *folder;
}

llvm::Expected<std::string> ProgramEnvironment::mapPlan(const NodeId &id, const TestCase &test) {
  TimedPart timed(&tools.timings, "screening", "launch maps");
  auto recorded = cases.original(test);
  if (!recorded)
    return recorded.takeError();
  std::string problem;
  auto plan = kbrt::readPlan(*recorded, problem);
  if (!plan)
    return llvm::make_error<StoreError>(problem);
  std::optional<kbrt::Plan> derived;
  {
    Node &before = node(rootNode), &after = node(id);
    std::scoped_lock lock(before.mutex, after.mutex);
    auto original = session(before);
    if (!original)
      return original.takeError();
    auto candidate = session(after);
    if (!candidate)
      return candidate.takeError();
    std::string why;
    derived = LaunchMap(original->parsed(), candidate->parsed()).derivePlan(*plan, why);
  }
  if (!derived)
    return std::string();
  const std::string made = folder + "/mapped/" + DigestBuilder().add(id).add(test.name).finish();
  if (llvm::Error error = writePlanWithData(*derived, *recorded, made))
    return std::move(error);
  return made;
}

llvm::Expected<std::string> ProgramEnvironment::planFolder(const NodeId &id,
                                                           const ProgramArtefacts &program,
                                                           const TestCase &test) {
  if (id == rootNode)
    return cases.original(test);
  if (!cases.sharesHost(program)) {
    auto mapped = mappedFolder(id, test);
    if (!mapped || !mapped->empty())
      return mapped;
  }
  TimedPart timed(&tools.timings, "screening", "hosts that are run");
  return cases.candidate(program, test);
}

llvm::Expected<ScreenSubject> ProgramEnvironment::screenSubject(const NodeId &id) {
  ProgramArtefacts program = sourceOf(id);
  if (!tools.hasOwnGpu) { // hosts are recorded on the CPU device
    auto bitcode = bitcodeFile(program.text);
    if (!bitcode)
      return bitcode.takeError();
    program.bitcodePath = std::move(*bitcode);
  }
  auto code = judgeOf.code(program);
  if (!code)
    return code.takeError();
  ScreenSubject subject{code->cubinPath, {}};
  auto tests = screenedCases();
  if (!tests)
    return tests.takeError();
  for (const TestCase &test : *tests) {
    auto folder = planFolder(id, program, test);
    if (!folder)
      return folder.takeError();
    subject.planFolders.push_back(std::move(*folder));
  }
  return subject;
}

bool ProgramEnvironment::isScreenedAlready() {
  auto found = journal.find("screen", request({rootNode}));
  if (found)
    return found->has_value();
  llvm::consumeError(found.takeError());
  return false;
}

void ProgramEnvironment::recordEarly() {
  if (screens() && !isScreenedAlready())
    recording = std::async(std::launch::async, [this] {
      if (auto folder = cases.original(cases.recorded()); !folder)
        llvm::consumeError(folder.takeError()); // who asks for it next is told
    });
}

void ProgramEnvironment::proposeEarly() {
  if (screens() && !isScreenedAlready())
    proposals = std::async(std::launch::async, [this] {
      TimedPart timed(&tools.timings, "screening", "proposals while the program is recorded");
      std::vector<ProgramArtefacts> made = earlyCandidates();
      parallelFor(made.size(), made.size(), [&](size_t i) {
        if (auto code = judgeOf.code(made[i]); !code)
          llvm::consumeError(code.takeError());
      });
    });
}

std::vector<ProgramArtefacts> ProgramEnvironment::earlyCandidates() {
  constexpr size_t mostOfKernel = 4, mostInAll = 8;
  std::vector<ProgramArtefacts> candidates;
  Node &of = node(rootNode);
  std::lock_guard<std::mutex> lock(of.mutex);
  auto open = session(of);
  auto found =
      open ? open->opportunities() : llvm::Expected<std::vector<Opportunity>>(open.takeError());
  if (!found) {
    llvm::consumeError(found.takeError()); // the search asks again
    return candidates;
  }
  std::map<std::string, size_t> tried; ///< by kernel
  for (const Opportunity &site : *found)
    for (const std::string &choice : site.choices) {
      if (!site.applies || !site.step.parameters.empty() || candidates.size() == mostInAll ||
          tried[site.step.kernel] == mostOfKernel || interrupted())
        break;
      ++tried[site.step.kernel];
      Step step = site.step;
      step.parameters[choiceOption.str()] = choice;
      StepResult result;
      auto derived = open->derive(step, result);
      if (!derived) {
        llvm::consumeError(derived.takeError());
        continue;
      }
      if (!*derived)
        continue;
      ProgramArtefacts program = original;
      program.text = (*derived)->text().str();
      program.bitcodePath = "";
      program.slice = [slice = deviceSlice((*derived)->parsed())] { return slice; };
      candidates.push_back(std::move(program));
    }
  return candidates;
}

std::unique_ptr<ScreenDevice> ProgramEnvironment::startVault() {
  if (!tools.hasOwnGpu) // its memory is another machine's
    return nullptr;
  VaultScreenOptions options;
  options.process.directory = folder + "/screen";
  options.process.sandboxed = tools.sandbox;
  options.process.notice = [this](const std::string &text) { tools.progress.line("gpu: " + text); };
  options.program = tools.input.command.shownFile;
  options.timings = &tools.timings;
  auto device = createVaultScreen(std::move(options));
  if (device)
    return std::move(*device);
  llvm::consumeError(device.takeError()); // the judge's own channel says the same
  return nullptr;
}

llvm::Expected<ProgramEnvironment::OpenScreen> ProgramEnvironment::openScreen() {
  auto subject = screenSubject(rootNode);
  if (!subject)
    return subject.takeError();
  if (vault) {
    OpenScreen opened{std::make_unique<Screen>(std::move(vault)), {}};
    auto report = opened.screen->open(*subject);
    if (report) {
      opened.original = std::move(*report);
      return std::move(opened);
    }
    if (interrupted())
      return report.takeError();
    tools.progress.line("gpu: candidates are screened by jobs, which takes longer: " +
                        llvm::toString(report.takeError()));
  }
  OpenScreen opened{std::make_unique<Screen>(createJobScreen(*gpu)), {}};
  auto report = opened.screen->open(*subject);
  if (!report)
    return report.takeError();
  opened.original = std::move(*report);
  return std::move(opened);
}

std::string ProgramEnvironment::idleInScreening(const ProgramArtefacts &program,
                                                const ScreenedProgram &report) {
  auto code = judgeOf.code(program);
  if (!code) {
    llvm::consumeError(code.takeError());
    return "";
  }
  json::Object launched;
  for (const ScreenedLaunch &launch : report.launches)
    launched[launch.kernel] = json::Object();
  const json::Object modelled{{"kernels", std::move(launched)}};
  return report.launches.empty() ? "" : idleAddition(rootNode, *code, modelled);
}

llvm::Expected<json::Value> ProgramEnvironment::computeScreening(const NodeId &id) {
  TimedPart timed(&tools.timings, "effects", id == rootNode ? "screen the original" : "screen");
  auto blame = [](llvm::Error error, FailureClass failure) -> llvm::Expected<json::Value> {
    ScreenedProgram refused;
    llvm::Error rest = llvm::handleErrors(
        std::move(error),
        [&](std::unique_ptr<CannotFollow> unknown) { refused.reason = unknown->message; },
        [&](std::unique_ptr<KbError> wrong) -> llvm::Error {
          if (wrong->status != ExitStatus::Diagnostics)
            return llvm::Error(std::move(wrong));
          refused.verdict = VerdictKind::Incorrect;
          refused.failure = failure;
          refused.reason = wrong->message;
          return llvm::Error::success();
        });
    if (rest)
      return std::move(rest);
    return toJSON(refused);
  };
  auto opened = screened.get(0, [&] { return openScreen(); });
  if (!opened)
    return id == rootNode ? blame(opened.takeError(), FailureClass::Runtime)
                          : llvm::Expected<json::Value>(opened.takeError());
  if (id == rootNode)
    return toJSON(opened->original);
  const ProgramArtefacts program = sourceOf(id);
  const std::vector<JudgedStep> steps = stepsTo(id);
  auto inspected = judgeOf.inspect(program, steps, node(id).promise);
  if (!inspected)
    return inspected.takeError();
  if (!inspected->isCorrect()) {
    ScreenedProgram refused;
    refused.verdict = inspected->kind;
    refused.failure = inspected->failure;
    refused.reason =
        (inspected->gate ? toString(*inspected->gate).str() + ": " : "") + inspected->reason;
    return toJSON(refused);
  }
  auto subject = screenSubject(id);
  if (!subject)
    return blame(subject.takeError(), FailureClass::Runtime);
  const bool isAssisted =
      llvm::any_of(steps, [](const JudgedStep &step) { return !step.reply.empty(); });
  auto report = opened->screen->candidate(*subject, node(id).promise.result, isAssisted);
  if (!report)
    return report.takeError();
  if (std::string idle = idleInScreening(program, *report); !idle.empty()) {
    report->verdict = VerdictKind::Inconclusive;
    report->reason = "no launch of the workload takes '" + idle +
                     "', as its conditions hold at none of them: it is worth nothing there";
  }
  return toJSON(*report);
}

llvm::Expected<NodeJudgement> ProgramEnvironment::screen(const NodeId &id) {
  auto answer = answered("screen", request({id}), [&] { return computeScreening(id); });
  if (!answer)
    return answer.takeError();
  ScreenedProgram screened;
  json::Path::Root path;
  if (!fromJSON(*answer, screened, path))
    return path.getError();
  NodeJudgement judgement;
  judgement.verdict = screened.verdict;
  judgement.failure = screened.failure;
  judgement.reason = screened.reason;
  judgement.timeUs = screened.us;
  if (screened.verdict != VerdictKind::Screened)
    return judgement;
  // Of kernels the events of one run tell the shares of the program's time.
  double all = 0;
  for (const ScreenedLaunch &launch : screened.launches)
    all += launch.us;
  Node &of = node(id);
  std::lock_guard<std::mutex> lock(of.mutex);
  auto open = session(of);
  if (!open)
    return open.takeError();
  for (const KernelFact &fact : findKernels(open->parsed()))
    for (const KernelFact::Instance &instance : fact.instances)
      for (const ScreenedLaunch &launch : screened.launches)
        if (launch.kernel == instance.mangledName && all > 0)
          judgement.kernels[fact.name].timeUs += screened.us * launch.us / all;
  if (id == rootNode) {
    auto code = judgeOf.code(original);
    if (!code)
      return code.takeError();
    judgement.code = codeWithHost(code->digest, id);
  }
  return judgement;
}

std::optional<double> ProgramEnvironment::proofSeconds() {
  if (!screens())
    return std::nullopt;
  // The user's compiler, the host to its end, every case a few times, the sanitizer's tools and two
  // series of times: on an H200 a small program takes 8 s, and one of 1 GB as long again as its
  // host.
  constexpr double least = 8, hostShare = 1.5;
  return least + hostShare * cases.wholeSeconds();
}
