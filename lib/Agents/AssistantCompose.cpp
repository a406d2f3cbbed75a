//===- AssistantCompose.cpp - One question for one step -------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the question that stands for planner and coder together, and the check of its answer.
//
//===----------------------------------------------------------------------===//
#include "ShownAnchors.h"
#include "kb-opt/Agents/Assistant.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include <cmath>

using namespace kbopt;
namespace json = llvm::json;

/// What the allowances of \p choices add up to. That whole host functions may change is taken of
/// the drawn pass alone: their anchors take the place of the launches' own.
static std::vector<llvm::StringRef> allowancesOf(const PassRegistry &passes,
                                                 llvm::ArrayRef<Action> choices) {
  std::vector<llvm::StringRef> all;
  for (const Action &choice : choices)
    for (llvm::StringRef allowance : passes.lookup(choice.pass)->info->assisted->allow)
      if (!llvm::is_contained(all, allowance) &&
          (allowance != "host-code" || choice.pass == choices.front().pass))
        all.push_back(allowance);
  return all;
}

/// Lines of \p kernel that can be anchored, where its whole body cannot: sites of \p choices.
static llvm::Expected<std::vector<LineSpan>> anchoredSites(RewriteSession &program,
                                                           const PassRegistry &passes,
                                                           llvm::ArrayRef<Action> choices,
                                                           llvm::StringRef kernel) {
  auto sites = program.opportunities(/*assisted=*/true);
  if (!sites)
    return sites.takeError();
  std::vector<LineSpan> lines;
  for (const Opportunity &site : *sites) {
    const bool isChoice =
        llvm::any_of(choices, [&](const Action &choice) { return site.pass->name == choice.pass; });
    const LineSpan span{site.line, site.endLine};
    if (isChoice && site.step.kernel == kernel && hasOwnAnchors(site.pass->site) &&
        whyNotAnchored(program.parsed(), *passes.lookup(site.pass->name)->info, kernel, span)
            .empty())
      lines.push_back(span);
  }
  return lines;
}

/// The anchors of \p all that are also those of \p own.
static std::set<std::string> sharedAnchors(const GroundedSource &all, const GroundedSource &own) {
  std::set<std::string> shared;
  for (const GroundedAnchor &each : all.anchors)
    if (llvm::any_of(own.anchors, [&](const GroundedAnchor &other) {
          return slotKind(each.id) == slotKind(other.id) &&
                 each.anchor.begin == other.anchor.begin && each.anchor.end == other.anchor.end;
        }))
      shared.insert(each.id);
  return shared;
}

/// The prediction for \p pass; empty where \p knowledge has none.
static std::string expectedOf(llvm::StringRef pass, const PromptKnowledge &knowledge) {
  for (const PromptEntry &entry : knowledge.entries)
    if (entry.pass == pass)
      return llvm::formatv("predicted: {0:f2} times as fast where it works, in {1:f0} % of tries",
                           std::exp(entry.prediction.logGain), 100 * entry.prediction.success);
  return "";
}

llvm::Error Assistant::groundAll(const NodeId &node, const ProposalRequest &request,
                                 llvm::ArrayRef<Action> choices, Work &work,
                                 ComposeWindow &window) {
  for (const Action &choice : choices)
    if (!choice.sketch)
      work.choices.push_back(choice);
  const std::string original = request.pipeline.empty() ? "" : programs.shownText(request.original);
  const std::vector<llvm::StringRef> allow = allowancesOf(passes, work.choices);
  return programs.withProgram(node, [&](RewriteSession &program) -> llvm::Error {
    GroundingRequest grounding;
    grounding.kernel = request.action.kernel;
    grounding.openNumbers = openNumbers(request.pipeline);
    grounding.original = original;
    grounding.allow = allow;
    auto source = kbopt::ground(program.parsed(), grounding);
    if (!source) {
      auto sites = anchoredSites(program, passes, work.choices, grounding.kernel);
      auto leave = [&](llvm::Error why) {
        const std::string words = llvm::toString(std::move(why));
        const auto [place, reason] = llvm::StringRef(words).split(" cannot be replaced: ");
        window.coder.left.push_back((place + (reason.empty() ? "" : ": ") + reason).str());
      };
      leave(source.takeError());
      if (sites)
        grounding.lines = std::move(*sites);
      else
        leave(sites.takeError());
      if (!grounding.lines.empty())
        source = kbopt::ground(program.parsed(), grounding);
      if (grounding.lines.empty() || !source) {
        if (!grounding.lines.empty())
          leave(source.takeError());
        work.choices.clear();
        return llvm::Error::success();
      }
    }
    work.source = std::move(*source);
    for (const Action &choice : work.choices) {
      const PassInfo &info = *passes.lookup(choice.pass)->info;
      grounding.allow = info.assisted->allow;
      PromptPass &pass = window.passes.emplace_back(shownPass(choice));
      pass.expected = expectedOf(choice.pass, request.knowledge);
      for (llvm::StringRef allowance : info.assisted->allow)
        pass.allowances.push_back(allowance.str());
      auto own = kbopt::ground(program.parsed(), grounding);
      if (!own)
        return own.takeError();
      std::set<std::string> &rights = work.rights[choice.pass];
      rights = sharedAnchors(work.source, *own);
      pass.anchors.assign(rights.begin(), rights.end());
    }
    window.coder.marked = shownProgram(work.source, deviceLines(program.parsed()));
    return llvm::Error::success();
  });
}

