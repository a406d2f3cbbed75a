//===- ModelSession.cpp ---------------------------------------------------===//
#include "ModelSession.h"
#include "kb-opt/LLM/Transcript.h"

using namespace kbopt;

llvm::Expected<ModelSession> kbopt::openModel(Context &context) {
  ModelSession session;
  session.settings = context.model;
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
