//===- LaunchSites.h - Where two hosts launch -------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the comparison of the hosts of an original and a candidate: that they differ in nothing but
// what stands in the place of launches, and which statements stand where.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_LIB_REWRITE_LAUNCHMAP_LAUNCHSITES_H
#define KBOPT_LIB_REWRITE_LAUNCHMAP_LAUNCHSITES_H

#include "RecordedValues.h"
#include "kb-opt/Source/ParsedProgram.h"
#include "clang/AST/StmtCXX.h"
#include <set>

namespace kbopt::hostmap {

/// Launches of the original that follow each other, and what the candidate has in their place.
struct LaunchSite {
  const clang::FunctionDecl *originalHost, *host; ///< around it in the original and the candidate
  struct Part {
    std::vector<const clang::CUDAKernelCallExpr *> launches;
    std::vector<const clang::Stmt *> replacement; ///< of all of them
    bool isChanged = false; ///< the replacement is not the launch as it is written in the original
  };
  std::vector<Part> parts;
  /// Variables of the function whose declarations are not alike: in the candidate they have other
  /// values than in the original.
  std::set<std::string> changedNames = {};
};

/// Functions of AllocationTest.h and LaunchMemory.h, which are known without their bodies.
struct AddedFunctions {
  bool allocationTest = false, launchMemory = false;
};

struct LaunchSites {
  std::vector<LaunchSite> sites;
  /// Why the sites do not tell how the candidate launches; empty if they do.
  std::string obstacle;
  /// What the passes add for launches to call, where the candidate alone has functions of these
  /// names.
  AddedFunctions added;
};

LaunchSites findLaunchSites(const ParsedProgram &original, const ParsedProgram &candidate,
                            ExprFacts &facts);

} // namespace kbopt::hostmap

#endif // KBOPT_LIB_REWRITE_LAUNCHMAP_LAUNCHSITES_H
