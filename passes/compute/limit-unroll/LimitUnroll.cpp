//===- LimitUnroll.cpp - Keep the compiler from unrolling a loop -----------===//
// SPDX-License-Identifier: Apache-2.0
//
//   #pragma unroll                         #pragma unroll 1
//   for (int s = 0; s < 24; ++s)   ==>     for (int s = 0; s < 24; ++s)
//     step(s);                               step(s);
//
// Owns the pragma, and the check that arrays in registers stay there. Whether the
// loop was unrolled too far is the judge's question.
//
//===----------------------------------------------------------------------===//

#include "kb-opt/Rewrite/AstTools.h"
#include "clang/AST/ParentMapContext.h"

using namespace kbopt;
using namespace clang;

namespace {

/// The pragmas of \p loop; null if it has none.
const AttributedStmt *pragmasOf(const PassContext &context, const Stmt *loop) {
  for (const DynTypedNode &parent :
       context.parsed().context().getParentMapContext().getParents(*loop))
    if (const auto *attributed = parent.get<AttributedStmt>())
      return attributed;
  return nullptr;
}

/// The factor of an unroll pragma: 0 for no limit, 1 for nounroll; none for another attribute.
std::optional<int64_t> unrollFactor(const PassContext &context, const AttributedStmt *pragmas) {
  const auto *hint =
      pragmas->getAttrs().size() == 1 ? dyn_cast<LoopHintAttr>(pragmas->getAttrs()[0]) : nullptr;
  if (!hint ||
      (hint->getOption() != LoopHintAttr::Unroll && hint->getOption() != LoopHintAttr::UnrollCount))
    return std::nullopt;
  if (hint->getState() == LoopHintAttr::Disable)
    return 1;
  return hint->getValue()
             ? ast::constantOf(hint->getValue(), context.parsed().context()).value_or(0)
             : 0;
}

/// What stands behind `#pragma` on its line; none if there is no such line.
std::optional<ByteRange> pragmaText(const PassContext &context, const AttributedStmt *pragmas) {
  std::optional<ByteRange> word = byteRange(context.parsed(), pragmas->getAttrs()[0]->getRange());
  if (!word || !byteRange(context.parsed(), pragmas->getSourceRange()))
    return std::nullopt;
  llvm::StringRef text = context.parsed().text();
  llvm::StringRef before = text.take_front(word->begin);
  before = before.drop_front(before.rfind('\n') + 1).trim();
  if (!before.consume_front("#") || before.trim() != "pragma")
    return std::nullopt;
  llvm::StringRef line = text.drop_front(word->begin).split('\n').first;
  line = line.take_front(std::min(line.find("//"), line.find("/*"))).rtrim();
  return ByteRange{word->begin, unsigned(word->begin + line.size())};
}

/// A local array that \p loop indexes by its counter, or by what follows from it;
/// null if there is none.
const VarDecl *arrayByCounter(const ForStmt *loop) {
  std::vector<const VarDecl *> following, counters;
  if (const auto *declaration = dyn_cast_or_null<DeclStmt>(loop->getInit()))
    for (const Decl *each : declaration->decls())
      if (const auto *variable = dyn_cast<VarDecl>(each))
        following.push_back(variable);
  for (const auto *inner : ast::findAll<ForStmt>(loop->getBody()))
    if (std::optional<ast::CountedLoop> counted = ast::countedLoop(inner))
      counters.push_back(counted->variable);
  auto follows = [&](const Stmt *expr) {
    return expr &&
           llvm::any_of(following, [&](const VarDecl *each) { return ast::mentions(expr, each); });
  };
  // Whatever else the loop changes has another value in each iteration.
  for (const auto *reference : ast::findAll<DeclRefExpr>(loop))
    if (const auto *variable = dyn_cast<VarDecl>(reference->getDecl());
        variable && variable->getType()->isIntegerType() &&
        !llvm::is_contained(counters, variable) && mayModify(loop, variable))
      following.push_back(variable);
  for (const auto *declaration : ast::findAll<DeclStmt>(loop->getBody()))
    for (const Decl *each : declaration->decls())
      if (const auto *variable = dyn_cast<VarDecl>(each); variable && follows(variable->getInit()))
        following.push_back(variable);
  for (const auto *subscript : ast::findAll<ArraySubscriptExpr>(loop)) {
    const VarDecl *array = ast::variableOf(subscript->getBase());
    if (array && array->isLocalVarDecl() && array->getType()->isArrayType() &&
        !array->hasAttr<CUDASharedAttr>() && follows(subscript->getIdx()))
      return array;
  }
  return nullptr;
}

class LimitUnroll : public RewritePass {
public:
  std::vector<Site> sites(const PassContext &context, const KernelView &kernel) const override {
    return ast::loopSites(context, kernel);
  }

