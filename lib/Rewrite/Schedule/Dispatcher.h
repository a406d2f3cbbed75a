//===- Dispatcher.h - One generated kernel at its launches ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns what one generated kernel adds to a program: which launches may run it, under which
// conditions, and the text of its definition, of its tests and of its launches. Dispatch.cpp puts
// several of them together.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_LIB_REWRITE_SCHEDULE_DISPATCHER_H
#define KBOPT_LIB_REWRITE_SCHEDULE_DISPATCHER_H

#include "LaunchAlgebra.h"
#include "SharedHelpers.h"
#include "TestFunction.h"
#include "kb-opt/Rewrite/LaunchMemory.h"
#include "kb-opt/Rewrite/Schedule/Dispatch.h"
#include <set>

namespace kbopt {

class Dispatcher {
public:
  Dispatcher(const PassContext &context, const KernelView &kernel, const ScheduledKernel &scheduled)
      : context(context), kernel(kernel), instance(scheduled.instance), nest(scheduled.nest),
        generated(scheduled.generated), later(scheduled.later), memoryName(scheduled.memoryName),
        function(context.imported().declOf(instance)), allocations(context, kernel.function()),
        launchMemory(context, kernel.function()), test(context, kernel, function) {}

  /// Finds the launches that can choose the kernel, the last one of its instance if \p isLast. An
  /// error: there is none, and why.
  llvm::Error prepare(bool isLast);
  /// Gives up launches at which one of \p earlier kernels of the instance runs wherever this one
  /// could.
  void leaveTo(llvm::ArrayRef<std::unique_ptr<Dispatcher>> earlier);
  bool launchesAny() const { return !choices.empty(); }
  const std::string &name() const { return generated.name; }
  /// Takes the test of \p other, which goes first, if both test the same.
  void shareTest(Dispatcher &other);
  /// The launches that may run the kernel.
  llvm::SmallVector<const LaunchFact *> launches() const;

  /// What one launch does for the kernel.
  struct Branch {
    std::string condition, fast; ///< no condition: always
  };
  /// Nothing if \p fact does not launch it.
  llvm::Expected<std::optional<Branch>> branchAt(const LaunchFact &fact);
  const LaunchText &launchOf(const LaunchFact &fact) const;

  /// After the kernel, or before the first function that launches it if it stands in a header.
  AnchorOrReason place() const;
  /// Whether \p fact, which launches the kernel, stands before its definition.
  bool standsBefore(const LaunchFact &fact) const;
  /// Declarations of what `definitions` defines, for launches that stand before it.
  std::string declarations() const;
  /// The kernel, and the functions that its launches call. Those of \p known are there already;
  /// nor is a function of \p helpers repeated. What the kernel includes is added to \p edits.
  llvm::Expected<std::string> definitions(Edits &edits, std::set<std::string> &known,
                                          SharedHelpers &helpers) const;

private:
  /// One launch that gets the choice.
  struct Choice {
    LaunchText launch;
    /// Neither proven nor refuted: what the kernel needs, and what makes it the better one.
    std::vector<const HostCondition *> open, preferred;
  };

  bool isTemplate() const { return nest.getHeader() && !nest.getHeader()->empty(); }
  std::string instanceName() const;
  std::string argumentDeclarations() const;
  std::string instanceTest(const LaunchText &launch) const;
  llvm::Error addIncludes(llvm::StringRef &definition, Edits &edits) const;

  std::string whyNot(const LaunchFact &fact) const;
  llvm::Error chooseLaunches();
  std::optional<bool> isKnown(const HostCondition &condition, const LaunchFact &launch) const;
  bool isTested(llvm::StringRef text, const LaunchFact &launch) const;
  std::string sort(const HostCondition &condition, const Choice &choice, LaunchAlgebra &algebra,
                   std::vector<const HostCondition *> &open) const;
  std::string choose(LaunchText launch);

  /// Adds \p definition to \p text unless it is one of \p known or the kernels of the program
  /// share it.
  llvm::Error addFunction(const std::string &definition, Edits &edits, std::set<std::string> &known,
                          std::string &text) const;
  static bool testsAllocations(const Choice &choice);
  /// Whether the test \p text of \p choice becomes a function.
  bool needsTest(const Choice &choice, llvm::StringRef text) const;
  /// Whether a function that tests stands beside this kernel.
  bool hasTest() const { return test.isNeeded() && !tester; }
  std::vector<std::string> testedKernels() const;
  llvm::Expected<std::string> conditionText(const Choice &choice) const;
  /// The launch of the kernel, and that of what is launched right after it.
  llvm::Expected<std::string> fastLaunch(const LaunchText &launch) const;
  llvm::Expected<std::string> fastLaunch(const LaunchText &launch,
                                         const GeneratedKernel &launched) const;

  const PassContext &context;
  const KernelView &kernel;
  mutable kb::KernelOp instance;
  mutable kb::NestOp nest;
  const GeneratedKernel &generated;
  const std::vector<ScheduledKernel::Later> &later;
  const std::string &memoryName;
  const clang::FunctionDecl *function;
  AllocationTest allocations;
  LaunchMemory launchMemory;
  std::vector<HostCondition> conditions, preferences;
  TestFunction test;
  Dispatcher *tester = nullptr;         ///< whose function tests for this kernel, too
  std::vector<std::string> testedNames; ///< further kernels for which this one's function tests
  std::vector<Choice> choices;
};

} // namespace kbopt

#endif // KBOPT_LIB_REWRITE_SCHEDULE_DISPATCHER_H
