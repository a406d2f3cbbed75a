//===- NodeScreening.h - Programs that are timed before they are proven ---===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the screening of programs in a search: the inputs that they are compared on, the device that
// the original's data stay on, and what one proof takes.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_LIB_CANDIDATE_NODESCREENING_H
#define KBOPT_LIB_CANDIDATE_NODESCREENING_H

#include "NodeLaunches.h"
#include "kb-opt/Candidate/JournaledAnswers.h"
#include "kb-opt/Screen/Screen.h"

namespace kbopt {

/// A program that is compiled while the original is recorded.
struct EarlyCandidate {
  ProgramArtefacts program;
  std::unique_ptr<RewriteSession> session; ///< its text, parsed
  Promise promise = Promise::Bitwise;
};

/// Only with a GPU. Thread-safe.
class NodeScreening {
public:
  NodeScreening(const CandidateSetup &setup, JournaledAnswers &answers, NodeTable &nodes,
                NodePlans &plans, NodeLaunches &launches)
      : setup(setup), answers(answers), nodes(nodes), plans(plans), launches(launches),
        vault(startVault()) {}

  llvm::Expected<NodeJudgement> screen(const NodeId &id);
  /// Environment::proofSeconds.
  double proofSeconds();
  /// Screens \p candidates on the plan in \p draft (RecordRequest::onDraft) until `endEarly`. What
  /// is found counts where the recording turns out to be the draft.
  void screenEarly(const std::string &draft, llvm::ArrayRef<EarlyCandidate> candidates);
  void endEarly() { isRecorded = true; }
  /// Whether an earlier run has screened the original.
  bool isOriginalScreened();

private:
  /// With more uploads than this, in bytes, making other inputs takes longer than screening is to
  /// take: then the recorded ones are all.
  static constexpr uint64_t mostVariedBytes = uint64_t(128) << 20;
  /// The journal's kind.
  static constexpr llvm::StringLiteral kind = "screen";

  /// The original where it is screened.
  struct OpenScreen {
    std::unique_ptr<Screen> screen;
    ScreenedProgram original;
  };
  /// The process that keeps a program's data on a GPU of this machine; null where there is none.
  std::unique_ptr<ScreenDevice> startVault();
  llvm::Expected<OpenScreen> open();
  llvm::Expected<OpenScreen> openOn(std::unique_ptr<ScreenDevice> device,
                                    const ScreenSubject &original);
  /// The recorded case, and one with other inputs where that is soon made.
  llvm::Expected<std::vector<TestCase>> cases();
  llvm::Expected<ScreenSubject> subject(const NodeId &id);
  llvm::Expected<ScreenedProgram> compute(const NodeId &id);
  llvm::Expected<ScreenedProgram> screenCandidate(const NodeId &id, Screen &screen);
  /// NodeLaunches::idleAddition by the launches that screening saw.
  std::string idleAddition(const ProgramArtefacts &program, const ScreenedProgram &report);
  /// Adds the kernels of the source, by what their launches took.
  llvm::Error addKernels(const NodeId &id, const ScreenedProgram &screened,
                         NodeJudgement &judgement);

  const CandidateSetup &setup;
  JournaledAnswers &answers;
  NodeTable &nodes;
  NodePlans &plans;
  NodeLaunches &launches;
  void screenEarly(const kbrt::Plan &plan, const std::string &draft,
                   const EarlyCandidate &candidate);
  /// The original's screen on the draft, if the recording became that; null if there is none.
  std::unique_ptr<OpenScreen> takeEarly(const ScreenSubject &original);
  /// What was found of the code with \p digest and the plan in \p folder before the recording
  /// ended.
  std::optional<ScreenedProgram> findEarly(const Digest &digest, const std::string &folder);

  std::mutex earlyMutex; ///< of what follows
  std::unique_ptr<OpenScreen> early;
  std::string earlyPlan;                       ///< computingSteps of the draft
  std::map<Digest, ScreenedProgram> earlyOnes; ///< by code and computingSteps
  std::atomic<bool> isRecorded = false;
  std::unique_ptr<ScreenDevice> vault; ///< until it is opened
  OnceMap<unsigned, OpenScreen> opened;
};

} // namespace kbopt

#endif // KBOPT_LIB_CANDIDATE_NODESCREENING_H