  Decision decide(const PassContext &context, const Site &site, const PassOptions &options) const {
    const auto *loop = site.as<ForStmt>();
    if (!loop)
      return Decision::doesNotApply("only 'for' loops are unrolled");
    int64_t factor = options.integer("factor");
    auto ops = context.imported().loopsOf(loop);
    if (const AttributedStmt *pragmas = pragmasOf(context, loop)) {
      std::optional<int64_t> present = unrollFactor(context, pragmas);
      if (!present || !pragmaText(context, pragmas))
        return Decision::doesNotApply("the loop carries something else than one unroll pragma");
      if (*present && *present <= factor)
        return Decision::doesNotApply(
            "the loop is limited to " + llvm::Twine(*present) +
            (*present == 1 ? " iteration per trip already" : " iterations per trip already"));
    } else if (ops.empty()) {
      return Decision::doesNotApply("the loop is not in the device code, or runs once at most");
    }
    for (kb::LoopOp op : ops) {
      if (!op.getTrip() && !op.getTripCount() && !pragmasOf(context, loop))
        return Decision::doesNotApply(
            "the compiler does not unroll the loop: it cannot compute the number of iterations");
      if (op.getTripCount() && int64_t(*op.getTripCount()) <= factor)
        return Decision::doesNotApply("the loop runs no more than " +
                                      llvm::Twine(*op.getTripCount()) + " times");
    }
    if (const VarDecl *array = arrayByCounter(loop))
      return Decision::doesNotApply(
          "'" + array->getName() +
          "' is indexed by the loop's counter and would move from registers to local memory");
    return Decision::applies();
  }

  llvm::Expected<Rewrite> rewrite(const PassContext &context, const Site &site,
                                  const PassOptions &options) const override {
    if (Decision decision = decide(context, site, options); !decision)
      return decline(decision.reason());
    const auto *loop = site.as<ForStmt>();
    std::string factor = std::to_string(options.integer("factor"));
    const AttributedStmt *pragmas = pragmasOf(context, loop);
    const Stmt *whole = pragmas ? static_cast<const Stmt *>(pragmas) : loop;
    AnchorOrReason anchor = anchorOf(context.parsed(), whole, site.kernel->function());
    if (!anchor)
      return decline(anchor.reason());
    Rewrite rewrite;
    rewrite.summary =
        "left " + factor + (factor == "1" ? " iteration per trip" : " iterations per trip");
    if (pragmas) {
      ByteRange text = *pragmaText(context, pragmas);
      if (llvm::Error error =
              rewrite.edits.replace(*anchor, text.begin, text.end - text.begin, "unroll " + factor))
        return std::move(error);
    } else if (llvm::Error error =
                   rewrite.edits.insertBefore(*anchor, ast::ownLine(context, loop->getBeginLoc(),
                                                                    "#pragma unroll " + factor))) {
      return std::move(error);
    }
    return rewrite;
  }
};

} // namespace

namespace kbopt {
std::unique_ptr<RewritePass> createLimitUnroll() { return std::make_unique<LimitUnroll>(); }
} // namespace kbopt
