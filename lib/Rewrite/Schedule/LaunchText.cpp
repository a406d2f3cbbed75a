//===- LaunchText.cpp - One launch as a schedule sees it -------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "LaunchText.h"
#include "HostText.h"
#include "MacroCall.h"
#include "clang/AST/DeclTemplate.h"
#include "clang/AST/ParentMapContext.h"
#include "clang/Lex/Lexer.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"

using namespace kbopt;
using namespace clang;
using llvm::StringRef;

StringRef kbopt::writtenText(const PassContext &context, SourceRange range) {
  if (range.isInvalid())
    return "";
  if (range.getBegin().isMacroID() && range.getEnd().isMacroID())
    if (std::optional<ByteRange> bytes = byteRange(context.parsed(), range))
      return context.parsed().text().slice(bytes->begin, bytes->end); // in a macro's argument
  const SourceManager &sources = context.parsed().sources();
  const LangOptions &language = context.parsed().language();
  CharSourceRange chars = sources.getExpansionRange(range);
  const bool isInOneMacro =
      range.getBegin().isMacroID() && range.getEnd().isMacroID() &&
      sources.getExpansionLoc(range.getBegin()) == sources.getExpansionLoc(range.getEnd());
  if (isInOneMacro && !(Lexer::isAtStartOfMacroExpansion(range.getBegin(), sources, language) &&
                        Lexer::isAtEndOfMacroExpansion(range.getEnd(), sources, language))) {
    const MacroCall *macro = MacroCall::around(context.parsed(), range.getBegin());
    auto part = macro ? macro->find(range) : std::nullopt;
    return part ? macro->text().slice(part->first, part->second) : "";
  }
  if (sources.getFileID(chars.getBegin()) != sources.getMainFileID() ||
      sources.getFileID(chars.getEnd()) != sources.getMainFileID())
    return "";
  return Lexer::getSourceText(chars, sources, language);
}

/// Whether \p method, of a class of the standard library, only gives what the object has: `x[i]` of
/// a vector, but not of a map, where it may add an element.
static bool isAccess(const CXXMethodDecl *method) {
  const CXXRecordDecl *type = method->getParent();
  static const llvm::StringSet<> accesses = {"data", "get", "front", "back", "begin", "end", "at"};
  static const llvm::StringSet<> indexed = {"vector", "array", "span", "deque", "unique_ptr"};
  if (!type->isInStdNamespace() || !type->getIdentifier())
    return false;
  return (method->getIdentifier() && accesses.contains(method->getName())) ||
         (method->getOverloadedOperator() == OO_Subscript && indexed.contains(type->getName()));
}

/// A function of which a call changes nothing: constant, or no more than a returned expression.
static bool isPure(const FunctionDecl *function, unsigned depth) {
  if (!function)
    return false;
  if (const auto *method = dyn_cast<CXXMethodDecl>(function))
    return method->isConst() || isAccess(method);
  if (function->isConstexpr() || function->hasAttr<PureAttr>() || function->hasAttr<ConstAttr>())
    return true;
  const FunctionDecl *definition = nullptr;
  if (depth > 3 || !function->hasBody(definition))
    return false;
  const auto *body = dyn_cast<CompoundStmt>(definition->getBody());
  const auto *returned =
      body && body->size() == 1 ? dyn_cast<ReturnStmt>(body->body_front()) : nullptr;
  return returned && returned->getRetValue() && isRepeatable(returned->getRetValue());
}

bool kbopt::isRepeatable(const Expr *expr) {
  bool repeatable = true;
  ast::walk(expr, [&](const Stmt *each) {
    if (const auto *unary = dyn_cast<UnaryOperator>(each))
      repeatable &= !unary->isIncrementDecrementOp();
    else if (const auto *binary = dyn_cast<BinaryOperator>(each))
      repeatable &= !binary->isAssignmentOp();
    else if (const auto *call = dyn_cast<CallExpr>(each))
      repeatable &= isPure(call->getDirectCallee(), 0);
    else if (isa<CXXNewExpr, CXXDeleteExpr, LambdaExpr, StmtExpr, CXXThrowExpr>(each))
      repeatable = false;
    return repeatable;
  });
  return repeatable;
}

