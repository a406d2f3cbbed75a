//===- VariedCases.cpp - The recorded run with other inputs ---------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the cases that keep the plan of the original's recorded run and change what it uploads.
//
//===----------------------------------------------------------------------===//
#include "CaseData.h"
#include "kb-opt/Candidate/CaseSpace.h"
#include "kb-opt/Candidate/RecordedCases.h"
#include "kb-opt/Plan/RecordedPlan.h"
#include "kb-opt/Support/Error.h"
#include "kb-opt/Support/FreeSpace.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"

using namespace kbopt;

/// Whether \p distribution, which keeps recorded values, has others for uploads of \p kind where
/// they are those that are \p named.
static bool changes(InputDistribution distribution, UploadWords kind, bool isNamed) {
  switch (distribution) {
  case InputDistribution::Searched:
    return true;
  case InputDistribution::SprinkledNumbers:
  case InputDistribution::FewSpecial:
  case InputDistribution::NotFinite:
    return isNamed && kind == UploadWords::Numbers;
  case InputDistribution::ZeroRuns:
  case InputDistribution::EndRuns:
    return isNamed && (kind == UploadWords::Numbers || kind == UploadWords::Integers);
  case InputDistribution::Shuffled:
  case InputDistribution::FewOfThem:
    return isNamed && (kind == UploadWords::Integers || kind == UploadWords::Records);
  default:
    return isNamed && kind == UploadWords::Integers;
  }
}

llvm::Expected<bool> RecordedCases::changesWords(const CaseRecipe &recipe,
                                                 const std::string &recording) {
  std::lock_guard<std::mutex> lock(mutex);
  std::optional<std::vector<UploadWords>> &kinds =
      isAtBoundaries(*recipe.distribution) ? fieldWords : words;
  if (!kinds) {
    auto recorded = readRecordedPlan(recording);
    if (!recorded)
      return recorded.takeError();
    const kbrt::Plan &plan = recorded->plan;
    const std::optional<SplitPlan> split =
        splitFor(*recipe.distribution, plan, recorded->data(), kernelRecords, false);
    hasFields |= split.has_value();
    kinds = split ? uploadWords(split->plan, RecordSizes(split->plan.buffers.size()))
                  : uploadWords(plan, recordSizes(plan, kernelRecords));
  }
  // Uploads of numbers have a case of them anyhow, which is no boundary.
  if (recipe.distribution == InputDistribution::NotFinite && !hasFields)
    return false;
  for (auto [number, kind] : llvm::enumerate(*kinds))
    if (changes(*recipe.distribution, kind, !recipe.upload || *recipe.upload == number))
      return true;
  return false;
}

llvm::Error RecordedCases::checkSpaceOnce(const std::string &folder) {
  auto enough = hasSpace.get(0, [&]() -> llvm::Expected<bool> {
    std::string problem;
    auto plan = kbrt::readPlan(folder, problem);
    if (!plan)
      return llvm::make_error<StoreError>(problem);
    // Where the session's folder lies.
    const llvm::StringRef place = llvm::sys::path::parent_path(llvm::sys::path::parent_path(root));
    const CaseSpace needed = spaceForCases(*plan, folder);
    constexpr uint64_t muchBytes = uint64_t(1) << 30;
    if (needed.diskBytes + needed.memoryBytes >= muchBytes)
      tools.progress.line("the test cases take " + describe(needed, place));
    if (llvm::Error error = checkSpace(needed, spaceLeft(folder), place, liesInMemory(folder),
                                       tools.input.command.shownFile))
      return std::move(error);
    return true;
  });
  return enough ? llvm::Error::success() : enough.takeError();
}

llvm::Expected<const std::vector<InputFacts> &>
RecordedCases::heldFacts(const std::string &recording) {
  return facts.get(0, [&] { return inputFacts(recording, sorted, workload.uploadFacts); });
}

std::vector<std::string> RecordedCases::reliedOn() {
  auto base = record(recipes.recorded());
  if (!base) {
    llvm::consumeError(base.takeError()); // the gates that need it say so
    return {};
  }
  llvm::Expected<const std::vector<InputFacts> &> held = heldFacts(*base);
  std::vector<std::string> all = recipes.reliedOn();
  if (!held)
    llvm::consumeError(held.takeError());
  else
    for (const InputFacts &each : *held)
      all.push_back(describe(each));
  return all;
}

const CaseRecipe &RecordedCases::baseOf(const CaseRecipe &recipe) const {
  return recipe.variedCase.empty() ? recipes.recorded() : *find(recipe.variedCase);
}

llvm::Expected<std::string> RecordedCases::varied(const CaseRecipe &recipe) {
  auto base = record(baseOf(recipe));
  if (!base)
    return base.takeError();
  if (llvm::Error error = checkSpaceOnce(*base))
    return std::move(error);
  if (keepsRecorded(*recipe.distribution) && !recipe.replacement) {
    llvm::Expected<bool> changes = changesWords(recipe, *base);
    if (!changes)
      return changes.takeError();
    if (!*changes)
      return base; // and nothing is written again
  }
  llvm::Expected<const std::vector<InputFacts> &> held = heldFacts(*base);
  if (!held)
    return held.takeError();
  const unsigned times = lessenings(recipe);
  return once(llvm::formatv("vary {0} {1}", recipe.test.name, times),
              [&](const std::string &folder) -> llvm::Error {
                return writeVaried(*base, recipe, times, kernelRecords, *held,
                                   recipe.constants.empty() ? constants : recipe.constants, folder);
              });
}

llvm::Expected<std::optional<UploadReplacement>>
RecordedCases::replacementFor(const CaseRecipe &recipe) {
  if (!recipe.replacement)
    return std::nullopt;
  CaseRecipe other = recipe;
  other.distribution = recipe.replacement;
  llvm::Expected<std::string> base = record(recipes.recorded()), varied = this->varied(other);
  if (!base || !varied)
    return llvm::joinErrors(base.takeError(), varied.takeError());
  return UploadReplacement{*base, *varied};
}

llvm::Expected<std::string> RecordedCases::replacedRun(const CaseRecipe &recipe) {
  auto base = record(recipes.recorded());
  if (!base)
    return base.takeError();
  std::string problem;
  auto plan = kbrt::readPlan(*base, problem);
  if (!plan)
    return llvm::make_error<StoreError>(problem);
  constexpr double mostSeconds = 2; // it is run once more, kernels and all
  if (!goesByResults(*plan) || wholeSeconds() > mostSeconds)
    return base;
  return record(recipe);
}

void RecordedCases::lessen(const TestCase &test) {
  std::lock_guard<std::mutex> lock(mutex);
  ++lessened[test.name];
}

unsigned RecordedCases::lessenings(const CaseRecipe &recipe) const {
  std::lock_guard<std::mutex> lock(mutex);
  auto found = lessened.find(recipe.test.name);
  return found == lessened.end() ? 0 : found->second;
}
