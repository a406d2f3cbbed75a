//===- DeviceUses.cpp - Structures that device code reads and writes -------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the forms in which a function of the device may use an array of structures, and the text
// that each becomes. The index of an element stays where it stands, so that changes never overlap.
//
//===----------------------------------------------------------------------===//

#include "SplitArray.h"
#include "clang/Lex/Lexer.h"

using namespace kbopt;
using namespace kbopt::split;
using namespace clang;

namespace {

/// One structure, at the place where the code uses it.
struct Element {
  const Expr *expr;           ///< the lvalue, or the pointer where `isPointer`
  std::string index;          ///< its text, for a copy of the structure
  std::string obstacleToCopy; ///< why the index cannot stand in the text several times
  bool isPointer = false;     ///< a member is named by `->`
  bool isIndexed = true;      ///< `p[i]` or an alias: the part's pointer has its index in the text
};

class Follower {
public:
  Follower(const PassContext &context, Pointer &pointer)
      : context(context), ast(context.parsed().context()), pointer(pointer),
        parents(pointer.function) {}

  std::string follow() {
    for (const DeclRefExpr *reference : referencesTo(pointer.variable))
      if (why.empty())
        usePointer(reference, reference);
    for (const auto *lambda : ast::findAll<LambdaExpr>(pointer.function->getBody()))
      if (ast::mentions(lambda->getBody(), pointer.variable))
        stop(lambda, "a lambda uses " + quoted(pointer.variable));
    return why;
  }

private:
  std::vector<const DeclRefExpr *> referencesTo(const VarDecl *variable) const {
    std::vector<const DeclRefExpr *> found;
    std::set<SourceLocation> seen;
    for (const auto *each : ast::findAll<DeclRefExpr>(pointer.function->getBody()))
      if (each->getDecl()->getCanonicalDecl() == variable->getCanonicalDecl() &&
          seen.insert(each->getLocation()).second)
        found.push_back(each);
    return found;
  }
  void stop(const Stmt *at, const llvm::Twine &what) {
    if (why.empty())
      why = (what + " at " + ast::lineText(context, at->getBeginLoc())).str();
  }
  std::string quoted(const VarDecl *variable) const {
    return "'" + variable->getNameAsString() + "'";
  }
  void change(SourceRange range, const std::string &text) {
    std::string obstacle;
    if (std::optional<ByteRange> bytes = byteRange(context.parsed(), range, &obstacle))
      pointer.changes.push_back({bytes->begin, bytes->end, text});
    else if (why.empty())
      why = "a use of " + quoted(pointer.variable) + " cannot be changed: " + obstacle;
  }
  /// The expression that is \p expr but for parentheses and casts that change no address.
  const Expr *outermost(const Expr *expr) const {
    for (;;) {
      const auto *up = dyn_cast_or_null<Expr>(parents.of(expr));
      const auto *cast = dyn_cast_or_null<ImplicitCastExpr>(up);
      const bool isSame =
          cast && (cast->getCastKind() == CK_NoOp ||
                   (cast->getCastKind() == CK_LValueToRValue && expr->getType()->isPointerType()));
      if (!up || !(isa<ParenExpr>(up) || isSame))
        return expr;
      expr = up;
    }
  }
  /// What a text that stands in several places must be: free of effects and of structures that
  /// change themselves.
  std::string obstacleToRepeat(const Expr *index) const {
    std::string obstacle;
    ast::walk(index, [&](const Stmt *each) {
      const auto *unary = dyn_cast<UnaryOperator>(each);
      const auto *binary = dyn_cast<BinaryOperator>(each);
      if (isa<CallExpr>(each) || (unary && unary->isIncrementDecrementOp()) ||
          (binary && binary->isAssignmentOp()))
        obstacle = "the index has an effect or calls a function";
      if (const auto *reference = dyn_cast<DeclRefExpr>(each))
        if (const auto *variable = dyn_cast<VarDecl>(reference->getDecl());
            variable && variable->getType()->isPointerType())
          obstacle = "the index is read from memory";
      return obstacle.empty();
    });
    if (obstacle.empty() && context.text(index->getSourceRange()).empty())
      obstacle = "the index comes from a macro";
    return obstacle;
  }
  Element elementAt(const Expr *expr, const Expr *index, bool isPointer) const {
    if (!index)
      return {expr, "0", "", isPointer};
    return {expr, context.text(index->getSourceRange()).str(), obstacleToRepeat(index), isPointer};
  }

