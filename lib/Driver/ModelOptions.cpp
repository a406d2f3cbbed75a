//===- ModelOptions.cpp - From options to settings of models --------------===//
// SPDX-License-Identifier: Apache-2.0
#include "kb-opt/Driver/Options.h"
#include "kb-opt/Support/Error.h"

using namespace kbopt;

llvm::Expected<ModelSettings> kbopt::modelSettings(const Options &options, FileSystem &files) {
  ModelSettings settings;
  if (!options.llmConfig.empty()) {
    auto text = files.read(options.llmConfig);
    if (!text)
      return text.takeError();
    if (llvm::Error error = readModelSettings(*text, options.llmConfig, settings))
      return std::move(error);
  }
  if (options.llm)
    settings.provider = *options.llm;
  auto over = [](const std::string &given, std::string &into) {
    if (!given.empty())
      into = given;
  };
  if (!options.llmModel.empty())
    settings.defaults.model = options.llmModel;
  over(options.llmBaseUrl, settings.baseUrl);
  over(options.llmRecord, settings.recordFile);
  over(options.llmPrices, settings.pricesFile);
  if (options.llmBudget.dollars)
    settings.budget.dollars = options.llmBudget.dollars;
  if (options.llmBudget.tokens)
    settings.budget.tokens = options.llmBudget.tokens;
  if (options.llmBudget.calls)
    settings.budget.calls = options.llmBudget.calls;
  if (settings.provider.kind == ProviderKind::Replay &&
      settings.recordFile == settings.provider.argument)
    return llvm::make_error<UsageError>("'" + settings.recordFile +
                                            "' cannot be replayed and recorded at once",
                                        "drop --llm-record, or name another file");
  return settings;
}
