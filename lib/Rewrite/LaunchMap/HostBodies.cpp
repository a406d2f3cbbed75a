//===- HostBodies.cpp -------------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "HostBodies.h"
#include "../Schedule/LaunchText.h"
#include "kb-opt/Rewrite/AstTools.h"
#include "kb-opt/Source/ProgramFacts.h"
#include "clang/AST/PrettyPrinter.h"
#include "clang/Lex/Lexer.h"

using namespace kbopt;
using namespace kbopt::hostmap;
using namespace clang;

static std::vector<const CUDAKernelCallExpr *> launchesIn(const Stmt *statement) {
  return ast::findAll<CUDAKernelCallExpr>(statement);
}

bool hostmap::hasLaunch(const Stmt *statement) { return !launchesIn(statement).empty(); }

/// The launch that \p statement is.
static const CUDAKernelCallExpr *asLaunch(const Stmt *statement) {
  const auto *expr = dyn_cast_or_null<Expr>(statement);
  return expr ? dyn_cast<CUDAKernelCallExpr>(ast::strip(expr)) : nullptr;
}

namespace {
/// Prints __LINE__ as it is written: the candidate has other lines.
class LineNames : public PrinterHelper {
public:
  explicit LineNames(const ParsedProgram &program) : program(program) {}
  bool handledStmt(Stmt *statement, llvm::raw_ostream &os) override {
    const SourceLocation at = statement->getBeginLoc();
    if (!isa<IntegerLiteral>(statement) || !at.isMacroID() ||
        Lexer::getImmediateMacroName(at, program.sources(), program.language()) != "__LINE__")
      return false;
    os << "__LINE__";
    return true;
  }

private:
  const ParsedProgram &program;
};
} // namespace

std::string HostBodies::textOf(const Stmt *statement, const ParsedProgram &program) const {
  std::string text;
  llvm::raw_string_ostream os(text);
  LineNames names(program);
  if (statement)
    statement->printPretty(os, &names, program.context().getPrintingPolicy());
  return text;
}

std::string HostBodies::whereText() const {
  return line ? " at line " + std::to_string(line) + " of the original" : "";
}

bool HostBodies::differ(const Stmt *before) {
  if (!line && before)
    line = lineColumn(original, before->getBeginLoc()).line;
  return false;
}

bool HostBodies::matchBodies() {
  if (!match(originalHost->getBody(), host->getBody()))
    return false;
  for (LaunchSite &site : sites) {
    site.changedNames = changedNames;
    for (LaunchSite::Part &part : site.parts)
      part.isChanged =
          part.launches.size() != 1 || part.replacement.size() != 1 ||
          textOf(part.launches.front(), original) != textOf(part.replacement.front(), candidate);
  }
  return true;
}

bool hostmap::namesAny(llvm::StringRef text, const std::set<std::string> &names) {
  auto isWord = [](char c) { return llvm::isAlnum(c) || c == '_'; };
  while (!names.empty() && !text.empty()) {
    const llvm::StringRef word = text.take_while(isWord);
    if (names.count(word.str()))
      return true;
    text = text.drop_front(word.size()).drop_until(isWord);
  }
  return false;
}

void HostBodies::addSite(const CUDAKernelCallExpr *launch, const Stmt *replacement) {
  sites.push_back({originalHost, host, {{{launch}, {replacement}}}});
}

void HostBodies::addPart(std::optional<size_t> &site, Launches launches,
                         std::vector<const Stmt *> replacement) {
  if (!site) {
    site = sites.size();
    sites.push_back({originalHost, host, {}});
  }
  sites[*site].parts.push_back({std::move(launches), std::move(replacement)});
}

bool HostBodies::match(const Stmt *before, const Stmt *after) {
  if (!before || !after)
    return !before && !after ? true : differ(before);
  if (const CUDAKernelCallExpr *launch = asLaunch(before)) {
    addSite(launch, after);
    return true;
  }
  if (!hasLaunch(before))
    return (textOf(before, original) == textOf(after, candidate) &&
            !namesAny(textOf(before, original), changedNames)) ||
           differ(before);
  if (before->getStmtClass() != after->getStmtClass())
    return differ(before);
  if (const auto *list = dyn_cast<CompoundStmt>(before)) {
    const auto *other = cast<CompoundStmt>(after);
    return matchLists({list->body_begin(), list->size()}, {other->body_begin(), other->size()});
  }
  return matchParts(before, after);
}

