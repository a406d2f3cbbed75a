//===- Dispatch.cpp - Launches that choose between two kernels -------------===//
// SPDX-License-Identifier: Apache-2.0

#include "kb-opt/Rewrite/Dispatch.h"
#include "kb-opt/Rewrite/AstTools.h"
#include "clang/AST/DynamicRecursiveASTVisitor.h"
#include "clang/AST/ParentMapContext.h"

using namespace kbopt;
using namespace clang;
using llvm::StringRef;

//===-- The second kernel -------------------------------------------------===//

KernelText::KernelText(const PassContext &context, const KernelView &kernel)
    : context(&context), function(kernel.function()) {
  const Decl *outermost = function;
  if (const FunctionTemplateDecl *pattern = function->getDescribedFunctionTemplate())
    outermost = pattern;
  std::optional<ByteRange> range = byteRange(context.parsed(), outermost->getSourceRange(), &why);
  if (!range) {
    why = "the kernel's text cannot be copied: " + why;
    return;
  }
  begin = range->begin;
  end = range->end;
  if (!isa<CompoundStmt>(function->getBody())) {
    why = "the kernel's text cannot be copied: it has no body of its own";
    return;
  }
  for (const auto *declaration : ast::findAll<DeclStmt>(function->getBody()))
    for (const Decl *each : declaration->decls())
      if (const auto *variable = dyn_cast<VarDecl>(each);
          variable && variable->isStaticLocal() && !variable->hasAttr<CUDASharedAttr>())
        why = "'" + variable->getNameAsString() +
              "' lives as long as the program, so that two kernels cannot share it";
}

void KernelText::replaceBytes(unsigned from, unsigned to, StringRef text) {
  if (from < begin || to > end || from > to) {
    why = "a part of the kernel stands elsewhere";
    return;
  }
  // In the order of the text; insertions at one place in that of the calls.
  auto place = llvm::find_if(changes, [&](const Change &each) { return each.begin > from; });
  changes.insert(place, {from, to, text.str()});
}

void KernelText::replace(SourceRange range, StringRef text) {
  std::string reason;
  std::optional<ByteRange> bytes = byteRange(context->parsed(), range, &reason);
  // What goes takes its line with it, if it stands there alone.
  if (StringRef whole = context->parsed().text(); bytes && text.empty()) {
    unsigned line = whole.take_front(bytes->begin).rfind('\n') + 1;
    StringRef rest = whole.drop_front(bytes->end).split('\n').first;
    if (whole.slice(line, bytes->begin).trim().empty() && rest.trim().empty() && line > begin)
      bytes = ByteRange{line, unsigned(bytes->end + rest.size() + 1)};
  }
  if (bytes)
    replaceBytes(bytes->begin, bytes->end, text);
  else
    why = "a part of the kernel that would change " + reason;
}

void KernelText::replace(const Stmt *statement, StringRef text) {
  AnchorOrReason anchor = anchorOf(context->parsed(), statement, function);
  if (anchor)
    replaceBytes(anchor->begin, anchor->end, text);
  else
    why = "a part of the kernel that would change cannot be reached: " + anchor.reason().str();
}

void KernelText::insertAtBody(StringRef statements) {
  const SourceManager &sources = context->parsed().sources();
  unsigned brace = sources.getFileOffset(
      sources.getFileLoc(cast<CompoundStmt>(function->getBody())->getLBracLoc()));
  replaceBytes(brace + 1, brace + 1, ("\n" + statements).str());
}

void KernelText::closeBody() {
  const SourceManager &sources = context->parsed().sources();
  unsigned brace = sources.getFileOffset(
      sources.getFileLoc(cast<CompoundStmt>(function->getBody())->getRBracLoc()));
  replaceBytes(brace, brace, "}\n");
}

