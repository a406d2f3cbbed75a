//===- Proposals.cpp - Programs of a search as a model sees them ----------===//
//
// Owns the half of ProgramEnvironment that needs a model: what roles are shown of a
// node, and the questions that a search asks.
//
//===----------------------------------------------------------------------===//
#include "kb-opt/Candidate/ProgramEnvironment.h"
#include "kb-opt/Eval/PtxText.h"
#include "kb-opt/Policy/Learning.h"
#include "kb-opt/Source/ProgramFacts.h"
#include "llvm/Support/FormatVariadic.h"

using namespace kbopt;
namespace json = llvm::json;

/// Where the knowledge base leaves a planner fewer passes than this, all that apply are offered.
static constexpr size_t fewestChoices = 4;

//===-- What roles are shown ----------------------------------------------===//

std::string ProgramEnvironment::shownText(const NodeId &id) {
  return withoutWorkload(node(id).text);
}

llvm::Error
ProgramEnvironment::withProgram(const NodeId &id,
                                llvm::function_ref<llvm::Error(RewriteSession &)> look) {
  Node &of = node(id);
  std::lock_guard<std::mutex> lock(of.mutex);
  auto open = session(of);
  if (!open)
    return open.takeError();
  return look(*open);
}

/// Mangled names of the instances of \p kernel.
llvm::Expected<std::vector<std::string>> ProgramEnvironment::instances(const NodeId &id,
                                                                       llvm::StringRef kernel) {
  std::vector<std::string> names;
  if (llvm::Error error = withProgram(id, [&](RewriteSession &program) -> llvm::Error {
        for (const KernelFact &fact : findKernels(program.parsed()))
          if (fact.name == kernel)
            for (const KernelFact::Instance &instance : fact.instances)
              names.push_back(instance.mangledName);
        return llvm::Error::success();
      }))
    return std::move(error);
  return names;
}

std::string ProgramEnvironment::generatedCode(const NodeId &id, llvm::StringRef kernel) {
  std::string text;
  auto find = [&]() -> llvm::Error {
    auto node = compiled(id);
    if (!node)
      return node.takeError();
    const DeviceCode &code = node->code;
    auto names = instances(id, kernel);
    if (!names)
      return names.takeError();
    for (const std::string &name : *names) {
      auto found = code.kernels.find(name);
      if (found != code.kernels.end()) {
        const KernelResources &of = found->second;
        auto line = [&](llvm::StringRef what, const std::optional<unsigned> &value) {
          if (value)
            text += llvm::formatv("{0}: {1}\n", what, *value);
        };
        line("registers", of.registers);
        line("static shared bytes", of.sharedBytes);
        line("bytes of spilled stores", of.spillStoreBytes);
        line("bytes of spilled loads", of.spillLoadBytes);
      }
      text += kernelPtx(code.ptx, name) + "\n";
    }
    return llvm::Error::success();
  };
  if (llvm::Error error = find())
    return "It does not compile: " + llvm::toString(std::move(error));
  return text.empty() ? "The kernel is not compiled: nothing launches it." : text;
}

//===-- Questions ---------------------------------------------------------===//

AssistantFacts ProgramEnvironment::assistantFacts() const {
  AssistantFacts facts;
  facts.file = tools.input.command.shownFile;
  facts.chip = (gpu ? gpuFacts.name : chip.name) + ", " + tools.input.command.arch;
  facts.facts.push_back(gpu ? "Times are measured on it."
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

llvm::Expected<Proposal> ProgramEnvironment::propose(const NodeId &id,
                                                     const ProposalRequest &request) {
  if (!assistant)
    return Environment::propose(id, request);
  auto all = actions(id);
  if (!all)
    return all.takeError();
  // The drawn one first; then those that the knowledge base would try in this state.
  std::vector<Action> choices{request.action};
  auto offer = [&](const Action &action) {
    if (action.assisted && action.kernel == request.action.kernel &&
        llvm::none_of(choices, [&](const Action &choice) { return choice.pass == action.pass; }))
      choices.push_back(action);
  };
  for (const PromptEntry &entry : request.knowledge.entries)
    for (const Action &action : *all)
      if (action.pass == entry.pass)
        offer(action);
  if (choices.size() < fewestChoices)
    llvm::for_each(*all, offer);
  for (const Action &action : *all)
    if (action.sketch && action.kernel == request.action.kernel && !request.minimal)
      choices.push_back(action);
  return assistant->propose(id, request, choices);
}

llvm::Expected<Proposal> ProgramEnvironment::repair(const NodeId &id,
                                                    const ProposalRequest &request,
                                                    const Attempt &failed) {
  return assistant ? assistant->repair(id, request, failed)
                   : Environment::repair(id, request, failed);
}

llvm::Expected<Reflection> ProgramEnvironment::suggest(const SuggestionRequest &request) {
  return languageModel ? suggestWith(*languageModel, request) : Environment::suggest(request);
}

llvm::Expected<Reflection> ProgramEnvironment::reflect(const ReplayBuffer &buffer) {
  if (!languageModel)
    return Environment::reflect(buffer);
  ReplayBuffer told = buffer;
  for (ReplaySample &sample : told.samples)
    if (!sample.record.reply.empty()) {
      auto reply = replies.get(sample.record.reply);
      if (!reply)
        return reply.takeError();
      sample.summary = reply->summary;
    }
  return reflectWith(*languageModel, told);
}

//===-- Soft verification ---------------------------------------------------===//

std::string ProgramEnvironment::replySummary(const Step &step) const {
  if (step.reply.empty())
    return "";
  auto reply = replies.get(step.reply);
  if (reply)
    return reply->summary;
  llvm::consumeError(reply.takeError());
  return "a model's reply that is not here any more";
}

llvm::Expected<NodeJudgement> ProgramEnvironment::verified(const NodeId &id,
                                                           NodeJudgement judgement) {
  std::vector<JudgedStep> steps = stepsTo(id);
  bool assisted = llvm::any_of(steps, [](const JudgedStep &step) { return !step.reply.empty(); });
  if (!assistant || !assisted || judgement.verdict != VerdictKind::Correct)
    return judgement;
  std::vector<std::string> words;
  for (const JudgedStep &step : steps)
    words.push_back(step.pass + (step.reply.empty() ? "" : ": " + step.reply));
  auto verification = assistant->verify(rootNode, id, words, promiseName(node(id).promise.result));
  if (!verification)
    return verification.takeError();
  if (verification->rejected) {
    judgement.verdict = VerdictKind::Incorrect;
    judgement.failure = FailureClass::SoftVerification;
  }
  judgement.reason = "the verifier: " + verification->reason;
  return judgement;
}
