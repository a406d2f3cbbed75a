//===- NodeScreening.h - Programs that are timed before they are proven ---===//
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
  /// Whether an earlier run has screened the original.
  bool isOriginalScreened();

private:
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
  std::unique_ptr<ScreenDevice> vault; ///< until it is opened
  OnceMap<unsigned, OpenScreen> opened;
};

} // namespace kbopt

#endif // KBOPT_LIB_CANDIDATE_NODESCREENING_H
