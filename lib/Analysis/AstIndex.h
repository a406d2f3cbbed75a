//===- AstIndex.h - AST nodes by where debug locations point ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns finding the AST node that an instruction was generated from, by function,
// line and column. Private to the library.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_LIB_ANALYSIS_ASTINDEX_H
#define KBOPT_LIB_ANALYSIS_ASTINDEX_H

#include "kb-opt/Source/ProgramFacts.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringMap.h"
#include <map>
#include <vector>

namespace kbopt::analysis {

/// The nodes of one function body. Keys are those that clang gives to the
/// debug location of the instruction.
struct BodyIndex {
  using Place = std::pair<unsigned, unsigned>; ///< line, column

  const clang::FunctionDecl *function = nullptr;
  std::multimap<Place, const clang::Expr *> loads;  ///< the lvalue that is read
  std::multimap<Place, const clang::Expr *> stores; ///< the lvalue that is written
  std::multimap<Place, const clang::Expr *> calls;
  std::multimap<Place, const clang::Stmt *> loops;    ///< by the statement's begin
  std::multimap<Place, const clang::Stmt *> branches; ///< by any part of the condition
  std::vector<const clang::VarDecl *> sharedVariables;
};

/// The first entry of \p map at \p place; null if none.
template <typename Node>
const Node *lookup(const std::multimap<BodyIndex::Place, const Node *> &map,
                   BodyIndex::Place place) {
  auto it = map.find(place);
  return it == map.end() ? nullptr : it->second;
}

/// Indexes kernels and the device functions they reach, system headers
/// excepted, as they are asked for.
class AstIndex {
public:
  explicit AstIndex(const ParsedProgram &program);

  /// Adds \p kernel and what it calls.
  void add(const clang::FunctionDecl *kernel);
  /// By mangled name; null if the function is in a system header or unknown.
  const BodyIndex *body(llvm::StringRef mangledName) const;
  /// The shared variable of \p mangledName (`_ZZ…E4tile`, or a plain name); null if unknown.
  const clang::VarDecl *sharedVariable(llvm::StringRef mangledName) const;

private:
  const ParsedProgram &program;
  std::map<const clang::FunctionDecl *, std::unique_ptr<BodyIndex>> bodies;
  llvm::StringMap<const BodyIndex *> byName;
  llvm::StringMap<const clang::VarDecl *> shared;
};

} // namespace kbopt::analysis

#endif // KBOPT_LIB_ANALYSIS_ASTINDEX_H