void KernelText::changeParameters(llvm::ArrayRef<const ParmVarDecl *> dropped,
                                  llvm::ArrayRef<std::string> added) {
  if (function->getNumParams() == 0)
    return;
  std::vector<std::string> parts;
  for (const ParmVarDecl *parameter : function->parameters()) {
    StringRef text = context->text(parameter->getSourceRange());
    if (text.empty())
      why = "the parameters come from a macro";
    if (!llvm::is_contained(dropped, parameter))
      parts.push_back(text.str());
  }
  parts.insert(parts.end(), added.begin(), added.end());
  replace(SourceRange(function->getParamDecl(0)->getBeginLoc(),
                      function->getParamDecl(function->getNumParams() - 1)->getEndLoc()),
          llvm::join(parts, ", "));
}

std::string KernelText::str(StringRef name) const {
  std::vector<Change> all = changes;
  if (std::optional<ByteRange> old =
          byteRange(context->parsed(), function->getNameInfo().getSourceRange()))
    all.insert(llvm::find_if(all, [&](const Change &each) { return each.begin > old->begin; }),
               {old->begin, old->end, name.str()});
  StringRef text = context->parsed().text();
  std::string result;
  unsigned at = begin;
  for (const Change &change : all) {
    assert(change.begin >= at && "changes overlap");
    result += text.slice(at, change.begin);
    result += change.text;
    at = change.end;
  }
  result += text.slice(at, end);
  return result;
}

//===-- The launch --------------------------------------------------------===//

static const Stmt *parentOf(const PassContext &context, const Stmt *statement) {
  for (const DynTypedNode &parent :
       context.parsed().context().getParentMapContext().getParents(*statement))
    if (const auto *outer = parent.get<Stmt>())
      return outer;
  return nullptr;
}

/// The statement that \p call is, through cleanups; null if it is a part of another.
static const Stmt *statementOf(const PassContext &context, const CallExpr *call) {
  const Stmt *statement = call;
  while (const Stmt *outer = parentOf(context, statement)) {
    if (!isa<Expr>(outer))
      return statement;
    if (!isa<FullExpr>(outer))
      return nullptr;
    statement = outer;
  }
  return nullptr;
}

/// Whether \p statement launches kernels that passes made of the one named \p kernel, and not that.
static bool launchesAnother(const Stmt *statement, StringRef kernel) {
  bool another = false, own = false;
  for (const auto *call : ast::findAll<CUDAKernelCallExpr>(statement)) {
    const FunctionDecl *callee = call->getDirectCallee();
    bool isNamed = callee && callee->getIdentifier();
    own |= isNamed && callee->getName() == kernel;
    another |= !isNamed || isDerivedName(callee->getName(), kernel);
  }
  return another && !own;
}

/// Whether the program may set attributes on \p kernel: by name, or through a pointer to it.
static bool setsAttributes(const PassContext &context, const FunctionDecl *kernel) {
  struct Finder : DynamicRecursiveASTVisitor {
    Finder() { ShouldVisitTemplateInstantiations = true; }
    bool VisitCallExpr(CallExpr *call) override {
      const FunctionDecl *callee = call->getDirectCallee();
      if (!callee || !callee->getIdentifier() || !callee->getName().starts_with("cudaFuncSet"))
        return true;
      for (const Expr *argument : call->arguments())
        for (const auto *reference : ast::findAll<DeclRefExpr>(argument))
          found |=
              reference->getDecl()->getIdentifier() && reference->getDecl()->getName() == kernel;
      return !found;
    }
    StringRef kernel;
    bool found = false;
  } finder;
  if (isNamedOutsideLaunches(context.parsed(), kernel))
    return true;
  finder.kernel = kernel->getName();
  for (const Decl *declaration : context.parsed().declarations())
    finder.TraverseDecl(const_cast<Decl *>(declaration));
  return finder.found;
}

