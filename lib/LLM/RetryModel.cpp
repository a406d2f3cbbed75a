//===- RetryModel.cpp - Asking again where it can help --------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "kb-opt/LLM/FailedCall.h"
#include "kb-opt/Support/Interrupt.h"
#include "kb-opt/Support/Random.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"
#include <cmath>
#include <ctime>

using namespace kbopt;

char FailedCall::ID;

static constexpr double firstDelaySeconds = 1, longestDelaySeconds = 60, mostPatienceSeconds = 300;

static std::optional<std::time_t> parseTime(llvm::StringRef text, const char *format) {
  std::tm utc = {};
  std::string copy = text.str();
  const char *end = ::strptime(copy.c_str(), format, &utc);
  if (!end || *end)
    return std::nullopt;
  return ::timegm(&utc);
}

std::optional<double> kbopt::parseRetryAfter(llvm::StringRef value, llvm::StringRef now) {
  value = value.trim();
  double seconds;
  if (!value.getAsDouble(seconds))
    return std::isfinite(seconds) && seconds >= 0 ? std::optional<double>(seconds) : std::nullopt;
  auto date = parseTime(value, "%a, %d %b %Y %H:%M:%S GMT");
  auto current = parseTime(now, "%Y-%m-%dT%H:%M:%SZ");
  if (!date || !current)
    return std::nullopt;
  return std::max(0.0, std::difftime(*date, *current));
}

namespace {

class RetryModel : public Model {
public:
  RetryModel(std::unique_ptr<Model> inner, unsigned retries, WaitingClock &clock,
             std::function<void(llvm::StringRef)> notice)
      : inner(std::move(inner)), retries(retries), clock(clock), notice(std::move(notice)) {}

  llvm::Expected<ModelReply> complete(const ModelRequest &request) override;

private:
  /// Seconds to wait before the attempt after \p attempt; nothing where waiting is no use.
  /// Adds to \p error why.
  std::optional<double> delay(ProviderError &error, unsigned attempt, Random &random);

  std::unique_ptr<Model> inner;
  unsigned retries;
  WaitingClock &clock;
  std::function<void(llvm::StringRef)> notice;
};

} // namespace

std::optional<double> RetryModel::delay(ProviderError &error, unsigned attempt, Random &random) {
  if (!error.retryable || error.status == ExitStatus::Budget)
    return std::nullopt;
  if (attempt >= retries) {
    if (retries)
      error.message += " (tried " + std::to_string(attempt + 1) + " times)";
    return std::nullopt;
  }
  double seconds = std::min(longestDelaySeconds, firstDelaySeconds * std::exp2(attempt));
  seconds *= 0.5 + 0.5 * random.uniform();
  bool isCall = static_cast<llvm::ErrorInfoBase &>(error).isA<FailedCall>();
  auto *call = isCall ? static_cast<FailedCall *>(&error) : nullptr;
  if (call && call->retryAfterSeconds) {
    if (*call->retryAfterSeconds > mostPatienceSeconds) {
      llvm::raw_string_ostream(error.message)
          << llvm::format("; it asks to wait %.0f s", *call->retryAfterSeconds);
      return std::nullopt;
    }
    // All that were turned away at once would come back at once.
    seconds = *call->retryAfterSeconds + 0.25 * seconds;
  }
  return seconds;
}

llvm::Expected<ModelReply> RetryModel::complete(const ModelRequest &request) {
  double begin = clock.monotonicSeconds();
  Digest digest = request.digest();
  Random random = Random(0).fork(digest);
  for (unsigned attempt = 0;; ++attempt) {
    auto reply = inner->complete(request);
    if (reply) {
      reply->seconds = clock.monotonicSeconds() - begin;
      return reply;
    }
    std::optional<double> seconds;
    std::string message;
    llvm::Error error =
        llvm::handleErrors(reply.takeError(), [&](std::unique_ptr<ProviderError> failure) {
          message = failure->message;
          seconds = delay(*failure, attempt, random);
          return llvm::Error(std::move(failure));
        });
    if (!seconds)
      return std::move(error);
    llvm::consumeError(std::move(error));
    std::string line;
    llvm::raw_string_ostream(line) << message << llvm::format("; trying again in %.0f s", *seconds);
    notice(line);
    clock.sleepSeconds(*seconds);
    if (interrupted())
      return interruption();
  }
}

std::unique_ptr<Model> kbopt::makeRetryModel(std::unique_ptr<Model> inner, unsigned retries,
                                             WaitingClock &clock,
                                             std::function<void(llvm::StringRef)> notice) {
  return std::make_unique<RetryModel>(std::move(inner), retries, clock, std::move(notice));
}
