//===- EarlyWork.cpp ------------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "EarlyWork.h"
#include "kb-opt/Rewrite/RewritePass.h"
#include "kb-opt/Source/DeviceText.h"
#include "kb-opt/Support/Interrupt.h"
#include "kb-opt/Support/Parallel.h"

using namespace kbopt;

void EarlyWork::record() {
  auto tell = [this](const std::string &folder) {
    if (!isDrafted.exchange(true))
      drafted.set_value(folder);
  };
  setup.cases.setOnDraft(tell);
  recording = std::async(std::launch::async, [this, tell] {
    if (auto folder = setup.cases.original(setup.cases.recorded()); !folder)
      llvm::consumeError(folder.takeError());
    screening.endEarly();
    tell("");
  });
}

void EarlyWork::propose(const KnowledgeBase *knowledge) {
  proposals = std::async(std::launch::async, [this, knowledge] {
    std::vector<EarlyCandidate> made;
    {
      TimedPart timed(&setup.tools.timings, "screening", "proposals while the program is recorded");
      made = candidates(knowledge);
      parallelFor(made.size(), made.size(), [&](size_t i) {
        if (auto code = setup.judge.code(made[i].program); !code)
          llvm::consumeError(code.takeError());
      });
    }
    if (!recording.valid())
      return;
    if (std::string draft = drafted.get_future().get(); !draft.empty())
      screening.screenEarly(draft, made);
  });
}

/// The program that \p step makes of \p program; nothing where it makes none.
static std::optional<EarlyCandidate> derive(RewriteSession &program, const Step &step,
                                            const ProgramArtefacts &original) {
  StepResult result;
  auto derived = program.derive(step, result);
  if (!derived) {
    llvm::consumeError(derived.takeError());
    return std::nullopt;
  }
  if (!*derived)
    return std::nullopt;
  EarlyCandidate made{original, std::move(*derived), result.promise};
  made.program.text = made.session->text().str();
  made.program.bitcodePath = "";
  made.program.slice = [slice = deviceSlice(made.session->parsed())] { return slice; };
  return made;
}

std::vector<EarlyCandidate> EarlyWork::candidates(const KnowledgeBase *knowledge) {
  constexpr size_t mostOfKernel = 4, mostInAll = 8;
  std::vector<EarlyCandidate> candidates;
  auto look = [&](RewriteSession &program) -> llvm::Error {
    auto found = program.opportunities();
    if (!found)
      return found.takeError();
    std::map<std::string, size_t> tried; ///< by kernel
    for (const Opportunity &site : *found)
      for (const std::string &choice :
           knowledge ? knowledge->orderSchedules(site.facts, site.choices) : site.choices) {
        if (!site.applies || !site.step.parameters.empty() || candidates.size() == mostInAll ||
            tried[site.step.kernel] == mostOfKernel || interrupted())
          break;
        ++tried[site.step.kernel];
        Step step = site.step;
        step.parameters[choiceOption.str()] = choice;
        if (auto made = derive(program, step, setup.original))
          candidates.push_back(std::move(*made));
      }
    return llvm::Error::success();
  };
  llvm::consumeError(nodes.withSession(nodes.root(), look));
  return candidates;
}
