//===- Budget.cpp ---------------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "kb-opt/LLM/Budget.h"
#include "kb-opt/Support/Error.h"
#include "kb-opt/Support/Interrupt.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

using namespace kbopt;

static std::string shortCount(uint64_t count) {
  std::string text;
  llvm::raw_string_ostream os(text);
  if (count < 10000)
    os << count;
  else if (count < 1000000)
    os << llvm::format("%.1fk", count / 1e3);
  else
    os << llvm::format("%.2fM", count / 1e6);
  return text;
}

static std::string money(double dollars) {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << llvm::format(dollars != 0 && dollars < 0.01 ? "$%.4f" : "$%.2f", dollars);
  return text;
}

static std::string counted(uint64_t count, const char *noun) {
  return std::to_string(count) + " " + noun + (count == 1 ? "" : "s");
}

std::string ModelSpend::describe() const {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << counted(calls, "call") << ", " << (usage.estimated ? "about " : "")
     << shortCount(usage.total()) << " tokens, ";
  if (!unpriced)
    os << money(dollars);
  else if (unpriced == calls)
    os << "cost unknown";
  else
    os << money(dollars) << " and " << counted(unpriced, "call") << " of unknown cost";
  return text;
}

uint64_t kbopt::mostTokens(llvm::StringRef text) {
  uint64_t other =
      llvm::count_if(text, [](char c) { return static_cast<unsigned char>(c) >= 0x80; });
  return other + (text.size() - other + 1) / 2;
}

/// What a service adds to mark where a turn begins and ends.
static constexpr uint64_t tokensPerTurn = 16;

uint64_t kbopt::mostPromptTokens(const ModelRequest &request) {
  uint64_t tokens = mostTokens(request.system) + mostTokens(request.schema) + 2 * tokensPerTurn;
  for (const ModelMessage &message : request.messages)
    tokens += mostTokens(message.text) + tokensPerTurn;
  return tokens;
}

TokenUsage kbopt::estimateUsage(const ModelRequest &request, llvm::StringRef reply) {
  uint64_t bytes = request.system.size();
  for (const ModelMessage &message : request.messages)
    bytes += message.text.size();
  TokenUsage usage;
  usage.prompt = (bytes + 3) / 4;
  usage.completion = (reply.size() + 3) / 4;
  usage.estimated = true;
  return usage;
}

Budget::Budget(const Limits &limits, Clock &clock) : clock(clock) {
  overall.limits = limits.overall;
  for (const auto &[role, own] : limits.roles)
    roles[role].limits = own;
}

double Budget::secondsOf(const Account &account) const {
  return account.spend.seconds +
         (account.underWay ? clock.monotonicSeconds() - account.since : 0.0);
}

static std::string inSeconds(double count) {
  std::string text;
  llvm::raw_string_ostream(text) << llvm::format("%g s", count);
  return text;
}

static llvm::Error spent(const llvm::Twine &message, const char *option) {
  auto error = std::make_unique<ProviderError>(
      message.str(), 0, "", false,
      option ? std::string("give more with ") + option + ", or in the file of --llm-config"
             : "give more as 'seconds' in the file of --llm-config");
  error->status = ExitStatus::Budget;
  return llvm::Error(std::move(error));
}

llvm::Error Budget::refusal(const Account &account, const Claim &claim, llvm::StringRef whose,
                            bool &mayFitLater) const {
  const BudgetLimits &limits = account.limits;
  const ModelSpend &used = account.spend;
  mayFitLater = account.underWay > 0;
  if (limits.calls && used.calls + account.underWay + 1 > *limits.calls) {
    mayFitLater &= used.calls + 1 <= *limits.calls;
    return spent("the budget of " + counted(*limits.calls, "call") + " for " + whose + " is spent",
                 "--budget-calls");
  }
  if (limits.tokens &&
      used.usage.total() + account.reserved.tokens + claim.tokens > *limits.tokens) {
    mayFitLater &= used.usage.total() + claim.tokens <= *limits.tokens;
    return spent("the budget of " + counted(*limits.tokens, "token") + " for " + whose +
                     " does not cover the next call: " + llvm::Twine(used.usage.total()) +
                     " are used, it can take " + llvm::Twine(claim.tokens),
                 "--budget-tokens");
  }
  // Sums of products round; a millionth of a cent is no overshoot.
  constexpr double slack = 1e-8;
  if (limits.dollars &&
      (used.dollars + account.reserved.dollars + claim.dollars > *limits.dollars + slack ||
       *limits.dollars == 0)) {
    mayFitLater &= *limits.dollars > 0 && used.dollars + claim.dollars <= *limits.dollars + slack;
    return spent("the budget of " + money(*limits.dollars) + " for " + whose +
                     " does not cover the next call: " + money(used.dollars) +
                     " are spent, it can cost " + money(claim.dollars),
                 "--budget-dollars");
  }
  if (limits.seconds && secondsOf(account) >= *limits.seconds) {
    mayFitLater = false;
    return spent("the budget of " + inSeconds(*limits.seconds) + " for " + whose + " is spent",
                 nullptr);
  }
  return llvm::Error::success();
}

