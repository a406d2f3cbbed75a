//===- JournaledModel.cpp -------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "JournaledModel.h"
#include "kb-opt/LLM/Transcript.h"
#include "llvm/Support/FormatVariadic.h"

using namespace kbopt;

Digest JournaledModel::keyOf(const ModelRequest &request) const {
  RoleSettings role = settings.forRole(request.role);
  return DigestBuilder()
      .add(request.digest())
      .add(settings.provider.text())
      .add(settings.baseUrl)
      .add(role.model.value_or(""))
      .add(role.temperature ? llvm::formatv("{0}", *role.temperature).str() : "")
      .add(role.maxTokens.value_or(0))
      .finish();
}

llvm::Expected<ModelReply> JournaledModel::complete(const ModelRequest &request) {
  auto line = journal.getOrCompute("model", keyOf(request), [&]() -> llvm::Expected<std::string> {
    auto reply = inner.complete(request);
    if (!reply)
      return reply.takeError();
    return llvm::formatv("{0}", toJson({request, std::move(*reply)})).str();
  });
  if (!line)
    return line.takeError();
  auto entry = transcriptEntryFromJson(*line, "journal");
  if (!entry)
    return entry.takeError();
  return std::move(entry->reply);
}
