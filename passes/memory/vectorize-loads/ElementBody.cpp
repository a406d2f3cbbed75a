//===- ElementBody.cpp - Code that runs once per element -------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "ElementBody.h"
#include "clang/AST/ParentMapContext.h"

using namespace kbopt;
using namespace kbopt::vectorize;
using namespace clang;

std::string vectorize::vectorType(QualType element, unsigned lanes) {
  const auto *builtin = element->getAs<BuiltinType>();
  if (!builtin)
    return "";
  llvm::StringRef name;
  switch (builtin->getKind()) {
  case BuiltinType::Float:
    name = "float";
    break;
  case BuiltinType::Double:
    name = "double";
    break;
  case BuiltinType::Int:
    name = "int";
    break;
  case BuiltinType::UInt:
    name = "uint";
    break;
  case BuiltinType::Short:
    name = "short";
    break;
  case BuiltinType::UShort:
    name = "ushort";
    break;
  case BuiltinType::SChar:
    name = "char";
    break;
  case BuiltinType::UChar:
    name = "uchar";
    break;
  case BuiltinType::LongLong:
    name = "longlong";
    break;
  case BuiltinType::ULongLong:
    name = "ulonglong";
    break;
  default:
    return "";
  }
  return (name + llvm::Twine(lanes)).str();
}

unsigned vectorize::lanesOf(const ElementBody &element, unsigned width) {
  unsigned lanes = width;
  for (const VectorArray &array : element.arrays)
    while (lanes * array.bytes > 16)
      lanes /= 2;
  return lanes == 3 ? 2 : lanes;
}

namespace {

/// Judges the body: what it stores, what it carries, which accesses are
/// consecutive.
class BodyJudge {
public:
  BodyJudge(const PassContext &context, ElementBody &element, const KernelView &kernel,
            unsigned width)
      : context(context), element(element), kernel(kernel), width(width) {}

  void run() {
    for (const Stmt *statement : element.body)
      visit(statement, false, false);
    if (element.obstacle.empty())
      judgeArrays();
    if (element.obstacle.empty())
      judgeMemory();
  }

private:
  struct Access {
    const ArraySubscriptExpr *expr;
    bool loads, stores, conditional;
  };

  void stop(const llvm::Twine &why) {
    if (element.obstacle.empty())
      element.obstacle = why.str();
  }

  bool isInside(const VarDecl *variable) const {
    SourceLocation location = variable->getLocation();
    const SourceManager &sources = context.parsed().sources();
    for (const Stmt *statement : element.body)
      if (!sources.isBeforeInTranslationUnit(location, statement->getBeginLoc()) &&
          !sources.isBeforeInTranslationUnit(statement->getEndLoc(), location))
        return true;
    return false;
  }

  /// What a modification of \p target means.
  void modifies(const Expr *target, bool reads, bool conditional) {
    target = ast::strip(target);
    const Expr *base = target;
    while (true) { // s.x, v[1].y: the variable that holds them
      if (const auto *member = dyn_cast<MemberExpr>(base); member && !member->isArrow())
        base = ast::strip(member->getBase());
      else if (const auto *subscript = dyn_cast<ArraySubscriptExpr>(base);
               subscript && ast::strip(subscript->getBase())->getType()->isArrayType())
        base = ast::strip(subscript->getBase());
      else
        break;
    }
    if (const VarDecl *variable = ast::variableOf(base)) {
      if (variable->hasAttr<CUDASharedAttr>() || !variable->isLocalVarDeclOrParm())
        return stop("'" + variable->getName() + "' is shared between threads");
      if (variable == element.index)
        return stop("'" + variable->getName() + "' is changed in the body");
      if (element.shape != Shape::Serial && !isInside(variable))
        return stop("'" + variable->getName() + "' is carried from one element to the next");
      return;
    }
    const auto *subscript = dyn_cast<ArraySubscriptExpr>(target);
    if (!subscript)
      return stop("'" + context.text(target->getSourceRange()) +
                  "' is stored in a way that is not understood");
    if (element.shape == Shape::Serial)
      return stop("the loop stores to memory, '" + context.text(target->getSourceRange()) + "'");
    accesses.push_back({subscript, reads, true, conditional});
    visit(subscript->getBase(), conditional, false);
    visit(subscript->getIdx(), conditional, false);
  }

