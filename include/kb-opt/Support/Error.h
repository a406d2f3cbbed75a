//===- Error.h - The four kinds of recoverable failure ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the error kinds that cross library boundaries and the exit statuses
// they map to. A pass that does not apply is a remark, a candidate that fails
// is a verdict; neither is an error.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_SUPPORT_ERROR_H
#define KBOPT_SUPPORT_ERROR_H

#include "llvm/Support/Error.h"
#include <string>
#include <vector>

namespace kbopt {

/// Exit statuses of every kb-opt tool.
enum class ExitStatus {
  Success = 0,
  Diagnostics = 1,
  Usage = 2,
  Environment = 3,
  Budget = 4,
  Internal = 70,
};

/// Common part of the four kinds: a lower-case message without a full stop
/// that names the user's object, and a note with the next thing to type.
class KbError : public llvm::ErrorInfo<KbError> {
public:
  static char ID;
  KbError(std::string message, std::string note, ExitStatus status)
      : message(std::move(message)), note(std::move(note)), status(status) {}
  void log(llvm::raw_ostream &os) const override { os << message; }
  std::error_code convertToErrorCode() const override { return llvm::inconvertibleErrorCode(); }

  std::string message;
  std::string note;
  ExitStatus status;
};

/// The user asked for something that makes no sense: exit status 2, or 1 where
/// the fault is in the input program (`ExitStatus::Diagnostics`).
class UsageError : public llvm::ErrorInfo<UsageError, KbError> {
public:
  static char ID;
  explicit UsageError(std::string message, std::string note = "",
                      ExitStatus status = ExitStatus::Usage)
      : ErrorInfo(std::move(message), std::move(note), status) {}
};

/// A program that kb-opt runs (compiler, kb-run, the user's program) failed.
class ToolError : public llvm::ErrorInfo<ToolError, KbError> {
public:
  static char ID;
  /// \p stderrTail is the end of what the tool wrote to stderr.
  ToolError(std::string message, std::vector<std::string> argv, int exitStatus,
            std::string stderrTail, std::string note = "",
            ExitStatus status = ExitStatus::Environment)
      : ErrorInfo(std::move(message), std::move(note), status), argv(std::move(argv)),
        exitStatus(exitStatus), stderrTail(std::move(stderrTail)) {}
  void log(llvm::raw_ostream &os) const override;

  std::vector<std::string> argv;
  int exitStatus;
  std::string stderrTail;
};

/// A model service failed.
class ProviderError : public llvm::ErrorInfo<ProviderError, KbError> {
public:
  static char ID;
  ProviderError(std::string message, int httpStatus, std::string requestId, bool retryable,
                std::string note = "")
      : ErrorInfo(std::move(message), std::move(note), ExitStatus::Environment),
        httpStatus(httpStatus), requestId(std::move(requestId)), retryable(retryable) {}

  int httpStatus;
  std::string requestId;
  bool retryable;
};

/// A file, journal or log that kb-opt keeps could not be read or written.
class StoreError : public llvm::ErrorInfo<StoreError, KbError> {
public:
  static char ID;
  explicit StoreError(std::string message, std::string note = "")
      : ErrorInfo(std::move(message), std::move(note), ExitStatus::Environment) {}
};

/// Writes `tool: error: message` and `tool: note: …` for every error in
/// \p error to \p os and returns the exit status of the gravest.
ExitStatus reportError(llvm::raw_ostream &os, llvm::StringRef tool, llvm::Error error);

} // namespace kbopt

#endif // KBOPT_SUPPORT_ERROR_H
