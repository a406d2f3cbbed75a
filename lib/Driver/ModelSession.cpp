//===- ModelSession.cpp ---------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "ModelSession.h"
#include "kb-opt/LLM/Transcript.h"
#include "kb-opt/Support/OnceMap.h"

using namespace kbopt;

llvm::Expected<ModelSession> kbopt::openModel(Context &context) {
  ModelSession session;
  session.settings = context.model;
  // Replies of the journal are part of the record, too.
  std::swap(session.recordFile, session.settings.recordFile);
  ModelWorld world;
  world.notice = [&context](llvm::StringRef line) {
    context.progress.line("model: " + line.str());
  };
  auto service = createModel(session.settings, std::move(world));
  if (!service)
    return service.takeError();
  session.service = std::move(*service);
  return session;
}

namespace {
/// Equal questions of a run are one, as they were when the journal stood in between: a
/// replay costs what its recording did. \p inner is not owned.
class AskedOnce : public Model {
public:
  explicit AskedOnce(Model &inner) : inner(inner) {}
  llvm::Expected<ModelReply> complete(const ModelRequest &request) override {
    auto reply = replies.get(request.digest(), [&] { return inner.complete(request); });
    if (!reply)
      return reply.takeError();
    return *reply;
  }

private:
  Model &inner;
  OnceMap<Digest, ModelReply> replies;
};
} // namespace

llvm::Expected<Model *> ModelSession::model(Journal &journal, FileSystem &files) {
  if (!service)
    return nullptr;
  if (settings.provider.kind == ProviderKind::Replay)
    asked = std::make_unique<AskedOnce>(*service);
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