llvm::StringMap<std::string> kbopt::templateArguments(const FunctionDecl *instance,
                                                      const ASTContext &ast) {
  llvm::StringMap<std::string> texts;
  const TemplateArgumentList *arguments = instance->getTemplateSpecializationArgs();
  const FunctionTemplateDecl *pattern = instance->getPrimaryTemplate();
  if (!arguments || !pattern)
    return texts;
  for (unsigned i = 0;
       i < std::min<unsigned>(arguments->size(), pattern->getTemplateParameters()->size()); ++i) {
    const TemplateArgument &argument = arguments->get(i);
    StringRef name = pattern->getTemplateParameters()->getParam(i)->getName();
    if (argument.getKind() == TemplateArgument::Integral &&
        argument.getIntegralType()->isBooleanType())
      texts[name] = argument.getAsIntegral().isZero() ? "false" : "true";
    else if (argument.getKind() == TemplateArgument::Integral)
      texts[name] = llvm::toString(argument.getAsIntegral(), 10);
    else if (argument.getKind() == TemplateArgument::Type)
      texts[name] = argument.getAsType().getAsString(ast.getPrintingPolicy());
  }
  return texts;
}

const LaunchText::Meaning *LaunchText::meaning(StringRef name) const {
  auto found = names.find(name);
  return found == names.end() ? nullptr : &found->second;
}

std::optional<int64_t> LaunchText::value(StringRef name) const {
  const Meaning *found = meaning(name);
  return found ? found->value : std::nullopt;
}

llvm::Expected<std::string> LaunchText::translate(StringRef text) const {
  std::string problem;
  std::string result = replaceNames(text, [&](StringRef name) -> std::optional<std::string> {
    const Meaning *found = meaning(name);
    if (!found)
      return std::nullopt;
    if (found->text.empty())
      problem = "what '" + name.str() + "' is at " + place + " cannot be written there";
    else if (!found->repeatable)
      problem = "'" + found->text + "' at " + place + " has side effects";
    return found->isOperand ? found->text : asOperand(found->text);
  });
  if (!problem.empty())
    return llvm::createStringError(problem);
  // A name alone needs no parentheses.
  const Meaning *whole = meaning(text.trim());
  return whole ? whole->text : result;
}

LaunchText LaunchText::withMeanings(llvm::StringMap<Meaning> meanings) const {
  LaunchText other = *this;
  for (StringRef builtin :
       {"gridDim.x", "gridDim.y", "gridDim.z", "blockDim.x", "blockDim.y", "blockDim.z"})
    meanings[builtin] = *meaning(builtin);
  other.names = std::move(meanings);
  return other;
}

std::string LaunchText::spelled(StringRef name, bool withTemplateArguments) const {
  return qualifier + name.str() + (withTemplateArguments ? templateArguments : "");
}

bool LaunchText::castTo(const FunctionDecl *instance, const ASTContext &ast) {
  const FunctionTemplateDecl *pattern = instance->getPrimaryTemplate();
  for (unsigned i = 0; pattern && i < instance->getNumParams(); ++i) {
    if (!pattern->getTemplatedDecl()->getParamDecl(i)->getType()->isDependentType())
      continue;
    QualType type = instance->getParamDecl(i)->getType().getUnqualifiedType();
    if (!type->isPointerType() && !type->isArithmeticType())
      return false;
    argumentTexts[i] =
        "(" + type.getAsString(ast.getPrintingPolicy()) + ")" + asOperand(argumentTexts[i]);
    Meaning &meaning = names[instance->getParamDecl(i)->getName()];
    meaning.text = argumentTexts[i];
    meaning.isOperand = true;
  }
  return true;
}

std::string LaunchText::arguments() const { return llvm::join(argumentTexts, ", "); }

