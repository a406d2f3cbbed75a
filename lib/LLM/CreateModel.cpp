//===- CreateModel.cpp ----------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "kb-opt/LLM/CreateModel.h"
#include "Providers.h"
#include "kb-opt/LLM/FailedCall.h"
#include "kb-opt/LLM/Mailbox.h"
#include "kb-opt/LLM/Transcript.h"

using namespace kbopt;

namespace {

/// Owns the account and the table that the models below refer to.
class Stack : public AccountedModel {
public:
  Stack(const Budget::Limits &limits, PriceTable prices, Clock &clock)
      : prices(std::move(prices)), budget(limits, clock) {}
  llvm::Expected<ModelReply> complete(const ModelRequest &request) override {
    return top->complete(request);
  }
  ModelSpend total() const override { return budget.total(); }
  std::map<ModelRole, ModelSpend> perRole() const override { return budget.perRole(); }

  PriceTable prices;
  Budget budget;
  std::unique_ptr<Model> top;
};

} // namespace

static constexpr ModelRole allRoles[] = {
    ModelRole::Compose,  ModelRole::Planner, ModelRole::Coder,      ModelRole::Debugger,
    ModelRole::Verifier, ModelRole::State,   ModelRole::Evaluator,  ModelRole::GapAnalyst,
    ModelRole::Updater,  ModelRole::Minimal, ModelRole::Generalizer};

static bool isService(const ModelSettings &settings) {
  return settings.provider.kind == ProviderKind::OpenAi ||
         settings.provider.kind == ProviderKind::Anthropic;
}

static bool limitsDollars(const ModelSettings &settings) {
  bool limits = settings.budget.dollars.has_value();
  for (const auto &[role, own] : settings.roles)
    limits |= own.budget.dollars.has_value();
  return limits;
}

static llvm::Expected<std::unique_ptr<Model>> makeProvider(const ModelSettings &settings,
                                                           const ModelWorld &world) {
  switch (settings.provider.kind) {
  case ProviderKind::OpenAi:
  case ProviderKind::Anthropic:
    return makeHttpModel(settings, world);
  case ProviderKind::Command:
    return makeCommandModel(settings, world.processes);
  case ProviderKind::Mailbox: {
    MailboxOptions options;
    options.folder = settings.provider.argument;
    options.model = *settings.forRole(ModelRole::Coder).model;
    options.totalSeconds = settings.timeouts.total;
    return makeMailbox(std::move(options), world.files, world.clock, world.notice);
  }
  case ProviderKind::Replay:
    return makeReplay(settings.provider.argument, world.files);
  case ProviderKind::Off:
    break;
  }
  llvm_unreachable("no provider");
}

/// What would make every call of a role fail is said before the first.
static llvm::Error checkSettings(const ModelSettings &settings, const PriceTable &prices) {
  // A transcript knows what its replies cost.
  bool needsPrices = limitsDollars(settings) && settings.provider.kind != ProviderKind::Replay;
  for (ModelRole role : allRoles) {
    std::string model = *settings.forRole(role).model;
    if (isService(settings) && model.empty())
      return llvm::make_error<UsageError>(
          "no model is named for the provider '" + settings.provider.text() + "'" +
              (settings.roles.empty() ? "" : " and the role '" + roleName(role).str() + "'"),
          "name one: --llm-model=NAME, or 'model' in the file of --llm-config");
    if (needsPrices && !prices.find(model))
      return llvm::make_error<UsageError>(
          "a budget of dollars cannot be kept: the price of " +
              (model.empty() ? "'" + settings.provider.text() + "'" : "'" + model + "'") +
              " is unknown",
          "write it into the file of --llm-prices (docs/Cost.md), or limit tokens or calls");
  }
  return llvm::Error::success();
}

llvm::Expected<std::unique_ptr<AccountedModel>> kbopt::createModel(const ModelSettings &settings,
                                                                   ModelWorld world) {
  if (settings.provider.kind == ProviderKind::Off)
    return std::unique_ptr<AccountedModel>();
  PriceTable prices;
  if (!settings.pricesFile.empty()) {
    auto text = world.files.read(settings.pricesFile);
    if (!text)
      return text.takeError();
    auto table = PriceTable::read(*text, settings.pricesFile);
    if (!table)
      return table.takeError();
    prices = std::move(*table);
  }
  if (llvm::Error error = checkSettings(settings, prices))
    return std::move(error);
  Budget::Limits limits;
  limits.overall = settings.budget;
  for (const auto &[role, own] : settings.roles)
    limits.roles[role] = own.budget;
  auto stack = std::make_unique<Stack>(limits, std::move(prices), world.clock);
  auto provider = makeProvider(settings, world);
  if (!provider)
    return provider.takeError();
  stack->top = makeBudgetModel(std::move(*provider), stack->budget, stack->prices, settings);
  if (settings.provider.kind != ProviderKind::Replay)
    stack->top = makeRetryModel(std::move(stack->top), settings.retries, world.clock, world.notice);
  if (!settings.recordFile.empty()) {
    auto recorder = makeRecorder(std::move(stack->top), settings.recordFile, world.files);
    if (!recorder)
      return recorder.takeError();
    stack->top = std::move(*recorder);
  }
  return std::unique_ptr<AccountedModel>(std::move(stack));
}
