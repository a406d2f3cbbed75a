//===- NodeTable.h - The programs of a search -------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the programs that a search has seen: text, tree and bitcode of each, made at most once, and
// the steps that lead to it.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_LIB_CANDIDATE_NODETABLE_H
#define KBOPT_LIB_CANDIDATE_NODETABLE_H

#include "kb-opt/Candidate/CandidateSetup.h"
#include "kb-opt/Pipeline/Pipeline.h"
#include "kb-opt/Policy/Environment.h"
#include "kb-opt/Support/OnceMap.h"

namespace kbopt {

/// What is the same of a program from its first day on.
struct NodeProgram {
  std::string text;
  Digest host;                         ///< of its host text
  CandidatePromise promise;            ///< of all the steps behind it
  std::optional<ScheduleRun> run = {}; ///< the steps that the next schedule composes with
};

/// Thread-safe: the table has one lock, the parsed program of each node its own.
class NodeTable {
public:
  explicit NodeTable(const CandidateSetup &setup);

  const NodeId &root() const { return rootNode; }
  /// Programs of equal text and promise are one node.
  NodeId add(NodeProgram program);
  /// Stays where it is.
  const NodeProgram &program(const NodeId &id) { return node(id).program; }

  /// The steps from the original to \p id.
  std::vector<JudgedStep> stepsTo(const NodeId &id);
  /// \p steps lead to \p id, too. Of several ways to one program one is kept, whichever thread came
  /// first; the root has none.
  void keepSteps(const NodeId &id, std::vector<JudgedStep> steps);

  using Look = llvm::function_ref<llvm::Error(RewriteSession &)>;
  /// Calls \p look with the parsed program of \p id, which no other thread uses meanwhile.
  llvm::Error withSession(const NodeId &id, Look look);
  /// The same for two programs at once.
  llvm::Error
  withSessions(const NodeId &first, const NodeId &second,
               llvm::function_ref<llvm::Error(RewriteSession &, RewriteSession &)> look);
  /// Spares \p id from being parsed, if it has not been yet.
  void keepSession(const NodeId &id, std::unique_ptr<RewriteSession> session);
  /// Mangled names of the instances of \p kernel.
  llvm::Expected<std::vector<std::string>> instances(const NodeId &id, llvm::StringRef kernel);

  /// Names machine code with digest \p code and what the host of \p id does with it.
  Digest codeWithHost(llvm::StringRef code, const NodeId &id);
  /// The program as the judge sees it, without bitcode, which only the CPU device needs.
  ProgramArtefacts source(const NodeId &id);
  /// The same with bitcode.
  llvm::Expected<ProgramArtefacts> artefacts(const NodeId &id);
  /// Adds the bitcode of \p program.
  llvm::Error addBitcode(ProgramArtefacts &program);

private:
  struct Node {
    NodeProgram program;
    std::mutex mutex; ///< of what follows
    std::vector<JudgedStep> steps;
    std::unique_ptr<RewriteSession> session; ///< made when first needed
  };

  Node &node(const NodeId &id);
  PipelineOptions pipelineOptions();
  /// Call with the node's mutex held, and keep it while using the session.
  llvm::Expected<RewriteSession &> session(Node &node);
  llvm::Expected<std::string> bitcodeFile(llvm::StringRef text);

  const CandidateSetup &setup;
  CodeEmitter emitter;
  std::mutex mutex; ///< of `nodes`
  std::map<NodeId, Node> nodes;
  OnceMap<Digest, std::string> bitcodes; ///< of texts, paths
  NodeId rootNode;
};

} // namespace kbopt

#endif // KBOPT_LIB_CANDIDATE_NODETABLE_H
