//===- LaunchLoop.cpp - Loops of the host around a launch -------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "LaunchLoop.h"
#include "DirectiveGuard.h"
#include "LaunchOrder.h"
#include "LaunchText.h"
#include "clang/AST/ParentMapContext.h"
#include "llvm/ADT/StringSet.h"

using namespace kbopt;
using namespace clang;
using llvm::StringRef;

static const Stmt *parentOf(const PassContext &context, const Stmt *statement) {
  for (const DynTypedNode &parent :
       context.parsed().context().getParentMapContext().getParents(*statement))
    if (const auto *outer = parent.get<Stmt>())
      return outer;
  return nullptr;
}

/// Whether \p statement is the `do { ... } while (0)` of a macro.
static bool runsOnce(const PassContext &context, const Stmt *statement) {
  const auto *loop = dyn_cast<DoStmt>(statement);
  return loop && statement->getBeginLoc().isMacroID() &&
         ast::constantOf(loop->getCond(), context.parsed().context()) == 0;
}

const ForStmt *kbopt::loopAround(const PassContext &context, const Stmt *launch) {
  const Stmt *at = launch;
  while (const Stmt *outer = parentOf(context, at)) {
    if (const auto *loop = dyn_cast<ForStmt>(outer))
      return loop->getBody() == at ? loop : nullptr;
    if (!isa<CompoundStmt, ExprWithCleanups>(outer) && !runsOnce(context, outer))
      return nullptr;
    at = outer;
  }
  return nullptr;
}

/// Whether \p statement prints something however its checks turn out.
static bool printsAlways(const Stmt *statement, unsigned depth = 0) {
  bool prints = false;
  static const llvm::StringSet<> printers = {"printf", "fprintf", "perror"};
  llvm::SmallVector<const Stmt *> work{statement};
  while (!prints && !work.empty())
    ast::walk(work.pop_back_val(), [&](const Stmt *each) {
      const Expr *condition = nullptr;
      if (const auto *branch = dyn_cast<IfStmt>(each))
        condition = branch->getCond();
      else if (const auto *either = dyn_cast<ConditionalOperator>(each))
        condition = either->getCond();
      if (condition) {
        work.push_back(condition);
        return false;
      }
      if (const auto *call = dyn_cast<CallExpr>(each))
        if (const FunctionDecl *function = call->getDirectCallee()) {
          const FunctionDecl *definition = nullptr;
          prints |=
              (function->getDeclName().isIdentifier() && printers.contains(function->getName())) ||
              (function->isOverloadedOperator() && function->isInStdNamespace()) ||
              (depth < 3 && function->hasBody(definition) &&
               printsAlways(definition->getBody(), depth + 1));
        }
      return true;
    });
  return prints;
}

namespace {

/// Reads one loop of which \p core, the launch or a loop inside, is all that matters.
class LoopReader {
public:
  LoopReader(const PassContext &context, const LaunchFact &fact, const ForStmt *loop,
             const Stmt *core)
      : context(context), fact(fact), loop(loop), core(core) {}

  llvm::Expected<LaunchLoop> run() {
    std::optional<ast::CountedLoop> counted = ast::countedLoop(loop);
    if (!counted)
      return refuse("is no 'for (int i = begin; i < end; ++i)'");
    bool isByOne =
        !counted->step || ast::constantOf(counted->step, context.parsed().context()) == 1;
    if (!isByOne || !isRepeatable(counted->begin) || !isRepeatable(counted->end))
      return refuse("does not count up one by one");
    // `-1 < 5u` is false.
    std::optional<int64_t> begin = ast::constantOf(counted->begin, context.parsed().context());
    if (!counted->end->getType()->isSignedIntegerOrEnumerationType() && !(begin && *begin >= 0))
      return refuse("compares its variable without a sign, and may begin below 0");
    StringRef text = writtenText(context, loop->getSourceRange());
    if (text.empty())
      return refuse("comes from a macro");
    std::optional<std::string> guard = directiveGuard(text, offsetOf(fact.call) - offsetOf(loop));
    if (!guard)
      return refuse("contains directives of the preprocessor that are not around the launch alone");
    LaunchLoop result{*counted, "", *guard};
    const auto *list = dyn_cast<CompoundStmt>(loop->getBody());
    bool isAfter = false;
    std::vector<const VarDecl *> assigned, declared;
    std::vector<const Stmt *> body;
    addStatements(loop->getBody(), body);
    for (const Stmt *each : body) {
      if (isCore(each)) {
        isAfter = true;
        continue;
      }
      if (std::string why = whyNotBeside(each, counted->variable, assigned); !why.empty())
        return refuse(why);
      if (!isAfter)
        declared = declarationsOf(each, std::move(declared));
      else if (llvm::any_of(declared,
                            [&](const VarDecl *variable) { return ast::mentions(each, variable); }))
        return refuse("checks a variable after the launch that it declares before");
    }
    if (!assigned.empty())
      return refuse("gives '" + assigned.front()->getName().str() +
                    "' a value, which may carry something to the next launch");
    if (fact.call->getBeginLoc().isMacroID() || !guard->empty())
      return withTextAfter(std::move(result), body);
    if (list && isAfter)
      result.after = textAfterCore(list);
    return result;
  }

private:
  llvm::Error refuse(const llvm::Twine &why) const {
    return llvm::createStringError("the loop at " + ast::lineText(context, loop->getForLoc()) +
                                   " " + why);
  }

