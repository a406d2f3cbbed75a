//===- CaseRecipes.h - The ways a workload is exercised ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the list of test cases that follow from a workload, and how each is made. Makes none.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_CANDIDATE_CASERECIPES_H
#define KBOPT_CANDIDATE_CASERECIPES_H

#include "kb-opt/Eval/Judge.h"
#include "kb-opt/Plan/BoundaryInputs.h"
#include "kb-opt/Plan/ChangedInputs.h"
#include "kb-opt/Plan/GeneratedMain.h"
#include "kb-opt/Plan/PlanTransform.h"

namespace kbopt {

/// How a case is made from the workload.
struct CaseRecipe {
  TestCase test;
  SizeMap sizes;
  uint64_t seed = 0;
  /// Absent: the inputs that the host code makes itself.
  std::optional<InputDistribution> distribution;
  /// Both hosts run anew, and what they upload of the recorded case's inputs has values of this
  /// distribution: for hosts that go by results, whose plans do not fit other inputs.
  std::optional<InputDistribution> replacement;
  /// Whose recording the distribution changes; empty: the recorded case's.
  std::string variedCase;
  /// The upload that a distribution which keeps recorded values changes; absent: all.
  std::optional<unsigned> upload;
  /// InputDistribution::Searched's.
  std::vector<InputChange> changes;
  BufferLayout layout = BufferLayout::Separate;
  std::vector<DriverCall> calls; ///< empty: one at `sizes` from `seed`
  bool ownStream = false;
  /// What is sprinkled beside the original's own constants.
  ProgramConstants constants;
  /// Of a whole program; absent: the workload's.
  std::optional<std::vector<std::string>> arguments;
  /// A test of the build; absent: the program as the workload runs it.
  std::optional<ProgramRun> testRun;
  unsigned otherSources = 0; ///< RecordRequest's
  /// At sizes whose data no run could hold: CaseSource::launchCases.
  bool isDry = false;
  /// Of the generated driver's run; absent where it cannot be generated.
  std::optional<size_t> run;
  /// The runs among which `run` counts: those of all cases that follow from a workload, or of those
  /// that follow from a candidate's constants as well.
  std::string group;

  DriverRun driverRun() const {
    return {calls.empty() ? std::vector<DriverCall>{{sizes, seed}} : calls, layout, ownStream,
            isDry};
  }
};

/// Constant.
class CaseRecipes {
public:
  /// \p called: the signature of the workload's entry or kernel, if it names one.
  CaseRecipes(Workload given, Signature called);

  /// The program's own run first.
  llvm::ArrayRef<CaseRecipe> all() const { return recipes; }
  const CaseRecipe &recorded() const { return recipes.front(); }
  /// The case of that name, or null.
  const CaseRecipe *find(llvm::StringRef name) const;
  /// What the numbers CaseRecipe::run of \p all stand for.
  static std::vector<DriverRun> runsOf(llvm::ArrayRef<CaseRecipe> all);
  /// Further ones for a candidate that has \p constants which the original has not: these among the
  /// inputs, and sizes around the integers of them. Their names tell the constants.
  std::vector<CaseRecipe> around(const ProgramConstants &constants) const;
  /// The recorded case with \p changes, which its name tells.
  CaseRecipe changed(llvm::ArrayRef<InputChange> changes) const;

  /// What the workload states of sizes, pointers and scalars, which all cases keep: one sentence
  /// each.
  std::vector<std::string> reliedOn() const;
  /// The statement with which the workload would leave the case of that name out, as the end of a
  /// sentence: "if callers only pass multiples of 4, state 'multiple: 4' of n under 'admissible' in
  /// the workload". Empty where there is none.
  std::string remedy(llvm::StringRef name) const;

private:
  /// Values at which programs branch, among recorded ones.
  void addBoundaries();
  /// The size nearest to \p size that callers pass, and the next above it.
  int64_t admissible(const std::string &name, int64_t size) const;
  int64_t nextAdmissible(const std::string &name, int64_t size) const;
  std::string remedyOfSizes(const SizeMap &sizes) const;
  std::string remedyOfValues(const CaseRecipe &recipe) const;
  void addLayouts();
  void addOtherResults();
  void addIntegers();
  void addSingleIntegers();
  /// Sizes, scalars, streams and calls that the workload does not name, but the entry's caller may
  /// use.
  void addCalls();
  /// Arguments of a whole program that are numbers, and other numbers from where it has them.
  void addSources();
  /// Those of the workload, or those that `main` takes in their place.
  std::vector<DefaultArgument> givenArguments() const;
  /// A case of these, unless there is one; inputs that fill where they are larger.
  void addArguments(const std::vector<std::string> &arguments, uint64_t timesRecorded = 1);
  /// Larger numbers among the arguments of a whole program.
  void addLargeArguments();
  /// The tests of the build, which run the program as it is.
  void addTests();
  /// Other inputs for whole programs that go by results.
  void addReplacements();
  /// Sizes up to those that fill a device.
  void addLargeSizes();
  void numberRuns();
  CaseRecipe derived(llvm::StringRef name) const;
  /// The sizes of a case in which the size \p name is far above \p limit, which those of the
  /// workload are not, and all others are small; nothing if that would be much work.
  std::optional<SizeMap> sizesBeyond(const std::string &name, int64_t limit) const;
  /// The larger run \p far with inputs that fill counters and sums.
  void addFilled(const CaseRecipe &far);
  /// The recorded run with other inputs, which the original is asked for first.
  CaseRecipe varied(llvm::StringRef name, InputDistribution distribution,
                    std::optional<unsigned> upload) const;

  const Workload workload;
  const Signature signature;
  std::vector<CaseRecipe> recipes;
};

} // namespace kbopt

#endif // KBOPT_CANDIDATE_CASERECIPES_H