  void noteLoop(const Stmt *at) {
    for (const Stmt *up = parents.of(at); up; up = parents.of(up))
      pointer.inLoop |= isa<ForStmt, WhileStmt, DoStmt>(up);
  }
  void usePointer(const Expr *expr, const DeclRefExpr *reference);
  void useSum(const BinaryOperator *sum, const Expr *index, const DeclRefExpr *reference);
  void useElement(const Element &element, const DeclRefExpr *reference, const VarDecl *alias);
  void useMember(const Element &element, const MemberExpr *member, const DeclRefExpr *reference,
                 const VarDecl *alias);
  std::optional<unsigned> partAt(const MemberExpr *member, const Expr *&used,
                                 SourceLocation &end) const;
  bool usePart(const Expr *part, bool &isWritten);
  void handOver(const CallExpr *call, const Expr *argument);
  void addAlias(const DeclStmt *declaration, const Expr *initial, const Expr *index);
  void useAlias(const VarDecl *alias, const std::string &index);
  bool isCopied(const Expr *expr) const;
  void load(const Element &element, const Expr *expr);
  void store(const Element &element, const CXXOperatorCallExpr *assignment);
  std::set<unsigned> partsOfCopy(const Expr *expr) const;
  void replacePointer(const DeclRefExpr *reference, const Element &element, unsigned part,
                      const VarDecl *alias);

