//===- ProgramEnvironment.h - Programs as a search sees them ----*- C++ -*-===//
//
// Owns the tie between the search and the compiler: a node is a program text, a
// step a rewrite, judging is Eval's. Every effect goes through the journal.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_LIB_DRIVER_PROGRAMENVIRONMENT_H
#define KBOPT_LIB_DRIVER_PROGRAMENVIRONMENT_H

#include "RecordedCases.h"
#include "kb-opt/Eval/CostModel.h"
#include "kb-opt/Pipeline/Journal.h"
#include "kb-opt/Pipeline/Pipeline.h"
#include "kb-opt/Policy/Environment.h"
#include <set>

namespace kbopt {

class ProgramEnvironment : public Environment {
public:
  ProgramEnvironment(Context &context, const ChipInfo &chip, Journal &journal, Judge &judge,
                     RecordedCases &cases, ProgramArtefacts original, Digest originalHost,
                     Digest workload, std::string folder);

  NodeId root() override { return rootNode; }
  llvm::Expected<std::vector<Action>> actions(const NodeId &node) override;
  llvm::Expected<MoveResult> apply(const NodeId &node, const Move &step) override;
  llvm::Expected<NodeJudgement> judge(const NodeId &node) override;
  llvm::Expected<NodeJudgement> confirm(const NodeId &node) override;

  /// The text of a node that `apply` made.
  llvm::StringRef text(const NodeId &node);
  /// The gates that the last `confirm` of \p node ran.
  std::vector<GateRecord> gates(const NodeId &node);

private:
  struct Node {
    std::string text;
    Digest host; ///< of its host text
    CandidatePromise promise; ///< of all the steps behind it
    std::vector<JudgedStep> steps;           ///< from the original to it
    std::unique_ptr<RewriteSession> session; ///< while it is needed
    std::vector<GateRecord> gates;           ///< of its confirmation
  };

  NodeId addNode(std::string text, const CandidatePromise &promise);
  /// Device bitcode of \p text, compiled at most once.
  llvm::Expected<std::string> bitcodeFile(llvm::StringRef text);
  PipelineOptions pipelineOptions();
  llvm::Expected<RewriteSession &> session(const NodeId &node);
  llvm::Expected<ProgramArtefacts> artefacts(const NodeId &node);
  /// Digest of a request that depends on \p parts and on everything that is the
  /// same for the whole run.
  Digest request(std::initializer_list<llvm::StringRef> parts) const;
  Digest codeWithHost(llvm::StringRef code, const NodeId &node) const;
  llvm::Error addModel(const NodeId &node, const ProgramArtefacts &program, llvm::json::Object &answer);
  llvm::Expected<std::string> computeActions(const NodeId &node);
  llvm::Expected<std::string> computeRewrite(const NodeId &node, const Move &step);
  llvm::Expected<std::string> computeJudgement(const NodeId &node, JudgeEffort effort);
  llvm::Expected<NodeJudgement> judgeWith(const NodeId &node, JudgeEffort effort);

  Context &context;
  const ChipInfo &chip;
  Journal &journal;
  Judge &judgeOf;
  RecordedCases &cases;
  ProgramArtefacts original;
  Digest run; ///< command, workload, chip and versions
  std::string folder;
  CodeEmitter emitter;
  NodeId rootNode;
  std::map<NodeId, Node> nodes;
  std::recursive_mutex mutex;
};

} // namespace kbopt

#endif // KBOPT_LIB_DRIVER_PROGRAMENVIRONMENT_H
