//===- CommandModel.cpp - A program that answers --------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "Providers.h"
#include "RequestText.h"
#include "kb-opt/LLM/FailedCall.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

using namespace kbopt;

/// EX_TEMPFAIL of sysexits.h: the same again may succeed.
static constexpr int tryAgainStatus = 75;
static constexpr double defaultTotalSeconds = 1800;

namespace {

class CommandModel : public Model {
public:
  CommandModel(const ModelSettings &settings, ProcessRunner &processes)
      : settings(settings), processes(processes) {}
  llvm::Expected<ModelReply> complete(const ModelRequest &request) override;

private:
  llvm::Error failure(const llvm::Twine &what, llvm::StringRef tail, bool retryable) const;
  ModelSettings settings;
  ProcessRunner &processes;
};

} // namespace

llvm::Error CommandModel::failure(const llvm::Twine &what, llvm::StringRef tail,
                                  bool retryable) const {
  std::string message = ("the command '" + settings.provider.argument + "' " + what).str();
  if (!tail.empty())
    message += ": " + tail.str();
  return llvm::make_error<FailedCall>(
      std::move(message), 0, "", retryable,
      "it gets the request on stdin, prints the reply and ends with status 0 (docs/Model.md)");
}

llvm::Expected<ModelReply> CommandModel::complete(const ModelRequest &request) {
  RoleSettings role = settings.forRole(request.role);
  ProcessRequest process;
  process.argv = {"/bin/sh", "-c", settings.provider.argument};
  process.standardInput =
      requestText(request, "What you print is the reply to the last user part.");
  process.environment = {"KBOPT_ROLE=" + roleName(request.role).str(), "KBOPT_MODEL=" + *role.model,
                         "KBOPT_MAX_TOKENS=" + std::to_string(*role.maxTokens),
                         "KBOPT_REQUEST=" + request.digest()};
  if (role.temperature)
    process.environment.push_back("KBOPT_TEMPERATURE=" + std::to_string(*role.temperature));
  process.wallSeconds = settings.timeouts.total.value_or(defaultTotalSeconds);
  if (request.limitSeconds > 0)
    process.wallSeconds = std::min(process.wallSeconds, request.limitSeconds);
  process.outputBytes = settings.replyBytes + 1;
  process.purpose = "model";
  auto result = processes.run(process);
  if (!result)
    return result.takeError();
  if (!result->succeeded())
    return failure("ended with " + result->describe(), result->errorTail(5),
                   result->exitStatus == tryAgainStatus);
  if (result->out.size() > settings.replyBytes)
    return failure("printed more than " + llvm::Twine(settings.replyBytes) + " bytes", "", false);
  if (llvm::StringRef(result->out).trim().empty())
    return failure("printed nothing", result->errorTail(5), false);
  ModelReply reply;
  reply.text = std::move(result->out);
  reply.usage = estimateUsage(request, reply.text);
  reply.model = *role.model;
  reply.seconds = result->wallSeconds;
  return reply;
}

std::unique_ptr<Model> kbopt::makeCommandModel(const ModelSettings &settings,
                                               ProcessRunner &processes) {
  return std::make_unique<CommandModel>(settings, processes);
}