  void visit(const Stmt *statement, bool conditional, bool addressTaken) {
    if (!statement || !element.obstacle.empty())
      return;
    if (isa<BreakStmt, ReturnStmt, GotoStmt, LabelStmt, ContinueStmt>(statement))
      return stop("the body is left early at " + ast::lineText(context, statement->getBeginLoc()));
    if (isa<AsmStmt>(statement))
      return stop("the body has inline assembly");
    if (isa<LambdaExpr>(statement))
      return stop("the body has a lambda");
    if (const auto *pseudo = dyn_cast<PseudoObjectExpr>(statement))
      return visit(pseudo->getSyntacticForm(), conditional, false);
    if (const auto *expr = dyn_cast<Expr>(statement))
      if (std::optional<ast::GridRef> ref = ast::gridRefOf(expr);
          ref && isa<MSPropertyRefExpr, MemberExpr>(expr)) {
        if (element.shape != Shape::Serial)
          stop("the body uses a thread index by itself");
        return;
      }
    if (const auto *binary = dyn_cast<BinaryOperator>(statement)) {
      if (binary->isAssignmentOp()) {
        modifies(binary->getLHS(), binary->isCompoundAssignmentOp(), conditional);
        return visit(binary->getRHS(), conditional, false);
      }
      if (binary->isLogicalOp()) {
        visit(binary->getLHS(), conditional, false);
        return visit(binary->getRHS(), true, false);
      }
    }
    if (const auto *unary = dyn_cast<UnaryOperator>(statement)) {
      if (unary->isIncrementDecrementOp())
        return modifies(unary->getSubExpr(), true, conditional);
      if (unary->getOpcode() == UO_AddrOf)
        return visit(unary->getSubExpr(), conditional, true);
    }
    if (const auto *call = dyn_cast<CallExpr>(statement))
      judgeCall(call);
    if (const auto *subscript = dyn_cast<ArraySubscriptExpr>(statement)) {
      if (!addressTaken)
        accesses.push_back({subscript, true, false, conditional});
      visit(subscript->getBase(), conditional, false);
      return visit(subscript->getIdx(), conditional, false);
    }
    if (const auto *choice = dyn_cast<IfStmt>(statement)) {
      visit(choice->getInit(), conditional, false);
      visit(choice->getCond(), conditional, false);
      visit(choice->getThen(), true, false);
      return visit(choice->getElse(), true, false);
    }
    if (const auto *choice = dyn_cast<ConditionalOperator>(statement)) {
      visit(choice->getCond(), conditional, false);
      visit(choice->getTrueExpr(), true, false);
      return visit(choice->getFalseExpr(), true, false);
    }
    bool inner =
        conditional || isa<ForStmt, WhileStmt, DoStmt, SwitchStmt, CXXForRangeStmt>(statement);
    for (const Stmt *child : statement->children())
      visit(child, inner, addressTaken && isa<ParenExpr, ImplicitCastExpr>(statement));
  }

  void judgeCall(const CallExpr *call) {
    const FunctionDecl *callee = call->getDirectCallee();
    if (!callee)
      return stop("the body calls '" + context.text(call->getCallee()->getSourceRange()) +
                  "', which is not known");
    if (callee->hasAttr<ConvergentAttr>() || call->getNumArgs() == 0 ||
        (callee->getIdentifier() && callee->getName().starts_with("__sync")))
      return stop("the body calls '" + callee->getNameAsString() +
                  "', which concerns other threads");
    for (const ParmVarDecl *parameter : callee->parameters()) {
      QualType type = parameter->getType();
      bool writes = (type->isReferenceType() && !type->getPointeeType().isConstQualified()) ||
                    (type->isPointerType() && !type->getPointeeType().isConstQualified());
      if (writes)
        return stop("the body passes memory to '" + callee->getNameAsString() + "'");
    }
  }

  /// Whether \p expr has one value for all elements.
  bool isInvariant(const Expr *expr) const {
    if (!isSpeculatable(expr))
      return false;
    for (const auto *reference : ast::findAll<DeclRefExpr>(expr))
      if (const auto *variable = dyn_cast<VarDecl>(reference->getDecl())) {
        if (variable == element.index || isInside(variable))
          return false;
        for (const Stmt *statement : element.body)
          if (mayModify(statement, variable))
            return false;
      }
    return true;
  }