/// Statements that hold others: each part matches that of the other one.
bool HostBodies::matchParts(const Stmt *before, const Stmt *after) {
  auto all = [&](llvm::ArrayRef<std::pair<const Stmt *, const Stmt *>> parts) {
    return llvm::all_of(parts, [&](const auto &part) {
      return (!part.first || !hasLaunch(part.first) || !isa<DeclStmt>(part.first)) &&
             match(part.first, part.second);
    });
  };
  if (const auto *a = dyn_cast<IfStmt>(before)) {
    const auto *b = cast<IfStmt>(after);
    if (a->getConditionVariable() || b->getConditionVariable() ||
        a->isConstexpr() != b->isConstexpr())
      return differ(before);
    return all({{a->getInit(), b->getInit()},
                {a->getCond(), b->getCond()},
                {a->getThen(), b->getThen()},
                {a->getElse(), b->getElse()}});
  }
  if (const auto *a = dyn_cast<ForStmt>(before)) {
    const auto *b = cast<ForStmt>(after);
    if (a->getConditionVariable() || b->getConditionVariable())
      return differ(before);
    return all({{a->getInit(), b->getInit()},
                {a->getCond(), b->getCond()},
                {a->getInc(), b->getInc()},
                {a->getBody(), b->getBody()}});
  }
  if (const auto *a = dyn_cast<CXXForRangeStmt>(before)) {
    const auto *b = cast<CXXForRangeStmt>(after);
    return all({{a->getInit(), b->getInit()},
                {a->getRangeStmt(), b->getRangeStmt()},
                {a->getLoopVarStmt(), b->getLoopVarStmt()},
                {a->getBody(), b->getBody()}});
  }
  if (const auto *a = dyn_cast<WhileStmt>(before)) {
    const auto *b = cast<WhileStmt>(after);
    if (a->getConditionVariable() || b->getConditionVariable())
      return differ(before);
    return all({{a->getCond(), b->getCond()}, {a->getBody(), b->getBody()}});
  }
  if (const auto *a = dyn_cast<DoStmt>(before)) {
    const auto *b = cast<DoStmt>(after);
    return all({{a->getCond(), b->getCond()}, {a->getBody(), b->getBody()}});
  }
  if (const auto *a = dyn_cast<SwitchStmt>(before)) {
    const auto *b = cast<SwitchStmt>(after);
    if (a->getConditionVariable() || b->getConditionVariable())
      return differ(before);
    return all(
        {{a->getInit(), b->getInit()}, {a->getCond(), b->getCond()}, {a->getBody(), b->getBody()}});
  }
  if (const auto *a = dyn_cast<CaseStmt>(before)) {
    const auto *b = cast<CaseStmt>(after);
    return all({{a->getLHS(), b->getLHS()},
                {a->getRHS(), b->getRHS()},
                {a->getSubStmt(), b->getSubStmt()}});
  }
  if (const auto *a = dyn_cast<DefaultStmt>(before))
    return match(a->getSubStmt(), cast<DefaultStmt>(after)->getSubStmt());
  if (const auto *a = dyn_cast<AttributedStmt>(before))
    return match(a->getSubStmt(), cast<AttributedStmt>(after)->getSubStmt());
  return matchExpressions(before, after);
}

/// Launches inside of anything else match where the texts around them are the same.
bool HostBodies::matchExpressions(const Stmt *before, const Stmt *after) {
  const Launches launches = launchesIn(before), others = launchesIn(after);
  if (launches.size() != others.size() || textOf(before, original) != textOf(after, candidate) ||
      namesAny(textOf(before, original), changedNames))
    return differ(before);
  for (auto [launch, other] : llvm::zip_equal(launches, others))
    addSite(launch, other);
  return true;
}

bool HostBodies::matchWithoutTrace(const Stmt *before, const Stmt *after) {
  const size_t known = sites.size();
  const unsigned knownLine = line;
  const std::set<std::string> knownNames = changedNames;
  if (match(before, after))
    return true;
  sites.erase(sites.begin() + static_cast<ptrdiff_t>(known), sites.end());
  changedNames = knownNames;
  line = knownLine;
  return false;
}

