//===- LaunchSites.h - Where two hosts launch -------------------*- C++ -*-===//
//
// Owns the comparison of the hosts of an original and a candidate: that they differ in nothing but
// what stands in the place of launches, and which statements stand where.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_LIB_REWRITE_LAUNCHMAP_LAUNCHSITES_H
#define KBOPT_LIB_REWRITE_LAUNCHMAP_LAUNCHSITES_H

#include "kb-opt/Source/ParsedProgram.h"
#include "clang/AST/ExprCXX.h"
#include "clang/AST/StmtCXX.h"

namespace kbopt::hostmap {

/// Launches of the original that follow each other, and what the candidate has in their place.
struct LaunchSite {
  const clang::FunctionDecl *host; ///< of the candidate
  std::vector<const clang::CUDAKernelCallExpr *> launches;
  std::vector<const clang::Stmt *> replacement;
};

struct LaunchSites {
  std::vector<LaunchSite> sites;
  /// Why the sites do not tell how the candidate launches; empty if they do.
  std::string obstacle;
  /// Whether the candidate alone has functions that are called lie_in_different_allocations….
  bool hasAllocationTest = false;
};

LaunchSites findLaunchSites(const ParsedProgram &original, const ParsedProgram &candidate);

} // namespace kbopt::hostmap

#endif // KBOPT_LIB_REWRITE_LAUNCHMAP_LAUNCHSITES_H
