//===- PromptBuilder.cpp - What each role is shown --------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "kb-opt/Assisted/PromptBuilder.h"
#include "RolePrompts.h"
#include "kb-opt/LLM/JsonSchema.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace kbopt;
using llvm::StringRef;

namespace {

/// Longest pieces of text that others wrote; programs are limited where they are grounded.
constexpr size_t programBytes = 96 << 10;
constexpr size_t attemptBytes = 6 << 10;
constexpr size_t wordsBytes = 6 << 10;
constexpr size_t reasonBytes = 600;
/// A longer example is not shown: half of a rewrite teaches nothing.
constexpr size_t exampleBytes = 8 << 10;
constexpr size_t nestBytes = 6 << 10;
/// Attempts of each kind that are shown, the last ones.
constexpr size_t shownAttempts = 6;

/// The beginning and the end of \p text.
std::string clipped(StringRef text, size_t limit) {
  if (text.size() <= limit)
    return text.str();
  auto boundary = [&](size_t at) {
    size_t newline = text.rfind('\n', at);
    return newline == StringRef::npos ? at : newline + 1;
  };
  size_t head = boundary(limit * 2 / 3), tail = boundary(text.size() - limit / 3);
  return (text.take_front(head) + "[… " + llvm::Twine(tail - head) + " bytes not shown …]\n" +
          text.substr(tail))
      .str();
}

/// Markdown, section by section; empty sections are left out.
class Page {
public:
  void heading(StringRef title) { text += ("\n## " + title + "\n\n").str(); }
  void line(const llvm::Twine &line) { text += line.str() + "\n"; }
  void list(StringRef title, llvm::ArrayRef<std::string> items) {
    if (items.empty())
      return;
    heading(title);
    for (const std::string &item : items)
      line("- " + llvm::Twine(item));
  }
  void quote(StringRef title, StringRef what, StringRef content, size_t limit) {
    if (content.empty())
      return;
    heading(title);
    text += quotedAsData(what, clipped(content, limit));
  }
  std::string text;
};

void addTask(Page &page, const PromptTask &task) {
  page.heading("Task");
  page.line("Program: " + task.file);
  page.line("Chip: " + task.chip);
  for (const std::string &fact : task.facts)
    page.line(fact);
}

void addMeasurements(Page &page, const PromptTask &task) {
  std::vector<std::string> lines = task.state;
  if (!task.metrics.empty())
    lines.push_back(llvm::join(task.metrics, "; "));
  page.list("State", lines);
  page.list("Hottest lines", task.hotLines);
}

void addNest(Page &page, const PromptTask &task) {
  if (task.nest.empty())
    return;
  page.heading("What the kernel computes");
  page.line("The compiler raised the kernel: 'dims' are points that do not depend on each other, "
            "kb.over is a loop inside "
            "them, kb.reduce adds one term, and the threads of the given kernel are gone.");
  page.text += quotedAsData("nest", clipped(task.nest, nestBytes));
}

/// \p others: passes that were added before.
void addPass(Page &page, const PromptPass &pass, llvm::ArrayRef<PromptPass> others) {
  page.line("- " + pass.name + " on '" + pass.kernel + "': " + pass.summary +
            (pass.expected.empty() ? "" : " (" + pass.expected + ")"));
  if (!pass.promise.empty())
    page.line("  - promise: " + pass.promise);
  if (!pass.allowances.empty())
    page.line("  - may use: " + llvm::join(pass.allowances, ", "));
  auto same =
      llvm::find_if(others, [&](const PromptPass &other) { return other.anchors == pass.anchors; });
  if (!pass.anchors.empty())
    page.line("  - may change: " + (same == others.end() ? llvm::join(pass.anchors, "; ")
                                                         : "the same as " + same->name));
  for (const PromptSite &site : pass.sites)
    page.line("  - site " + llvm::Twine(site.number) + ", line " + llvm::Twine(site.line) + ": " +
              site.what);
  if (pass.schedules.empty())
    return;
  page.line("  The compiler writes this one: answer with a schedule in 'schedule', one of these or "
            "the same keys with other values, without instruction or edits:");
  for (const std::string &schedule : pass.schedules)
    page.line("  - " + schedule);
}

void addKnowledge(Page &page, const PromptTask &task) {
  page.list("What experience says", task.knowledge);
  if (!task.example || task.example->text.size() > exampleBytes)
    return;
  page.heading("A worked example: " + task.example->title);
  page.text += quotedAsData("example", task.example->text);
}

void addAttempts(Page &page, StringRef title, llvm::ArrayRef<PromptAttempt> attempts) {
  if (attempts.empty())
    return;
  page.heading(title);
  if (attempts.size() > shownAttempts)
    page.line(llvm::Twine(attempts.size() - shownAttempts) + " older ones are not shown.");
  for (const PromptAttempt &attempt : attempts.take_back(shownAttempts)) {
    page.line("- " + attempt.what + " → " + attempt.verdict);
    if (!attempt.reason.empty())
      page.text += quotedAsData("its reason", clipped(attempt.reason, reasonBytes));
    if (!attempt.text.empty())
      page.text += quotedAsData("its text", clipped(attempt.text, attemptBytes));
  }
}

std::string numbered(StringRef text) {
  std::string result;
  unsigned number = 0;
  while (!text.empty()) {
    auto [line, rest] = text.split('\n');
    std::string count = std::to_string(++number);
    result +=
        std::string(5 - std::min<size_t>(count.size(), 5), ' ') + count + "| " + line.str() + "\n";
    text = rest;
  }
  return result;
}

void addForm(Page &page, StringRef schema) {
  page.heading("Form of the answer");
  page.line(shapeOf(llvm::cantFail(llvm::json::parse(schema))));
}

ModelRequest request(ModelRole role, std::string system, Page page, StringRef schema) {
  addForm(page, schema);
  ModelRequest result;
  result.role = role;
  result.system = std::move(system);
  result.messages.push_back({ModelMessage::Speaker::User, StringRef(page.text).ltrim('\n').str()});
  result.schema = schema.str();
  return result;
}

/// The rules as instructions; what the pass allows is left out.
std::string rules(llvm::ArrayRef<std::string> allowances) {
  std::string text;
  for (const EditRuleInfo &info : editRules())
    if (info.liftedBy.empty() || !llvm::is_contained(allowances, info.liftedBy))
      text += ("- " + info.name + ": " + info.demand + "\n").str();
  return text;
}

void addAnchors(Page &page, llvm::ArrayRef<PromptAnchor> anchors,
                llvm::ArrayRef<std::string> left) {
  page.heading("Anchors");
  for (const PromptAnchor &anchor : anchors)
    page.line("- " + anchor.id + ": " + anchor.what +
              (anchor.instruction.empty() ? "" : ". " + anchor.instruction));
  for (const std::string &place : left)
    page.line("- no anchor for " + place);
}

StringRef meaningOf(StringRef promise) {
  if (promise == "bitwise")
    return "Results are the same bits.";
  if (promise == "reassociates")
    return "Results may be rounded otherwise, as by another order of the terms, a fused operation, "
           "or a "
           "product with a reciprocal for a division; no operation has less precision than before.";
  return "Operations may have less precision than before, where the workload's tolerance allows "
         "it.";
}

/// What the change may be filed under.
void addChoices(Page &page, llvm::ArrayRef<PromptPass> choices) {
  if (choices.empty())
    return;
  page.heading("Passes that the change may be");
  for (const PromptPass &pass : choices)
    page.line("- " + pass.name + ": " + pass.summary +
              (pass.promise.empty() ? "" : " (promise: " + pass.promise + ")"));
}

/// The words of what passes may use beyond what all may.
void addAllowances(Page &page, llvm::ArrayRef<PromptPass> passes) {
  std::vector<std::string> lines;
  for (const Allowance &allowance : allowances())
    if (llvm::any_of(passes, [&](const PromptPass &pass) {
          return llvm::is_contained(pass.allowances, allowance.name);
        }))
      lines.push_back((allowance.name + ": " + allowance.summary).str());
  page.list("What passes may use", lines);
}

/// The rules, each with the passes that it does not hold for.
std::string rulesOf(llvm::ArrayRef<PromptPass> passes) {
  std::string text;
  for (const EditRuleInfo &info : editRules()) {
    std::vector<std::string> free;
    for (const PromptPass &pass : passes)
      if (!info.liftedBy.empty() && llvm::is_contained(pass.allowances, info.liftedBy))
        free.push_back(pass.name);
    text += ("- " + info.name + ": " + info.demand +
             (free.empty() ? "" : " (not for " + llvm::join(free, ", ") + ")") + "\n")
                .str();
  }
  return text;
}

/// The coder's window without its history.
void addWork(Page &page, const CoderWindow &window) {
  addTask(page, window.task);
  page.heading("Pass '" + window.pass + "' on kernel '" + window.kernel + "'");
  page.line("Promise: " + window.promise);
  if (!window.passPrompt.empty())
    page.line("\n" + StringRef(window.passPrompt).trim());
  if (!window.instruction.empty()) {
    page.heading("Plan");
    page.line(window.instruction);
  }
  page.list("Numbers to leave open", window.parameters);
  addChoices(page, window.choices);
  addMeasurements(page, window.task);
  addNest(page, window.task);
  addKnowledge(page, window.task);
  addAnchors(page, window.anchors, window.left);
  page.quote("Source", "program", window.marked, programBytes);
}

} // namespace

