//===- AssistantPlans.cpp - What the planner is asked, and its plan -------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the planner's question, the check of its answer, and the anchors of the places that it
// names.
//
//===----------------------------------------------------------------------===//
#include "ShownAnchors.h"
#include "kb-opt/Agents/Assistant.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace kbopt;
namespace json = llvm::json;

static std::string numbersOf(llvm::ArrayRef<PromptSite> sites) {
  std::string text;
  for (const PromptSite &site : sites)
    text += (text.empty() ? "" : ", ") + std::to_string(site.number);
  return text.empty() ? "none" : text;
}

/// What is wrong with an answer of the planner's: a name or a place that it was not shown.
static std::string faultOfPlan(const json::Value &answer, const PlannerWindow &window) {
  auto plan = readPlannerReply(answer);
  if (!plan)
    return llvm::toString(plan.takeError());
  if (llvm::is_contained(plan->unfit, plan->pass))
    return "pass '" + plan->pass + "' is chosen and among 'unfit' as well";
  if (plan->pass == "none")
    return "";
  auto chosen = llvm::find_if(window.passes, [&](const PromptPass &pass) {
    return pass.name == plan->pass && pass.kernel == plan->kernel;
  });
  if (chosen == window.passes.end()) {
    std::string choices;
    for (const PromptPass &pass : window.passes)
      choices += pass.name + " on '" + pass.kernel + "', ";
    return "pass '" + plan->pass + "' on kernel '" + plan->kernel +
           "' is not among the choices: " + choices + "or none";
  }
  size_t lines = 1 + llvm::StringRef(window.source).rtrim('\n').count('\n');
  for (const PlannedPlace &place : plan->places) {
    bool known = llvm::any_of(chosen->sites,
                              [&](const PromptSite &site) { return site.number == place.site; });
    if (place.site && !known)
      return llvm::formatv("'{0}' on '{1}' has no site {2}: its sites are {3}", plan->pass,
                           plan->kernel, place.site, numbersOf(chosen->sites));
    if (place.last > lines)
      return llvm::formatv("there is no line {0}: the source has {1}", place.last, lines);
  }
  return "";
}

PromptPass Assistant::shownPass(const Action &choice) const {
  PromptPass pass;
  pass.name = choice.pass;
  pass.kernel = choice.kernel;
  const PassInfo &info = *passes.lookup(choice.pass)->info;
  pass.summary = info.summary.str();
  pass.promise = promiseName(info.promise).str();
  return pass;
}

std::string Assistant::faultOfPlaces(const NodeId &node, const json::Value &answer) {
  const PlannerReply plan = llvm::cantFail(readPlannerReply(answer)); // as the check before did
  if (plan.pass == "none")
    return "";
  const PassInfo &info = *passes.lookup(plan.pass)->info;
  if (!info.assisted) // a schedule has no places
    return "";
  std::string fault;
  llvm::Error error = programs.withProgram(node, [&](RewriteSession &program) -> llvm::Error {
    for (const PlannedPlace &place : plan.places)
      if (!place.site && fault.empty())
        fault = whyNotAnchored(program.parsed(), info, plan.kernel, {place.first, place.last});
    return llvm::Error::success();
  });
  return error ? llvm::toString(std::move(error)) : fault;
}

llvm::Expected<std::optional<PlannerReply>> Assistant::plan(const NodeId &node,
                                                            const ProposalRequest &request,
                                                            llvm::ArrayRef<Action> choices,
                                                            Account &account) {
  PlannerWindow window;
  window.task = task(node, request, request.action, ofFamily(request.knowledge, request.shape));
  window.source = programs.shownText(node);
  window.drawn = request.action.pass;
  window.children = shown(request.planner.attempts);
  window.leaders = shown(request.planner.leaders, request.originalUs);
  llvm::Error looked = programs.withProgram(node, [&](RewriteSession &program) -> llvm::Error {
    auto sites = program.opportunities(/*assisted=*/true);
    if (!sites)
      return sites.takeError();
    for (const Action &choice : choices) {
      const PassInfo &info = *passes.lookup(choice.pass)->info;
      PromptPass &pass = window.passes.emplace_back(shownPass(choice));
      if (choice.sketch) {
        pass.schedules = shownSchedules(choice);
        continue;
      }
      for (const Opportunity &site : *sites)
        if (site.pass->name == choice.pass && site.step.kernel == choice.kernel)
          pass.sites.push_back(
              {site.step.site, site.line, siteKindName(info.site).str(), site.endLine});
      if (!showAnchors(program.parsed(), info, pass, window.left))
        window.passes.pop_back();
    }
    return llvm::Error::success();
  });
  if (looked)
    return std::move(looked);
  if (window.passes.empty()) {
    account.end(FailureClass::Declined, "nothing of kernel '" + request.action.kernel +
                                            "' can be changed: " + llvm::join(window.left, "; "));
    return std::nullopt;
  }
  ModelRequest question = plannerRequest(window);
  question.sample = request.ask > 1 ? std::to_string(request.ask) : "";
  auto answer = ask(question, plannerSchema(), node, request.action.kernel, account,
                    [&](const json::Value &value) {
                      std::string fault = faultOfPlan(value, window);
                      if (fault.empty())
                        fault =
                            faultOfSchedule(node, llvm::cantFail(readPlannerReply(value)), choices);
                      return fault.empty() ? faultOfPlaces(node, value) : fault;
                    });
  if (!answer || !*answer)
    return answer ? llvm::Expected<std::optional<PlannerReply>>(std::nullopt) : answer.takeError();
  return llvm::cantFail(readPlannerReply(**answer)); // as the check did
}

