//===- CacheHintStreaming.cpp - Mark what is touched once ------------------===//
// SPDX-License-Identifier: Apache-2.0
//
//   y[i] = a * x[i];            ==>            __stcs(&y[i], a * __ldcs(&x[i]));
//
// Owns which accesses get a hint, and writing it. Reuse.h owns the estimate that
// nothing is touched again; whether the hint pays is the policy's question.
//
//===----------------------------------------------------------------------===//

#include "kb-opt/Analysis/Reuse.h"
#include "kb-opt/Rewrite/AstTools.h"

using namespace kbopt;
using namespace clang;
using llvm::StringRef;

namespace {

/// The element types for which the toolkit's headers have both hints.
bool hasHint(QualType type) {
  type = type.getCanonicalType().getUnqualifiedType();
  if (const auto *builtin = type->getAs<BuiltinType>()) {
    using Kind = BuiltinType::Kind;
    static constexpr Kind kinds[] = {
        BuiltinType::Char_S, BuiltinType::SChar,    BuiltinType::UChar,     BuiltinType::Short,
        BuiltinType::UShort, BuiltinType::Int,      BuiltinType::UInt,      BuiltinType::Long,
        BuiltinType::ULong,  BuiltinType::LongLong, BuiltinType::ULongLong, BuiltinType::Float,
        BuiltinType::Double};
    return llvm::is_contained(kinds, builtin->getKind());
  }
  const auto *record = type->getAsCXXRecordDecl();
  if (!record || !record->getIdentifier())
    return false;
  StringRef name = record->getName();
  static constexpr StringRef halves[] = {"__half", "__half2", "__nv_bfloat16", "__nv_bfloat162"};
  static constexpr StringRef vectors[] = {"char2",   "char4",     "short2", "short4",  "int2",
                                          "int4",    "uchar2",    "uchar4", "ushort2", "ushort4",
                                          "uint2",   "uint4",     "float2", "float4",  "longlong2",
                                          "double2", "ulonglong2"};
  return llvm::is_contained(halves, name) || llvm::is_contained(vectors, name);
}

/// One mention of the parameter in the kernel's text.
struct Use {
  const Expr *element = nullptr; ///< `x[i]`, `*x`, `*reinterpret_cast<float4 *>(&x[i])`
  const Expr *store = nullptr;   ///< `x[i] = v`; null for a load
  const Expr *value = nullptr;   ///< v
};

struct Uses {
  std::vector<Use> list;
  std::string obstacle;
};

/// Sorts the places that reach memory through one parameter.
class UseFinder {
public:
  UseFinder(const PassContext &context, const ParmVarDecl *parameter)
      : context(context), parameter(parameter) {}

  Uses run(const Stmt *body) {
    visit(body, false);
    return std::move(uses);
  }

private:
  void stop(const Stmt *where, const char *what) {
    if (uses.obstacle.empty())
      uses.obstacle = "'" + parameter->getNameAsString() + "' is " + what + " at " +
                      ast::lineText(context, where->getBeginLoc());
  }

  /// Whether \p expr is the parameter's memory: `x[i]`, `*x`, `*(x + i)`, also through a cast.
  bool isElement(const Expr *expr) const {
    if (const auto *subscript = dyn_cast<ArraySubscriptExpr>(expr))
      return isPointer(subscript->getBase());
    const auto *unary = dyn_cast<UnaryOperator>(expr);
    return unary && unary->getOpcode() == UO_Deref && isPointer(unary->getSubExpr());
  }
  bool isPointer(const Expr *expr) const {
    expr = ast::strip(expr);
    if (ast::variableOf(expr) == parameter)
      return true;
    if (const auto *cast = dyn_cast<CXXReinterpretCastExpr>(expr))
      return isPointer(cast->getSubExpr());
    if (const auto *unary = dyn_cast<UnaryOperator>(expr))
      return unary->getOpcode() == UO_AddrOf && isElement(ast::strip(unary->getSubExpr()));
    const auto *sum = dyn_cast<BinaryOperator>(expr);
    return sum && sum->getOpcode() == BO_Add && isPointer(sum->getLHS()) &&
           !ast::mentions(sum->getRHS(), parameter);
  }

  struct Assignment {
    const Expr *target, *value;
    bool isPlain; ///< `=`
  };
  /// Of a built-in type, or of a struct such as float4.
  static std::optional<Assignment> assignmentAt(const Stmt *statement) {
    if (const auto *binary = dyn_cast<BinaryOperator>(statement);
        binary && binary->isAssignmentOp())
      return Assignment{binary->getLHS(), binary->getRHS(), binary->getOpcode() == BO_Assign};
    const auto *call = dyn_cast<CXXOperatorCallExpr>(statement);
    if (call && call->isAssignmentOp() && call->getNumArgs() == 2)
      return Assignment{call->getArg(0), call->getArg(1), call->getOperator() == OO_Equal};
    return std::nullopt;
  }

