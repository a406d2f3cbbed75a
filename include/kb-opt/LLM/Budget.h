//===- Budget.h - What models may cost, and what they did -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the account of a run: limits in money, tokens, calls and time, overall and
// per role, and the sums of what was used. What a call can cost at most is
// reserved before it is sent and settled after, so that calls made at once cannot
// overshoot together.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_LLM_BUDGET_H
#define KBOPT_LLM_BUDGET_H

#include "kb-opt/LLM/Prices.h"
#include "kb-opt/LLM/Settings.h"
#include "kb-opt/Support/Clock.h"
#include <condition_variable>
#include <memory>
#include <mutex>

namespace kbopt {

/// Sums over calls. A plain record, for reports.
struct ModelSpend {
  uint64_t calls = 0;    ///< replies, and calls that may have been charged without one
  uint64_t failed = 0;   ///< attempts that the service did not take: limits, faults, no connection
  TokenUsage usage;      ///< `estimated`: a part of it is
  double dollars = 0;    ///< of the calls whose price is known
  uint64_t unpriced = 0; ///< calls whose price is unknown
  double seconds = 0;    ///< in which at least one call was under way

  /// "12 calls, 34.5k tokens, $0.42" or "…, cost unknown", "…, $0.42 and 3 calls of unknown cost".
  std::string describe() const;
};

/// The most tokens that \p text can be: one for two ASCII bytes, one for each other
/// byte. Tokens of code have three to four bytes on average.
uint64_t mostTokens(llvm::StringRef text);
uint64_t mostPromptTokens(const ModelRequest &request);
/// A guess for services that do not count: four bytes a token, marked as estimated.
TokenUsage estimateUsage(const ModelRequest &request, llvm::StringRef reply);

/// Thread-safe.
class Budget {
public:
  struct Limits {
    BudgetLimits overall;
    std::map<ModelRole, BudgetLimits> roles;
  };
  Budget(const Limits &limits, Clock &clock);

  struct Claim {
    uint64_t tokens = 0;
    double dollars = 0;
  };
  /// Sets \p claim and a call aside. Where that fits only once calls under way have
  /// turned out cheaper than claimed, waits for them. A spent budget is a `ProviderError` with
  /// the status `Budget` that names it. Returns the seconds left to the call; nothing: no limit.
  llvm::Expected<std::optional<double>> reserve(ModelRole role, const Claim &claim);
  /// Ends a call that `reserve` let through. \p usage and \p cost are what it used,
  /// known or estimated; one that the service did not take is no call.
  void settle(ModelRole role, const Claim &claim, const TokenUsage &usage,
              std::optional<double> cost, bool taken);

  /// Whether time is up for \p role; the error says for which budget.
  llvm::Error checkTime(ModelRole role);

  ModelSpend total() const;
  /// Of roles that made a call.
  std::map<ModelRole, ModelSpend> perRole() const;

private:
  struct Account {
    BudgetLimits limits;
    ModelSpend spend;
    Claim reserved;
    uint64_t underWay = 0;
    double since = 0; ///< while `underWay`
  };
  double secondsOf(const Account &account) const;
  ModelSpend spendOf(const Account &account) const;
  llvm::Error refusal(const Account &account, const Claim &claim, llvm::StringRef whose,
                      bool &mayFitLater) const;

  Clock &clock;
  mutable std::mutex mutex;
  std::condition_variable settled;
  Account overall;
  std::map<ModelRole, Account> roles;
};

/// Asks \p inner within \p budget; an inner model does not retry. Replies without a cost get one
/// where \p prices knows the model. Both references outlive the model.
std::unique_ptr<Model> makeBudgetModel(std::unique_ptr<Model> inner, Budget &budget,
                                       const PriceTable &prices, const ModelSettings &settings);

} // namespace kbopt

#endif // KBOPT_LLM_BUDGET_H
