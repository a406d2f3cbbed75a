//===- HostBodies.cpp -------------------------------------------------------===//
#include "HostBodies.h"
#include "kb-opt/Rewrite/AstTools.h"
#include "kb-opt/Source/ProgramFacts.h"

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

std::string HostBodies::textOf(const Stmt *statement, const ParsedProgram &program) const {
  std::string text;
  llvm::raw_string_ostream os(text);
  if (statement)
    statement->printPretty(os, nullptr, program.context().getPrintingPolicy());
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

bool HostBodies::match(const Stmt *before, const Stmt *after) {
  if (!before || !after)
    return !before && !after ? true : differ(before);
  if (const CUDAKernelCallExpr *launch = asLaunch(before)) {
    sites.push_back({host, {launch}, {after}});
    return true;
  }
  if (!hasLaunch(before))
    return textOf(before, original) == textOf(after, candidate) || differ(before);
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
  return matchExpressions(before, after);
}

/// Launches inside of anything else match where the texts around them are the same.
bool HostBodies::matchExpressions(const Stmt *before, const Stmt *after) {
  const Launches launches = launchesIn(before), others = launchesIn(after);
  if (launches.size() != others.size() || textOf(before, original) != textOf(after, candidate))
    return differ(before);
  for (auto [launch, other] : llvm::zip_equal(launches, others))
    sites.push_back({host, {launch}, {other}});
  return true;
}

bool HostBodies::matchWithoutTrace(const Stmt *before, const Stmt *after) {
  const size_t known = sites.size();
  const unsigned knownLine = line;
  if (match(before, after))
    return true;
  sites.resize(known, LaunchSite{host, {}, {}});
  line = line && !knownLine ? knownLine : line;
  return false;
}

/// What stands between two statements that both lists have takes the place of the launches between
/// them.
bool HostBodies::matchLists(Statements before, Statements after) {
  Launches launches;
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
    // A match adds the sites in it after those in front of it, which their order does not show.
    if (!replace(launches, after.slice(next, found - next)))
      return differ(each);
    if (launch)
      sites.push_back({host, {launch}, {after[found]}});
    launches.clear();
    next = found + 1;
  }
  return replace(launches, after.drop_front(next)) ||
         differ(before.empty() ? nullptr : before.back());
}

/// One site for each launch where each has a statement of its own, and else one for all.
bool HostBodies::replace(const Launches &launches, Statements replacement) {
  if (launches.empty())
    return llvm::all_of(replacement, [&](const Stmt *each) {
      // A declaration that does nothing; whether anybody uses it is seen where that is evaluated.
      return isa<DeclStmt>(each) && launchesIn(each).empty() &&
             ast::findAll<CallExpr>(each).empty();
    });
  bool isEach = launches.size() == replacement.size();
  for (size_t i = 0; isEach && i < launches.size(); ++i)
    isEach = llvm::StringRef(textOf(replacement[i], candidate))
                 .contains(llvm::StringRef(textOf(launches[i], original)).rtrim(";\n"));
  if (!isEach) {
    sites.push_back({host, launches, replacement.vec()});
    return true;
  }
  for (size_t i = 0; i < launches.size(); ++i)
    sites.push_back({host, {launches[i]}, {replacement[i]}});
  return true;
}
