//===- ProgramEnvironment.cpp ---------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "kb-opt/Candidate/ProgramEnvironment.h"
#include "EarlyWork.h"
#include "NodeRewrites.h"
#include "NodeScreening.h"
#include "NodeSites.h"
#include "NodeViews.h"
#include "Questions.h"
#include "StepCompiler.h"
#include "kb-opt/Eval/CostModel.h"

using namespace kbopt;

/// Each may use those above it.
struct ProgramEnvironment::Parts {
  Parts(const CandidateSetup &given, Model *model)
      : setup(given), sites(setup, answers, nodes, launches, /*assisted=*/model) {
    if (model)
      questions.emplace(setup, nodes, views, replies, *model);
  }

  const CandidateSetup setup;
  JournaledAnswers answers{setup.journal, setup.run};
  ReplyStore replies{setup.tools.replies, setup.tools.files};
  NodeTable nodes{setup};
  NodePlans plans{setup, nodes};
  NodeLaunches launches{setup, nodes, plans};
  NodeSites sites;
  NodeRewrites rewrites{setup, answers, nodes, replies};
  NodeModels models{setup, answers, nodes};
  NodeCounters counters{setup, answers, nodes};
  NodeSpeeds speeds{setup, nodes, models, counters};
  NodeJudgements judgements{setup, answers, nodes, speeds};
  StepCompiler compiler{setup, nodes, launches, models, judgements};
  NodeScreening screening{setup, answers, nodes, plans, launches};
  NodeLines lines{setup, answers, nodes, models};
  NodeViews views{setup, nodes, plans, lines};
  std::optional<Questions> questions; ///< where there is a model
  EarlyWork early{setup, nodes, screening};
};

ProgramEnvironment::ProgramEnvironment(const CandidateSetup &setup, Model *model)
    : parts(std::make_unique<Parts>(setup, model)) {}

ProgramEnvironment::~ProgramEnvironment() = default;

NodeId ProgramEnvironment::root() { return parts->nodes.root(); }

bool ProgramEnvironment::measures() const { return parts->setup.gpu; }

double ProgramEnvironment::leastGain() const {
  return measures() ? Environment::leastGain() : modelResolution;
}

//===-- From a program to the next ----------------------------------------===//

llvm::Expected<std::vector<Action>> ProgramEnvironment::actions(const NodeId &node) {
  return parts->sites.actions(node);
}

llvm::Expected<StepOutcome> ProgramEnvironment::rewrite(const NodeId &node, const Step &step) {
  return parts->rewrites.rewrite(node, step);
}

llvm::Expected<StepOutcome> ProgramEnvironment::apply(const NodeId &node, const Step &step) {
  auto rewritten = rewrite(node, step);
  if (!rewritten || rewritten->node.empty())
    return rewritten;
  return parts->compiler.compile(node, std::move(*rewritten));
}

//===-- What it is worth --------------------------------------------------===//

llvm::Expected<NodeJudgement> ProgramEnvironment::judge(const NodeId &node) {
  return parts->judgements.judge(node, JudgeEffort::Search);
}

llvm::Expected<NodeJudgement> ProgramEnvironment::confirm(const NodeId &node) {
  auto judgement = parts->judgements.judge(node, JudgeEffort::Final);
  if (!judgement || !parts->questions)
    return judgement;
  return parts->questions->verify(node, std::move(*judgement));
}

llvm::Expected<NodeJudgement> ProgramEnvironment::examine(const NodeId &node,
                                                          const NodeJudgement &judged, bool whole) {
  return parts->judgements.examine(node, judged, whole);
}

llvm::Expected<NodeJudgement> ProgramEnvironment::screen(const NodeId &node) {
  return screens() ? parts->screening.screen(node) : Environment::screen(node);
}

std::optional<double> ProgramEnvironment::proofSeconds() {
  if (!screens())
    return std::nullopt;
  return parts->screening.proofSeconds();
}

std::vector<GateRecord> ProgramEnvironment::gates(const NodeId &node) {
  return parts->judgements.gates(node);
}

std::optional<TimingReport> ProgramEnvironment::timing(const NodeId &node) {
  return parts->judgements.timing(node);
}

//===-- What a model is asked ---------------------------------------------===//

llvm::Expected<Proposal> ProgramEnvironment::propose(const NodeId &node,
                                                     const ProposalRequest &request) {
  if (!parts->questions)
    return Environment::propose(node, request);
  auto all = actions(node);
  if (!all)
    return all.takeError();
  return parts->questions->propose(node, request, *all);
}

llvm::Expected<Proposal> ProgramEnvironment::repair(const NodeId &node,
                                                    const ProposalRequest &request,
                                                    const Attempt &failed) {
  return parts->questions ? parts->questions->repair(node, request, failed)
                          : Environment::repair(node, request, failed);
}

llvm::Expected<Reflection> ProgramEnvironment::suggest(const SuggestionRequest &request) {
  return parts->questions ? parts->questions->suggest(request) : Environment::suggest(request);
}

llvm::Expected<Reflection> ProgramEnvironment::reflect(const ReplayBuffer &buffer) {
  return parts->questions ? parts->questions->reflect(buffer) : Environment::reflect(buffer);
}

//===-- Early work --------------------------------------------------------===//

void ProgramEnvironment::recordEarly() {
  if (screens() && !parts->screening.isOriginalScreened())
    parts->early.record();
}

void ProgramEnvironment::proposeEarly(const KnowledgeBase *knowledge) {
  if (screens() && !parts->screening.isOriginalScreened())
    parts->early.propose(knowledge);
}

//===-- What reports tell -------------------------------------------------===//

llvm::StringRef ProgramEnvironment::text(const NodeId &node) {
  return parts->nodes.program(node).text;
}

Promise ProgramEnvironment::promise(const NodeId &node) {
  return parts->nodes.program(node).promise.result;
}

llvm::Expected<bool> ProgramEnvironment::appliesAnywhere() {
  return parts->sites.appliesAnywhere();
}

llvm::Expected<std::vector<Remark>> ProgramEnvironment::missed() { return parts->sites.missed(); }

llvm::Expected<std::string> ProgramEnvironment::whyUnscheduled(llvm::StringRef kernel) {
  return parts->sites.whyUnscheduled(kernel);
}

llvm::Expected<ProgramArtefacts> ProgramEnvironment::artefacts(const NodeId &node) {
  return parts->nodes.artefacts(node);
}
