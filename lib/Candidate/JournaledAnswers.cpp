//===- JournaledAnswers.cpp -----------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "kb-opt/Candidate/JournaledAnswers.h"
#include "kb-opt/Support/Interrupt.h"
#include "llvm/Support/FormatVariadic.h"

using namespace kbopt;

Digest JournaledAnswers::request(std::initializer_list<llvm::StringRef> parts) const {
  DigestBuilder builder;
  builder.add(run);
  for (llvm::StringRef part : parts)
    builder.add(part);
  return builder.finish();
}

llvm::Expected<bool> JournaledAnswers::has(llvm::StringRef kind, const Digest &request) {
  auto found = journal.find(kind, request);
  if (!found)
    return found.takeError();
  return found->has_value();
}

std::optional<std::string> JournaledAnswers::find(llvm::StringRef kind, const Digest &request) {
  auto found = journal.find(kind, request);
  if (found)
    return *found;
  llvm::consumeError(found.takeError()); // then it is asked again
  return std::nullopt;
}

void JournaledAnswers::keep(llvm::StringRef kind, const Digest &request, llvm::StringRef text) {
  if (!interrupted())
    llvm::consumeError(journal.put(kind, request, text));
}

std::string JournaledAnswers::print(const llvm::json::Value &value) {
  return llvm::formatv("{0}", value).str();
}