std::string kbopt::dispatchObstacle(const PassContext &context, const KernelView &kernel,
                                    const LaunchFact &launch) {
  const SourceManager &sources = context.parsed().sources();
  std::string where = "the launch at " + ast::lineText(context, launch.call->getBeginLoc());
  if (launch.byApi)
    return where + " is made by cudaLaunchKernel";
  if (!launch.host || !launch.host->getBody())
    return where + " stands outside of a function";
  const auto *callee = dyn_cast<DeclRefExpr>(launch.call->getCallee()->IgnoreParenImpCasts());
  if (!byteRange(context.parsed(), launch.call->getSourceRange()))
    return where + " stands in a macro or in another file";
  if (!callee ||
      context.text(callee->getNameInfo().getSourceRange()) != kernel.function()->getName())
    return where + " does not name the kernel";
  if (!sources.isBeforeInTranslationUnit(kernel.function()->getLocation(),
                                         launch.call->getBeginLoc()))
    return where + " stands in front of the kernel";
  const Stmt *statement = statementOf(context, launch.call);
  if (!statement)
    return where + " is a part of another statement";
  for (const Stmt *each = statement; each; each = parentOf(context, each))
    if (const auto *branch = dyn_cast_or_null<IfStmt>(parentOf(context, each));
        branch && branch->getElse() == each &&
        launchesAnother(branch->getThen(), kernel.function()->getName()))
      return where + " is the fallback of another kernel already";
  if (AnchorOrReason anchor = anchorOfLaunch(context.parsed(), launch.call, launch.host); !anchor)
    return where + " cannot be changed: " + anchor.reason().str();
  // Attributes that the host sets on the kernel do not hold for the new one.
  if (launch.shared && setsAttributes(context, kernel.function())) {
    std::optional<int64_t> bytes =
        ast::constantOf(ast::resolve(launch.shared, launch.host), context.parsed().context());
    if (!bytes || *bytes > 48 * 1024)
      return where + " may need more than 48 KB of shared memory, which the host asks for by the "
                     "kernel's name";
  }
  return "";
}

/// \p launch's text with the name, the grid and the arguments of \p choice.
static std::string launchText(const PassContext &context, const LaunchFact &launch,
                              const LaunchChoice &choice) {
  ByteRange whole = *byteRange(context.parsed(), launch.call->getSourceRange());
  StringRef text = context.parsed().text();
  const auto *callee = cast<DeclRefExpr>(launch.call->getCallee()->IgnoreParenImpCasts());
  ByteRange name = *byteRange(context.parsed(), callee->getNameInfo().getSourceRange());
  std::string result = text.slice(whole.begin, name.begin).str() + choice.kernel;
  unsigned at = name.end;
  if (!choice.grid.empty()) {
    ByteRange grid = *byteRange(context.parsed(), launch.grid->getSourceRange());
    result += text.slice(at, grid.begin).str() + choice.grid;
    at = grid.end;
  }
  if (choice.dropped.empty() && choice.added.empty())
    return result + text.slice(at, whole.end).str();
  // The arguments begin behind the parenthesis after >>>.
  size_t open = text.find('(', text.find(">>>", at));
  std::vector<std::string> arguments;
  for (auto [index, argument] : llvm::enumerate(launch.arguments))
    if (!llvm::is_contained(choice.dropped, index) && !isa<CXXDefaultArgExpr>(argument))
      arguments.push_back(context.text(argument->getSourceRange()).str());
  arguments.insert(arguments.end(), choice.added.begin(), choice.added.end());
  return result + text.slice(at, open + 1).str() + llvm::join(arguments, ", ") + ")";
}

llvm::Error kbopt::writeDispatch(const PassContext &context, const LaunchFact &launch,
                                 const LaunchChoice &choice, Edits &edits) {
  AnchorOrReason anchor = anchorOfLaunch(context.parsed(), launch.call, launch.host);
  if (!anchor)
    return llvm::createStringError(anchor.reason());
  StringRef original = context.parsed().text().slice(anchor->begin, anchor->end);
  std::string text = launchText(context, launch, choice) + ";";
  if (!choice.condition.empty())
    text = "if (" + choice.condition + ")\n  " + text + "\nelse\n  " + original.str();
  const Stmt *parent = parentOf(context, statementOf(context, launch.call));
  bool inList = isa_and_nonnull<CompoundStmt>(parent);
  if (!choice.before.empty() || (!inList && !choice.condition.empty()))
    text = "{\n" + choice.before + text + "\n}";
  return edits.replaceAll(*anchor, text);
}

