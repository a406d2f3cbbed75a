//===- ChangedCases.cpp - The recorded run with inputs that are searched for ===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the cases that keep the plan of the original's recorded run and make single changes of what
// it uploads. Searches for none.
//
//===----------------------------------------------------------------------===//
#include "CaseData.h"
#include "CaseKeys.h"
#include "kb-opt/Candidate/RecordedCases.h"
#include "kb-opt/Plan/RecordedPlan.h"

using namespace kbopt;

llvm::Expected<std::vector<ChangeableUpload>> RecordedCases::changeableUploads() {
  auto base = record(recipes.recorded());
  if (!base)
    return base.takeError();
  auto recorded = readRecordedPlan(*base);
  if (!recorded)
    return recorded.takeError();
  const std::optional<SplitPlan> split =
      splitFor(InputDistribution::Searched, recorded->plan, recorded->data(), kernelRecords,
               /*runsHosts=*/false);
  return split ? kbopt::changeableUploads(split->plan, split->data)
               : kbopt::changeableUploads(recorded->plan, recorded->data());
}

llvm::Error RecordedCases::writeChanged(const ProgramArtefacts &program,
                                        llvm::ArrayRef<InputChange> changes,
                                        const std::string &folder) {
  auto base = record(recipes.recorded());
  if (!base)
    return base.takeError();
  llvm::Expected<const std::vector<InputFacts> &> held = heldFacts(*base);
  if (!held)
    return held.takeError();
  const CaseRecipe recipe = recipes.changed(changes);
  if (sharesHost(program))
    return writeVaried(*base, recipe, 0, kernelRecords, *held, constants, folder);
  auto own = candidate(program, recipes.recorded().test);
  if (!own)
    return own.takeError();
  const std::string originals = joinPath(folder, "original");
  if (llvm::Error error = tools.files.createDirectories(originals))
    return error;
  if (llvm::Error error = writeVaried(*base, recipe, 0, kernelRecords, *held, constants, originals))
    return error;
  return writeVariedLike(tools.files, *own, *base, originals, folder);
}

std::optional<TestCase> RecordedCases::changedCase(llvm::ArrayRef<InputChange> changes) {
  CaseRecipe recipe = recipes.changed(changes);
  TestCase test = recipe.test;
  std::lock_guard<std::mutex> lock(mutex);
  further.try_emplace(test.name, std::vector{std::move(recipe)});
  return test;
}