  /// The indices in \p element, whose pointer is understood.
  void visitIndices(const Stmt *element) {
    ast::walk(element, [&](const Stmt *each) {
      if (const auto *subscript = dyn_cast<ArraySubscriptExpr>(each);
          subscript && ast::mentions(subscript->getIdx(), parameter))
        stop(each, "used as its own index");
      return true;
    });
  }

  /// \p discards: nothing uses the value of \p statement.
  void visit(const Stmt *statement, bool discards) {
    if (!statement || !uses.obstacle.empty())
      return;
    if (const auto *pseudo = dyn_cast<PseudoObjectExpr>(statement))
      return visit(pseudo->getSyntacticForm(), discards);
    if (const auto *lambda = dyn_cast<LambdaExpr>(statement))
      return visit(lambda->getBody(), false);
    if (std::optional<Assignment> assignment = assignmentAt(statement)) {
      const Expr *target = ast::strip(assignment->target);
      if (isElement(target)) {
        if (!assignment->isPlain)
          return stop(statement, "read and written");
        if (!discards || isa<InitListExpr>(assignment->value))
          return stop(statement, "assigned in a larger expression");
        uses.list.push_back({target, cast<Expr>(statement), assignment->value});
        visitIndices(target);
        return visit(assignment->value, false);
      }
      if (const auto *member = dyn_cast<MemberExpr>(target);
          member && ast::mentions(member, parameter))
        return stop(statement, "assigned in part");
    }
    if (const auto *unary = dyn_cast<UnaryOperator>(statement))
      if (unary->isIncrementDecrementOp() || unary->getOpcode() == UO_AddrOf)
        if (ast::mentions(unary->getSubExpr(), parameter) &&
            isElement(ast::strip(unary->getSubExpr())))
          return stop(unary, unary->getOpcode() == UO_AddrOf ? "passed on" : "read and written");
    if (const auto *expr = dyn_cast<Expr>(statement); expr && isElement(expr)) {
      uses.list.push_back({expr, nullptr, nullptr});
      return visitIndices(expr);
    }
    if (const auto *reference = dyn_cast<DeclRefExpr>(statement);
        reference && reference->getDecl() == parameter)
      return stop(reference, "passed on or moved");
    for (const Stmt *child : statement->children())
      visit(child,
            isa<CompoundStmt, IfStmt, ForStmt, WhileStmt, DoStmt, AttributedStmt>(statement) ||
                (discards && isa<ExprWithCleanups>(statement)));
  }

  const PassContext &context;
  const ParmVarDecl *parameter;
  Uses uses;
};

class CacheHintStreaming : public RewritePass {
public:
  std::vector<Site> sites(const PassContext &, const KernelView &kernel) const override {
    std::vector<Site> sites;
    for (const ParmVarDecl *parameter : kernel.function()->parameters())
      if (parameter->getType()->isPointerType())
        sites.push_back(ast::siteOf(kernel, parameter));
    return sites;
  }

  Decision decide(const PassContext &context, const Site &site, const PassOptions &) const {
    const auto *parameter = site.as<ParmVarDecl>();
    std::string name = "'" + parameter->getNameAsString() + "'";
    Uses uses = UseFinder(context, parameter).run(site.kernel->function()->getBody());
    if (!uses.obstacle.empty())
      return Decision::doesNotApply(uses.obstacle);
    if (uses.list.empty())
      return Decision::doesNotApply(name + " is not read or written in the kernel's text");
    PrintingPolicy printing = context.parsed().context().getPrintingPolicy();
    bool stores = uses.list.front().store;
    for (const Use &use : uses.list) {
      if (bool(use.store) != stores)
        return Decision::doesNotApply(
            name + " is read and written, so that what it writes is in the cache already");
      SourceRange range = use.store ? use.store->getSourceRange() : use.element->getSourceRange();
      if (std::string why; !byteRange(context.parsed(), range, &why))
        return Decision::doesNotApply(name + " cannot be changed at " +
                                      ast::lineText(context, range.getBegin()) + ": " + why);
      if (!use.element->getType()->isDependentType() && !hasHint(use.element->getType()))
        return Decision::doesNotApply(
            "elements of type '" +
            use.element->getType().getUnqualifiedType().getAsString(printing) +
            "' have no load or store with a hint");
    }
    unsigned index = parameter->getFunctionScopeIndex();
    for (const KernelFact::Instance &instance : site.kernel->fact.instances) {
      QualType pointee = instance.function->getParamDecl(index)->getType()->getPointeeType();
      if (pointee.isVolatileQualified() || !hasHint(pointee))
        return Decision::doesNotApply("elements of type '" + pointee.getAsString(printing) +
                                      "' have no load or store with a hint");
      if (!stores && !pointee.isConstQualified())
        return Decision::doesNotApply(name + " is not declared const; add-restrict-const may help");
    }
    return judgeMemory(context, site, stores);
  }

