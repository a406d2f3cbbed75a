//===- FedHosts.cpp - Hosts that are fed the original's results -----------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the runs of hosts without kernels, which read what the original's kernels computed or other
// results in its place, and what these runs say against a program.
//
//===----------------------------------------------------------------------===//
#include "CaseKeys.h"
#include "HostWays.h"
#include "OtherResults.h"
#include "kb-opt/Candidate/RecordedCases.h"
#include "kb-opt/Plan/RecordedPlan.h"
#include "kb-opt/Support/Error.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"

using namespace kbopt;

llvm::Expected<const RecordedCases::OtherResults &>
RecordedCases::otherResults(const CaseRecipe &recipe) {
  return otherwise.get(0, [&]() -> llvm::Expected<OtherResults> {
    auto base = record(recipes.recorded());
    if (!base)
      return base.takeError();
    llvm::Error lost = llvm::Error::success();
    for (auto [number, factors] : llvm::enumerate(allResultFactors)) {
      OtherResults tried{joinPath(root, "other-results" + std::to_string(number)), *base};
      if (llvm::Error error = tools.files.createDirectories(tried.results))
        return llvm::joinErrors(std::move(lost), std::move(error));
      auto written = writeOtherResults(tools.files, *base, factors, tried.results);
      if (!written || !*written) {
        llvm::consumeError(std::move(lost));
        return written ? llvm::Expected<OtherResults>(tried) : written.takeError();
      }
      auto fed = feed(first, recipe, tried.results, quietOf(workload));
      if (fed) {
        llvm::consumeError(std::move(lost));
        auto isSame = isSameWork(*base, *fed);
        if (!isSame)
          return isSame.takeError();
        if (!*isSame)
          tried.recording = *fed;
        return tried;
      }
      lost = llvm::joinErrors(std::move(lost), fed.takeError());
    }
    return std::move(lost);
  });
}

llvm::Expected<std::string> RecordedCases::feed(const ProgramArtefacts &program,
                                                const CaseRecipe &recordedAs,
                                                const std::string &base, double quietSeconds,
                                                const OtherDevice *elsewhere) {
  std::string name = recordedAs.test.name;
  if (recordedAs.test.feedsOtherResults)
    name += (" " + llvm::sys::path::filename(base)).str();
  const std::string key = quietSeconds > 0 ? quietKey(program, name)
                          : elsewhere      ? (elsewhere->name + digestOf(program.text) + name).str()
                                           : wholeKey(program, name);
  return feedAs(key, program, recordedAs, base, quietSeconds, elsewhere);
}

static llvm::Error cannotFollow(const llvm::Twine &why, llvm::StringRef note = "") {
  return llvm::make_error<CannotFollow>(("the candidate's host cannot be followed: " + why).str(),
                                        note.str());
}

/// The recorder names the program behind the original's file.
static std::string withoutProgram(llvm::StringRef message) {
  auto [program, what] = message.split("': ");
  return (what.empty() ? program : what).str();
}

/// How the reads of \p recording, of a host that was fed the results in \p base, are not those.
static llvm::Expected<std::optional<std::string>> readsOthers(const Recording &recording,
                                                              const std::string &base) {
  if (recording.status == RecordStatus::Mismatch)
    return withoutProgram(recording.message);
  if (recording.status != RecordStatus::Good)
    return std::nullopt;
  std::string problem;
  auto original = kbrt::readPlan(base, problem);
  if (!original)
    return llvm::make_error<StoreError>(problem);
  const uint64_t all = kbrt::observableBytes(*original),
                 own = kbrt::observableBytes(recording.plan);
  if (own == all)
    return std::nullopt;
  return llvm::formatv("it reads {0} bytes of results, the original's {1}", own, all).str();
}

llvm::Expected<RecordRequest> RecordedCases::hostRequest(const ProgramArtefacts &program,
                                                         const CaseRecipe &recordedAs,
                                                         std::string folder, double quietSeconds,
                                                         const OtherDevice *elsewhere) {
  auto host = executable(program, recordedAs);
  if (!host)
    return host.takeError();
  auto image = imageFor(program);
  if (!image)
    return image.takeError();
  auto hostRequest = request(program, recordedAs, *host, *image, std::move(folder));
  if (!hostRequest)
    return hostRequest.takeError();
  hostRequest->quietSeconds = quietSeconds;
  hostRequest->elsewhere = elsewhere;
  auto replacement = replacementFor(recordedAs);
  if (!replacement)
    return replacement.takeError();
  hostRequest->replacement = std::move(*replacement);
  std::lock_guard<std::mutex> lock(mutex);
  if (auto known = endless.find(digestOf(program.text)); known != endless.end())
    return known->second.asError();
  constexpr double leastSeconds = 20, timesOriginal = 10;
  hostRequest->limits.wallSeconds =
      std::min(hostRequest->limits.wallSeconds,
               std::max(leastSeconds, timesOriginal * recordSeconds[recordedAs.test.name]));
  return hostRequest;
}

