//===- NewCode.cpp - What stands in the anchors of a reply ------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "NewCode.h"
#include "CallTables.h"
#include "Functions.h"
#include "clang/AST/Attr.h"
#include "clang/AST/DeclTemplate.h"
#include "clang/AST/DynamicRecursiveASTVisitor.h"
#include "clang/AST/ExprCXX.h"
#include "clang/Lex/Lexer.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace kbopt;
using llvm::StringRef;

namespace {

class Walker : public clang::DynamicRecursiveASTVisitor {
public:
  Walker(const ParsedProgram &program, const NewCode &code) : program(program), code(code) {
    ShouldVisitTemplateInstantiations = true;
  }

  std::optional<Refusal> finding;

  bool TraverseDecl(clang::Decl *declaration) override;
  bool VisitDecl(clang::Decl *declaration) override;
  bool VisitVarDecl(clang::VarDecl *variable) override;
  bool VisitAttributedStmt(clang::AttributedStmt *statement) override;
  bool VisitDeclRefExpr(clang::DeclRefExpr *reference) override;
  bool VisitMemberExpr(clang::MemberExpr *member) override;
  bool VisitOverloadExpr(clang::OverloadExpr *overloads) override;
  bool VisitCXXConstructExpr(clang::CXXConstructExpr *expression) override;
  bool VisitCXXNewExpr(clang::CXXNewExpr *expression) override;
  bool VisitCXXDeleteExpr(clang::CXXDeleteExpr *expression) override;
  bool VisitCUDAKernelCallExpr(clang::CUDAKernelCallExpr *launch) override;

private:
  /// False ends the walk.
  bool refuse(EditRule rule, const llvm::Twine &sentence, StringRef anchor) {
    finding = Refusal{rule, sentence.str(), anchor.str()};
    return false;
  }
  /// The anchor that \p location is written in; null outside, and where a macro's body that
  /// the program had before brings it in.
  const NewCode::Piece *pieceAt(clang::SourceLocation location) const;
  const NewCode::Piece *pieceHolding(clang::SourceLocation location) const;
  bool mayCall(const clang::FunctionDecl *callee, StringRef name, clang::SourceLocation location);
  bool checkFileScope(clang::Decl *declaration, const NewCode::Piece &piece);
  bool checkFunction(clang::FunctionDecl *function, const NewCode::Piece &piece);
  bool checkName(StringRef name, const NewCode::Piece &piece);
  bool allows(StringRef what) const { return llvm::is_contained(code.allow, what); }
  bool onDevice() const { return function && isDeviceFunction(function); }
  /// Code of a function for both sides, and of constants, is held to both sides' rules.
  bool onHost() const {
    return !function || !isDeviceFunction(function) || function->hasAttr<clang::CUDAHostAttr>();
  }
  bool isNew(const clang::Decl *declaration) const {
    return pieceHolding(declaration->getLocation());
  }