//===-- Names and texts ---------------------------------------------------===//

static bool isRepeatable(const Stmt *root, unsigned depth = 0);

/// Whether calling \p callee twice does what calling it once does: it is constexpr, or
/// nothing but a return of such an expression.
static bool isRepeatableFunction(const FunctionDecl *callee, unsigned depth) {
  if (!callee || depth > 4)
    return false;
  if (callee->isConstexpr() || callee->hasAttr<ConstAttr>() || callee->hasAttr<PureAttr>())
    return true;
  if (const auto *method = dyn_cast<CXXMethodDecl>(callee))
    return isa<CXXConstructorDecl>(method) ? method->getParent()->getName() == "dim3"
                                           : method->isConst() && method->isInStdNamespace();
  const FunctionDecl *definition = nullptr;
  const auto *body =
      callee->hasBody(definition) ? dyn_cast<CompoundStmt>(definition->getBody()) : nullptr;
  return body && body->size() == 1 && isa<ReturnStmt>(body->body_front()) &&
         isRepeatable(body->body_front(), depth + 1);
}

/// Whether evaluating \p root twice does what evaluating it once does.
static bool isRepeatable(const Stmt *root, unsigned depth) {
  bool repeatable = true;
  ast::walk(root, [&](const Stmt *each) {
    if (const auto *binary = dyn_cast<BinaryOperator>(each))
      repeatable &= !binary->isAssignmentOp();
    else if (const auto *unary = dyn_cast<UnaryOperator>(each))
      repeatable &= !unary->isIncrementDecrementOp();
    else if (const auto *call = dyn_cast<CallExpr>(each))
      repeatable &= isRepeatableFunction(call->getDirectCallee(), depth);
    else if (const auto *construct = dyn_cast<CXXConstructExpr>(each))
      repeatable &= isRepeatableFunction(construct->getConstructor(), depth);
    else
      repeatable &=
          !isa<CXXNewExpr, CXXDeleteExpr, CXXThrowExpr, StmtExpr, LambdaExpr, AtomicExpr>(each);
    return repeatable;
  });
  return repeatable;
}

std::string kbopt::operandText(const PassContext &context, const Expr *expr) {
  if (isa<CXXDefaultArgExpr>(expr) || !isRepeatable(expr))
    return "";
  StringRef text = context.text(expr->getSourceRange());
  bool isWord = llvm::all_of(text, [](char c) { return llvm::isAlnum(c) || c == '_' || c == '.'; });
  return text.empty() || isWord || isa<CallExpr, ParenExpr>(expr->IgnoreImpCasts())
             ? text.str()
             : "(" + text.str() + ")";
}

std::string kbopt::argumentText(const PassContext &context, const LaunchFact &launch,
                                unsigned index) {
  return index < launch.arguments.size() ? operandText(context, launch.arguments[index]) : "";
}

std::string kbopt::extentText(const PassContext &context, const LaunchFact &launch, bool block,
                              unsigned dimension) {
  const Expr *configuration = block ? launch.block : launch.grid;
  const Expr *stripped = ast::strip(configuration);
  // A dim3 variable: what computes its components may have changed since.
  while (const auto *construct = dyn_cast<CXXConstructExpr>(stripped)) {
    if (!construct->getConstructor()->isCopyOrMoveConstructor())
      break;
    stripped = ast::strip(construct->getArg(0));
  }
  if (const VarDecl *variable = ast::variableOf(stripped);
      variable && !variable->getType()->isIntegralOrEnumerationType())
    return variable->getNameAsString() + "." + "xyz"[dimension];
  bool known = false;
  const Expr *extent = ast::launchComponent(configuration, dimension, launch.host, known);
  if (!known)
    return "";
  return extent ? operandText(context, extent) : "1";
}