namespace {

/// Components of grid or block as they are written at the launch, without looking through
/// variables.
void addExtent(llvm::StringMap<LaunchText::Meaning> &names, const PassContext &context,
               const LaunchFact &fact, StringRef builtin, const Expr *configuration) {
  const Expr *written = ast::strip(configuration);
  while (const auto *construct = dyn_cast<CXXConstructExpr>(written)) {
    if (!construct->getConstructor()->isCopyOrMoveConstructor() && construct->getNumArgs() != 1)
      break;
    if (!construct->getNumArgs())
      break;
    written = ast::strip(construct->getArg(0));
  }
  for (unsigned dimension = 0; dimension < 3; ++dimension) {
    LaunchText::Meaning meaning;
    bool known = false;
    const Expr *settled = ast::launchComponent(configuration, dimension, fact.host, known);
    if (known)
      meaning.value =
          settled ? ast::constantOf(ast::resolve(settled, fact.host), context.parsed().context())
                  : std::optional<int64_t>(1);
    meaning.expr = known ? settled : nullptr;
    StringRef component = StringRef("xyz").substr(dimension, 1);
    const auto *construct = dyn_cast<CXXConstructExpr>(written);
    if (const auto *cast = dyn_cast<CXXFunctionalCastExpr>(written))
      construct = dyn_cast<CXXConstructExpr>(ast::strip(cast->getSubExpr()));
    const Expr *part = nullptr;
    if (written->getType()->isIntegralOrEnumerationType())
      part = dimension == 0 ? written : nullptr;
    else if (construct && !construct->getConstructor()->isCopyOrMoveConstructor())
      part = dimension < construct->getNumArgs() &&
                     !isa<CXXDefaultArgExpr>(construct->getArg(dimension))
                 ? construct->getArg(dimension)
                 : nullptr;
    else {
      meaning.repeatable = isRepeatable(written);
      if (StringRef text = writtenText(context, written->getSourceRange()); !text.empty())
        meaning.text = asOperand(text) + "." + component.str();
      names[(builtin + "." + component).str()] = std::move(meaning);
      continue;
    }
    meaning.text = part ? writtenText(context, part->getSourceRange()).str() : "1";
    meaning.repeatable = !part || isRepeatable(part);
    names[(builtin + "." + component).str()] = std::move(meaning);
  }
}

bool isFewerBits(const ASTContext &context, QualType to, QualType from) {
  return to->isIntegralOrEnumerationType() && from->isIntegralOrEnumerationType() &&
         (context.getIntWidth(to) < context.getIntWidth(from) ||
          (context.getIntWidth(to) == context.getIntWidth(from) &&
           to->isUnsignedIntegerOrEnumerationType() != from->isUnsignedIntegerOrEnumerationType()));
}

/// What the parameter \p parameter stands for where \p argument is passed.
LaunchText::Meaning argumentMeaning(const PassContext &context, const ParmVarDecl *parameter,
                                    const Expr *argument, const FunctionDecl *host) {
  const ASTContext &ast = context.parsed().context();
  LaunchText::Meaning meaning;
  meaning.expr = argument;
  meaning.text = writtenText(context, argument->getSourceRange()).str();
  meaning.repeatable = isRepeatable(argument);
  QualType to = parameter->getType().getNonReferenceType().getUnqualifiedType();
  QualType from = argument->IgnoreParenImpCasts()->getType().getUnqualifiedType();
  if (to->isIntegralOrEnumerationType()) {
    meaning.value = ast::constantOf(ast::resolve(argument, host), ast);
    meaning.narrows = isFewerBits(ast, to, from);
    // The kernel gets another value than the launch passes.
    unsigned bits = ast.getIntWidth(to);
    bool fits = !meaning.value ||
                (to->isUnsignedIntegerOrEnumerationType()
                     ? *meaning.value >= 0 && llvm::isUIntN(std::min(bits, 63u), *meaning.value)
                     : llvm::isIntN(bits, *meaning.value));
    if (!fits)
      meaning.value = std::nullopt;
  }
  meaning.isOperand = !meaning.value && to->isArithmeticType() && !ast.hasSameType(to, from) &&
                      !meaning.text.empty();
  if (meaning.isOperand)
    meaning.text = "(" + to.getAsString(ast.getPrintingPolicy()) + ")" + asOperand(meaning.text);
  return meaning;
}

/// The namespace that has to be named where \p kernel is not in one around \p host.
std::string missingQualifier(const FunctionDecl *kernel, const FunctionDecl *host) {
  const DeclContext *space = kernel->getDeclContext()->getEnclosingNamespaceContext();
  while (const auto *each = dyn_cast<NamespaceDecl>(space)) {
    if (!each->isAnonymousNamespace() && !each->isInline())
      break; // the others need not be named
    space = each->getParent()->getEnclosingNamespaceContext();
  }
  for (const DeclContext *around = host; around; around = around->getParent())
    if (around->Equals(space) || space->isTranslationUnit())
      return "";
  return cast<NamespaceDecl>(space)->getQualifiedNameAsString() + "::";
}

} // namespace

/// Whether \p call is part of no other expression.
static bool isWholeStatement(const PassContext &context, const Stmt *call) {
  for (const DynTypedNode &parent :
       context.parsed().context().getParentMapContext().getParents(*call)) {
    if (const auto *full = parent.get<ExprWithCleanups>())
      return isWholeStatement(context, full);
    if (parent.get<Expr>() || !parent.get<Stmt>())
      return false;
  }
  return true;
}