  /// Whether \p expr is the index plus something invariant; \p offset gets its
  /// constant part, if it has just that.
  bool isConsecutive(const Expr *expr, std::optional<int64_t> &offset) const {
    expr = ast::strip(expr);
    if (const auto *cast = dyn_cast<ExplicitCastExpr>(expr);
        cast && cast->getType()->isIntegerType())
      expr = ast::strip(cast->getSubExpr());
    if (ast::variableOf(expr) == element.index) {
      offset = 0;
      return true;
    }
    const auto *binary = dyn_cast<BinaryOperator>(expr);
    if (!binary || (binary->getOpcode() != BO_Add && binary->getOpcode() != BO_Sub))
      return false;
    const Expr *left = binary->getLHS(), *right = binary->getRHS();
    bool leftHas = ast::mentions(left, element.index);
    if (leftHas == ast::mentions(right, element.index) ||
        (!leftHas && binary->getOpcode() == BO_Sub))
      return false;
    const Expr *rest = leftHas ? right : left;
    if (!isConsecutive(leftHas ? left : right, offset) || !isInvariant(rest))
      return false;
    std::optional<int64_t> constant = ast::constantOf(rest, context.parsed().context());
    if (offset && constant)
      *offset += binary->getOpcode() == BO_Sub ? -*constant : *constant;
    else
      offset.reset();
    return true;
  }

  bool sameIndex(const Expr *a, const Expr *b) const {
    return context.text(a->getSourceRange()) == context.text(b->getSourceRange());
  }

  /// Chooses the arrays and the accesses that become vectors.
  void judgeArrays() {
    std::vector<const VarDecl *> order;
    std::map<const VarDecl *, std::vector<Access>> byBase;
    for (const Access &access : accesses) {
      const VarDecl *base = ast::variableOf(access.expr->getBase());
      bool isPointer = base && base->getType()->isPointerType() && !isInside(base) &&
                       base->isLocalVarDeclOrParm();
      if (!isPointer) {
        if (access.stores)
          return stop("'" + context.text(access.expr->getSourceRange()) +
                      "' is stored in a way that is not understood");
        continue;
      }
      for (const Stmt *statement : element.body)
        if (mayModify(statement, base))
          return stop("the pointer '" + base->getName() + "' is moved in the body");
      if (!byBase.count(base))
        order.push_back(base);
      byBase[base].push_back(access);
    }
    for (const VarDecl *base : order) {
      bool stored = llvm::any_of(byBase[base], [](const Access &a) { return a.stores; });
      VectorArray array;
      array.base = base;
      QualType pointee = base->getType()->getPointeeType();
      array.element = pointee.getCanonicalType().getUnqualifiedType();
      bool usable = !array.element->isDependentType() && !pointee.isVolatileQualified() &&
                    array.element->isBuiltinType() && !vectorType(array.element, 2).empty();
      const Expr *index = nullptr;
      for (const Access &access : byBase[base]) {
        std::optional<int64_t> offset;
        bool consecutive = isConsecutive(access.expr->getIdx(), offset);
        if (stored && !consecutive)
          return stop("'" + base->getName() + "' is stored to, and '" +
                      context.text(access.expr->getSourceRange()) +
                      "' is not known to be this element alone");
        if (stored && index && !sameIndex(index, access.expr->getIdx()))
          return stop("elements of '" + base->getName() + "' depend on each other");
        if (stored)
          index = access.expr->getIdx();
        bool aligned = !offset || *offset % int64_t(width) == 0;
        if (!consecutive || access.conditional || !aligned ||
            context.text(access.expr->getSourceRange()).empty()) {
          usable &= !stored; // a scalar store beside a vector would be lost
          continue;
        }
        if (index && !sameIndex(index, access.expr->getIdx()))
          continue;
        index = access.expr->getIdx();
        array.accesses.push_back(access.expr);
        array.loaded |= access.loads;
        array.stored |= access.stores;
      }
      if (!usable || array.accesses.empty())
        continue;
      array.bytes = context.parsed().context().getTypeSizeInChars(array.element).getQuantity();
      if (array.bytes > 8)
        continue;
      element.arrays.push_back(array);
    }
    if (element.arrays.empty())
      stop("no array is read or written at consecutive elements");
  }

