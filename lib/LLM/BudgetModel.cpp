//===- BudgetModel.cpp - Asking within a budget ---------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "kb-opt/LLM/Budget.h"
#include "kb-opt/LLM/FailedCall.h"

using namespace kbopt;

namespace {

class BudgetModel : public Model {
public:
  BudgetModel(std::unique_ptr<Model> inner, Budget &budget, const PriceTable &prices,
              const ModelSettings &settings)
      : inner(std::move(inner)), budget(budget), prices(prices), settings(settings) {}

  llvm::Expected<ModelReply> complete(const ModelRequest &request) override;

private:
  /// What \p usage costs: by the name that the service gave, else by ours.
  std::optional<double> costOf(const TokenUsage &usage, llvm::StringRef named,
                               llvm::StringRef asked) {
    auto price = prices.find(named);
    if (!price)
      price = prices.find(asked);
    return price ? std::optional<double>(price->of(usage)) : std::nullopt;
  }
  llvm::Error fail(const ModelRequest &request, const Budget::Claim &claim, llvm::StringRef model,
                   bool limited, llvm::Error error);

  std::unique_ptr<Model> inner;
  Budget &budget;
  const PriceTable &prices;
  ModelSettings settings;
};

} // namespace

llvm::Error BudgetModel::fail(const ModelRequest &request, const Budget::Claim &claim,
                              llvm::StringRef model, bool limited, llvm::Error error) {
  TokenUsage lost;
  error = llvm::handleErrors(std::move(error), [&](std::unique_ptr<FailedCall> call) {
    lost = call->lost;
    return llvm::Error(std::move(call));
  });
  llvm::Error time = limited ? budget.checkTime(request.role) : llvm::Error::success();
  budget.settle(request.role, claim, lost, costOf(lost, model, model), /*taken=*/lost.total() > 0);
  if (!time)
    return error;
  llvm::consumeError(std::move(error));
  return time;
}

llvm::Expected<ModelReply> BudgetModel::complete(const ModelRequest &request) {
  RoleSettings role = settings.forRole(request.role);
  TokenUsage most;
  most.prompt = mostPromptTokens(request);
  most.completion = *role.maxTokens;
  Budget::Claim claim;
  claim.tokens = most.total();
  claim.dollars = costOf(most, *role.model, *role.model).value_or(0);
  auto left = budget.reserve(request.role, claim);
  if (!left)
    return left.takeError();

  ModelRequest limited = request;
  if (*left && (!limited.limitSeconds || **left < limited.limitSeconds))
    limited.limitSeconds = **left;
  auto reply = inner->complete(limited);
  if (!reply)
    return fail(request, claim, *role.model, left->has_value(), reply.takeError());
  if (!reply->cost)
    reply->cost = costOf(reply->usage, reply->model, *role.model);
  budget.settle(request.role, claim, reply->usage, reply->cost, /*taken=*/true);
  return reply;
}

std::unique_ptr<Model> kbopt::makeBudgetModel(std::unique_ptr<Model> inner, Budget &budget,
                                              const PriceTable &prices,
                                              const ModelSettings &settings) {
  return std::make_unique<BudgetModel>(std::move(inner), budget, prices, settings);
}
