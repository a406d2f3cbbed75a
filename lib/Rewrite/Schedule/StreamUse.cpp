//===- StreamUse.cpp --------------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "StreamUse.h"

#include "LaunchText.h"
#include "kb-opt/Rewrite/AstTools.h"
#include "clang/AST/DynamicRecursiveASTVisitor.h"
#include "clang/AST/ParentMapContext.h"
#include "clang/Lex/Preprocessor.h"
#include "llvm/ADT/StringSet.h"

using namespace kbopt;
using namespace clang;
using llvm::StringRef;

/// They make streams that do not wait for the default one, or forbid its use.
static const llvm::StringSet<> makesOtherStreams = {
    "cudaStreamCreateWithFlags",  "cudaStreamCreateWithPriority", "cuStreamCreate",
    "cuStreamCreateWithPriority", "cudaStreamBeginCapture",       "cudaStreamBeginCaptureToGraph"};
/// They wait for the work of one stream, of which a launch on another one is no part.
static const llvm::StringSet<> waitsForOne = {"cudaStreamSynchronize", "cudaStreamQuery"};
/// They give memory that the host reads without a copy, which would wait.
static const llvm::StringSet<> sharesMemory = {"cudaMallocManaged", "cudaMallocHost",
                                               "cudaHostAlloc", "cudaHostRegister",
                                               "cudaImportExternalMemory"};

namespace {

/// The functions and variables that the program's own code mentions.
struct MentionedNames : DynamicRecursiveASTVisitor {
  explicit MentionedNames(const ParsedProgram &program) {
    for (Decl *each : program.context().getTraversalScope())
      TraverseDecl(each);
  }
  bool VisitDeclRefExpr(DeclRefExpr *ref) override {
    if (ref->getDecl()->getDeclName().isIdentifier())
      names.insert(ref->getDecl()->getName());
    refs[ref->getDecl()].push_back(ref);
    return true;
  }
  bool VisitVarDecl(VarDecl *variable) override {
    hasManaged |= variable->hasAttr<HIPManagedAttr>();
    return true;
  }
  bool VisitCXXForRangeStmt(CXXForRangeStmt *loop) override {
    if (const VarDecl *range = ast::variableOf(loop->getRangeInit()))
      overRange[range].push_back(loop->getLoopVariable());
    return true;
  }
  bool mentionsAny(const llvm::StringSet<> &wanted) const {
    return llvm::any_of(wanted, [&](const auto &each) { return names.contains(each.getKey()); });
  }

  llvm::StringSet<> names;
  llvm::DenseMap<const Decl *, std::vector<const DeclRefExpr *>> refs;
  llvm::DenseMap<const VarDecl *, std::vector<const VarDecl *>> overRange;
  bool hasManaged = false;
};

/// Follows one variable that holds streams.
class StreamVariable {
public:
  StreamVariable(const PassContext &context, const MentionedNames &mentioned)
      : ast(context.parsed().context()), mentioned(mentioned) {}

  /// Whether whatever \p variable or its elements hold comes from cudaStreamCreate.
  bool isCreatedPlainly(const VarDecl *variable) const {
    const bool isOwn = !isa<ParmVarDecl>(variable) && !variable->hasExternalStorage();
    if (!isOwn || !startsEmpty(variable))
      return false;
    auto refs = mentioned.refs.find(variable);
    if (refs != mentioned.refs.end() &&
        !llvm::all_of(refs->second, [&](const DeclRefExpr *ref) { return isPlainUse(ref); }))
      return false;
    auto loops = mentioned.overRange.find(variable);
    return loops == mentioned.overRange.end() ||
           llvm::all_of(loops->second, [&](const VarDecl *each) {
             auto uses = mentioned.refs.find(each);
             return uses == mentioned.refs.end() ||
                    llvm::all_of(uses->second,
                                 [&](const DeclRefExpr *ref) { return isPlainUse(ref); });
           });
  }

private:
  static bool startsEmpty(const VarDecl *variable) {
    const Expr *init = variable->getInit();
    if (const auto *full = dyn_cast_or_null<ExprWithCleanups>(init))
      init = full->getSubExpr();
    if (const auto *list = dyn_cast_or_null<InitListExpr>(init))
      return list->getNumInits() == 0;
    if (const auto *made = dyn_cast_or_null<CXXConstructExpr>(init)) // std::vector of a length
      return made->getNumArgs() == 0 || made->getArg(0)->getType()->isIntegerType();
    return !init;
  }