  /// Two names of one array: the vector of one would not see a store to the other.
  void judgeNames() {
    std::map<const VarDecl *, std::set<const void *>> memory; // what each name leads to
    std::set<const VarDecl *> stored;
    for (const Access &access : accesses)
      if (const VarDecl *base = ast::variableOf(access.expr->getBase())) {
        if (access.stores)
          stored.insert(base);
        for (kb::AccessOp op : context.imported().accessesOf(access.expr))
          memory[base].insert(op.getBase().getAsOpaquePointer());
      }
    for (const VarDecl *base : stored)
      for (const auto &[other, bases] : memory)
        if (other != base &&
            llvm::any_of(bases, [&](const void *each) { return memory[base].count(each); }))
          return stop("'" + base->getName() + "' and '" + other->getName() +
                      "' are the same memory");
  }

  /// What the IR knows: nothing stored may be seen by another access, and
  /// nothing happens that the AST does not show.
  void judgeMemory() {
    judgeNames();
    std::set<const VarDecl *> knownStores;
    for (const Access &access : accesses)
      if (access.stores)
        knownStores.insert(ast::variableOf(access.expr->getBase()));
    std::vector<mlir::Operation *> regions;
    if (element.shape == Shape::Guarded) {
      for (kb::KernelOp op : kernel.ops)
        regions.push_back(op);
    } else {
      for (kb::LoopOp op : context.imported().loopsOf(element.statement))
        regions.push_back(op);
    }
    if (regions.empty())
      return stop("the code is not in the device code, so nothing is known of its memory");
    for (mlir::Operation *region : regions) {
      std::vector<kb::AccessOp> stores, all;
      region->walk([&](mlir::Operation *op) {
        if (mlir::isa<kb::BarrierOp, kb::ShuffleOp, kb::MmaOp, kb::OpaqueOp, kb::CallOp>(op))
          return stop("threads communicate, or something is not understood, at '" +
                      op->getName().getStringRef() + "'");
        auto access = mlir::dyn_cast<kb::AccessOp>(op);
        if (!access || access.getSpace() == kb::MemorySpace::Local ||
            access.getSpace() == kb::MemorySpace::Param)
          return;
        if (access.getIsVolatile())
          return stop("'" + access.getBase().getName() + "' is volatile");
        if (access.getKind() == kb::AccessKind::Atomic)
          return stop("the body has atomics on '" + access.getBase().getName() + "'");
        all.push_back(access);
        if (access.getKind() == kb::AccessKind::Store)
          stores.push_back(access);
      });
      for (kb::AccessOp store : stores) {
        if (element.shape == Shape::Serial)
          return stop("the loop stores to '" + store.getBase().getName() + "'");
        for (kb::AccessOp other : all) {
          if (other == store || other.getBase() == store.getBase())
            continue; // one array: judged by its indices
          Answer alias = basesMayAlias(context.imported(), store, other);
          if (!alias.refuted())
            return stop("'" + store.getBase().getName() + "' and '" + other.getBase().getName() +
                        "' may overlap; add-restrict-const may help");
        }
      }
      for (kb::AccessOp store : stores)
        if (store.getBase().getKind() != kb::BaseKind::Argument)
          return stop("'" + store.getBase().getName() + "' is stored to");
      if (knownStores.empty() && !stores.empty())
        return stop("a function that the body calls stores to '" +
                    stores.front().getBase().getName() + "'");
      if (element.shape == Shape::Serial)
        for (const VectorArray &array : element.arrays)
          for (const ArraySubscriptExpr *expr : array.accesses)
            for (kb::AccessOp access : context.imported().accessesOf(expr))
              if (auto loop = mlir::dyn_cast<kb::LoopOp>(region); loop && loop->isAncestor(access))
                if (Answer stable = isLoadStable(context.imported(), access, loop);
                    !stable.proven())
                  return stop(stable.reason);
    }
  }

