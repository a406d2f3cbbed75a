//===- Assistant.cpp ------------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "kb-opt/Agents/Assistant.h"
#include "AssistantTools.h"
#include "kb-opt/Plan/Workload.h"
#include "kb-opt/Support/Error.h"
#include "llvm/Support/FormatVariadic.h"

using namespace kbopt;
namespace json = llvm::json;

ShownPrograms::~ShownPrograms() = default;

Assistant::Assistant(Model &model, ReplyStore &replies, ShownPrograms &programs,
                     const PassRegistry &passes, AssistantFacts facts)
    : model(model), replies(replies), programs(programs), passes(passes), facts(std::move(facts)),
      documents(documentsOf(passes)) {}

void Assistant::Account::add(const StructuredReply &reply) {
  proposal.tokens += reply.usage.total();
  priced &= reply.cost.has_value();
  if (priced)
    proposal.cost = proposal.cost.value_or(0) + *reply.cost;
  else
    proposal.cost.reset();
}

bool Assistant::Account::end(FailureClass failure, std::string reason) {
  proposal.failure = failure;
  proposal.reason = std::move(reason);
  return false;
}

llvm::Expected<std::optional<json::Value>>
Assistant::ask(const ModelRequest &request, llvm::StringRef schema, const NodeId &node,
               llvm::StringRef kernel, Account &account, const ReplyCheck &check) {
  auto answer = askStructured(model, request, llvm::cantFail(json::parse(schema)),
                              assistantTools(documents, programs, node, kernel.str()), {}, check);
  if (!answer) {
    auto none = noReply(answer.takeError());
    if (!none)
      return none.takeError();
    account.end(none->failure, std::move(none->reason));
    return std::nullopt;
  }
  account.add(*answer);
  if (answer->ok())
    return std::move(answer->value);
  account.end(answer->outcome, ("the " + roleName(request.role) + "'s reply is " +
                                toString(answer->outcome) + ": " + answer->problem)
                                   .str());
  return std::nullopt;
}

//===-- Coder, debugger, minimal agent --------------------------------------===//

const Action &Assistant::actionOf(const CoderReply &code, const Work &work) {
  for (llvm::StringRef name : {llvm::StringRef(code.pass), llvm::StringRef(openPass)})
    for (const Action &choice : work.choices)
      if (!code.pass.empty() && choice.pass == name)
        return choice;
  return work.action;
}

/// What is wrong with the form of a coder's answer: a name or a number that it was not offered.
/// What its texts do is for the rules of edits to refuse, and for the evidence to remember.
std::string Assistant::faultOfCode(CoderReply code, const Work &work) const {
  if (!code.cannot.empty() || !code.dispute.empty())
    return "";
  const PassInfo &info = *passes.lookup(actionOf(code, work).pass)->info;
  if (auto rights = work.rights.find(info.name.str()); rights != work.rights.end())
    for (const ReplyEdit &edit : code.edits)
      if (work.source.anchor(edit.anchor) && !rights->second.count(edit.anchor))
        return "pass '" + info.name.str() + "' may not change the anchor '" + edit.anchor +
               "': it may change " + llvm::join(rights->second, ", ");
  ReplyOrRefusal made = makeReply(work.source, info, std::move(code));
  if (!made.refusal)
    made.refusal = checkReply(made.reply, info);
  return made.refusal && made.refusal->rule <= EditRule::Promise ? made.refusal->text() : "";
}

/// What stays the same from a proposal through all its repairs.
static Digest questionOf(const NodeId &node, const ProposalRequest &request) {
  const Action &action = request.action;
  return DigestBuilder()
      .add(node)
      .add(action.pass)
      .add(action.kernel)
      .add(action.site)
      .add(request.ask)
      .finish();
}

llvm::Expected<Proposal> Assistant::take(CoderReply code, const NodeId &node,
                                         const ProposalRequest &request, Work work,
                                         Account account) {
  work.reply = code;
  if (code.cannot.empty())
    work.action = actionOf(code, work);
  if (work.action.pass != request.action.pass || !code.cannot.empty())
    account.proposal.chosen = work.action.step();
  if (!code.cannot.empty()) {
    account.end(FailureClass::Declined, "it cannot be done: " + code.cannot);
    return std::move(account.proposal);
  }
  const PassInfo &info = *passes.lookup(work.action.pass)->info;
  ReplyOrRefusal made = makeReply(work.source, info, std::move(code));
  if (!made.refusal)
    made.refusal = checkReply(made.reply, info);
  if (made.refusal) {
    account.end(FailureClass::Constraints, made.refusal->text());
    return std::move(account.proposal);
  }
  auto digest = replies.put(made.reply);
  if (!digest)
    return digest.takeError();
  Step move = work.action.step();
  move.reply = *digest;
  for (const TemplateParameter &parameter : made.reply.parameters) {
    move.parameters[parameter.name] = parameter.defaultValue;
    account.proposal.ranges.push_back({parameter.name, parameter.values, parameter.defaultValue});
  }
  account.proposal.step = std::move(move);
  account.proposal.reason = made.reply.summary;
  std::lock_guard<std::mutex> lock(mutex);
  works.insert_or_assign(questionOf(node, request) + *digest, std::move(work));
  return std::move(account.proposal);
}