llvm::Error RecordedCases::takeHostRun(const Recording &recording, const std::string &key,
                                       const ProgramArtefacts &program,
                                       const CaseRecipe &recordedAs, const OtherDevice *elsewhere,
                                       bool mayFail) {
  if (recording.status == RecordStatus::TimedOut) {
    Recording end;
    end.status = recording.status;
    end.message = "the candidate's host does not come to its end; " + recording.message;
    std::lock_guard<std::mutex> lock(mutex);
    if (!mayFail)
      endless.emplace(digestOf(program.text), end);
    return end.asError();
  }
  if (recording.status == RecordStatus::Unsupported || recording.status == RecordStatus::Mismatch)
    return cannotFollow(withoutProgram(recording.message), recording.note);
  if (recording.hasUnknownUpload)
    return cannotFollow("it uploads its inputs in another form than the original's");
  // A program that checks what it made of others' results may well say that they are wrong.
  if (recording.status != RecordStatus::Good && !(mayFail && hasEndedByItself(recording))) {
    Recording failed = recording;
    failed.message += " on case " + recordedAs.test.name;
    if (elsewhere)
      failed.message += (" with " + elsewhere->name + " and other addresses").str();
    return failed.asError();
  }
  ways->take(program.text, recording.plan.outcome.taken, HostRunKind::Whole);
  {
    std::lock_guard<std::mutex> lock(mutex);
    fedPrinted[key] = {recording.exitStatus, recording.out, {}, recording.err};
  }
  return writeHostResults(recording);
}

llvm::Expected<std::string>
RecordedCases::feedAs(const std::string &key, const ProgramArtefacts &program,
                      const CaseRecipe &recordedAs, const std::string &base, double quietSeconds,
                      const OtherDevice *elsewhere, unsigned clockPace) {
  return once(key, [&](const std::string &folder) -> llvm::Error {
    auto fedRequest = hostRequest(program, recordedAs, folder, quietSeconds, elsewhere);
    if (!fedRequest)
      return fedRequest.takeError();
    fedRequest->clockPace = clockPace;
    auto recording = recordOracleFed(tools.runner, *fedRequest, base);
    if (!recording)
      return recording.takeError();
    if (auto reads = readsOthers(*recording, base); !reads || *reads) {
      if (!reads)
        return reads.takeError();
      std::lock_guard<std::mutex> lock(mutex);
      otherReaders.insert({digestOf(program.text), recordedAs.test.name});
      return cannotFollow(**reads);
    }
    return takeHostRun(*recording, key, program, recordedAs, elsewhere,
                       recordedAs.test.feedsOtherResults || recordedAs.replacement);
  });
}

CaseSource::WholeRun RecordedCases::fedRun(const std::string &key) const {
  std::lock_guard<std::mutex> lock(mutex);
  return fedPrinted.at(key);
}

llvm::Expected<CaseSource::WholeRun> RecordedCases::fedHost(const ProgramArtefacts &program) {
  const CaseRecipe &recipe = recipes.recorded();
  auto base = record(recipe);
  if (!base)
    return base.takeError();
  if (auto fed = feed(program, recipe, *base, /*quietSeconds=*/0); !fed)
    return fed.takeError();
  return fedRun(wholeKey(program, recipe.test.name));
}

llvm::Expected<CaseSource::WholeRun> RecordedCases::originalHost(unsigned number) {
  const CaseRecipe &recipe = recipes.recorded();
  auto base = record(recipe);
  if (!base)
    return base.takeError();
  if (number == 0)
    return printed;
  const std::string key = "the original's host " + std::to_string(number);
  if (auto fed = feedAs(key, first, recipe, *base, /*quietSeconds=*/0, /*elsewhere=*/nullptr,
                        1 + number % clockPaces);
      !fed)
    return fed.takeError();
  return fedRun(key);
}
