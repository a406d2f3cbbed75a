//===- TestFunction.h - What a launch tests ---------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns how the conditions of a new kernel are written at a launch: as one expression, or as a call
// of a function `can_use_…` that stands beside the kernel.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_LIB_REWRITE_SCHEDULE_TESTFUNCTION_H
#define KBOPT_LIB_REWRITE_SCHEDULE_TESTFUNCTION_H

#include "Conditions.h"
#include "LaunchText.h"

namespace kbopt {

/// \p condition as a part of &&.
std::string asPart(llvm::StringRef condition);

/// \p open as one C++ condition over the kernel's names.
std::string joinConditions(llvm::ArrayRef<const HostCondition *> open,
                           llvm::StringRef with = " && ");

/// The function that tests, for all launches of a kernel, what is open at some of them.
class TestFunction {
public:
  /// \p function is the instance of \p kernel that runs.
  TestFunction(const PassContext &context, const KernelView &kernel,
               const clang::FunctionDecl *function)
      : context(context), kernel(kernel), function(function) {}

  void add(llvm::ArrayRef<const HostCondition *> conditions);
  bool isNeeded() const { return !tested.empty(); }
  /// Whether both test the same.
  bool operator==(const TestFunction &other) const;
  /// The function for the new kernel \p name.
  std::string nameFor(llvm::StringRef name) const;
  /// Its text, where it tests for \p names, of which the first names it. \p launch is any launch of
  /// the kernel.
  std::string definition(llvm::ArrayRef<std::string> names, const LaunchText &launch) const;
  /// What declares the function of the kernel \p name, without a semicolon.
  std::string declaration(llvm::StringRef name, const LaunchText &launch) const;
  /// The call at \p launch.
  llvm::Expected<std::string> call(llvm::StringRef name, const LaunchText &launch) const;

private:
  llvm::SmallVector<llvm::StringRef> parameters(const LaunchText &launch) const;
  static std::string localName(llvm::StringRef name);
  std::string withArguments(llvm::StringRef text) const;
  std::string parameterText(const clang::ParmVarDecl *parameter) const;

  const PassContext &context;
  const KernelView &kernel;
  const clang::FunctionDecl *function;
  std::vector<const HostCondition *> tested;
};

} // namespace kbopt

#endif // KBOPT_LIB_REWRITE_SCHEDULE_TESTFUNCTION_H