std::string kbopt::quotedAsData(StringRef what, StringRef text) {
  // A text cannot hold its own digest, so it cannot end its quotation.
  std::string name = (what + " " + StringRef(digestOf(text)).take_front(12)).str();
  return "----- BEGIN " + name + " -----\n" + text.str() + (text.ends_with("\n") ? "" : "\n") +
         "----- END " + name + " -----\n";
}

ModelRequest kbopt::composeRequest(const ComposeWindow &window) {
  const CoderWindow &coder = window.coder;
  Page page;
  addTask(page, coder.task);
  addMeasurements(page, coder.task);
  page.list("Launches", window.launches);
  page.heading("Passes to choose from");
  page.line("The search would try '" + coder.pass + "'.");
  for (auto [place, pass] : llvm::enumerate(window.passes))
    addPass(page, pass, llvm::ArrayRef(window.passes).take_front(place));
  addAllowances(page, window.passes);
  if (!coder.passPrompt.empty()) {
    page.heading("Pass '" + coder.pass + "' on kernel '" + coder.kernel + "'");
    page.line(StringRef(coder.passPrompt).trim());
  }
  page.list("Numbers to leave open", coder.parameters);
  addNest(page, coder.task);
  addAttempts(page, "The best schedules so far", window.schedules);
  addKnowledge(page, coder.task);
  if (window.contrast)
    addAttempts(page, "For contrast, a change of such a kernel that is not worth repeating",
                *window.contrast);
  addAttempts(page, "What was tried on this program and on programs much like it", coder.children);
  addAttempts(page, "The best programs so far", window.leaders);
  addAnchors(page, coder.anchors, coder.left);
  page.quote("Source, with line numbers", "program", coder.marked, programBytes);
  return request(ModelRole::Compose, composeDuty.str() + rulesOf(window.passes) + sharedDuty.str(),
                 std::move(page), composeSchema());
}