  bool isCore(const Stmt *statement) const {
    if (const auto *full = dyn_cast<ExprWithCleanups>(statement))
      statement = full->getSubExpr();
    return statement == core;
  }

  /// Adds the statements that \p statement, around the core, consists of.
  void addStatements(const Stmt *statement, std::vector<const Stmt *> &all) const {
    bool isAround = false;
    ast::walk(statement, [&](const Stmt *each) { return !(isAround |= isCore(each)); });
    const bool isPart = statement == loop->getBody() || statement->getBeginLoc().isMacroID();
    if (const auto *list = dyn_cast<CompoundStmt>(statement); list && isAround && isPart)
      for (const Stmt *each : list->body())
        addStatements(each, all);
    else if (isAround && runsOnce(context, statement))
      addStatements(cast<DoStmt>(statement)->getBody(), all);
    else
      all.push_back(statement);
  }

  /// Where \p statement, or the use of the macro that it comes from, begins in its file.
  unsigned offsetOf(const Stmt *statement) const {
    const SourceManager &sources = context.parsed().sources();
    return sources.getFileOffset(sources.getExpansionLoc(statement->getBeginLoc()));
  }

  /// \p result with those of \p body, which may come from macros, that stand after the core.
  llvm::Expected<LaunchLoop> withTextAfter(LaunchLoop result,
                                           llvm::ArrayRef<const Stmt *> body) const {
    const auto *core = llvm::find_if(body, [&](const Stmt *each) { return isCore(each); });
    for (const Stmt *each : llvm::ArrayRef(core, body.end()).drop_front()) {
      StringRef text = writtenText(context, each->getSourceRange());
      if (text.empty() || !ast::findAll<BreakStmt>(each).empty() ||
          !ast::findAll<ContinueStmt>(each).empty())
        return refuse("does something at " + ast::lineText(context, each->getBeginLoc()) +
                      " that cannot be written after the launch");
      const bool isEnded = text.ends_with(";") || text.ends_with("}");
      result.after += (result.after.empty() ? "" : "\n") + text.str() + (isEnded ? "" : ";");
    }
    return result;
  }

  std::string whyNotBeside(const Stmt *statement, const VarDecl *variable,
                           std::vector<const VarDecl *> &assigned) const {
    std::string place = ast::lineText(context, statement->getBeginLoc());
    if (auto launches = ast::findAll<CUDAKernelCallExpr>(statement); !launches.empty())
      return "launches another kernel at " + place;
    if (!onlyDeclaresOrChecks(statement, assigned))
      return "does more at " + place + ", which may need what the launch computes";
    if (isa<DeclStmt>(statement))
      return "";
    if (ast::mentions(statement, variable) || printsAlways(statement))
      return "does something for each launch at " + place;
    return "";
  }

  static std::vector<const VarDecl *> declarationsOf(const Stmt *statement,
                                                     std::vector<const VarDecl *> all) {
    if (const auto *declaration = dyn_cast<DeclStmt>(statement))
      for (const Decl *each : declaration->decls())
        if (const auto *variable = dyn_cast<VarDecl>(each))
          all.push_back(variable);
    return all;
  }

  std::string textAfterCore(const CompoundStmt *list) const {
    const SourceManager &sources = context.parsed().sources();
    const Stmt *last = nullptr;
    for (const Stmt *each : list->body())
      if (isCore(each))
        last = each;
    AnchorOrReason anchor = anchorOf(context.parsed(), last, fact.host);
    if (last && isa<Expr>(last))
      anchor = anchorOfLaunch(context.parsed(), fact.call, fact.host);
    unsigned end = sources.getFileOffset(list->getRBracLoc());
    return anchor && anchor->end <= end
               ? context.parsed().text().slice(anchor->end, end).trim().str()
               : "";
  }

  const PassContext &context;
  const LaunchFact &fact;
  const ForStmt *loop;
  const Stmt *core;
};

} // namespace

llvm::Expected<std::vector<LaunchLoop>> kbopt::launchLoops(const PassContext &context,
                                                           const LaunchFact &fact) {
  if (fact.instances > 1 || !fact.host)
    return llvm::createStringError("the launch at " +
                                   ast::lineText(context, fact.call->getBeginLoc()) +
                                   " stands for several launches");
  std::vector<LaunchLoop> loops;
  const Stmt *core = fact.call;
  while (const ForStmt *loop = loopAround(context, core)) {
    llvm::Expected<LaunchLoop> next = LoopReader(context, fact, loop, core).run();
    if (!next) {
      if (loops.empty())
        return next.takeError();
      llvm::consumeError(next.takeError());
      break;
    }
    loops.push_back(std::move(*next));
    core = loop;
  }
  if (loops.empty())
    return llvm::createStringError(
        "the launch at " + ast::lineText(context, fact.call->getBeginLoc()) + " stands in no loop");
  return loops;
}