static PlannerReply planOf(const ComposeReply &reply, const Action &sketch) {
  PlannerReply plan;
  plan.pass = sketch.pass;
  plan.kernel = sketch.kernel;
  plan.schedule = reply.schedule;
  return plan;
}

static const Action *sketchOf(llvm::ArrayRef<Action> choices) {
  auto found = llvm::find_if(choices, [](const Action &choice) { return choice.sketch; });
  return found == choices.end() ? nullptr : &*found;
}

std::string Assistant::faultOfStep(const NodeId &node, const json::Value &answer,
                                   llvm::ArrayRef<Action> choices, const Work &work) {
  auto reply = readComposeReply(answer);
  if (!reply)
    return llvm::toString(reply.takeError());
  if (reply->schedule.empty())
    return work.choices.empty() && reply->code.cannot.empty()
               ? "nothing of the kernel can be changed: answer with a schedule, or with 'cannot'"
               : faultOfCode(std::move(reply->code), work);
  const Action *sketch = sketchOf(choices);
  return sketch ? faultOfSchedule(node, planOf(*reply, *sketch), choices)
                : "no pass of the list takes a schedule";
}

/// The entries of \p request that have an example of the kernel's family, that of the best one
/// first.
static PromptKnowledge familyOf(const ProposalRequest &request) {
  PromptKnowledge knowledge = request.knowledge;
  llvm::append_range(knowledge.entries, request.ofPass.entries);
  knowledge = ofFamily(std::move(knowledge), request.shape);
  llvm::erase_if(knowledge.entries, [](const PromptEntry &entry) { return !entry.example; });
  llvm::stable_sort(knowledge.entries, [](const PromptEntry &a, const PromptEntry &b) {
    return a.example->gain > b.example->gain;
  });
  return knowledge;
}

llvm::Expected<Proposal> Assistant::compose(const NodeId &node, const ProposalRequest &request,
                                            llvm::ArrayRef<Action> choices) {
  Account account;
  Work work;
  work.action = request.action;
  ComposeWindow window;
  if (llvm::Error error = groundAll(node, request, choices, work, window))
    return std::move(error);
  const Action *sketch = sketchOf(choices);
  if (work.choices.empty() && !sketch) {
    account.end(FailureClass::Declined,
                "nothing of kernel '" + request.action.kernel +
                    "' can be changed: " + llvm::join(window.coder.left, "; "));
    return std::move(account.proposal);
  }
  PlannerReply plan;
  plan.kernel = request.action.kernel;
  const std::string marked = std::move(window.coder.marked);
  std::vector<std::string> left = std::move(window.coder.left);
  window.coder = codeWindow(node, request, request.action, work, plan);
  window.coder.marked = marked;
  llvm::append_range(window.coder.left, left);
  const PassInfo &drawn = *passes.lookup(request.action.pass)->info;
  window.coder.passPrompt = drawn.assisted->prompt.str();
  // Predictions stand beside the passes, and what was learnt of each is told of all of them.
  PromptKnowledge known = request.knowledge;
  for (PromptEntry &entry : known.entries)
    entry.example.reset();
  window.coder.task.knowledge.clear();
  if (!known.entries.empty() || !known.lessons.empty())
    window.coder.task.knowledge.push_back(promptText(known));
  window.coder.task.example = example(familyOf(request), drawn);
  if (sketch) {
    window.passes.push_back(shownPass(*sketch));
    window.passes.back().schedules = shownSchedules(*sketch);
    window.passes.back().expected = expectedOf(sketch->pass, request.knowledge);
  }
  window.launches = programs.launches(node);
  window.schedules = shown(request.schedules);
  window.leaders = shown(request.planner.leaders, request.originalUs);
  if (request.contrast)
    window.contrast = shownWhole(*request.contrast);
  ModelRequest question = composeRequest(window);
  question.sample = request.ask > 1 ? std::to_string(request.ask) : "";
  auto answer =
      ask(question, composeSchema(), node, request.action.kernel, account,
          [&](const json::Value &value) { return faultOfStep(node, value, choices, work); });
  if (!answer)
    return answer.takeError();
  if (!*answer)
    return std::move(account.proposal);
  ComposeReply reply = llvm::cantFail(readComposeReply(**answer)); // as the check did
  account.proposal.unfit = reply.unfit;
  if (!reply.schedule.empty()) {
    if (sketch->pass != request.action.pass)
      account.proposal.chosen = sketch->step();
    account.proposal.step = scheduleStep(planOf(reply, *sketch), *sketch);
    account.proposal.reason = reply.code.summary;
    return std::move(account.proposal);
  }
  const bool isForAll = reply.code.pass == "none" || work.choices.empty();
  if (!reply.code.cannot.empty() && isForAll) {
    account.end(FailureClass::Declined, "the model sees no use: " + reply.code.cannot);
    return std::move(account.proposal);
  }
  work.action = actionOf(reply.code, work);
  if (!reply.code.cannot.empty())
    account.proposal.unfit.push_back(work.action.pass);
  // What a debugger is shown is of the pass that the change is.
  work.window = codeWindow(node, request, work.action, work, plan);
  return take(std::move(reply.code), node, request, std::move(work), std::move(account));
}
