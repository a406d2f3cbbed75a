//===- ProfileParts.h - What --profile is made of ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the parts of a profile that differ with where figures come from: the
// kernels with their times, metrics and lines. Advice is Profile.cpp's.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_LIB_DRIVER_PROFILEPARTS_H
#define KBOPT_LIB_DRIVER_PROFILEPARTS_H

#include "Session.h"
#include "kb-opt/Eval/CostModel.h"
#include "kb-opt/Knowledge/State.h"
#include "kb-opt/Report/ProfilePage.h"

namespace kbopt {

/// A kernel's page without state and advice.
struct ProfiledKernel {
  KernelPage page;
  std::string longest; ///< mangled; the instance that took most time
};

/// Files by mangled name of the kernels that they define.
using KernelFiles = std::map<std::string, std::string>;

/// Those of \p session's program where it has several files.
llvm::Expected<KernelFiles> kernelFilesOf(const Session &session);

/// A kernel of the source, or of another file of the program, which its name then tells.
struct NamedKernel {
  std::string name;
  std::vector<std::string> instances; ///< mangled
};
std::vector<NamedKernel> namedKernels(const ParsedProgram &program, const KernelFiles &files);

/// Counts of the CPU device and their model; times are modelled.
struct CountedProgram {
  RunResult run;
  ModelledPlan plan;
  KernelFiles files; ///< of a program of several files
};
llvm::Expected<CountedProgram> countProgram(Session &session);

/// Kernels of \p program by their modelled times, longest first.
std::vector<ProfiledKernel> modelledKernels(const Context &context, const ParsedProgram &program,
                                            const CountedProgram &counted);

/// Kernels by what \p profile measured, longest first; \p counted adds facts that no
/// counter gives, and may be null.
std::vector<ProfiledKernel> measuredKernels(const Context &context, const ParsedProgram &program,
                                            const GpuProfile &profile,
                                            const CountedProgram *counted,
                                            const KernelFiles &files);

/// Kernels of the original, longest first, with shares and all their lines. Where
/// figures come from, their sum and what is missing go into \p page.
llvm::Expected<std::vector<ProfiledKernel>>
profileOriginal(Session &session, const ParsedProgram &program, ProfilePage &page);
/// What the page says of \p kernel's state.
void addState(KernelPage &kernel, const State &state);

/// "grid (8, 8, 1), block (16, 16, 1)".
std::string launchText(const unsigned (&grid)[3], const unsigned (&block)[3]);

} // namespace kbopt

#endif // KBOPT_LIB_DRIVER_PROFILEPARTS_H