std::string kbopt::hostText(const PassContext &context, const KernelView &kernel,
                            const LaunchFact &launch, const Expr *expr) {
  const ASTContext &ast = context.parsed().context();
  auto below = [&](const Expr *part) { return hostText(context, kernel, launch, part); };
  auto castTo = [&](QualType type, const std::string &text) {
    std::string name =
        type.getCanonicalType().getUnqualifiedType().getAsString(ast.getPrintingPolicy());
    return text.empty() ? "" : "(" + name + ")" + text;
  };
  if (expr->isTypeDependent())
    return "";
  expr = ast::resolve(expr, kernel.function());
  if (std::optional<int64_t> value = ast::constantOf(expr, ast))
    return *value < 0 ? "" : std::to_string(*value);
  if (const auto *parameter = dyn_cast_or_null<ParmVarDecl>(ast::variableOf(expr))) {
    unsigned index = parameter->getFunctionScopeIndex();
    if (mayModify(kernel.function()->getBody(), parameter) || index >= launch.arguments.size())
      return "";
    const Expr *argument = ast::strip(launch.arguments[index]);
    if (std::optional<int64_t> value = ast::constantOf(ast::resolve(argument, launch.host), ast);
        value && launch.instances <= 1)
      return *value < 0 ? "" : std::to_string(*value);
    std::string text = argumentText(context, launch, index);
    bool sameType = ast.hasSameUnqualifiedType(argument->getType(), parameter->getType());
    return sameType ? text : castTo(parameter->getType(), text);
  }
  if (std::optional<ast::GridRef> ref = ast::gridRefOf(expr);
      ref && (ref->builtin == GridBuiltin::BlockDim || ref->builtin == GridBuiltin::GridDim))
    return castTo(
        ast.UnsignedIntTy,
        extentText(context, launch, ref->builtin == GridBuiltin::BlockDim, ref->dimension));
  if (const auto *cast = dyn_cast<ExplicitCastExpr>(expr); cast && cast->getType()->isIntegerType())
    return castTo(cast->getType(), below(cast->getSubExpr()));
  const auto *binary = dyn_cast<BinaryOperator>(expr);
  if (!binary || !(binary->isAdditiveOp() || binary->isMultiplicativeOp()) ||
      !binary->getType()->isIntegerType())
    return "";
  std::string left = below(binary->getLHS()), right = below(binary->getRHS());
  return left.empty() || right.empty()
             ? ""
             : "(" + left + " " + binary->getOpcodeStr().str() + " " + right + ")";
}

llvm::Error kbopt::writeKernel(const PassContext &context, const KernelView &kernel,
                               const KernelText &text, StringRef name, StringRef comment,
                               Edits &edits, StringRef helpers) {
  if (name == kernel.function()->getName()) {
    assert(helpers.empty() && "helpers stand in front of a second kernel");
    const Decl *whole = kernel.function();
    if (const FunctionTemplateDecl *pattern = kernel.function()->getDescribedFunctionTemplate())
      whole = pattern;
    AnchorOrReason anchor = anchorOf(context.parsed(), whole);
    if (!anchor)
      return llvm::createStringError(anchor.reason());
    return edits.replaceAll(*anchor, text.str(name));
  }
  AnchorOrReason anchor = anchorBefore(context.parsed(), kernel.function());
  if (!anchor)
    return llvm::createStringError(anchor.reason());
  StringRef before = context.parsed().text().take_front(anchor->begin);
  bool apart = before.trim().empty() || before.ends_with("\n\n");
  return edits.insertBefore(*anchor, (apart ? "" : "\n") + helpers.str() + "// " + comment.str() +
                                         "\n" + text.str(name) + "\n\n");
}
