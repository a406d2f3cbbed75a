//===- AssistantWindows.cpp - What roles are shown of a search -------------===//
// SPDX-License-Identifier: Apache-2.0
#include "ShownMetrics.h"
#include "kb-opt/Agents/Assistant.h"
#include "llvm/Support/FormatVariadic.h"
#include <cmath>

using namespace kbopt;

/// A part of the time that is shorter is not worth words.
static constexpr double leastShownUs = 0.005;

std::string Assistant::summaryOf(const Step &move) {
  if (move.reply.empty())
    return "";
  auto reply = replies.get(move.reply);
  if (reply)
    return ": " + reply->summary;
  llvm::consumeError(reply.takeError());
  return "";
}

std::vector<std::string> Assistant::earlierNumbers(llvm::ArrayRef<Step> pipeline) {
  std::vector<std::string> lines;
  for (const Step &step : pipeline) {
    if (step.reply.empty() || step.parameters.empty())
      continue;
    auto reply = replies.get(step.reply);
    if (!reply) {
      llvm::consumeError(reply.takeError()); // of a pipeline whose replies are elsewhere
      continue;
    }
    for (const TemplateParameter &each : reply->parameters)
      if (auto value = step.parameters.find(each.name); value != step.parameters.end())
        lines.push_back((each.name + ": " + value->second +
                         " in the source, of an earlier change, "
                         "one of " +
                         llvm::join(each.values, ", ") +
                         "; leave it open again where your texts hold it"));
  }
  return lines;
}

PromptAttempt Assistant::shown(const Attempt &attempt) {
  PromptAttempt result;
  result.what = attempt.text() + summaryOf(attempt.step);
  result.verdict = attempt.word();
  if (attempt.usable())
    result.verdict = llvm::formatv("{0}, {1:f2} times as fast as the program before",
                                   toString(attempt.verdict), std::exp(attempt.gain()));
  else
    result.reason = attempt.reason;
  return result;
}

PromptAttempt Assistant::shownWhole(const Attempt &attempt) {
  PromptAttempt result = shown(attempt);
  auto reply = replies.get(attempt.step.reply);
  if (!reply) {
    llvm::consumeError(reply.takeError()); // its words are told all the same
    return result;
  }
  for (const ReplyEdit &edit : reply->edits)
    result.text += edit.anchor + ":\n" + edit.text + "\n";
  return result;
}

std::vector<PromptAttempt> Assistant::shown(llvm::ArrayRef<Attempt> attempts) {
  std::vector<PromptAttempt> result;
  for (const Attempt &attempt : attempts)
    result.push_back(shown(attempt));
  return result;
}

std::vector<PromptAttempt> Assistant::shown(llvm::ArrayRef<Leader> leaders, double originalUs) {
  std::vector<PromptAttempt> result;
  for (const Leader &leader : leaders) {
    PromptAttempt &shown = result.emplace_back();
    for (const Step &move : leader.pipeline)
      shown.what += (shown.what.empty() ? "" : ", then ") + move.text() + summaryOf(move);
    shown.verdict =
        llvm::formatv("{0:f2} times as fast as the original", originalUs / leader.timeUs);
  }
  return result;
}

static std::vector<std::string> stateLines(const ProposalRequest &request) {
  std::vector<std::string> lines;
  const State &state = request.state;
  lines.push_back(state.primary + (state.secondary.empty() ? "" : ", then " + state.secondary));
  if (std::string why = state.why(); !why.empty())
    lines.push_back(why);
  if (const double least = request.attainable.us(); least > 0)
    lines.push_back(
        llvm::formatv("no rewrite of the program goes below {0:f2} us, {1:f1} times the "
                      "speed: {2:f2} us for kernels, {3:f2} us for a launch",
                      least, request.timeUs / least, request.attainable.kernelsUs,
                      request.attainable.launchesUs));
  if (!request.shape.empty())
    lines.push_back("shape of the kernel: " + request.shape);
  return lines;
}