  /// Of an element, its value is read or cudaStreamCreate is given its address; of a container, its
  /// length.
  bool isPlainUse(const DeclRefExpr *ref) const {
    const Stmt *at = ref;
    for (;;) {
      const auto parents = ast.getParentMapContext().getParents(*at);
      const Stmt *outer = parents.empty() ? nullptr : parents[0].get<Stmt>();
      if (!outer)
        return parents.size() == 1 && parents[0].get<VarDecl>() &&
               parents[0].get<VarDecl>()->isImplicit(); // of a loop over it
      if (const auto *cast = dyn_cast<ImplicitCastExpr>(outer);
          cast && cast->getCastKind() == CK_LValueToRValue)
        return true;
      if (isa<CXXForRangeStmt>(outer))
        return true;
      if (const auto *call = dyn_cast<CallExpr>(outer); call && !isa<CXXOperatorCallExpr>(call)) {
        const FunctionDecl *function = call->getDirectCallee();
        return function && function->getDeclName().isIdentifier() &&
               function->getName() == "cudaStreamCreate";
      }
      if (const auto *member = dyn_cast<MemberExpr>(outer)) {
        static const llvm::StringSet<> harmless = {"size", "empty", "resize", "reserve", "clear"};
        return harmless.contains(member->getMemberDecl()->getName());
      }
      const auto *unary = dyn_cast<UnaryOperator>(outer);
      const auto *binary = dyn_cast<BinaryOperator>(outer);
      const auto *operation = dyn_cast<CXXOperatorCallExpr>(outer);
      const bool leadsToElement = isa<ParenExpr, CastExpr, ArraySubscriptExpr>(outer) ||
                                  (unary && unary->getOpcode() == UO_AddrOf) ||
                                  (binary && binary->isAdditiveOp()) ||
                                  (operation && operation->getOperator() == OO_Subscript);
      if (!leadsToElement)
        return false;
      at = outer;
    }
  }

  ASTContext &ast;
  const MentionedNames &mentioned;
};

} // namespace

std::string kbopt::whyNotDefaultStream(const PassContext &context, const Expr *stream) {
  const Expr *element = ast::strip(stream), *array = nullptr, *index = nullptr;
  if (const auto *plain = dyn_cast<ArraySubscriptExpr>(element)) {
    array = plain->getBase();
    index = plain->getIdx();
  } else if (const auto *call = dyn_cast<CXXOperatorCallExpr>(element);
             call && call->getOperator() == OO_Subscript) {
    array = call->getArg(0);
    index = call->getArg(1);
  }
  const VarDecl *variable = array ? ast::variableOf(array) : nullptr;
  if (!variable || !isRepeatable(index))
    return "the streams of the launches are no array's";
  const MentionedNames &mentioned =
      context.parsed().derived<MentionedNames>([&] { return MentionedNames(context.parsed()); });
  if (llvm::is_contained(context.parsed().command().clangFlags,
                         "-fgpu-default-stream=per-thread") ||
      mentioned.names.contains("cudaStreamPerThread") ||
      context.parsed().preprocessor().isMacroDefined("CUDA_API_PER_THREAD_DEFAULT_STREAM") ||
      mentioned.mentionsAny(makesOtherStreams))
    return "the program has streams that do not wait for the default one";
  if (mentioned.mentionsAny(waitsForOne) &&
      (mentioned.hasManaged || mentioned.mentionsAny(sharesMemory)))
    return "the program waits for one of the streams and may read its memory then";
  if (!StreamVariable(context, mentioned).isCreatedPlainly(variable))
    return "where the streams of '" + variable->getName().str() + "' come from is not seen";
  return "";
}