ModelRequest kbopt::plannerRequest(const PlannerWindow &window) {
  Page page;
  addTask(page, window.task);
  addMeasurements(page, window.task);
  page.heading("Passes to choose from");
  if (!window.drawn.empty())
    page.line("The search would try '" + window.drawn + "'.");
  for (auto [place, pass] : llvm::enumerate(window.passes))
    addPass(page, pass, llvm::ArrayRef(window.passes).take_front(place));
  page.list("What cannot be changed", window.left);
  addNest(page, window.task);
  addKnowledge(page, window.task);
  addAttempts(page, "What was tried on this program", window.children);
  addAttempts(page, "The best programs so far", window.leaders);
  page.quote("Source, with line numbers", "program", numbered(window.source), programBytes);
  return request(ModelRole::Planner, (plannerDuty + sharedDuty).str(), std::move(page),
                 plannerSchema());
}

ModelRequest kbopt::coderRequest(const CoderWindow &window) {
  Page page;
  addWork(page, window);
  addAttempts(page, "What was tried on this program", window.children);
  addAttempts(page, "What was tried on programs much like it", window.cousins);
  return request(ModelRole::Coder, coderDuty.str() + rules(window.allowances) + sharedDuty.str(),
                 std::move(page), coderSchema());
}

ModelRequest kbopt::debuggerRequest(const DebuggerWindow &window) {
  Page page;
  addWork(page, window.coder);
  page.heading("The change that failed");
  page.line(window.reply.summary);
  for (const ReplyEdit &edit : window.reply.edits)
    page.text += quotedAsData("text of " + edit.anchor, clipped(edit.text, programBytes));
  std::vector<std::string> parameters;
  for (const TemplateParameter &each : window.reply.parameters)
    parameters.push_back(each.name + ": one of " + llvm::join(each.values, ", ") + "; default " +
                         each.defaultValue);
  page.list("Its parameters", parameters);
  page.heading("What became of it");
  page.line(window.verdict);
  page.line("It has to keep this promise: " + window.coder.promise + ". " +
            meaningOf(window.coder.promise).str());
  const std::string said = llvm::join(window.details, "\n");
  if (!window.words.empty())
    page.text += quotedAsData(
        "what was said", clipped(window.words + (said.empty() ? "" : "\n" + said), wordsBytes));
  page.quote("The inputs on which it was wrong", "inputs", llvm::join(window.failingCase, "\n"),
             wordsBytes);
  addAttempts(page, "Other changes of the same program", window.siblings);
  return request(ModelRole::Debugger,
                 debuggerDuty.str() + rules(window.coder.allowances) + sharedDuty.str(),
                 std::move(page), debuggerSchema());
}

