//===- LaunchedNest.h - What one or several launches compute ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns a copy of a raised kernel in which nothing but parameters is left of its launch, each with
// the value that the host passes, and what the launch has to show. Several of them can become one
// (FuseNests.h).
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_LIB_REWRITE_SCHEDULE_LAUNCHEDNEST_H
#define KBOPT_LIB_REWRITE_SCHEDULE_LAUNCHEDNEST_H

#include "Conditions.h"
#include "LaunchText.h"

namespace kbopt {

/// A parameter of a kernel that is to be written, and what is passed for it.
struct PassedParameter {
  kb::ParamAttr parameter;
  LaunchText::Meaning meaning; ///< at the launch
};

/// Valid as long as the program.
struct LaunchedNest {
  mlir::OwningOpRef<mlir::ModuleOp> module;
  kb::NestOp nest;
  std::vector<PassedParameter> parameters;
  /// The launches that it computes, in their order.
  std::vector<LaunchText> launches;
  /// The same as statements.
  std::vector<std::string> statements;
  /// What the raised forms require to be >= 0; the launch tests it on its own.
  std::vector<kb::ExprAttr> requirements;
  /// What is not proven and must hold, over the names of the host.
  std::vector<std::string> open;

  LaunchedNest clone() const;
  kb::KernelOp kernel() const;
  const PassedParameter *find(llvm::StringRef name) const;
  /// Gives the operands the numbers of their parameters.
  void renumber();
  /// From here on \p variable, of the host, has another value: what mentions it says \p saved.
  void renameVariable(const clang::VarDecl *variable, llvm::StringRef saved);
  /// Removes parameters that the nest does not use.
  void dropUnused();
  /// The last launch with the meanings of this nest's parameters.
  LaunchText launchText() const;

  /// The launch of \p generated, a kernel of this nest, as a statement. With a fallback beside it,
  /// what it passes is written twice. An error is the reason why it cannot be written.
  llvm::Expected<std::string> launchOf(const GeneratedKernel &generated, bool hasFallback) const;

  /// What \p fact computes. An error is a reason: it is not raised, something of it cannot be
  /// written elsewhere, it does not stand in braces where it \p mustBeInList.
  static llvm::Expected<LaunchedNest> create(const PassContext &context, const KernelView &kernel,
                                             const LaunchFact &fact, bool mustBeInList = true);
  /// An empty program with a kernel for a nest over \p parameters.
  static LaunchedNest create(mlir::MLIRContext *context, std::vector<PassedParameter> parameters,
                             llvm::ArrayRef<mlir::Attribute> dims);
};

/// Tests \p conditions at \p launch. What neither it nor the arguments prove is added to \p open,
/// as text of the host. An error: one of them does not hold, or cannot be written.
llvm::Error addOpenConditions(const PassContext &context, const LaunchText &launch,
                              llvm::ArrayRef<PassedParameter> parameters,
                              llvm::ArrayRef<HostCondition> conditions,
                              std::vector<std::string> &open);

/// All of \p conditions, as one.
std::string allOf(llvm::ArrayRef<std::string> conditions);

/// \p fast where all of \p open hold, \p original elsewhere; statements, of which \p original ends
/// with a line.
std::string whereAllHold(llvm::ArrayRef<std::string> open, llvm::StringRef fast,
                         llvm::StringRef original);

} // namespace kbopt

#endif // KBOPT_LIB_REWRITE_SCHEDULE_LAUNCHEDNEST_H
