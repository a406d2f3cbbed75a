//===- OwnResults.cpp - Hosts that read what their own kernels compute ------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the runs of hosts that cannot be fed the results of the original's recorded run: those of
// candidates that read others, and those of either program on other inputs.
//
//===----------------------------------------------------------------------===//
#include "CaseData.h"
#include "CaseKeys.h"
#include "kb-opt/Candidate/RecordedCases.h"
#include "kb-opt/Plan/RecordedPlan.h"
#include "kb-opt/Support/Error.h"
#include "llvm/Support/Path.h"

using namespace kbopt;

bool RecordedCases::readsOtherwise(const ProgramArtefacts &program,
                                   const CaseRecipe &recordedAs) const {
  std::lock_guard<std::mutex> lock(mutex);
  return otherReaders.count({digestOf(program.text), recordedAs.test.name}) != 0;
}

bool RecordedCases::readsOtherwise(const ProgramArtefacts &program) {
  const Digest digest = digestOf(program.text);
  std::lock_guard<std::mutex> lock(mutex);
  auto first = otherReaders.lower_bound({digest, ""});
  return first != otherReaders.end() && first->first == digest;
}

llvm::Expected<std::string> RecordedCases::feedAny(const ProgramArtefacts &program,
                                                   const CaseRecipe &recordedAs,
                                                   const std::string &base, double quietSeconds,
                                                   const OtherDevice *elsewhere) {
  if (!readsOtherwise(program, recordedAs)) {
    auto fed = feed(program, recordedAs, base, quietSeconds, elsewhere);
    if (fed || !readsOtherwise(program, recordedAs))
      return fed;
    llvm::consumeError(fed.takeError());
  }
  return feedItself(program, recordedAs, elsewhere);
}

llvm::Expected<std::string> RecordedCases::feedItself(const ProgramArtefacts &program,
                                                      const CaseRecipe &recordedAs,
                                                      const OtherDevice *elsewhere) {
  const std::string key = ((elsewhere ? elsewhere->name : llvm::StringRef()).str() + "itself ") +
                          digestOf(program.text) + " " + recordedAs.test.name;
  return once(key, [&](const std::string &folder) -> llvm::Error {
    const bool mayFail = recordedAs.replacement.has_value();
    // The way of its host, and what it read on it: its kernels run.
    llvm::SmallString<128> alone(folder);
    llvm::sys::path::append(alone, "alone");
    auto own = hostRequest(program, recordedAs, alone.str().str(), 0, elsewhere);
    if (!own)
      return own.takeError();
    auto first = recordProgram(tools.runner, *own);
    if (!first)
      return first.takeError();
    if (llvm::Error error = takeHostRun(*first, key, program, recordedAs, elsewhere, mayFail))
      return error;
    // The same way without kernels, where copies are made when the host has waited for them.
    auto fed = hostRequest(program, recordedAs, folder, 0, elsewhere);
    if (!fed)
      return fed.takeError();
    auto recording = recordOracleFed(tools.runner, *fed, alone.str().str());
    if (!recording)
      return recording.takeError();
    return takeHostRun(*recording, key, program, recordedAs, elsewhere, mayFail);
  });
}

llvm::Expected<CaseSource::HostRun> RecordedCases::runAgain(const ProgramArtefacts &program,
                                                            const TestCase &test,
                                                            const std::string &results) {
  const CaseRecipe *recipe = test.elsewhere ? &recipes.recorded() : find(test.name);
  if (!recipe)
    return llvm::make_error<UsageError>("no case '" + test.name + "'");
  const CaseRecipe &recordedAs = recipe->distribution ? recipes.recorded() : *recipe;
  const bool isOriginal = program.text == first.text;
  const OtherDevice *elsewhere = isOriginal ? nullptr : test.elsewhere;
  const unsigned number = runsAgain++;
  const std::string key = "again " + std::to_string(number);
  auto again = once(key, [&](const std::string &folder) -> llvm::Error {
    auto fed = hostRequest(program, recordedAs, folder, 0, elsewhere);
    if (!fed)
      return fed.takeError();
    if (isOriginal) // what it prints of the clock differs from run to run
      fed->clockPace = 1 + number % clockPaces;
    auto recording = recordOracleFed(tools.runner, *fed, results);
    if (!recording)
      return recording.takeError();
    return takeHostRun(*recording, key, program, recordedAs, elsewhere, /*mayFail=*/true);
  });
  if (!again)
    return again.takeError();
  HostRun run{*again, fedRun(key)};
  if (!recipe->distribution)
    return run;
  // Inputs are those of the case, as they are in the plan without this run; what the host made of
  // other results is its own.
  auto before = isOriginal ? record(recordedAs) : candidate(program, recordedAs.test),
       varied = isOriginal ? this->varied(*recipe) : candidate(program, test);
  if (!before || !varied)
    return llvm::joinErrors(before.takeError(), varied.takeError());
  auto folder = once(key + " varied", [&](const std::string &folder) {
    return writeVariedAgain(tools.files, *again, *before, *varied, folder);
  });
  if (!folder)
    return folder.takeError();
  run.folder = *folder;
  return run;
}
