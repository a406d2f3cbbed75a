//===- ModelSession.cpp ---------------------------------------------------===//
#include "ModelSession.h"
#include "kb-opt/LLM/Transcript.h"

using namespace kbopt;

static llvm::Expected<ModelSettings> settingsOf(Context &context) {
  const Options &options = context.options;
  ModelSettings settings;
  if (!options.llmConfig.empty()) {
    auto text = context.files.read(options.llmConfig);
    if (!text)
      return text.takeError();
    if (llvm::Error error = readModelSettings(*text, options.llmConfig, settings))
      return std::move(error);
  }
  auto take = [](const std::string &given, std::string &into) {
    if (!given.empty())
      into = given;
  };
  if (options.llm)
    settings.provider = *options.llm;
  if (!options.llmModel.empty())
    settings.defaults.model = options.llmModel;
  take(options.llmBaseUrl, settings.baseUrl);
  take(options.llmRecord, settings.recordFile);
  take(options.llmPrices, settings.pricesFile);
  const BudgetLimits &budget = options.llmBudget;
  if (budget.dollars)
    settings.budget.dollars = budget.dollars;
  if (budget.tokens)
    settings.budget.tokens = budget.tokens;
  if (budget.calls)
    settings.budget.calls = budget.calls;
  return settings;
}

llvm::Expected<ModelSession> kbopt::openModel(Context &context) {
  auto settings = settingsOf(context);
  if (!settings)
    return settings.takeError();
  ModelSession session;
  session.settings = std::move(*settings);
  // Replies of the journal are part of the record, too.
  std::swap(session.recordFile, session.settings.recordFile);
  ModelWorld world;
  world.notice = [&context](llvm::StringRef line) { context.progress.line("model: " + line.str()); };
  auto service = createModel(session.settings, std::move(world));
  if (!service)
    return service.takeError();
  session.service = std::move(*service);
  return session;
}

namespace {
/// \p inner, which somebody else owns.
class Borrowed : public Model {
public:
  explicit Borrowed(Model &inner) : inner(inner) {}
  llvm::Expected<ModelReply> complete(const ModelRequest &request) override { return inner.complete(request); }

private:
  Model &inner;
};
} // namespace

llvm::Expected<Model *> ModelSession::model(Journal &journal, FileSystem &files) {
  if (!service)
    return nullptr;
  if (settings.provider.kind == ProviderKind::Replay)
    asked = std::make_unique<Borrowed>(*service);
  else
    asked = std::make_unique<JournaledModel>(*service, journal, settings);
  if (!recordFile.empty()) {
    auto recorder = makeRecorder(std::move(asked), recordFile, files);
    if (!recorder)
      return recorder.takeError();
    asked = std::move(*recorder);
  }
  return asked.get();
}