  const PassContext &context;
  const ASTContext &ast;
  Pointer &pointer;
  Parents parents;
  std::string why;
};

/// \p expr is the pointer as it is, but for parentheses.
void Follower::usePointer(const Expr *expr, const DeclRefExpr *reference) {
  expr = outermost(expr);
  const Stmt *up = parents.of(expr);
  if (const auto *subscript = dyn_cast_or_null<ArraySubscriptExpr>(up);
      subscript && subscript->getBase()->IgnoreParens() == expr->IgnoreParens())
    return useElement(elementAt(subscript, subscript->getIdx(), false), reference, nullptr);
  if (const auto *unary = dyn_cast_or_null<UnaryOperator>(up);
      unary && unary->getOpcode() == UO_Deref) {
    // `(*p).f` keeps its star.
    Element element = elementAt(unary, nullptr, false);
    return useElement(element, reference, nullptr);
  }
  if (const auto *member = dyn_cast_or_null<MemberExpr>(up)) {
    Element element = elementAt(expr, nullptr, true);
    element.isIndexed = false;
    return useMember(element, member, reference, nullptr);
  }
  if (const auto *sum = dyn_cast_or_null<BinaryOperator>(up); sum && sum->getOpcode() == BO_Add) {
    const bool isLeft = sum->getLHS()->IgnoreParens() == expr->IgnoreParens();
    return useSum(sum, isLeft ? sum->getRHS() : sum->getLHS(), reference);
  }
  if (const auto *call = dyn_cast_or_null<CallExpr>(up))
    return handOver(call, expr);
  stop(reference, quoted(pointer.variable) + " is used in another form than p[i].f");
}

/// \p sum is the pointer plus \p index.
void Follower::useSum(const BinaryOperator *sum, const Expr *index, const DeclRefExpr *reference) {
  const Expr *expr = outermost(sum);
  const Stmt *up = parents.of(expr);
  if (const auto *unary = dyn_cast_or_null<UnaryOperator>(up);
      unary && unary->getOpcode() == UO_Deref)
    return useElement(elementAt(unary, index, false), reference, nullptr);
  if (const auto *member = dyn_cast_or_null<MemberExpr>(up)) {
    Element element = elementAt(expr, index, true);
    element.isIndexed = false;
    return useMember(element, member, reference, nullptr);
  }
  if (const auto *declaration = dyn_cast_or_null<DeclStmt>(up))
    return addAlias(declaration, expr, index);
  stop(reference, quoted(pointer.variable) + " is used in another form than p[i].f");
}

/// An element as a whole, or one of its fields; through \p alias if there is one.
void Follower::useElement(const Element &element, const DeclRefExpr *reference,
                          const VarDecl *alias) {
  const Expr *expr = outermost(element.expr);
  const Stmt *up = parents.of(expr);
  if (const auto *member = dyn_cast_or_null<MemberExpr>(up))
    return useMember(element, member, reference, alias);
  if (isCopied(expr))
    return load(element, element.expr);
  if (const auto *assignment = dyn_cast_or_null<CXXOperatorCallExpr>(up);
      assignment && assignment->getOperator() == OO_Equal && assignment->getNumArgs() == 2)
    return assignment->getArg(0) == expr ? store(element, assignment) : load(element, element.expr);
  const auto *subscript = dyn_cast<ArraySubscriptExpr>(element.expr);
  if (!alias && subscript) {
    if (const auto *declaration = dyn_cast_or_null<DeclStmt>(up))
      return addAlias(declaration, expr, subscript->getIdx());
    if (const auto *address = dyn_cast_or_null<UnaryOperator>(up);
        address && address->getOpcode() == UO_AddrOf)
      if (const Expr *whole = outermost(address);
          const auto *declaration = dyn_cast_or_null<DeclStmt>(parents.of(whole)))
        return addAlias(declaration, whole, subscript->getIdx());
  }
  stop(reference, "a structure of " + quoted(pointer.variable) +
                      " is used as a whole in a way that is not followed");
}

/// The part that \p member is, or of an array an element with a constant index; \p used is the
/// expression of that, and its last token is at \p end.
std::optional<unsigned> Follower::partAt(const MemberExpr *member, const Expr *&used,
                                         SourceLocation &end) const {
  const auto *field = dyn_cast<FieldDecl>(member->getMemberDecl());
  if (!field)
    return std::nullopt;
  std::vector<unsigned> parts = pointer.layout->partsOf(field);
  used = member;
  end = member->getMemberLoc();
  if (!field->getType()->isArrayType())
    return parts.front();
  const Stmt *up = parents.of(outermost(member));
  const auto *decay = dyn_cast_or_null<ImplicitCastExpr>(up);
  const auto *subscript = decay ? dyn_cast_or_null<ArraySubscriptExpr>(parents.of(decay)) : nullptr;
  std::optional<int64_t> index = subscript && subscript->getLHS() == decay
                                     ? ast::constantOf(subscript->getIdx(), ast)
                                     : std::nullopt;
  if (!index || *index < 0 || *index >= int64_t(parts.size()))
    return std::nullopt;
  used = subscript;
  end = subscript->getRBracketLoc();
  return parts[*index];
}

void Follower::useMember(const Element &element, const MemberExpr *member,
                         const DeclRefExpr *reference, const VarDecl *alias) {
  const std::string name = "'" + member->getMemberDecl()->getNameAsString() + "'";
  if (!isa<FieldDecl>(member->getMemberDecl()))
    return stop(member, name + " of '" + pointer.layout->name() + "' is called");
  const Expr *used = nullptr;
  SourceLocation end;
  std::optional<unsigned> part = partAt(member, used, end);
  if (!part)
    return stop(member, "the array " + name + " is used with an index that is no constant");
  bool isWritten = false;
  if (!usePart(used, isWritten))
    return stop(member, "the address of " + name + " may be kept");
  if (isWritten)
    pointer.written.insert(*part);
  replacePointer(reference, element, *part, alias);
  // `.f` goes; `->f` of a pointer that has its index is an element of the part's array.
  change({member->getOperatorLoc(), end}, element.isPointer && !element.isIndexed ? "[0]" : "");
}

/// The name of a part's array in the place of the structures'.
void Follower::replacePointer(const DeclRefExpr *reference, const Element &element, unsigned part,
                              const VarDecl *alias) {
  std::string name = pointer.nameOf(context, part);
  if (alias)
    name = element.isPointer || alias->getType()->isReferenceType()
               ? name + "[" + element.index + "]"
               : "(" + name + " + " + element.index + ")";
  change(reference->getSourceRange(), name);
  noteLoop(reference);
}

/// Whether \p part, an lvalue, is read or written as a value; false where its address may be kept.
bool Follower::usePart(const Expr *part, bool &isWritten) {
  const Stmt *up = parents.of(part);
  while (isa_and_nonnull<ParenExpr>(up)) {
    part = cast<Expr>(up);
    up = parents.of(part);
  }
  if (const auto *cast = dyn_cast_or_null<ImplicitCastExpr>(up)) {
    if (cast->getCastKind() == CK_LValueToRValue)
      return true;
    return cast->getCastKind() == CK_NoOp && usePart(cast, isWritten);
  }
  if (const auto *unary = dyn_cast_or_null<UnaryOperator>(up)) {
    const auto *call = dyn_cast_or_null<CallExpr>(parents.of(outermost(unary)));
    const FunctionDecl *callee = call ? call->getDirectCallee() : nullptr;
    const StringRef name = callee && callee->getIdentifier() ? callee->getName() : StringRef();
    isWritten = name != "__ldg";
    return unary->isIncrementDecrementOp() ||
           (unary->getOpcode() == UO_AddrOf && (name.starts_with("atomic") || !isWritten) &&
            context.parsed().sources().isInSystemHeader(callee->getLocation()));
  }
  if (const auto *binary = dyn_cast_or_null<BinaryOperator>(up)) {
    isWritten = binary->isAssignmentOp() && binary->getLHS() == part;
    return isWritten;
  }
  if (const auto *member = dyn_cast_or_null<MemberExpr>(up))
    return isa<FieldDecl>(member->getMemberDecl()) && usePart(member, isWritten);
  if (const auto *choice = dyn_cast_or_null<ConditionalOperator>(up))
    return choice->getCond() != part && usePart(choice, isWritten);
  if (const auto *made = dyn_cast_or_null<CXXConstructExpr>(up))
    return made->getConstructor()->isCopyOrMoveConstructor();
  if (const auto *assignment = dyn_cast_or_null<CXXOperatorCallExpr>(up);
      assignment && assignment->getOperator() == OO_Equal && assignment->getNumArgs() == 2) {
    isWritten = assignment->getArg(0) == part;
    return true;
  }
  return false;
}

void Follower::handOver(const CallExpr *call, const Expr *argument) {
  const FunctionDecl *callee = call->getDirectCallee();
  for (unsigned i = 0; callee && i < call->getNumArgs(); ++i)
    if (call->getArg(i) == argument && i < callee->getNumParams()) {
      pointer.handed.push_back({argument, callee, i});
      noteLoop(call);
      return;
    }
  stop(call, quoted(pointer.variable) + " is handed on");
}

/// `S &s = p[i];`, `S *s = &p[i];` and `S *s = p + i;` keep the index instead.
void Follower::addAlias(const DeclStmt *declaration, const Expr *initial, const Expr *index) {
  const auto *alias =
      declaration->isSingleDecl() ? dyn_cast<VarDecl>(declaration->getSingleDecl()) : nullptr;
  if (!alias || !alias->getInit() || alias->isStaticLocal() ||
      outermost(alias->getInit()->IgnoreParenImpCasts()) != initial ||
      !(alias->getType()->isReferenceType() || alias->getType()->isPointerType()))
    return stop(declaration, quoted(pointer.variable) + " is used in another form than p[i].f");
  const std::string name = context.freshName(alias->getNameAsString() + "_at");
  const std::string type = index->getType().getUnqualifiedType().getAsString();
  // The index itself stays: it may hold structures of its own.
  std::optional<ByteRange> at = byteRange(context.parsed(), index->getSourceRange());
  std::optional<ByteRange> all = byteRange(context.parsed(), declaration->getSourceRange());
  if (!at || !all)
    return stop(declaration, "a macro makes the declaration");
  pointer.changes.push_back({all->begin, at->begin, "const " + type + " " + name + " = "});
  pointer.changes.push_back({at->end, all->end, ";"});
  useAlias(alias, name);
}

void Follower::useAlias(const VarDecl *alias, const std::string &index) {
  for (const DeclRefExpr *reference : referencesTo(alias)) {
    const Expr *expr = outermost(reference);
    if (alias->getType()->isReferenceType()) {
      useElement({reference, index, ""}, reference, alias);
      continue;
    }
    const Stmt *up = parents.of(expr);
    if (const auto *member = dyn_cast_or_null<MemberExpr>(up))
      useMember({expr, index, "", true}, member, reference, alias);
    else if (const auto *unary = dyn_cast_or_null<UnaryOperator>(up);
             unary && unary->getOpcode() == UO_Deref)
      useElement({unary, index, ""}, reference, alias);
    else
      stop(reference, quoted(alias) + " is used in another form than s->f");
  }
}

/// Whether \p expr, a structure, is copied by the constructor that the compiler makes.
bool Follower::isCopied(const Expr *expr) const {
  const auto *made = dyn_cast_or_null<CXXConstructExpr>(parents.of(expr));
  return made && made->getConstructor()->isCopyOrMoveConstructor();
}

/// The parts that are read of a copy: all, or those of a variable of which only fields are used.
std::set<unsigned> Follower::partsOfCopy(const Expr *expr) const {
  std::set<unsigned> all, used;
  for (unsigned i = 0; i < pointer.layout->parts().size(); ++i)
    all.insert(i);
  const Stmt *up = parents.of(outermost(expr));
  while (isa_and_nonnull<Expr>(up))
    up = parents.of(up);
  const auto *declaration = dyn_cast_or_null<DeclStmt>(up);
  const auto *copy = declaration && declaration->isSingleDecl()
                         ? dyn_cast<VarDecl>(declaration->getSingleDecl())
                         : nullptr;
  const auto *made =
      copy && copy->getInit() ? dyn_cast<CXXConstructExpr>(copy->getInit()) : nullptr;
  if (!made || made->getNumArgs() != 1 || made->getArg(0) != outermost(expr) ||
      copy->isStaticLocal())
    return all;
  for (const DeclRefExpr *reference : referencesTo(copy)) {
    const auto *member = dyn_cast_or_null<MemberExpr>(parents.of(outermost(reference)));
    const auto *field = member ? dyn_cast<FieldDecl>(member->getMemberDecl()) : nullptr;
    if (!field)
      return all;
    const Expr *selected = nullptr;
    SourceLocation end;
    if (std::optional<unsigned> part = partAt(member, selected, end))
      used.insert(*part);
    else
      for (unsigned part : pointer.layout->partsOf(field))
        used.insert(part);
  }
  return used;
}

void Follower::load(const Element &element, const Expr *expr) {
  if (!pointer.layout->isAggregate())
    return stop(expr, "'" + pointer.layout->name() + "' has constructors, and is copied");
  if (!element.obstacleToCopy.empty())
    return stop(expr, element.obstacleToCopy + ", and the structure is copied");
  std::map<unsigned, std::string> texts;
  for (unsigned part : partsOfCopy(expr))
    texts[part] = pointer.nameOf(context, part) + "[" + element.index + "]";
  change(expr->getSourceRange(), pointer.layout->construct(texts));
  noteLoop(expr);
}

/// `p[i] = s;` is a statement for each part.
void Follower::store(const Element &element, const CXXOperatorCallExpr *assignment) {
  const Stmt *statement = assignment;
  for (const Stmt *up = parents.of(statement); isa_and_nonnull<FullExpr>(up); up = parents.of(up))
    statement = up;
  const Stmt *around = parents.of(statement);
  const auto *branch = dyn_cast_or_null<IfStmt>(around);
  const auto *loop = dyn_cast_or_null<ForStmt>(around);
  const bool isAlone = isa_and_nonnull<CompoundStmt>(around) ||
                       (branch && branch->getCond() != statement) ||
                       (loop && loop->getBody() == statement);
  const SourceManager &sources = context.parsed().sources();
  std::optional<Token> semicolon =
      Lexer::findNextToken(statement->getEndLoc(), sources, context.parsed().language());
  if (!isAlone || !semicolon || semicolon->isNot(tok::semi))
    return stop(assignment, "a structure is stored inside of an expression");
  if (!element.obstacleToCopy.empty())
    return stop(assignment, element.obstacleToCopy + ", and a structure is stored");
  if (pointer.layout->hasPadding())
    return stop(assignment, "'" + pointer.layout->name() + "' has padding, and is stored");
  const std::string value = context.freshName("value");
  std::string stores = ";\n";
  for (unsigned part = 0; part < pointer.layout->parts().size(); ++part) {
    stores += pointer.nameOf(context, part) + "[" + element.index + "] = " + value +
              pointer.layout->parts()[part].selection + ";\n";
    pointer.written.insert(part);
  }
  change({assignment->getBeginLoc(), assignment->getOperatorLoc()},
         "{\nconst " + pointer.layout->name() + " " + value + " =");
  change({semicolon->getLocation(), semicolon->getLocation()}, stores + "}");
}

} // namespace

std::string split::followDevice(const PassContext &context, Pointer &pointer) {
  return Follower(context, pointer).follow();
}