/// The edits of the best reply that did this before.
std::optional<PromptExample> Assistant::example(const PromptKnowledge &knowledge,
                                                const PassInfo &info) {
  const WorkedExample *worked = knowledge.example();
  auto reply = worked ? replies.get(worked->reply) : llvm::Expected<AssistedReply>(AssistedReply());
  if (!reply)
    llvm::consumeError(reply.takeError()); // of a knowledge base whose replies are elsewhere
  else if (worked) {
    PromptExample shown;
    shown.title =
        llvm::formatv("{0}, {1:f2} times as fast then", reply->summary, std::exp(worked->gain));
    for (const ReplyEdit &edit : reply->edits)
      shown.text += edit.anchor + ":\n" + edit.text + "\n";
    return shown;
  }
  // Of the pass for any change the example is one change of many, of another family as a rule.
  if (!info.assisted || info.assisted->after.empty() || info.name == openPass)
    return std::nullopt;
  return PromptExample{info.name.str(), info.assisted->after.str()};
}

/// Whether an entry has more to say than its prediction, which is the planner's to weigh.
static bool hasWords(const PromptEntry &entry) {
  return !entry.lessons.empty() || !entry.failures.empty() || !entry.parameters.empty() ||
         !entry.proposal.empty();
}

PromptKnowledge kbopt::ofFamily(PromptKnowledge knowledge, llvm::StringRef shape) {
  for (PromptEntry &entry : knowledge.entries)
    if (entry.example && entry.example->shape != shape)
      entry.example.reset();
  return knowledge;
}

PromptKnowledge kbopt::wordsFor(PromptKnowledge knowledge) {
  llvm::erase_if(knowledge.entries, [](const PromptEntry &entry) { return !hasWords(entry); });
  return knowledge;
}

/// The nest of \p kernel; empty if it is not raised, or the program cannot be looked at now.
static std::string raisedForm(ShownPrograms &programs, const NodeId &node, llvm::StringRef kernel) {
  std::string text;
  llvm::Error error = programs.withProgram(node, [&](RewriteSession &program) -> llvm::Error {
    llvm::Expected<std::string> nest = program.nestText(kernel);
    if (!nest)
      return nest.takeError();
    text = std::move(*nest);
    return llvm::Error::success();
  });
  llvm::consumeError(std::move(error)); // what was asked for is a help, and no answer depends on it
  return text;
}

/// The time of the program, and what it goes to.
static std::string timeText(const ProposalRequest &request, llvm::StringRef kernel) {
  std::string text = llvm::formatv("The program takes {0:f2} us ({1:f2} us at first)",
                                   request.timeUs, request.originalUs);
  const TimeSplit &split = request.split;
  if (!split.launches)
    return text +
           llvm::formatv(", and kernel '{0}' {1:f0} % of that.", kernel, 100 * request.share).str();
  text +=
      llvm::formatv(": {0:f2} us to launch ({1} {2}), {3:f2} us in kernels", split.launchesUs,
                    split.launches, split.launches == 1 ? "launch" : "launches", split.kernelsUs);
  if (split.hostUs >= leastShownUs)
    text += llvm::formatv(", {0:f2} us in copies and waiting for the host", split.hostUs);
  return text + llvm::formatv(". Kernel '{0}' runs {1:f2} us of that.", kernel,
                              request.share * split.kernelsUs)
                    .str();
}

PromptTask Assistant::task(const NodeId &node, const ProposalRequest &request, const Action &action,
                           const PromptKnowledge &knowledge) {
  PromptTask task;
  task.file = facts.file;
  task.chip = facts.chip;
  task.facts = facts.facts;
  if (request.timeUs > 0 && request.originalUs > 0)
    task.facts.push_back(timeText(request, action.kernel));
  if (request.profile) {
    task.state = stateLines(request);
    task.metrics = shownMetrics(request.state, request.metrics);
    task.hotLines = programs.hotLines(node, action.kernel);
  }
  task.nest = raisedForm(programs, node, action.kernel);
  if (!knowledge.entries.empty() || !knowledge.lessons.empty())
    task.knowledge.push_back(promptText(knowledge));
  return task;
}
