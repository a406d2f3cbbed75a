//===- Error.cpp ----------------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "kb-opt/Support/Error.h"
#include "llvm/Support/raw_ostream.h"

using namespace kbopt;

char KbError::ID;
char UsageError::ID;
char ToolError::ID;
char ProviderError::ID;
char StoreError::ID;

void ToolError::log(llvm::raw_ostream &os) const {
  os << message;
  if (!stderrTail.empty())
    os << "\n" << llvm::StringRef(stderrTail).rtrim();
}

ExitStatus kbopt::reportError(llvm::raw_ostream &os, llvm::StringRef tool, llvm::Error error) {
  ExitStatus gravest = ExitStatus::Success;
  auto raise = [&](ExitStatus status) { gravest = std::max(gravest, status); };
  llvm::handleAllErrors(
      std::move(error),
      [&](const KbError &e) {
        os << tool << ": error: ";
        e.log(os);
        os << "\n";
        if (!e.note.empty())
          os << tool << ": note: " << e.note << "\n";
        raise(e.status);
      },
      [&](const llvm::ErrorInfoBase &e) {
        os << tool << ": internal error: " << e.message() << "\n";
        raise(ExitStatus::Internal);
      });
  return gravest;
}