/// \p markdown without the section that is headed \p title.
static std::string withoutSection(llvm::StringRef markdown, llvm::StringRef title) {
  std::string kept;
  bool inside = false;
  while (!markdown.empty()) {
    llvm::StringRef line = markdown.take_until([](char c) { return c == '\n'; });
    markdown = markdown.drop_front(std::min(markdown.size(), line.size() + 1));
    if (line.starts_with("#"))
      inside = line.ltrim('#').trim() == title;
    if (!inside)
      kept += line.str() + "\n";
  }
  return kept;
}

static CoderWindow coderWindowOf(const PassInfo &info, const GroundedSource &source,
                                 const PlannerReply &plan,
                                 const std::map<std::string, std::string> &instructions) {
  CoderWindow window;
  window.pass = info.name.str();
  // Whether it pays was the planner's question.
  window.passPrompt = withoutSection(info.assisted->prompt, "It pays when");
  window.kernel = source.kernel;
  window.instruction = plan.instruction;
  window.promise = promiseName(info.promise).str();
  for (llvm::StringRef allowance : info.assisted->allow)
    window.allowances.push_back(allowance.str());
  for (const ReplyParameter &parameter : info.assisted->parameters)
    window.parameters.push_back((parameter.name + ": " + parameter.summary + ", one of " +
                                 llvm::join(parameter.values, ", "))
                                    .str());
  window.left = source.left;
  window.marked = withoutWorkload(source.marked());
  for (const GroundedAnchor &anchor : source.anchors) {
    auto wanted = instructions.find(anchor.id);
    window.anchors.push_back(
        {anchor.id, anchor.what, wanted == instructions.end() ? "" : wanted->second});
  }
  return window;
}

/// What is known of the pass of \p action, which need not be the one that was drawn.
static PromptKnowledge knowledgeOf(const Action &action, const ProposalRequest &request) {
  if (action.pass == request.action.pass)
    return request.ofPass;
  PromptKnowledge knowledge = request.knowledge;
  llvm::erase_if(knowledge.entries,
                 [&](const PromptEntry &entry) { return entry.pass != action.pass; });
  return knowledge;
}

CoderWindow Assistant::codeWindow(const NodeId &node, const ProposalRequest &request,
                                  const Action &action, const Work &work,
                                  const PlannerReply &plan) {
  const PassInfo &info = *passes.lookup(action.pass)->info;
  CoderWindow window = coderWindowOf(info, work.source, plan, work.instructions);
  llvm::append_range(window.parameters, earlierNumbers(request.pipeline));
  PromptKnowledge known = ofFamily(knowledgeOf(action, request), request.shape);
  window.task = task(node, request, action, wordsFor(known));
  if (!request.minimal) {
    window.task.example = example(known, info);
    for (const Action &choice : work.choices)
      window.choices.push_back(shownPass(choice));
  }
  window.children = shown(request.coder.attempts);
  return window;
}

