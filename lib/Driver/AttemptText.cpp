//===- AttemptText.cpp ----------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "AttemptText.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include <map>

using namespace kbopt;
using llvm::formatv;

std::string kbopt::outcomeText(const Attempt &attempt, llvm::StringRef source) {
  if (attempt.shortcut == "roofline" || attempt.shortcut == "outranked")
    return attempt.reason;
  const std::string failure = toString(attempt.failure).str(), gate = toString(attempt.gate).str();
  switch (attempt.verdict) {
  case VerdictKind::Correct:
  case VerdictKind::Screened: {
    std::string text =
        llvm::formatv("{4}, {0} {1:f2} us, {2:f2} x of the {3}", source, attempt.timeUs,
                      attempt.parentTimeUs / attempt.timeUs,
                      attempt.phase == AttemptPhase::Tune ? "winner so far" : "step before",
                      toString(attempt.verdict));
    if (attempt.modelledUs > 0 && attempt.parentModelledUs > 0)
      text += llvm::formatv(" (modelled {0:f2} x)", attempt.parentModelledUs / attempt.modelledUs);
    return text;
  }
  case VerdictKind::Incorrect:
    return "incorrect (" + gate + (gate.empty() || failure.empty() ? "" : ", ") + failure +
           "): " + attempt.reason;
  case VerdictKind::Inconclusive:
    return "inconclusive" + (gate.empty() ? "" : " (" + gate + ")") + ": " + attempt.reason;
  case VerdictKind::NotApplied:
    return (attempt.isRefusedProposal() ? "no proposal" : "does not apply") +
           (failure.empty() ? "" : " (" + failure + ")") + ": " + attempt.reason;
  }
  llvm_unreachable("unknown verdict");
}

std::string kbopt::attemptText(const Attempt &attempt, llvm::StringRef source) {
  std::string note;
  if (attempt.shortcut == "identical")
    note = " (identical machine code, not measured again)";
  else if (attempt.shortcut == "known")
    note = " (known)";
  else if (attempt.repair)
    note = formatv(" (repair {0})", attempt.repair);
  std::string where = attempt.phase == AttemptPhase::Search   ? std::to_string(attempt.trajectory)
                      : attempt.phase == AttemptPhase::Sketch ? "sketch"
                      : attempt.phase == AttemptPhase::Tune   ? "tuning"
                                                              : "winner";
  return formatv("[{0}] {1}  {2}{3}", where, attempt.text(), outcomeText(attempt, source), note);
}

std::string kbopt::disputeText(const Attempt &attempt) {
  return formatv("disputed: {0}: the debugger holds that {1} is wrong: {2}", attempt.text(),
                 toString(attempt.gate), attempt.dispute);
}

/// "3 were refused (G4, G7 2 times)"; empty if none was. Of attempts by the gate that decided.
static std::string decidedText(const std::map<std::string, unsigned> &byGate,
                               llvm::StringRef decided) {
  unsigned sum = 0;
  std::vector<std::string> gates;
  for (const auto &[gate, count] : byGate) {
    sum += count;
    if (!gate.empty())
      gates.push_back(gate + (count > 1 ? formatv(" {0} times", count).str() : ""));
  }
  if (!sum)
    return "";
  return formatv("{0} {1} {2}{3}", sum, sum == 1 ? "was" : "were", decided,
                 gates.empty() ? "" : " (" + llvm::join(gates, ", ") + ")");
}

std::string kbopt::noWinnerText(llvm::ArrayRef<Attempt> attempts) {
  std::map<std::string, unsigned> refused, undecided, notJudged;
  unsigned right = 0, judged = 0; ///< of those that were judged
  for (const Attempt &attempt : attempts) {
    if (attempt.phase == AttemptPhase::Confirm || attempt.shortcut == "known")
      continue; // said of its program before
    const std::string gate = toString(attempt.gate).str();
    if (attempt.isRefusedProposal())
      ++notJudged["had no proposal"];
    else if (attempt.verdict == VerdictKind::NotApplied)
      ++notJudged[attempt.failure == FailureClass::None
                      ? "did not apply"
                      : ("was refused (" + toString(attempt.failure) + ")").str()];
    else if (!attempt.shortcut.empty())
      ++notJudged[attempt.shortcut == "identical" ? "had machine code seen before"
                                                  : "could not be faster"];
    else if (attempt.verdict == VerdictKind::Incorrect)
      ++refused[gate];
    else if (attempt.verdict == VerdictKind::Inconclusive)
      ++undecided[gate];
    else
      ++right;
    judged += attempt.shortcut.empty() && attempt.verdict != VerdictKind::NotApplied;
  }
  std::vector<std::string> parts;
  for (const std::string &part :
       {decidedText(refused, "refused"), decidedText(undecided, "not decided")})
    if (!part.empty())
      parts.push_back(part);
  if (parts.empty() && right)
    return "nothing better was found";
  if (!parts.empty())
    return right ? formatv("of {0} candidates {1}, and no other is faster", judged,
                           llvm::join(parts, ", "))
                       .str()
                 : "no candidate is right: " + llvm::join(parts, ", ");
  for (const auto &[what, count] : notJudged)
    parts.push_back(formatv("{0} step{1} {2}", count, count == 1 ? "" : "s", what));
  return "no candidate was judged" + (parts.empty() ? "" : ": " + llvm::join(parts, ", "));
}

std::vector<std::string> kbopt::refusalLines(llvm::ArrayRef<Attempt> attempts) {
  struct Refusal {
    std::string step, reason;
    unsigned count = 0;
  };
  std::vector<Refusal> refusals;
  for (const Attempt &attempt : attempts)
    if ((attempt.verdict == VerdictKind::Incorrect || attempt.isRefusedProposal()) &&
        attempt.shortcut.empty()) {
      const std::string gate =
          (attempt.gate ? toString(attempt.gate) : toString(attempt.failure)).str();
      const std::string reason = (gate.empty() ? "" : gate + ": ") + attempt.reason;
      auto known =
          llvm::find_if(refusals, [&](const Refusal &each) { return each.reason == reason; });
      if (known == refusals.end())
        refusals.push_back({attempt.text(), reason, 1});
      else
        ++known->count;
    }
  constexpr size_t most = 5;
  std::vector<std::string> lines;
  for (const Refusal &refusal : refusals) {
    if (lines.size() == most) {
      lines.push_back(
          formatv("refused for {0} more reasons; -v tells them", refusals.size() - most));
      break;
    }
    const std::string others =
        refusal.count > 1 ? formatv(" (and {0} more)", refusal.count - 1).str() : "";
    lines.push_back(formatv("refused: {0}{1}: {2}", refusal.step, others,
                            llvm::StringRef(refusal.reason).split('\n').first));
  }
  return lines;
}
