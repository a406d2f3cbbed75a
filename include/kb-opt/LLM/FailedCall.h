//===- FailedCall.h - What a provider knows of a failed call ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef KBOPT_LLM_FAILEDCALL_H
#define KBOPT_LLM_FAILEDCALL_H

#include "kb-opt/LLM/Model.h"
#include "kb-opt/Support/Error.h"
#include "kb-opt/Support/WaitingClock.h"
#include <functional>
#include <memory>

namespace kbopt {

/// A `ProviderError` of one attempt, with what budget and retries go by.
class FailedCall : public llvm::ErrorInfo<FailedCall, ProviderError> {
public:
  static char ID;
  using ErrorInfo::ErrorInfo;
  /// Estimated tokens of an attempt that was taken and whose reply did not arrive whole: they may
  /// have been charged for.
  TokenUsage lost;
  /// The service asked for so much patience.
  std::optional<double> retryAfterSeconds;
};

/// Asks \p inner again, at most \p retries times, after errors that say they are retryable: with
/// exponential backoff from one second to a minute and jitter, or after the time that the service
/// asks for. One that asks for more than five minutes is not waited for.
std::unique_ptr<Model> makeRetryModel(std::unique_ptr<Model> inner, unsigned retries,
                                      WaitingClock &clock,
                                      std::function<void(llvm::StringRef)> notice);

/// The seconds of a `retry-after` header: a number, or an HTTP date against \p now (RFC 3339).
std::optional<double> parseRetryAfter(llvm::StringRef value, llvm::StringRef now);

} // namespace kbopt

#endif // KBOPT_LLM_FAILEDCALL_H