/// Takes declarations that the other list does not have out of \p before and \p after, where their
/// variables have one value: a grid that is computed otherwise. What uses them must be a launch.
void HostBodies::dropChangedDeclarations(std::vector<const Stmt *> &before,
                                         std::vector<const Stmt *> &after) {
  auto fixedTexts = [&](const std::vector<const Stmt *> &list, const ParsedProgram &program,
                        const FunctionDecl *function) {
    std::map<const Stmt *, std::string> texts;
    for (const Stmt *each : list)
      if (const auto *declarations = dyn_cast<DeclStmt>(each))
        if (llvm::all_of(declarations->decls(), [&](const Decl *declaration) {
              const auto *variable = dyn_cast<VarDecl>(declaration);
              return variable && variable->hasInit() && facts.isFixed(variable, function);
            }))
          texts[each] = textOf(each, program);
    return texts;
  };
  const auto texts = fixedTexts(before, original, originalHost),
             others = fixedTexts(after, candidate, host);
  auto drop = [&](std::vector<const Stmt *> &list, const auto &own, const auto &other) {
    const size_t count = list.size();
    llvm::erase_if(list, [&](const Stmt *each) {
      auto found = own.find(each);
      if (found == own.end() ||
          (!namesAny(found->second, changedNames) &&
           llvm::any_of(other, [&](const auto &its) { return its.second == found->second; })))
        return false;
      for (const Decl *declaration : cast<DeclStmt>(each)->decls())
        changedNames.insert(cast<VarDecl>(declaration)->getNameAsString());
      return true;
    });
    return list.size() != count;
  };
  // Those that are computed from changed ones change with them.
  for (bool isChanged = true; isChanged;) {
    isChanged = drop(before, texts, others);
    isChanged |= drop(after, others, texts);
  }
}

/// Whether a launch in front of \p statement may as well stand behind it: it changes no variable
/// and asks nothing of the device.
static bool isQuiet(const Stmt *statement) {
  auto isQuietExpr = [](const Expr *expr) {
    const auto *call = expr ? dyn_cast<CallExpr>(ast::strip(expr)) : nullptr;
    return !expr || isRepeatable(expr) ||
           (call && ast::callsAny(call, {"cudaGetLastError", "cudaPeekAtLastError"}) &&
            !call->getNumArgs());
  };
  if (const auto *declarations = dyn_cast<DeclStmt>(statement))
    return llvm::all_of(declarations->decls(), [&](const Decl *each) {
      const auto *variable = dyn_cast<VarDecl>(each);
      return variable && isQuietExpr(variable->getInit());
    });
  return isa<Expr>(statement) && isQuietExpr(cast<Expr>(statement));
}

/// What stands between two statements that both lists have takes the place of the launches between
/// them, or stands beside a launch that both have.
bool HostBodies::matchLists(Statements allBefore, Statements allAfter) {
  std::vector<const Stmt *> before = allBefore.vec(), after = allAfter.vec();
  dropChangedDeclarations(before, after);
  Launches launches;          ///< that have found no match so far
  std::optional<size_t> site; ///< of the launches that end in front of the next statement
  size_t next = 0;
  for (const Stmt *each : before) {
    const CUDAKernelCallExpr *launch = asLaunch(each);
    const std::string text = launch ? textOf(each, original) : "";
    size_t found = next;
    while (found < after.size() && (launch ? textOf(after[found], candidate) != text
                                           : !matchWithoutTrace(each, after[found])))
      ++found;
    if (found == after.size()) {
      if (!launch)
        return differ(each);
      launches.push_back(launch);
      continue;
    }
    std::vector<const Stmt *> between(after.begin() + next, after.begin() + found);
    next = found + 1;
    if (!launches.empty() && between.empty() && !launch && isQuiet(each))
      continue; // the launches have moved behind it
    if (!launches.empty()) {
      replace(site, launches, between);
      between.clear();
      launches.clear();
    }
    if (launch) {
      between.push_back(after[found]);
      addPart(site, {launch}, std::move(between));
      continue;
    }
    if (site)
      llvm::append_range(sites[*site].parts.back().replacement, between);
    else if (!between.empty())
      return differ(each);
    site = std::nullopt;
  }
  const std::vector<const Stmt *> rest(after.begin() + next, after.end());
  if (!launches.empty())
    replace(site, launches, rest);
  else if (site)
    llvm::append_range(sites[*site].parts.back().replacement, rest);
  else if (!rest.empty())
    return differ(before.empty() ? nullptr : before.back());
  return true;
}

/// One part for each launch where each has a statement of its own, and else one for all.
void HostBodies::replace(std::optional<size_t> &site, const Launches &launches,
                         Statements replacement) {
  bool isEach = launches.size() == replacement.size();
  for (size_t i = 0; isEach && i < launches.size(); ++i)
    isEach =
        llvm::StringRef(textOf(replacement[i], candidate)).contains(textOf(launches[i], original));
  if (!isEach)
    return addPart(site, launches, replacement.vec());
  for (size_t i = 0; i < launches.size(); ++i)
    addPart(site, {launches[i]}, {replacement[i]});
}
