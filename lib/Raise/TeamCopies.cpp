//===- TeamCopies.cpp - Scalars that only hand on another ---------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the removal of copies that undoing a team's cooperation leaves: `sum_2 = sum` where sum
// does not change before sum_2 is used last.
//
//===----------------------------------------------------------------------===//
#include "NestScalars.h"
#include "TeamText.h"
#include "Teams.h"

namespace kbopt::raise {
namespace {

using Body = std::vector<Statement>;

bool changes(Statement &each, llvm::StringRef name) {
  bool isChange = each.kind == Statement::Assign || each.kind == Statement::Combine ||
                  each.kind == Statement::Let;
  if (isChange && each.name == name)
    return true;
  return llvm::any_of(each.body, [&](Statement &inner) { return changes(inner, name); });
}

bool uses(Statement &each, llvm::StringRef name) {
  bool found = each.kind == Statement::Combine && each.name == name;
  forEachText(each, [&](Text &text) { found |= mentions(text.text, name); });
  return found || llvm::any_of(each.body, [&](Statement &inner) { return uses(inner, name); });
}

/// Whether the copy of \p from that \p body[at] makes can be dropped.
bool isRedundant(Body &body, size_t at, const std::string &from) {
  const std::string &name = body[at].name;
  bool isStale = false;
  for (size_t i = at + 1; i < body.size(); ++i) {
    Statement &each = body[i];
    bool isBack =
        each.kind == Statement::Assign && each.name == from && bare(each.value.text) == name;
    if (changes(each, name) || (uses(each, name) && (isStale || (changes(each, from) && !isBack))))
      return false;
    isStale |= changes(each, from) && !isBack;
  }
  return true;
}

void dropCopies(Body &body, llvm::StringMap<std::string> &types) {
  for (Statement &each : body)
    if (each.kind == Statement::Let)
      types[each.name] = each.type;
  for (size_t i = 0; i < body.size();) {
    Statement &each = body[i];
    std::string from = bare(each.value.text).str();
    bool isCopy = each.kind == Statement::Let && each.value.isPlain() && isName(from) &&
                  !each.symbol && types.lookup(from) == each.type;
    if (isCopy && isRedundant(body, i, from)) {
      std::string name = each.name;
      body.erase(body.begin() + i);
      for (size_t j = i; j < body.size(); ++j) {
        std::vector<Statement> single;
        single.push_back(std::move(body[j]));
        renameIn(single, name, from);
        body[j] = std::move(single[0]);
      }
      continue;
    }
    if (each.kind == Statement::Assign && each.value.isPlain() && from == each.name) {
      body.erase(body.begin() + i);
      continue;
    }
    dropCopies(each.body, types);
    ++i;
  }
}

} // namespace

void dropCopies(ThreadProgram &program) {
  llvm::StringMap<std::string> types;
  dropCopies(program.body, types);
}

} // namespace kbopt::raise
