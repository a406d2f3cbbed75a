//===- AttemptText.cpp ----------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "AttemptText.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

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