  const ParsedProgram &program;
  const NewCode &code;
  const clang::FunctionDecl *function = nullptr; ///< around the node that is visited
};

const NewCode::Piece *Walker::pieceHolding(clang::SourceLocation location) const {
  std::optional<unsigned> offset = mainFileOffset(program, location);
  if (!offset)
    return nullptr;
  for (const NewCode::Piece &piece : code.pieces)
    if (*offset >= piece.begin && *offset < piece.end)
      return &piece;
  return nullptr;
}

const NewCode::Piece *Walker::pieceAt(clang::SourceLocation location) const {
  const NewCode::Piece *piece = pieceHolding(location);
  if (!piece || !location.isMacroID())
    return piece;
  // An argument of a macro is written by the reply.
  const clang::SourceManager &sources = program.sources();
  if (pieceHolding(sources.getSpellingLoc(location)))
    return piece;
  // The macro that the text names, and where it was defined.
  StringRef macro;
  bool fromToolkit = false;
  for (; location.isMacroID(); location = sources.getImmediateMacroCallerLoc(location)) {
    macro = clang::Lexer::getImmediateMacroName(location, sources, program.language());
    fromToolkit = sources.isInSystemHeader(sources.getSpellingLoc(location));
  }
  if (fromToolkit)
    return whyDeviceMayNotCall(macro) ? piece : nullptr;
  // The program's own macros may be used again where they were used.
  return code.oldWords.count(macro.str()) ? nullptr : piece;
}

bool Walker::TraverseDecl(clang::Decl *declaration) {
  const clang::FunctionDecl *outer = function;
  if (const auto *inner = llvm::dyn_cast_or_null<clang::FunctionDecl>(declaration))
    function = inner;
  bool goOn = clang::DynamicRecursiveASTVisitor::TraverseDecl(declaration);
  function = outer;
  return goOn;
}

//===-- Declarations ------------------------------------------------------===//

static bool isAllowed(const clang::Attr *attribute) {
  switch (attribute->getKind()) {
  case clang::attr::CUDAGlobal:
  case clang::attr::CUDADevice:
  case clang::attr::CUDAHost:
  case clang::attr::CUDAShared:
  case clang::attr::CUDAConstant: // has a rule of its own
  case clang::attr::CUDALaunchBounds:
  case clang::attr::CUDAClusterDims:
  case clang::attr::CUDAGridConstant:
  case clang::attr::HIPManaged: // likewise
  case clang::attr::AlwaysInline:
  case clang::attr::NoInline:
  case clang::attr::Aligned:
  case clang::attr::Unused:
  case clang::attr::WarnUnusedResult:
  case clang::attr::Likely:
  case clang::attr::Unlikely:
  case clang::attr::FallThrough:
  case clang::attr::LoopHint:
  case clang::attr::OpenCLUnrollHint:
    return true;
  default:
    return false;
  }
}

bool Walker::checkName(StringRef name, const NewCode::Piece &piece) {
  if (name.empty())
    return true;
  if (name.starts_with("__") || (name.size() > 1 && name[0] == '_' && llvm::isUpper(name[1])) ||
      name == "main")
    return refuse(EditRule::RedefinedName, "'" + name + "' is a reserved name", piece.id);
  if (code.untouchedWords.count(name.str()))
    return refuse(EditRule::RedefinedName,
                  "it declares '" + name + "', a name that the program uses elsewhere", piece.id);
  return true;
}

bool Walker::checkFunction(clang::FunctionDecl *declared, const NewCode::Piece &piece) {
  std::string name = declared->getNameAsString();
  const clang::FunctionDecl *definition = nullptr;
  if (!declared->isDefined(definition) || !isNew(definition))
    return refuse(EditRule::Declaration, "the function '" + name + "' has no body of its own",
                  piece.id);
  if (declared->isOverloadedOperator()) {
    bool ownType = llvm::any_of(declared->parameters(), [&](const clang::ParmVarDecl *parameter) {
      const clang::TagDecl *tag = parameter->getType().getNonReferenceType()->getAsTagDecl();
      return tag && isNew(tag);
    });
    return ownType ||
           refuse(EditRule::Declaration,
                  "'" + name + "' is overloaded for types that are not the reply's own", piece.id);
  }
  return true;
}

/// What stands directly in the file or in a namespace.
bool Walker::checkFileScope(clang::Decl *declaration, const NewCode::Piece &piece) {
  using namespace clang;
  if (llvm::isa<StaticAssertDecl, EmptyDecl>(declaration))
    return true;
  if (auto *space = llvm::dyn_cast<NamespaceDecl>(declaration); space && space->getPreviousDecl())
    return refuse(EditRule::Declaration, "it adds to the namespace '" + space->getName() + "'",
                  piece.id);
  if (auto *special = llvm::dyn_cast<ClassTemplateSpecializationDecl>(declaration))
    if (!isNew(special->getSpecializedTemplate()))
      return refuse(EditRule::Declaration,
                    "it specialises '" + special->getQualifiedNameAsString() +
                        "', which is not the reply's own",
                    piece.id);
  if (!llvm::isa<FunctionDecl, FunctionTemplateDecl, RecordDecl, ClassTemplateDecl, EnumDecl,
                 TypedefNameDecl, TypeAliasTemplateDecl, VarDecl, VarTemplateDecl, NamespaceDecl,
                 NamespaceAliasDecl, UsingDecl, UsingShadowDecl, ConceptDecl>(declaration))
    return refuse(EditRule::Declaration,
                  StringRef("a declaration of the kind '") + declaration->getDeclKindName() +
                      "' stands in it",
                  piece.id);
  FunctionDecl *declared = declaration->getAsFunction();
  if (declared) {
    if (declared->getPrimaryTemplate() && !isNew(declared->getPrimaryTemplate()))
      return refuse(EditRule::Declaration,
                    "it specialises '" + declared->getQualifiedNameAsString() +
                        "', which is not the reply's own",
                    piece.id);
    if (!checkFunction(declared, piece))
      return false;
  }
  // Inside a namespace of the reply's own, names are in no conflict.
  const auto *space = llvm::dyn_cast<NamespaceDecl>(declaration->getDeclContext());
  if (space && isNew(space) && !space->isAnonymousNamespace() && !space->isInline())
    return true;
  const auto *named = llvm::dyn_cast<NamedDecl>(declaration);
  return !named || !named->getDeclName().isIdentifier() || checkName(named->getName(), piece);
}

bool Walker::VisitDecl(clang::Decl *declaration) {
  if (declaration->isImplicit())
    return true;
  const NewCode::Piece *piece = pieceHolding(declaration->getLocation());
  if (!piece)
    piece = pieceHolding(declaration->getBeginLoc());
  if (!piece)
    return true;
  for (const clang::Attr *attribute : declaration->attrs())
    if (!attribute->isImplicit() && !attribute->isInherited() && !isAllowed(attribute) &&
        pieceHolding(attribute->getLocation()))
      return refuse(EditRule::Attribute,
                    StringRef("the attribute '") + attribute->getSpelling() + "' stands in it",
                    piece->id);
  bool isInstance = false;
  if (const clang::FunctionDecl *declared = declaration->getAsFunction())
    isInstance = declared->isTemplateInstantiation();
  if (const auto *special = llvm::dyn_cast<clang::ClassTemplateSpecializationDecl>(declaration))
    isInstance = special->getSpecializationKind() != clang::TSK_ExplicitSpecialization &&
                 !llvm::isa<clang::ClassTemplatePartialSpecializationDecl>(declaration);
  if (llvm::isa<clang::LinkageSpecDecl>(declaration->getDeclContext()))
    return refuse(EditRule::Declaration, "it has another language's linkage", piece->id);
  bool fileScope = declaration->getLexicalDeclContext()->isFileContext() && !isInstance &&
                   !declaration->getDescribedTemplate();
  return !fileScope || checkFileScope(declaration, *piece);
}

bool Walker::VisitVarDecl(clang::VarDecl *variable) {
  const NewCode::Piece *piece = pieceHolding(variable->getLocation());
  if (!piece || !variable->hasGlobalStorage() || variable->hasAttr<clang::CUDASharedAttr>())
    return true;
  std::string name = variable->getNameAsString();
  // Clang adds the attribute to constants that device code uses.
  const auto *inConstantMemory = variable->getAttr<clang::CUDAConstantAttr>();
  if (inConstantMemory && !inConstantMemory->isImplicit() && !variable->isConstexpr()) {
    if (allows("constant-memory"))
      return true;
    return refuse(EditRule::ConstantMemory, "the variable '" + name + "' is in constant memory",
                  piece->id);
  }
  bool dependent = variable->getType()->isDependentType() ||
                   (variable->getInit() && variable->getInit()->isValueDependent());
  bool constant =
      variable->isConstexpr() || (!dependent && variable->getType().isConstQualified() &&
                                  variable->hasInit() && variable->hasConstantInitialization());
  if (!constant)
    return refuse(EditRule::MutableState,
                  "the variable '" + name + "' outlives a launch and can change", piece->id);
  return true;
}

bool Walker::VisitAttributedStmt(clang::AttributedStmt *statement) {
  for (const clang::Attr *attribute : statement->getAttrs())
    if (const NewCode::Piece *piece = pieceHolding(attribute->getLocation()))
      if (!attribute->isImplicit() && !isAllowed(attribute))
        return refuse(EditRule::Attribute,
                      StringRef("the attribute '") + attribute->getSpelling() + "' stands in it",
                      piece->id);
  return true;
}

//===-- Calls -------------------------------------------------------------===//

/// \p callee is null where only the name is known.
bool Walker::mayCall(const clang::FunctionDecl *callee, StringRef name,
                     clang::SourceLocation location) {
  const NewCode::Piece *piece = pieceAt(location);
  if (!piece || (callee && isNew(callee)))
    return true;
  if (callee && callee->getTemplateInstantiationPattern() &&
      isNew(callee->getTemplateInstantiationPattern()))
    return true;
  if (onDevice())
    if (std::optional<StringRef> does = whyDeviceMayNotCall(name))
      return refuse(EditRule::DeviceCall, "it calls '" + name + "' in device code, which " + *does,
                    piece->id);
  if (!onHost() || code.oldWords.count(name.str()) || hostMayCall(name, code.allow))
    return true;
  if (callee && (callee->isConstexpr() || callee->hasAttr<clang::CUDAGlobalAttr>()))
    return true;
  // A function for both sides that the program had before.
  if (onDevice() && callee && isDeviceFunction(callee))
    return true;
  StringRef allowance = allowanceForCall(name);
  return refuse(
      EditRule::HostCall,
      "it calls '" + name + "' on the host" +
          (allowance.empty() ? "" : ", which a pass must allow with '" + allowance.str() + "'"),
      piece->id);
}

bool Walker::VisitDeclRefExpr(clang::DeclRefExpr *reference) {
  const auto *callee = llvm::dyn_cast<clang::FunctionDecl>(reference->getDecl());
  return !callee || mayCall(callee, callee->getNameAsString(), reference->getBeginLoc());
}

bool Walker::VisitMemberExpr(clang::MemberExpr *member) {
  const auto *callee = llvm::dyn_cast<clang::CXXMethodDecl>(member->getMemberDecl());
  if (!callee || llvm::isa<clang::CXXConversionDecl, clang::CXXDestructorDecl>(callee))
    return true;
  return mayCall(callee, callee->getNameAsString(), member->getMemberLoc());
}

bool Walker::VisitOverloadExpr(clang::OverloadExpr *overloads) {
  // In a template: whatever is chosen in the end, the name is known, and device code is
  // allowed all but a few. Host code of templates is judged by its instances.
  if (!onDevice())
    return true;
  const NewCode::Piece *piece = pieceAt(overloads->getNameLoc());
  std::string name = overloads->getName().getAsString();
  if (std::optional<StringRef> does = whyDeviceMayNotCall(name); piece && does)
    return refuse(EditRule::DeviceCall, "it calls '" + name + "' in device code, which " + *does,
                  piece->id);
  return true;
}

bool Walker::VisitCXXConstructExpr(clang::CXXConstructExpr *expression) {
  const NewCode::Piece *piece = pieceAt(expression->getBeginLoc());
  const clang::CXXRecordDecl *type = expression->getConstructor()->getParent();
  if (!piece || onDevice() || isNew(type) || type->isTriviallyCopyable() ||
      code.oldWords.count(type->getNameAsString()))
    return true;
  return refuse(EditRule::HostCall,
                "it makes a '" + type->getQualifiedNameAsString() + "' on the host", piece->id);
}

bool Walker::VisitCXXNewExpr(clang::CXXNewExpr *expression) {
  const NewCode::Piece *piece = pieceAt(expression->getBeginLoc());
  if (!piece || expression->getNumPlacementArgs())
    return true;
  return refuse(onDevice() ? EditRule::DeviceCall : EditRule::HostCall,
                "it allocates memory with 'new'", piece->id);
}

bool Walker::VisitCXXDeleteExpr(clang::CXXDeleteExpr *expression) {
  const NewCode::Piece *piece = pieceAt(expression->getBeginLoc());
  if (!piece)
    return true;
  return refuse(onDevice() ? EditRule::DeviceCall : EditRule::HostCall,
                "it frees memory with 'delete'", piece->id);
}

bool Walker::VisitCUDAKernelCallExpr(clang::CUDAKernelCallExpr *launch) {
  const NewCode::Piece *piece = pieceAt(launch->getBeginLoc());
  if (!piece || !onDevice())
    return true;
  return refuse(EditRule::DeviceLaunch, "it launches a kernel from device code", piece->id);
}

} // namespace

std::optional<Refusal> kbopt::checkNewCode(const ParsedProgram &program, const NewCode &code) {
  Walker walker(program, code);
  for (const clang::Decl *declaration : program.declarations())
    if (!walker.TraverseDecl(const_cast<clang::Decl *>(declaration)))
      break;
  return walker.finding;
}
