//===- Questions.cpp ------------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "Questions.h"
#include "kb-opt/Policy/Learning.h"
#include "llvm/Support/FormatVariadic.h"

using namespace kbopt;

/// Where the knowledge base leaves a planner fewer passes than this, all that apply are offered.
static constexpr size_t fewestChoices = 4;

static AssistantFacts factsOf(const CandidateSetup &setup) {
  const CompileCommand &command = setup.tools.input.command;
  const Workload &workload = setup.workload;
  AssistantFacts facts;
  facts.file = command.shownFile;
  facts.chip = (setup.gpu ? setup.gpuFacts.name : setup.chip.name) + ", " + command.arch;
  facts.facts.push_back(setup.gpu ? "Times are measured on it."
                                  : "Times and metrics are modelled for it, not measured.");
  std::string sizes;
  for (const auto &[name, value] : workload.sizes)
    sizes += (sizes.empty() ? "" : ", ") + name + " = " + std::to_string(value);
  if (!sizes.empty())
    facts.facts.push_back("It is timed with " + sizes + " and must be right for any sizes.");
  for (const WorkloadParameter &parameter : workload.parameters)
    if (parameter.isBuffer)
      facts.facts.push_back(llvm::formatv("'{0}' has {1} elements.", parameter.name,
                                          llvm::join(parameter.shape, " * ")));
  return facts;
}

Questions::Questions(const CandidateSetup &setup, NodeTable &nodes, ShownPrograms &programs,
                     ReplyStore &replies, Model &model)
    : nodes(nodes), replies(replies), model(model),
      assistant(model, replies, programs, setup.tools.passes, factsOf(setup)) {}

std::vector<Action> kbopt::choicesFor(const ProposalRequest &request,
                                      llvm::ArrayRef<Action> actions) {
  std::vector<Action> choices{request.action};
  auto offer = [&](const Action &action) {
    if (action.assisted && action.kernel == request.action.kernel &&
        llvm::none_of(choices, [&](const Action &choice) { return choice.pass == action.pass; }))
      choices.push_back(action);
  };
  auto offerAll = [&](llvm::StringRef pass) {
    for (const Action &action : actions)
      if (action.pass == pass)
        offer(action);
  };
  offerAll(openPass);
  for (const PromptEntry &entry : request.knowledge.entries)
    offerAll(entry.pass);
  if (choices.size() < fewestChoices)
    llvm::for_each(actions, offer);
  for (const Action &action : actions)
    if (action.sketch && action.kernel == request.action.kernel && !request.minimal)
      choices.push_back(action);
  return choices;
}

llvm::Expected<Proposal> Questions::propose(const NodeId &id, const ProposalRequest &request,
                                            llvm::ArrayRef<Action> actions) {
  return assistant.propose(id, request, choicesFor(request, actions));
}

llvm::Expected<Reflection> Questions::reflect(const ReplayBuffer &buffer) {
  ReplayBuffer told = buffer;
  for (ReplaySample &sample : told.samples)
    if (!sample.record.reply.empty()) {
      auto reply = replies.get(sample.record.reply);
      if (!reply)
        return reply.takeError();
      sample.summary = reply->summary;
    }
  return reflectWith(model, told);
}

llvm::Expected<NodeJudgement> Questions::verify(const NodeId &id, NodeJudgement judgement) {
  std::vector<JudgedStep> steps = nodes.stepsTo(id);
  bool assisted = llvm::any_of(steps, [](const JudgedStep &step) { return !step.reply.empty(); });
  if (!assisted || judgement.verdict != VerdictKind::Correct)
    return judgement;
  std::vector<std::string> words;
  for (const JudgedStep &step : steps)
    words.push_back(step.pass + (step.reply.empty() ? "" : ": " + step.reply));
  auto verification =
      assistant.verify(nodes.root(), id, words, promiseName(nodes.program(id).promise.result));
  if (!verification)
    return verification.takeError();
  if (verification->rejected) {
    judgement.verdict = VerdictKind::Incorrect;
    judgement.failure = FailureClass::SoftVerification;
  }
  judgement.reason = "the verifier: " + verification->reason;
  return judgement;
}