  llvm::Expected<Rewrite> rewrite(const PassContext &context, const Site &site,
                                  const PassOptions &options) const override {
    if (Decision decision = decide(context, site, options); !decision)
      return decline(decision.reason());
    const auto *parameter = site.as<ParmVarDecl>();
    const FunctionDecl *function = site.kernel->function();
    Uses uses = UseFinder(context, parameter).run(function->getBody());
    bool stores = uses.list.front().store;
    Rewrite rewrite;
    for (const Use &use : uses.list) {
      const Expr *whole = use.store ? use.store : use.element;
      AnchorOrReason anchor =
          anchorOfRange(context.parsed(), whole->getSourceRange(), function, "Expr");
      std::optional<ByteRange> element = byteRange(context.parsed(), use.element->getSourceRange());
      if (!anchor || !element)
        return decline(anchor ? "the element is not written where it can be changed"
                              : anchor.reason().str());
      if (!use.store) {
        if (llvm::Error error =
                rewrite.edits.replace(*anchor, element->begin, element->end - element->begin,
                                      "__ldcs(" + address(context, use.element) + ")"))
          return std::move(error);
        continue;
      }
      std::optional<ByteRange> value = byteRange(context.parsed(), use.value->getSourceRange());
      if (!value)
        return decline("the value is not written where it can be changed");
      if (llvm::Error error =
              rewrite.edits.replace(*anchor, anchor->begin, value->begin - anchor->begin,
                                    "__stcs(" + address(context, use.element) + ", "))
        return std::move(error);
      if (llvm::Error error = rewrite.edits.insertAt(*anchor, value->end, ")"))
        return std::move(error);
    }
    rewrite.summary = "marked the " + std::string(stores ? "stores to" : "loads of") + " '" +
                      parameter->getNameAsString() + "' as a stream";
    return rewrite;
  }

private:
  /// The pointer to \p element, as text.
  static std::string address(const PassContext &context, const Expr *element) {
    if (isa<ArraySubscriptExpr>(element))
      return "&" + context.text(element->getSourceRange()).str();
    const Expr *pointer = cast<UnaryOperator>(element)->getSubExpr();
    if (const auto *parentheses = dyn_cast<ParenExpr>(pointer))
      pointer = parentheses->getSubExpr();
    return context.text(pointer->getSourceRange()).str();
  }

  /// Each element once, and no store that a marked load could pass.
  static Decision judgeMemory(const PassContext &context, const Site &site, bool stores) {
    std::string name = "'" + site.as<ParmVarDecl>()->getNameAsString() + "'";
    int64_t index = site.as<ParmVarDecl>()->getFunctionScopeIndex();
    std::vector<kb::AccessOp> own; // the text has no other way to the parameter's memory
    for (kb::KernelOp kernel : site.kernel->ops)
      kernel->walk([&](kb::AccessOp access) {
        if (access.getBase().getKind() == kb::BaseKind::Argument &&
            access.getBase().getArgument() == index)
          own.push_back(access);
      });
    if (own.empty())
      return Decision::doesNotApply("nothing is known about the device code that uses " + name);
    for (kb::AccessOp first : own)
      for (kb::AccessOp second : own) {
        auto kernel = first->getParentOfType<kb::KernelOp>();
        if (kernel != second->getParentOfType<kb::KernelOp>())
          continue;
        if (first.getSpace() != kb::MemorySpace::Global &&
            first.getSpace() != kb::MemorySpace::Generic)
          return Decision::doesNotApply(name + " does not lead to global memory");
        if (Answer again = isTouchedAgain(first, second); !again.refuted())
          return Decision::doesNotApply(name + " is not known to be touched once: " + again.reason);
      }
    if (stores)
      return Decision::applies();
    for (kb::AccessOp load : own) {
      std::string why;
      load->getParentOfType<kb::KernelOp>()->walk([&](mlir::Operation *op) {
        if (mlir::isa<kb::OpaqueOp, kb::CallOp>(op))
          why = "the kernel does something that is not understood, which may write " + name;
        auto store = mlir::dyn_cast<kb::AccessOp>(op);
        if (!store || store.getKind() == kb::AccessKind::Load ||
            store.getSpace() == kb::MemorySpace::Shared ||
            store.getSpace() == kb::MemorySpace::Local)
          return;
        if (Answer alias = basesMayAlias(context.imported(), load, store); !alias.refuted())
          why = name + " and '" + store.getBase().getName().str() +
                "' may overlap; add-restrict-const may help";
      });
      if (!why.empty())
        return Decision::doesNotApply(why);
    }
    return Decision::applies();
  }
};

} // namespace

namespace kbopt {
std::unique_ptr<RewritePass> createCacheHintStreaming() {
  return std::make_unique<CacheHintStreaming>();
}
} // namespace kbopt
