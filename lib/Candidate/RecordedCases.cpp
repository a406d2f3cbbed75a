//===- RecordedCases.cpp --------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "kb-opt/Candidate/RecordedCases.h"
#include "CaseData.h"
#include "CaseKeys.h"
#include "HostWays.h"
#include "kb-opt/Candidate/TextConstants.h"
#include "kb-opt/Support/Error.h"
#include "kbrt/QuietEnding.h"
#include "llvm/Support/FormatVariadic.h"

using namespace kbopt;

RecordedCases::RecordedCases(const CandidateTools &tools, Device &device, ProgramArtefacts original,
                             Workload workload, Signature signature, std::string folder)
    : tools(tools), device(device), emitter(tools.runner, tools.limits), first(std::move(original)),
      workload(std::move(workload)), signature(std::move(signature)), root(std::move(folder)),
      recipes(this->workload, this->signature), constants(textConstants(first.text)),
      ways(std::make_unique<HostWays>(tools, first.text,
                                      this->workload.kind == WorkloadKind::Program)) {}

RecordedCases::~RecordedCases() = default;

std::vector<TestCase> RecordedCases::cases() {
  std::vector<TestCase> all;
  for (const CaseRecipe &recipe : recipes.all())
    if (!recipe.isDry)
      all.push_back(recipe.test);
  return all;
}

std::vector<TestCase> RecordedCases::launchCases() {
  std::vector<TestCase> all;
  for (const CaseRecipe &recipe : recipes.all())
    if (recipe.isDry)
      all.push_back(recipe.test);
  return all;
}

std::vector<TestCase> RecordedCases::casesFor(const ProgramArtefacts &program) {
  constexpr size_t mostOfAKind = 24;
  const ProgramConstants own = textConstants(program.text).without(constants, mostOfAKind);
  std::vector<TestCase> all;
  if (own.empty())
    return all;
  std::lock_guard<std::mutex> lock(mutex);
  auto [known, isNew] = further.try_emplace(describe(own));
  if (isNew)
    known->second = recipes.around(own);
  for (const CaseRecipe &recipe : known->second)
    all.push_back(recipe.test);
  return all;
}

const CaseRecipe *RecordedCases::find(llvm::StringRef name) const {
  if (const CaseRecipe *recipe = recipes.find(name))
    return recipe;
  std::lock_guard<std::mutex> lock(mutex);
  for (const auto &[group, ofGroup] : further)
    for (const CaseRecipe &recipe : ofGroup)
      if (recipe.test.name == name)
        return &recipe;
  return nullptr;
}

void RecordedCases::setHostDigest(llvm::StringRef text, Digest host) {
  std::lock_guard<std::mutex> lock(mutex);
  hosts[digestOf(text)] = std::move(host);
}

bool RecordedCases::sharesHost(const ProgramArtefacts &program) const {
  std::lock_guard<std::mutex> lock(mutex);
  auto mine = hosts.find(digestOf(program.text)), its = hosts.find(digestOf(first.text));
  return program.text == first.text ||
         (mine != hosts.end() && its != hosts.end() && mine->second == its->second);
}

llvm::Expected<std::string>
RecordedCases::once(const std::string &key,
                    llvm::function_ref<llvm::Error(const std::string &folder)> body) {
  auto folder = done.get(key, [&]() -> llvm::Expected<std::string> {
    std::string folder = joinPath(root, digestOf(key));
    if (llvm::Error error = tools.files.createDirectories(folder))
      return std::move(error);
    if (llvm::Error error = body(folder))
      return std::move(error);
    return folder;
  });
  if (!folder)
    return folder.takeError();
  return *folder;
}

TestCase RecordedCases::recorded() {
  std::vector<TestCase> all = cases();
  return *llvm::find_if(all, [](const TestCase &test) { return test.recorded; });
}

llvm::Expected<std::string> RecordedCases::original(const TestCase &test) {
  const CaseRecipe *recipe = find(test.name);
  if (!recipe)
    return llvm::make_error<UsageError>("no case '" + test.name + "'");
  if (recipe->isDry)
    return recordCalls(first, *recipe);
  if (recipe->replacement)
    return replacedRun(*recipe);
  if (recipe->otherSources) {
    auto has = hasSources();
    if (!has)
      return has.takeError();
    return record(*has ? *recipe : recipes.recorded());
  }
  if (recipe->test.feedsOtherResults) {
    auto others = otherResults(*recipe);
    return others ? llvm::Expected<std::string>(others->recording) : others.takeError();
  }
  return recipe->distribution ? varied(*recipe) : record(*recipe);
}

llvm::Expected<std::string> RecordedCases::candidate(const ProgramArtefacts &program,
                                                     const TestCase &test) {
  auto oracle = original(test);
  if (!oracle || sharesHost(program))
    return oracle;
  const CaseRecipe &recipe = *find(test.name);
  if (recipe.isDry)
    return recordCalls(program, recipe);
  if (recipe.otherSources)
    if (llvm::Error error = checkSeeds(program))
      return std::move(error);
  if (test.feedsOtherResults) {
    auto others = otherResults(recipe);
    return others ? feed(program, recipe, others->results, quietOf(workload)) : others.takeError();
  }
  const CaseRecipe &recordedAs = recipe.distribution ? baseOf(recipe) : recipe;
  auto base = original(recordedAs.test);
  if (!base)
    return base;
  // The host side differs: its plan comes from a run that is fed the oracle's bytes.
  const std::string &name = recordedAs.test.name;
  const bool mayBeQuiet =
      workload.kind == WorkloadKind::Program &&
      (program.exactly ? done.has(quietKey(program, name)) : !done.has(wholeKey(program, name)));
  auto fed = feedAny(program, recordedAs, *base, mayBeQuiet ? quietSeconds : 0);
  if (fed && mayBeQuiet && program.exactly) {
    std::string problem;
    auto plan = kbrt::readPlan(*fed, problem);
    if (!plan || plan->outcome.message == kbrt::quietEnding)
      fed = feedAny(program, recordedAs, *base, 0);
  }
  if (!fed || !recipe.distribution)
    return fed;
  // Not by how often its inputs are lessened: another thread may have done that meanwhile.
  return once(llvm::formatv("varied {0} {1} {2}", *fed, test.name, *oracle),
              [&](const std::string &folder) {
                return writeVariedLike(tools.files, *fed, *base, *oracle, folder);
              });
}

llvm::Expected<std::string> RecordedCases::candidateElsewhere(const ProgramArtefacts &program,
                                                              const TestCase &recorded,
                                                              const OtherDevice &other) {
  auto oracle = original(recorded);
  if (!oracle || sharesHost(program))
    return oracle;
  return feedAny(program, *find(recorded.name), *oracle, /*quietSeconds=*/0, &other);
}

std::optional<TestCase> RecordedCases::reseeded(const TestCase &test) {
  const CaseRecipe *recipe = find(test.name);
  // Of the varied cases, any with the same plan and another seed will do.
  for (const CaseRecipe &other : recipes.all())
    if (recipe && other.distribution && !other.test.asksMore && !recipe->test.unseen &&
        other.sizes == recipe->sizes && other.test.name != recipe->test.name)
      return other.test;
  return std::nullopt;
}

Tolerance RecordedCases::tolerance(const TestCase &, unsigned) {
  Tolerance tolerance;
  if (workload.tolerance) {
    tolerance.absolute = workload.tolerance->absolute;
    tolerance.relative = workload.tolerance->relative;
  }
  tolerance.isHeldToFloat64 = workload.isHeldToFloat64;
  return tolerance;
}