  const PassContext &context;
  ElementBody &element;
  const KernelView &kernel;
  unsigned width;
  std::vector<Access> accesses;
};

/// Variables that are computed from the index before the guard and used in the
/// body hold another element's value.
std::string derivedBefore(const KernelView &kernel, const ElementBody &element) {
  std::set<const VarDecl *> derived{element.index};
  for (const Stmt *statement : kernel.function()->getBody()->children()) {
    if (statement == element.statement)
      break;
    const auto *declaration = dyn_cast_or_null<DeclStmt>(statement);
    if (!declaration)
      continue;
    for (const Decl *each : declaration->decls())
      if (const auto *variable = dyn_cast<VarDecl>(each); variable && variable->getInit())
        for (const VarDecl *source : std::vector<const VarDecl *>(derived.begin(), derived.end()))
          if (ast::mentions(variable->getInit(), source))
            derived.insert(variable);
  }
  derived.erase(element.index);
  for (const VarDecl *variable : derived) {
    for (const Stmt *statement : element.body)
      if (ast::mentions(statement, variable))
        return variable->getNameAsString();
    for (const Expr *condition : element.otherConditions)
      if (ast::mentions(condition, variable))
        return variable->getNameAsString();
  }
  return "";
}

void shapeGuarded(const PassContext &context, const Site &site, ElementBody &element) {
  std::optional<GuardedElements> guarded = guardedElements(*site.kernel);
  if (!guarded || guarded->guard != site.as<Stmt>()) {
    element.obstacle = "the kernel does not end in a body guarded by 'if (i < n)'";
    return;
  }
  element.statement = guarded->guard;
  element.body = guarded->body;
  element.earlyReturn = guarded->body.front() != guarded->guard->getThen();
  element.last = element.earlyReturn ? guarded->body.back() : nullptr;
  element.index = guarded->index;
  element.count = guarded->count;
  element.otherConditions = guarded->others;
  if (!isSpeculatable(element.count)) {
    element.obstacle = "the bound of the guard has side effects";
    return;
  }
  if (std::string name = derivedBefore(*site.kernel, element); !name.empty()) {
    element.obstacle = "'" + name + "' is computed from '" + element.index->getNameAsString() +
                       "' before the guard";
    return;
  }
  if (site.kernel->launches.empty())
    element.obstacle = "no launch of the kernel is in sight";
  for (const LaunchFact &launch : site.kernel->launches)
    if (Coverage covered = coverageOf(context, *site.kernel, launch);
        !covered && element.obstacle.empty())
      element.obstacle = covered.reason().str();
}

void shapeLoop(const PassContext &context, const Site &site, ElementBody &element) {
  const auto *loop = site.as<ForStmt>();
  std::optional<ast::CountedLoop> counted = loop ? ast::countedLoop(loop) : std::nullopt;
  if (!counted) {
    element.obstacle = "the loop is not of the form 'for (int i = a; i < n; i += b)'";
    return;
  }
  auto parents = context.parsed().context().getParents(*loop);
  if (!parents.empty() && parents[0].get<AttributedStmt>()) {
    element.obstacle = "the loop carries a pragma";
    return;
  }
  const FunctionDecl *function = site.kernel->function();
  element.statement = loop;
  element.body = {loop->getBody()};
  element.index = counted->variable;
  element.count = counted->end;
  element.begin = counted->begin;
  element.step = counted->step;
  if (counted->step && ast::isGlobalThreadIndex(ast::resolve(counted->begin, function)) &&
      ast::isGridSpan(ast::resolve(counted->step, function))) {
    element.shape = Shape::GridStride;
    return;
  }
  element.shape = Shape::Serial;
  std::optional<int64_t> step =
      counted->step ? ast::constantOf(counted->step, context.parsed().context()) : 1;
  if (step != std::optional<int64_t>(1))
    element.obstacle = "the loop does not take consecutive elements";
  else if (ast::constantOf(counted->begin, context.parsed().context()) != std::optional<int64_t>(0))
    element.obstacle = "the loop does not start at 0";
}

} // namespace

ElementBody vectorize::analyse(const PassContext &context, const Site &site, unsigned width) {
  ElementBody element;
  element.shape = Shape::Guarded;
  if (isa<IfStmt>(site.as<Stmt>()))
    shapeGuarded(context, site, element);
  else
    shapeLoop(context, site, element);
  // A thread's number that wraps skips elements; their vectors must not come back.
  const ASTContext &ast = context.parsed().context();
  if (element.obstacle.empty() && element.shape != Shape::Serial &&
      !ast::constantOf(element.count, ast)) {
    const QualType count = ast::strip(element.count)->getType(), index = element.index->getType();
    const std::string countText = context.text(element.count->getSourceRange()).str();
    if (count->isDependentType() || index->isDependentType())
      element.obstacle = "the type of '" +
                         (count->isDependentType() ? countText : element.index->getNameAsString()) +
                         "' depends on an argument of the template";
    else if (ast.getTypeSize(count) > ast.getTypeSize(index))
      element.obstacle = "'" + element.index->getNameAsString() + "' is narrower than '" +
                         countText + "' and may wrap";
  }
  if (element.obstacle.empty())
    BodyJudge(context, element, *site.kernel, width).run();
  return element;
}
