//===- ProgramRecipes.cpp - Cases of whole programs -----------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the cases in which whole programs run anew: with other arguments, other numbers from where
// they have them, and other inputs under both hosts.
//
//===----------------------------------------------------------------------===//
#include "RecipeSizes.h"
#include "kb-opt/Candidate/CaseRecipes.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace kbopt;

/// Others in the place of the number \p text: for a whole one a prime below three quarters of it,
/// one more, three, which is less than a vector has, one, zero, and below 256 as many more, which a
/// byte does not hold; for zero one, and if it is wide one beyond 32 bits; for another one three
/// quarters of it. Empty if it is no number.
static std::vector<std::string> otherNumbers(llvm::StringRef text, bool isWide) {
  constexpr int64_t few = 3, inByte = 256, beyond32Bits = (int64_t(1) << 32) + 15;
  if (int64_t number; !text.getAsInteger(10, number)) {
    if (number < 0)
      return {};
    if (number == 0)
      return isWide ? std::vector<std::string>{"1", std::to_string(beyond32Bits)}
                    : std::vector<std::string>{"1"};
    std::vector<std::string> all = {std::to_string(primeBelow(number * 3 / 4)),
                                    std::to_string(number + 1)};
    for (int64_t least : {few, int64_t(1), int64_t(0)})
      if (number > least + 1)
        all.push_back(std::to_string(least));
    if (number < inByte)
      all.push_back(std::to_string(number + inByte));
    return all;
  }
  if (double number; !text.getAsDouble(number) && number != 0)
    return {llvm::formatv("{0:f6}", 0.75 * number)};
  return {};
}

std::vector<DefaultArgument> CaseRecipes::givenArguments() const {
  if (workload.arguments.empty())
    return workload.defaultArguments;
  std::vector<DefaultArgument> given;
  for (const std::string &argument : workload.arguments)
    given.push_back({argument});
  return given;
}

/// The texts of \p given, with \p text in the place of that number.
static std::vector<std::string> withOther(llvm::ArrayRef<DefaultArgument> given, size_t place,
                                          std::string text) {
  std::vector<std::string> all;
  for (const DefaultArgument &argument : given)
    all.push_back(argument.text);
  if (place < all.size())
    all[place] = std::move(text);
  return all;
}

void CaseRecipes::addArguments(const std::vector<std::string> &arguments, uint64_t timesRecorded) {
  CaseRecipe recipe = derived("arguments " + llvm::join(arguments, " "));
  recipe.arguments = arguments;
  recipe.test.asksMore = recipe.test.hasOtherSources = true;
  recipe.test.timesRecorded = timesRecorded;
  const std::vector<DefaultArgument> given = givenArguments();
  if (find(recipe.test.name) || arguments == withOther(given, given.size(), ""))
    return;
  recipes.push_back(recipe);
  if (timesRecorded > 1)
    addFilled(recipe);
}

/// Arguments that are varied one by one.
static constexpr unsigned mostNumbers = 4;

void CaseRecipes::addSources() {
  if (workload.kind != WorkloadKind::Program)
    return;
  const std::vector<DefaultArgument> given = givenArguments();
  std::vector<std::vector<std::string>> others;
  std::vector<std::string> all;
  size_t most = 0;
  for (const DefaultArgument &argument : given) {
    others.push_back(otherNumbers(argument.text, argument.isWide));
    all.push_back(others.back().empty() ? argument.text : others.back().front());
    most = std::max(most, others.back().size());
  }
  if (most)
    addArguments(all);
  // In turn, for there may not be time for all.
  for (size_t rank = 0; rank < most; ++rank) {
    unsigned count = 0;
    for (auto [place, numbers] : llvm::enumerate(others))
      if (!numbers.empty() && ++count <= mostNumbers && rank < numbers.size())
        addArguments(withOther(given, place, numbers[rank]));
  }
  CaseRecipe sources = derived("other numbers from generators and files");
  sources.otherSources = 1;
  sources.test.asksMore = sources.test.hasOtherSources = true;
  recipes.push_back(std::move(sources));
}

void CaseRecipes::addLargeArguments() {
  if (workload.kind != WorkloadKind::Program)
    return;
  const std::vector<DefaultArgument> given = givenArguments();
  std::vector<std::pair<size_t, int64_t>> numbers;
  for (auto [place, argument] : llvm::enumerate(given))
    if (int64_t number; !llvm::StringRef(argument.text).getAsInteger(10, number) && number > 0)
      numbers.push_back({place, number});
  // What two sizes add up or multiply leaves a byte sooner than one of them does.
  constexpr int64_t someTimes = 3, manyTimes = 16;
  std::vector<std::string> all = withOther(given, given.size(), "");
  for (auto [place, number] : numbers)
    all[place] = std::to_string(someTimes * number + 1);
  if (numbers.size() > 1) // not all of them are sizes
    addArguments(all, someTimes * someTimes);
  unsigned count = 0;
  for (auto [place, number] : numbers) {
    if (++count > mostNumbers)
      break;
    addArguments(withOther(given, place, std::to_string(manyTimes * number + 1)), manyTimes);
    // A launch of its grid is all that is known of it there.
    for (int64_t times : {leastGrowth, leastGrowth * leastGrowth * leastGrowth}) {
      CaseRecipe recipe = derived("");
      recipe.arguments = withOther(given, place, std::to_string(times * number));
      recipe.test.name = "arguments " + llvm::join(*recipe.arguments, " ") + ", launches alone";
      recipe.isDry = true;
      recipes.push_back(std::move(recipe));
    }
  }
}

void CaseRecipes::addTests() {
  for (const ProgramRun &run : workload.tests) {
    CaseRecipe recipe = derived(run.name);
    recipe.testRun = run;
    recipe.test.isTest = recipe.test.hasOtherSources = true;
    recipes.push_back(std::move(recipe));
  }
}

void CaseRecipes::addReplacements() {
  if (workload.kind != WorkloadKind::Program)
    return;
  // Integers in another order, or all alike, make other graphs of graphs: no longer one whose edges
  // go both ways, say, which a search from the other side relies on.
  for (InputDistribution distribution :
       {InputDistribution::SprinkledIntegers, InputDistribution::SprinkledNumbers,
        InputDistribution::NotFinite, InputDistribution::FewSpecial, InputDistribution::Normal}) {
    CaseRecipe recipe = derived(("both hosts with inputs " + toString(distribution)).str());
    recipe.test.asksMore = recipe.test.hasOtherSources = true;
    recipe.test.hasLargeValues = hasLargeValues(distribution);
    recipe.replacement = distribution;
    recipe.seed = 1;
    recipes.push_back(std::move(recipe));
  }
}
