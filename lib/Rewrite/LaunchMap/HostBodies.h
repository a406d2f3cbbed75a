//===- HostBodies.h - Two bodies of one host function -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
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

/// Whether one of \p names is a word of \p text.
bool namesAny(llvm::StringRef text, const std::set<std::string> &names);

class HostBodies {
public:
  /// \p originalHost and \p host are the function in \p original and \p candidate, which do not
  /// agree on the constants \p changedNames.
  HostBodies(const ParsedProgram &original, const ParsedProgram &candidate,
             const clang::FunctionDecl *originalHost, const clang::FunctionDecl *host,
             ExprFacts &facts, std::set<std::string> changedNames)
      : original(original), candidate(candidate), originalHost(originalHost), host(host),
        facts(facts), changedNames(std::move(changedNames)) {}

  /// Finds the sites; false if the bodies differ in more than launches and declarations of
  /// variables that only launches use.
  bool matchBodies();
  /// " at line 12 of the original" or empty: the place of the first difference.
  std::string whereText() const;

  std::vector<LaunchSite> sites;

private:
  using Launches = std::vector<const clang::CUDAKernelCallExpr *>;
  using Statements = llvm::ArrayRef<const clang::Stmt *>;

  bool match(const clang::Stmt *before, const clang::Stmt *after);
  bool matchLists(Statements before, Statements after);
  void dropChangedDeclarations(std::vector<const clang::Stmt *> &before,
                               std::vector<const clang::Stmt *> &after);
  bool matchParts(const clang::Stmt *before, const clang::Stmt *after);
  bool matchExpressions(const clang::Stmt *before, const clang::Stmt *after);
  bool matchWithoutTrace(const clang::Stmt *before, const clang::Stmt *after);
  void addSite(const clang::CUDAKernelCallExpr *launch, const clang::Stmt *replacement);
  /// A part of sites[*site], or of a new one whose index \p site receives.
  void addPart(std::optional<size_t> &site, Launches launches,
               std::vector<const clang::Stmt *> replacement);
  void replace(std::optional<size_t> &site, const Launches &launches, Statements replacement);
  bool differ(const clang::Stmt *before);
  std::string textOf(const clang::Stmt *statement, const ParsedProgram &program) const;

  const ParsedProgram &original, &candidate;
  const clang::FunctionDecl *originalHost, *host;
  ExprFacts &facts;
  std::set<std::string> changedNames;
  unsigned line = 0;
};

} // namespace kbopt::hostmap

#endif // KBOPT_LIB_REWRITE_LAUNCHMAP_HOSTBODIES_H
