//===- HostBodies.h - Two bodies of one host function -----------*- C++ -*-===//
//
// Owns the walk through the body of a function in the original and in the candidate, which finds
// what stands in the place of each launch.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_LIB_REWRITE_LAUNCHMAP_HOSTBODIES_H
#define KBOPT_LIB_REWRITE_LAUNCHMAP_HOSTBODIES_H

#include "LaunchSites.h"

namespace kbopt::hostmap {

/// Whether a launch stands in \p statement, which may be null.
bool hasLaunch(const clang::Stmt *statement);

class HostBodies {
public:
  /// \p host is the function in \p candidate.
  HostBodies(const ParsedProgram &original, const ParsedProgram &candidate,
             const clang::FunctionDecl *host)
      : original(original), candidate(candidate), host(host) {}

  /// Adds the sites of \p before and \p after; false if these differ in more.
  bool match(const clang::Stmt *before, const clang::Stmt *after);
  /// " at line 12 of the original" or empty: the place of the first difference.
  std::string whereText() const;

  std::vector<LaunchSite> sites;

private:
  using Launches = std::vector<const clang::CUDAKernelCallExpr *>;
  using Statements = llvm::ArrayRef<const clang::Stmt *>;

  bool matchLists(Statements before, Statements after);
  bool matchParts(const clang::Stmt *before, const clang::Stmt *after);
  bool matchExpressions(const clang::Stmt *before, const clang::Stmt *after);
  bool matchWithoutTrace(const clang::Stmt *before, const clang::Stmt *after);
  bool replace(const Launches &launches, Statements replacement);
  bool differ(const clang::Stmt *before);
  std::string textOf(const clang::Stmt *statement, const ParsedProgram &program) const;

  const ParsedProgram &original, &candidate;
  const clang::FunctionDecl *host;
  unsigned line = 0;
};

} // namespace kbopt::hostmap

#endif // KBOPT_LIB_REWRITE_LAUNCHMAP_HOSTBODIES_H
