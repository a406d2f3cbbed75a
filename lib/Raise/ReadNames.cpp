//===- ReadNames.cpp - Names that another kernel sees ----------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the text of types and names, and the question which of them are in sight outside of the
// kernel.
//
//===----------------------------------------------------------------------===//
#include "ThreadReader.h"
#include "clang/AST/DynamicRecursiveASTVisitor.h"
#include "clang/AST/PrettyPrinter.h"
#include "clang/Lex/Lexer.h"

using namespace clang;

namespace kbopt::raise {

bool ThreadReader::mentionsFollowed(const Expr *expr) const {
  struct Finder : DynamicRecursiveASTVisitor {
    const ThreadReader &reader;
    bool found = false;
    explicit Finder(const ThreadReader &reader) : reader(reader) {}
    bool VisitDeclRefExpr(DeclRefExpr *reference) override {
      const auto *variable = llvm::dyn_cast<VarDecl>(reference->getDecl());
      auto at = reader.values.find(variable);
      bool isUnchangedParameter =
          llvm::isa_and_nonnull<ParmVarDecl>(variable) && at != reader.values.end() &&
          variable->getDeclContext() == reader.kernel && reader.isGivenValue(at->second);
      // A constant that is declared in the kernel is not in sight of another kernel.
      found |= variable && variable->isLocalVarDeclOrParm() && !isUnchangedParameter;
      return !found;
    }
    bool TraversePseudoObjectExpr(PseudoObjectExpr *) override { return true; }
  } finder(*this);
  finder.TraverseStmt(const_cast<Expr *>(expr));
  return finder.found;
}

bool ThreadReader::isGivenValue(const Value &value) const {
  if (value.kind != Value::Number || value.number.poly.monomials().size() != 1)
    return false;
  auto &[monomial, coefficient] = *value.number.poly.monomials().begin();
  return coefficient == 1 && monomial.size() == 1 && space[monomial[0]].kind == Space::Param;
}

bool ThreadReader::isGridObject(const Expr *expr) const {
  const VarDecl *variable = llvm::isa<DeclRefExpr>(expr) ? variableOf(expr) : nullptr;
  return variable && !variable->isLocalVarDeclOrParm() &&
         llvm::is_contained({"threadIdx", "blockIdx", "blockDim", "gridDim"}, variable->getName());
}

/// Whether \p type has a name that is declared in a function.
static bool isLocalType(QualType type) {
  const auto *alias = type->getAs<TypedefType>();
  return alias && alias->getDecl()->getDeclContext()->isFunctionOrMethod();
}

/// Whether a declaration of the template that \p kernel is an instance of has \p parameter.
static bool isParameterOf(const FunctionDecl *kernel, const TemplateTypeParmDecl *parameter) {
  const FunctionTemplateDecl *own = kernel->getPrimaryTemplate();
  return own && llvm::any_of(own->redecls(), [&](const RedeclarableTemplateDecl *each) {
           return llvm::is_contained(each->getTemplateParameters()->asArray(), parameter);
         });
}

bool mentionsThis(const Stmt *statement) {
  return llvm::isa<CXXThisExpr>(statement) ||
         llvm::any_of(statement->children(),
                      [](const Stmt *child) { return child && mentionsThis(child); });
}

bool ThreadReader::isWrittenElsewhere(const Expr *expr) const {
  if (const auto *cast = llvm::dyn_cast<ExplicitCastExpr>(expr);
      cast && isLocalType(cast->getTypeAsWritten()))
    return true;
  return inlineDepth > 0;
}

std::optional<std::string> ThreadReader::functionText(const DeclRefExpr *reference) const {
  const auto *function = llvm::dyn_cast<FunctionDecl>(reference->getDecl());
  bool isNamed = reference->hasQualifier() || reference->hasExplicitTemplateArgs();
  if (!inlineDepth || !isNamed || llvm::isa<EnumConstantDecl>(reference->getDecl()))
    return std::nullopt;
  PrintingPolicy policy = ast.getPrintingPolicy();
  policy.adjustForCPlusPlus();
  std::string text;
  llvm::raw_string_ostream os(text);
  reference->getDecl()->printQualifiedName(os, policy);
  const TemplateArgumentList *arguments =
      function ? function->getTemplateSpecializationArgs() : nullptr;
  if (!arguments || !reference->hasExplicitTemplateArgs())
    return text;
  for (unsigned i = 0; i < arguments->size(); ++i) {
    os << (i ? ", " : "<");
    arguments->get(i).print(policy, os, false);
  }
  return text + ">";
}

std::string ThreadReader::typeText(QualType type) const {
  // The name of the kernel's own template parameter stays.
  if (const auto *substituted = type->getAs<SubstTemplateTypeParmType>()) {
    const TemplateTypeParmDecl *parameter = substituted->getReplacedParameter();
    if (isParameterOf(kernel, parameter))
      return parameter->getNameAsString();
    type = type.getCanonicalType();
  }
  if (isLocalType(type))
    type = type.getCanonicalType();
  PrintingPolicy policy = ast.getPrintingPolicy();
  policy.adjustForCPlusPlus();
  policy.SuppressScope = false;
  return type.getAsString(policy);
}

std::string ThreadReader::sourceText(const Stmt *statement) const {
  CharSourceRange range =
      Lexer::makeFileCharRange(CharSourceRange::getTokenRange(statement->getSourceRange()),
                               ast.getSourceManager(), ast.getLangOpts());
  std::string text;
  if (range.isValid()) {
    text = Lexer::getSourceText(range, ast.getSourceManager(), ast.getLangOpts()).str();
  } else {
    llvm::raw_string_ostream os(text);
    statement->printPretty(os, nullptr, ast.getPrintingPolicy());
  }
  size_t end = text.find('\n');
  return end == std::string::npos ? text : text.substr(0, end) + " ...";
}

} // namespace kbopt::raise