namespace {
/// Lines to be anchored, and what the planner wants there.
struct PlannedLines {
  std::vector<LineSpan> lines;
  std::vector<std::string> instructions; ///< one for each
};
} // namespace

/// The lines of the places that \p plan names; sites are those of its pass and kernel.
static llvm::Expected<PlannedLines> linesOf(RewriteSession &program, const PlannerReply &plan) {
  auto sites = program.opportunities(/*assisted=*/true);
  if (!sites)
    return sites.takeError();
  PlannedLines planned;
  auto add = [&](unsigned first, unsigned last, const PlannedPlace &place) {
    planned.lines.push_back({first, last});
    planned.instructions.push_back(place.instruction);
  };
  for (const PlannedPlace &place : plan.places) {
    if (!place.site) {
      add(place.first, place.last, place);
      continue;
    }
    for (const Opportunity &site : *sites)
      if (site.pass->name == plan.pass && site.step.kernel == plan.kernel &&
          site.step.site == place.site && hasOwnAnchors(site.pass->site))
        add(site.line, site.endLine, place);
  }
  return planned;
}

/// Places that touch have become one anchor; what was wanted of places that have none is wanted
/// of the body.
static std::map<std::string, std::string> instructionsFor(const GroundedSource &source,
                                                          const PlannedLines &planned,
                                                          const PlannerReply &plan) {
  std::map<std::string, std::string> instructions;
  auto add = [&](const std::string &anchor, const std::string &instruction) {
    std::string &text = instructions[anchor];
    text += (text.empty() ? "" : "; ") + instruction;
  };
  for (const GroundedAnchor &anchor : source.anchors)
    for (unsigned span : anchor.spans)
      add(anchor.id, planned.instructions[span]);
  if (instructions.empty() && source.anchor("a1"))
    for (const PlannedPlace &place : plan.places)
      add("a1", place.instruction);
  return instructions;
}

std::set<std::string> kbopt::openNumbers(llvm::ArrayRef<Step> pipeline) {
  std::set<std::string> numbers;
  for (const Step &step : pipeline)
    if (!step.reply.empty())
      for (const auto &[name, value] : step.parameters)
        numbers.insert(value);
  return numbers;
}

llvm::Expected<bool> Assistant::ground(const NodeId &node, const PlannerReply &plan,
                                       const ProposalRequest &question, Work &work,
                                       Account &account) {
  const PassInfo &info = *passes.lookup(plan.pass)->info;
  const std::string original =
      question.pipeline.empty() ? "" : programs.shownText(question.original);
  bool grounded = true;
  llvm::Error error = programs.withProgram(node, [&](RewriteSession &program) -> llvm::Error {
    auto planned = linesOf(program, plan);
    if (!planned)
      return planned.takeError();
    GroundingRequest request;
    request.kernel = plan.kernel;
    request.lines = planned->lines;
    request.allow = info.assisted->allow;
    request.openNumbers = openNumbers(question.pipeline);
    request.original = original;
    auto source = kbopt::ground(program.parsed(), request);
    if (!source && !request.lines.empty()) {
      // Lines that cannot be anchored: the whole body can be, as a rule.
      llvm::consumeError(source.takeError());
      request.lines.clear();
      source = kbopt::ground(program.parsed(), request);
    }
    if (source) {
      work.instructions = instructionsFor(*source, *planned, plan);
      work.source = std::move(*source);
    } else {
      grounded = account.end(FailureClass::Constraints,
                             "no anchors: " + llvm::toString(source.takeError()));
    }
    return llvm::Error::success();
  });
  if (error)
    return std::move(error);
  return grounded;
}
