//===- EarlyScreening.cpp - Candidates while the program is recorded ------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns what is screened before the recording has ended: a program that has read its results often
// computes them again on the host, for seconds.
//
//===----------------------------------------------------------------------===//
#include "NodeScreening.h"
#include "kb-opt/Plan/PlanTransform.h"
#include "kb-opt/Rewrite/LaunchMap.h"
#include "kb-opt/Support/Interrupt.h"
#include "llvm/Support/FileSystem.h"

using namespace kbopt;

/// \p plan as text without what follows the last step that computes or reads, and without its end:
/// two plans with the same text give the same results in the same time.
static std::string computingSteps(kbrt::Plan plan) {
  auto computes = [](const kbrt::Step &step) {
    return std::holds_alternative<kbrt::LaunchStep>(step) ||
           std::holds_alternative<kbrt::MatmulStep>(step) ||
           std::holds_alternative<kbrt::ReadStep>(step);
  };
  while (!plan.steps.empty() && !computes(plan.steps.back()))
    plan.steps.pop_back();
  plan.outcome = {};
  return kbrt::planToJson(plan);
}

static std::string computingStepsIn(const std::string &folder) {
  auto plan = readPlanFrom(folder);
  if (plan)
    return computingSteps(std::move(*plan));
  llvm::consumeError(plan.takeError()); // reported when the plan is requested
  return "";
}

static Digest keyOf(const Digest &code, const std::string &steps) {
  return DigestBuilder().add(code).add(steps).finish();
}

void NodeScreening::screenEarly(const std::string &draft,
                                llvm::ArrayRef<EarlyCandidate> candidates) {
  auto plan = readPlanFrom(draft);
  auto code = setup.judge.code(setup.original);
  if (!plan || !code)
    return llvm::consumeError(llvm::joinErrors(plan.takeError(), code.takeError()));
  uint64_t bytes = 0;
  // Other inputs are made from the whole recording.
  if (llvm::sys::fs::file_size(draft + "/" + kbrt::dataFileName, bytes) || bytes <= mostVariedBytes)
    return;
  TimedPart timed(&setup.tools.timings, "screening", "screened while the program is recorded");
  {
    std::lock_guard<std::mutex> lock(earlyMutex);
    if (isRecorded || !vault)
      return;
    auto opened = openOn(std::move(vault), {code->cubinPath, {draft}});
    vault = nullptr;
    if (!opened) {
      llvm::consumeError(opened.takeError()); // it is tried again, and said then
      vault = startVault();
      return;
    }
    early = std::make_unique<OpenScreen>(std::move(*opened));
    earlyPlan = computingSteps(*plan);
  }
  for (const EarlyCandidate &candidate : candidates)
    screenEarly(*plan, draft, candidate);
}

void NodeScreening::screenEarly(const kbrt::Plan &plan, const std::string &draft,
                                const EarlyCandidate &candidate) {
  std::optional<kbrt::Plan> derived;
  std::string why;
  if (llvm::Error error =
          nodes.withSession(nodes.root(), [&](RewriteSession &original) -> llvm::Error {
            derived =
                LaunchMap(original.parsed(), candidate.session->parsed()).derivePlan(plan, why);
            return llvm::Error::success();
          }))
    return llvm::consumeError(std::move(error));
  auto code = setup.judge.code(candidate.program);
  if (!code)
    return llvm::consumeError(code.takeError());
  if (!derived)
    return;
  const Digest key = keyOf(code->digest, computingSteps(*derived));
  const std::string folder = setup.folder + "/early/" + key;
  if (llvm::Error error = writePlanWithData(*derived, draft, folder))
    return llvm::consumeError(std::move(error));
  std::lock_guard<std::mutex> lock(earlyMutex);
  if (isRecorded || interrupted() || !early)
    return;
  auto screened = early->screen->candidate({code->cubinPath, {folder}}, candidate.promise,
                                           /*isFresh=*/false);
  if (screened)
    earlyOnes[key] = std::move(*screened);
  else
    llvm::consumeError(screened.takeError());
}

std::unique_ptr<NodeScreening::OpenScreen> NodeScreening::takeEarly(const ScreenSubject &original) {
  if (!early)
    return nullptr;
  std::unique_ptr<OpenScreen> taken = std::move(early);
  if (original.planFolders.size() == 1 &&
      computingStepsIn(original.planFolders.front()) == earlyPlan)
    return taken;
  // The program did more after all.
  earlyOnes.clear();
  vault = startVault();
  return nullptr;
}

std::optional<ScreenedProgram> NodeScreening::findEarly(const Digest &digest,
                                                        const std::string &folder) {
  std::lock_guard<std::mutex> lock(earlyMutex);
  if (earlyOnes.empty())
    return std::nullopt;
  auto found = earlyOnes.find(keyOf(digest, computingStepsIn(folder)));
  if (found == earlyOnes.end())
    return std::nullopt;
  return found->second;
}