llvm::Expected<Proposal> Assistant::propose(const NodeId &node, const ProposalRequest &request,
                                            llvm::ArrayRef<Action> choices) {
  if (!request.minimal && request.roles == StepRoles::Compose)
    return compose(node, request, choices);
  Account account;
  Work work;
  work.action = request.action;
  work.choices = {request.action};
  PlannerReply planned;
  planned.pass = request.action.pass;
  planned.kernel = request.action.kernel;
  if (!request.minimal) {
    auto reply = plan(node, request, choices, account);
    if (!reply)
      return reply.takeError();
    if (!*reply)
      return std::move(account.proposal);
    planned = std::move(**reply);
    account.proposal.unfit = planned.unfit;
    if (planned.pass == "none") {
      account.end(FailureClass::Declined, "the planner sees no use: " + planned.why);
      return std::move(account.proposal);
    }
    work.action = *llvm::find_if(choices, [&](const Action &choice) {
      return choice.pass == planned.pass && choice.kernel == planned.kernel;
    });
    if (planned.pass != request.action.pass || planned.kernel != request.action.kernel)
      account.proposal.chosen = work.action.step();
    if (work.action.sketch) {
      account.proposal.step = scheduleStep(planned, work.action);
      account.proposal.reason = planned.why;
      return std::move(account.proposal);
    }
    work.choices = choices.vec();
    llvm::erase_if(work.choices, [&](const Action &choice) {
      return choice.sketch || choice.kernel != work.action.kernel;
    });
  }
  auto grounded = ground(node, planned, request, work, account);
  if (!grounded)
    return grounded.takeError();
  if (!*grounded)
    return std::move(account.proposal);
  work.window = codeWindow(node, request, work.action, work, planned);
  ModelRequest question = request.minimal ? minimalRequest(work.window) : coderRequest(work.window);
  question.sample = request.ask > 1 ? std::to_string(request.ask) : "";
  auto answer =
      ask(question, request.minimal ? minimalSchema() : coderSchema(), node, planned.kernel,
          account, [&](const json::Value &value) -> std::string {
            auto code = readCoderReply(value);
            return code ? faultOfCode(std::move(*code), work) : llvm::toString(code.takeError());
          });
  if (!answer)
    return answer.takeError();
  if (!*answer)
    return std::move(account.proposal);
  auto proposal = take(llvm::cantFail(readCoderReply(**answer)), node, request, std::move(work),
                       std::move(account));
  if (proposal && proposal->failure == FailureClass::Declined)
    proposal->unfit.push_back(proposal->chosen->pass);
  return proposal;
}

llvm::Expected<Proposal> Assistant::repair(const NodeId &node, const ProposalRequest &request,
                                           const Attempt &failed) {
  Account account;
  DebuggerWindow window;
  Work work;
  {
    std::lock_guard<std::mutex> lock(mutex);
    auto known = works.find(questionOf(node, request) + failed.step.reply);
    if (known == works.end()) {
      account.end(FailureClass::Unavailable, "the reply is not of this run");
      return std::move(account.proposal);
    }
    work = known->second;
  }
  window.coder = work.window;
  window.reply = work.reply;
  window.verdict = failed.word() + (failed.gate ? ", gate " + toString(failed.gate).str() : "");
  if (failed.gate == GateId::G15) {
    window.words = "it is wrong for sizes that stay hidden; it has to be right for all";
  } else {
    window.words = failed.reason;
    window.details = failed.details;
    window.failingCase = programs.failingCase(failed);
  }
  window.siblings = shown(request.debugger.attempts);
  ModelRequest question = debuggerRequest(window);
  auto answer = ask(question, debuggerSchema(), node, work.action.kernel, account,
                    [&](const json::Value &value) -> std::string {
                      auto code = readCoderReply(value);
                      if (!code)
                        return llvm::toString(code.takeError());
                      if (!code->dispute.empty() && !failed.gate)
                        return "no gate refused the change, so that there is nothing to dispute";
                      return faultOfCode(std::move(*code), work);
                    });
  if (!answer)
    return answer.takeError();
  if (!*answer)
    return std::move(account.proposal);
  CoderReply code = llvm::cantFail(readCoderReply(**answer)); // as the check did
  if (!code.dispute.empty()) {
    account.end(FailureClass::Declined, "the gate is disputed: " + code.dispute);
    account.proposal.dispute = code.dispute;
    return std::move(account.proposal);
  }
  return take(std::move(code), node, request, std::move(work), std::move(account));
}

//===-- Verifier ----------------------------------------------------------===//

llvm::Expected<Assistant::Verification> Assistant::verify(const NodeId &original,
                                                          const NodeId &candidate,
                                                          llvm::ArrayRef<std::string> steps,
                                                          llvm::StringRef promise) {
  VerifierWindow window;
  window.task.file = facts.file;
  window.task.chip = facts.chip;
  window.task.facts = facts.facts;
  window.original = programs.shownText(original);
  window.candidate = programs.shownText(candidate);
  window.promise = promise.str();
  window.steps = steps;
  auto answer =
      askStructured(model, verifierRequest(window), llvm::cantFail(json::parse(verifierSchema())));
  if (!answer) {
    auto none = noReply(answer.takeError());
    if (!none)
      return none.takeError();
    return Verification{false, "not asked: " + none->reason};
  }
  if (!answer->ok())
    return Verification{
        false, ("no verdict: " + toString(answer->outcome) + ", " + answer->problem).str()};
  auto verdict = readVerifierReply(answer->value);
  if (!verdict)
    return Verification{false, "no verdict: " + llvm::toString(verdict.takeError())};
  return Verification{!verdict->accepted, verdict->reason};
}