static std::string ownerName(ModelRole role) { return ("the role '" + roleName(role) + "'").str(); }
static const char *const everybody = "the model";

llvm::Expected<std::optional<double>> Budget::reserve(ModelRole role, const Claim &claim) {
  std::unique_lock<std::mutex> lock(mutex);
  Account &own = roles[role];
  for (;;) {
    bool later = true, ownLater = true;
    llvm::Error error = refusal(overall, claim, everybody, later);
    if (!error)
      error = refusal(own, claim, ownerName(role), ownLater);
    if (!error)
      break;
    if (!later || !ownLater)
      return std::move(error);
    llvm::consumeError(std::move(error));
    if (interrupted())
      return interruption();
    settled.wait(lock); // calls under way end on an interrupt
  }
  std::optional<double> left;
  for (Account *account : {&overall, &own}) {
    if (account->limits.seconds) {
      double here = *account->limits.seconds - secondsOf(*account);
      left = left ? std::min(*left, here) : here;
    }
    if (!account->underWay++)
      account->since = clock.monotonicSeconds();
    account->reserved.tokens += claim.tokens;
    account->reserved.dollars += claim.dollars;
  }
  return left;
}

void Budget::settle(ModelRole role, const Claim &claim, const TokenUsage &usage,
                    std::optional<double> cost, bool taken) {
  {
    std::lock_guard<std::mutex> lock(mutex);
    for (Account *account : {&overall, &roles[role]}) {
      account->reserved.tokens -= claim.tokens;
      account->reserved.dollars = std::max(0.0, account->reserved.dollars - claim.dollars);
      ModelSpend &spend = account->spend;
      if (!--account->underWay) {
        spend.seconds += clock.monotonicSeconds() - account->since;
        account->reserved.dollars = 0;
      }
      if (!taken) {
        ++spend.failed;
        continue;
      }
      ++spend.calls;
      spend.usage.prompt += usage.prompt;
      spend.usage.completion += usage.completion;
      spend.usage.cached += usage.cached;
      spend.usage.estimated |= usage.estimated;
      spend.dollars += cost.value_or(0);
      spend.unpriced += !cost;
    }
  }
  settled.notify_all();
}

llvm::Error Budget::checkTime(ModelRole role) {
  std::lock_guard<std::mutex> lock(mutex);
  for (auto [account, whose] :
       {std::pair<Account *, std::string>{&overall, everybody}, {&roles[role], ownerName(role)}})
    if (account->limits.seconds && secondsOf(*account) >= *account->limits.seconds)
      return spent("the budget of " + inSeconds(*account->limits.seconds) + " for " + whose +
                       " was spent before the reply came",
                   nullptr);
  return llvm::Error::success();
}

ModelSpend Budget::spendOf(const Account &account) const {
  ModelSpend spend = account.spend;
  spend.seconds = secondsOf(account);
  return spend;
}

ModelSpend Budget::total() const {
  std::lock_guard<std::mutex> lock(mutex);
  return spendOf(overall);
}

std::map<ModelRole, ModelSpend> Budget::perRole() const {
  std::lock_guard<std::mutex> lock(mutex);
  std::map<ModelRole, ModelSpend> result;
  for (const auto &[role, account] : roles)
    if (account.spend.calls)
      result[role] = spendOf(account);
  return result;
}