ModelRequest kbopt::verifierRequest(const VerifierWindow &window) {
  Page page;
  addTask(page, window.task);
  page.line("Promise: " + window.promise + ". " + meaningOf(window.promise).str());
  page.list("What was done", window.steps);
  page.quote("The original", "original", window.original, programBytes);
  page.quote("The candidate", "candidate", window.candidate, programBytes);
  return request(ModelRole::Verifier, (verifierDuty + sharedDuty).str(), std::move(page),
                 verifierSchema());
}

ModelRequest kbopt::generalizerRequest(const GeneralizerWindow &window) {
  Page page;
  page.heading("Why there is no recipe yet");
  page.text += quotedAsData("reason", clipped(window.reason, wordsBytes));
  page.quote("The program before", "before", window.before, programBytes);
  page.quote("The program after", "after", window.after, programBytes);
  return request(ModelRole::Generalizer, (generalizerDuty + sharedDuty).str(), std::move(page),
                 generalizerSchema());
}

ModelRequest kbopt::minimalRequest(const CoderWindow &window) {
  Page page;
  addTask(page, window.task);
  addAnchors(page, window.anchors, window.left);
  page.quote("Source", "program", window.marked, programBytes);
  return request(ModelRole::Minimal,
                 minimalDuty.str() + rules(window.allowances) + sharedDuty.str(), std::move(page),
                 minimalSchema());
}
