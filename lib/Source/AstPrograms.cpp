//===- AstPrograms.cpp - The program that an AST is of --------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "kb-opt/Source/AstPrograms.h"
#include "llvm/ADT/DenseMap.h"

using namespace kbopt;

namespace {
/// The ASTs of all programs that are parsed now, by address.
struct Table {
  std::mutex lock;
  llvm::DenseMap<const clang::ASTContext *, const ParsedProgram *> programs;
};
} // namespace

static Table &table() {
  static Table all;
  return all;
}

const ParsedProgram *kbopt::programOf(const clang::ASTContext &ast) {
  std::lock_guard held(table().lock);
  return table().programs.lookup(&ast);
}

void kbopt::rememberProgram(const clang::ASTContext &ast, const ParsedProgram &program) {
  std::lock_guard held(table().lock);
  table().programs[&ast] = &program;
}

void kbopt::forgetProgram(const clang::ASTContext &ast) {
  std::lock_guard held(table().lock);
  table().programs.erase(&ast);
}