/// Fills in what is replaced. An error says what is against it.
llvm::Error LaunchText::findStatement(const PassContext &context) {
  const SourceRange range = launch->call->getSourceRange();
  const StringRef call = writtenText(context, range);
  AnchorOrReason anchor = anchorOfLaunch(context.parsed(), launch->call, launch->host);
  const MacroCall *macro = MacroCall::around(context.parsed(), range.getBegin());
  const auto part = macro ? macro->find(range) : std::nullopt;
  if (!anchor && part) {
    SourceRange use = macro->range();
    const StringRef rest = macro->text().substr(part->second).ltrim();
    const auto next =
        Lexer::findNextToken(use.getEnd(), context.parsed().sources(), context.parsed().language());
    if (rest.empty() && next && next->is(tok::semi)) // the macro is no more than the launch
      use.setEnd(next->getLocation());
    anchor = anchorOfRange(context.parsed(), use, launch->host, "CUDAKernelCallExpr");
    const bool isEnded =
        rest.empty() ? use.getEnd() != macro->range().getEnd() : rest.starts_with(";");
    if (!anchor || !isEnded || macro->text().count("<<<") != 1 ||
        !isWholeStatement(context, launch->call))
      return llvm::createStringError("cannot be changed in its macro");
    before = macro->text().take_front(part->first).str();
    originalText = call.str() + ";";
    after = rest.drop_front(!rest.empty()).str();
  } else if (!anchor) {
    return llvm::createStringError("cannot be changed: " + anchor.reason());
  } else {
    originalText = context.parsed().text().slice(anchor->begin, anchor->end).str();
  }
  statement = *anchor;
  const StringRef whole = originalText;
  if (!whole.ends_with(";") || call.empty() || whole.drop_back().rtrim() != call)
    return llvm::createStringError("is part of a larger expression");
  return llvm::Error::success();
}

llvm::Expected<LaunchText> LaunchText::create(const PassContext &context, const LaunchFact &fact,
                                              const FunctionDecl *instance) {
  LaunchText text;
  text.launch = &fact;
  text.place = ast::lineText(context, fact.call->getBeginLoc());
  auto refuse = [&](const llvm::Twine &why) {
    return llvm::createStringError("the launch at " + text.place + " " + why);
  };
  if (fact.byApi)
    return refuse("calls cudaLaunchKernel");
  if (fact.arguments.size() != instance->getNumParams())
    return refuse("has another number of arguments");
  if (llvm::Error error = text.findStatement(context))
    return refuse(llvm::toString(std::move(error)));
  for (const DynTypedNode &parent :
       context.parsed().context().getParentMapContext().getParents(*fact.call)) {
    text.inList |= parent.get<CompoundStmt>() != nullptr;
    if (const auto *full = parent.get<ExprWithCleanups>())
      for (const DynTypedNode &outer :
           context.parsed().context().getParentMapContext().getParents(*full))
        text.inList |= outer.get<CompoundStmt>() != nullptr;
  }
  const auto *callee = dyn_cast<DeclRefExpr>(ast::strip(fact.call->getCallee()));
  if (!callee)
    return refuse("does not name the kernel");
  text.qualifier = writtenText(context, callee->getQualifierLoc().getSourceRange()).str();
  if (text.qualifier.empty())
    text.qualifier = missingQualifier(instance, fact.host);
  if (callee->hasExplicitTemplateArgs())
    text.templateArguments =
        writtenText(context, SourceRange(callee->getLAngleLoc(), callee->getRAngleLoc())).str();
  addExtent(text.names, context, fact, "gridDim", fact.grid);
  addExtent(text.names, context, fact, "blockDim", fact.block);
  for (size_t i = 0; i < fact.arguments.size(); ++i) {
    if (isa<CXXDefaultArgExpr>(fact.arguments[i]))
      return refuse("leaves out arguments");
    StringRef written = writtenText(context, fact.arguments[i]->getSourceRange());
    if (written.empty())
      return refuse("has arguments that come from a macro");
    text.argumentTexts.push_back(written.str());
    text.names[instance->getParamDecl(i)->getName()] =
        argumentMeaning(context, instance->getParamDecl(i), fact.arguments[i], fact.host);
  }
  for (const auto &argument : kbopt::templateArguments(instance, context.parsed().context())) {
    Meaning meaning;
    meaning.text = argument.second;
    int64_t number = 0;
    if (!StringRef(argument.second).getAsInteger(10, number))
      meaning.value = number;
    text.names[argument.first()] = std::move(meaning);
  }
  if (fact.instances > 1) // Other instances may have other values here.
    for (auto &each : text.names) {
      int64_t number = 0;
      bool isNumber = !StringRef(each.second.text).getAsInteger(10, number);
      each.second.value = isNumber ? std::optional(number) : std::nullopt;
      each.second.expr = nullptr;
    }
  if (fact.stream)
    text.streamText = writtenText(context, fact.stream->getSourceRange()).str();
  if (fact.stream && text.streamText.empty())
    return refuse("has a stream that comes from a macro");
  return text;
}
