//===- Anchor.cpp - Tying text to AST nodes -------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "kb-opt/Source/Anchor.h"

#include "kb-opt/Source/ProgramFacts.h"
#include "clang/AST/ASTContext.h"
#include "clang/AST/Attr.h"
#include "clang/AST/DeclTemplate.h"
#include "clang/AST/ParentMapContext.h"
#include "clang/AST/RawCommentList.h"
#include "clang/Lex/Lexer.h"

using namespace kbopt;
using llvm::StringRef;

StringRef kbopt::anchorKindName(AnchorKind kind) {
  switch (kind) {
  case AnchorKind::Node:
    return "node";
  case AnchorKind::BeforeFunction:
    return "before-function";
  case AnchorKind::LaunchSite:
    return "launch-site";
  case AnchorKind::Includes:
    return "includes";
  case AnchorKind::BeforeName:
    return "before-name";
  }
  llvm_unreachable("all kinds are named");
}

/// What an anchor's digest covers: its text, or the line after an insertion
/// point.
static StringRef digestedText(StringRef text, unsigned begin, unsigned end) {
  if (begin != end)
    return text.slice(begin, end);
  return text.substr(begin).take_until([](char c) { return c == '\n'; });
}

bool Anchor::matches(StringRef text) const {
  return begin <= end && end <= text.size() && digestOf(digestedText(text, begin, end)) == digest;
}

/// The macro in the text that \p place comes out of, as a reason.
static std::string fromMacro(const ParsedProgram &program, clang::SourceLocation place) {
  const clang::SourceManager &sources = program.sources();
  for (clang::SourceLocation caller = sources.getImmediateMacroCallerLoc(place); caller.isMacroID();
       caller = sources.getImmediateMacroCallerLoc(place))
    place = caller;
  return ("it comes from the macro '" +
          clang::Lexer::getImmediateMacroName(place, sources, program.language()) + "'")
      .str();
}

/// The bytes of the main file that \p range, which lies in a macro's expansion, is, where all of it
/// is one argument of the macro.
static std::optional<ByteRange> argumentBytes(const ParsedProgram &program,
                                              clang::SourceRange range) {
  const clang::SourceManager &sources = program.sources();
  const clang::LangOptions &language = program.language();
  if (!sources.isMacroArgExpansion(range.getBegin()) ||
      !sources.isMacroArgExpansion(range.getEnd()))
    return std::nullopt;
  clang::CharSourceRange found = clang::Lexer::makeFileCharRange(
      clang::CharSourceRange::getTokenRange(range), sources, language);
  if (found.isInvalid() || sources.getFileID(found.getBegin()) != sources.getMainFileID())
    return std::nullopt;
  return ByteRange{sources.getFileOffset(found.getBegin()), sources.getFileOffset(found.getEnd())};
}

/// The statement around \p statement; null where that is none.
static const clang::Stmt *parentOf(const ParsedProgram &program, const clang::Stmt *statement) {
  for (const clang::DynTypedNode &parent :
       program.context().getParentMapContext().getParents(*statement))
    if (const auto *outer = parent.get<clang::Stmt>())
      return outer;
  return nullptr;
}

namespace {
/// The blocks of statements that are arguments of macros and launch kernels, as those of
/// `AT_DISPATCH_FLOATING_TYPES(type, name, [&] { … })`. A macro may use its argument several times:
/// the facts of a launch are those of all of them (ProgramFacts.h), so that one text can be changed
/// for all.
struct ArgumentBlocks {
  explicit ArgumentBlocks(const ParsedProgram &program) {
    for (const LaunchFact &launch : findLaunches(program)) {
      std::optional<ByteRange> block;
      if (!launch.call->getBeginLoc().isMacroID())
        continue;
      for (const clang::Stmt *each = launch.call; each; each = parentOf(program, each))
        if (llvm::isa<clang::CompoundStmt>(each))
          if (std::optional<ByteRange> outer = argumentBytes(program, each->getSourceRange()))
            block = outer;
      if (block)
        blocks.push_back(*block);
    }
  }
  bool hold(ByteRange range) const {
    return llvm::any_of(blocks, [&](const ByteRange &each) {
      return each.begin <= range.begin && range.end <= each.end;
    });
  }
  std::vector<ByteRange> blocks;
};
} // namespace

std::optional<ByteRange> kbopt::byteRange(const ParsedProgram &program, clang::SourceRange range,
                                          std::string *reason) {
  auto refuse = [&](StringRef why) {
    if (reason)
      *reason = why.str();
    return std::nullopt;
  };
  if (range.isInvalid())
    return refuse("it has no place in the source");
  const clang::SourceManager &sources = program.sources();
  const clang::LangOptions &language = program.language();
  if (sources.getFileID(sources.getExpansionLoc(range.getBegin())) != sources.getMainFileID())
    return refuse("it lies in a header");
  // A node may begin or end with a whole macro (`__global__`, a named
  // constant), for then its text is in the file. It may not be a part of what
  // a macro expands to, nor all of it.
  clang::SourceLocation first = range.getBegin(), last = range.getEnd();
  if (first.isMacroID() && last.isMacroID())
    if (std::optional<ByteRange> bytes = argumentBytes(program, range);
        bytes &&
        program.derived<ArgumentBlocks>([&] { return ArgumentBlocks(program); }).hold(*bytes))
      return bytes;
  if (first.isMacroID() &&
      !clang::Lexer::isAtStartOfMacroExpansion(range.getBegin(), sources, language, &first))
    return refuse(fromMacro(program, range.getBegin()));
  if (last.isMacroID() &&
      !clang::Lexer::isAtEndOfMacroExpansion(range.getEnd(), sources, language, &last))
    return refuse(fromMacro(program, range.getEnd()));
  if (range.getBegin().isMacroID() && range.getEnd().isMacroID() &&
      sources.getExpansionLoc(range.getBegin()) == sources.getExpansionLoc(range.getEnd()))
    return refuse(fromMacro(program, range.getBegin()));
  if (sources.getFileID(first) != sources.getMainFileID() ||
      sources.getFileID(last) != sources.getMainFileID())
    return refuse("it lies in more than one file");
  unsigned begin = sources.getFileOffset(first);
  unsigned end =
      sources.getFileOffset(last) + clang::Lexer::MeasureTokenLength(last, sources, language);
  if (end < begin || end > program.text().size())
    return refuse("it has no place in the source");
  return ByteRange{begin, end};
}

/// Whether a directive stands inside the range: a text between #if and #endif
/// is not one piece.
static bool holdsDirective(StringRef text, ByteRange range) {
  StringRef rest = text.slice(range.begin, range.end);
  for (size_t newline = rest.find('\n'); newline != StringRef::npos;
       newline = rest.find('\n', newline + 1)) {
    StringRef line = rest.substr(newline + 1).ltrim(" \t");
    if (line.starts_with("#") && !line.drop_front().ltrim(" \t").starts_with("pragma"))
      return true;
  }
  return false;
}

static Anchor makeAnchor(const ParsedProgram &program, AnchorKind kind, const clang::Decl *owner,
                         StringRef nodeKind, ByteRange range) {
  Anchor anchor;
  anchor.kind = kind;
  anchor.usr = usrOf(owner);
  anchor.nodeKind = nodeKind.str();
  anchor.begin = range.begin;
  anchor.end = range.end;
  const clang::SourceManager &sources = program.sources();
  anchor.line = sources.getLineNumber(sources.getMainFileID(), range.begin);
  anchor.column = sources.getColumnNumber(sources.getMainFileID(), range.begin);
  anchor.digest = digestOf(digestedText(program.text(), range.begin, range.end));
  return anchor;
}

AnchorOrReason kbopt::anchorOfRange(const ParsedProgram &program, clang::SourceRange range,
                                    const clang::Decl *owner, StringRef nodeKind) {
  std::string reason;
  std::optional<ByteRange> bytes = byteRange(program, range, &reason);
  if (!bytes)
    return AnchorOrReason::refuse(reason);
  if (holdsDirective(program.text(), *bytes))
    return AnchorOrReason::refuse("a preprocessor directive stands in it");
  return makeAnchor(program, AnchorKind::Node, owner, nodeKind, *bytes);
}

/// \p range with the semicolon after it, if one is next.
static ByteRange withSemicolon(const ParsedProgram &program, ByteRange range) {
  const clang::SourceManager &sources = program.sources();
  clang::SourceLocation last =
      sources.getComposedLoc(sources.getMainFileID(), range.end ? range.end - 1 : 0);
  auto next = clang::Lexer::findNextToken(last, sources, program.language());
  if (next && next->is(clang::tok::semi))
    range.end = sources.getFileOffset(next->getLocation()) + 1;
  return range;
}

AnchorOrReason kbopt::anchorOf(const ParsedProgram &program, const clang::Stmt *statement,
                               const clang::Decl *owner) {
  AnchorOrReason anchor =
      anchorOfRange(program, statement->getSourceRange(), owner, statement->getStmtClassName());
  if (!anchor)
    return anchor;
  ByteRange range{anchor->begin, anchor->end};
  // clang's range of an expression statement ends before its semicolon. An
  // expression inside another has none.
  bool ended = program.text().slice(range.begin, range.end).ends_with(";") ||
               program.text().slice(range.begin, range.end).ends_with("}");
  if (!ended) {
    bool isStatement = !llvm::isa<clang::Expr>(statement);
    for (const clang::DynTypedNode &parent :
         program.context().getParentMapContext().getParents(*statement)) {
      const auto *outer = parent.get<clang::Stmt>();
      isStatement |=
          outer &&
          llvm::isa<clang::CompoundStmt, clang::LabelStmt, clang::CaseStmt, clang::AttributedStmt>(
              outer);
      // The body of a loop or branch, not its condition.
      if (const auto *branch = llvm::dyn_cast_or_null<clang::IfStmt>(outer))
        isStatement |= branch->getThen() == statement || branch->getElse() == statement;
      if (const auto *loop = llvm::dyn_cast_or_null<clang::ForStmt>(outer))
        isStatement |= loop->getBody() == statement;
      if (const auto *loop = llvm::dyn_cast_or_null<clang::WhileStmt>(outer))
        isStatement |= loop->getBody() == statement;
      if (const auto *loop = llvm::dyn_cast_or_null<clang::DoStmt>(outer))
        isStatement |= loop->getBody() == statement;
    }
    if (isStatement)
      range = withSemicolon(program, range);
  }
  return makeAnchor(program, AnchorKind::Node, owner, statement->getStmtClassName(), range);
}

AnchorOrReason kbopt::anchorOf(const ParsedProgram &program, const clang::Decl *declaration) {
  std::string kind = (StringRef(declaration->getDeclKindName()) + "Decl").str();
  const clang::Decl *owner = declaration;
  if (!declaration->isFunctionOrFunctionTemplate())
    if (const auto *context = llvm::dyn_cast<clang::FunctionDecl>(declaration->getDeclContext()))
      owner = context;
  AnchorOrReason anchor = anchorOfRange(program, declaration->getSourceRange(), owner, kind);
  if (!anchor || llvm::isa<clang::ParmVarDecl, clang::FunctionDecl>(declaration))
    return anchor;
  return makeAnchor(program, AnchorKind::Node, owner, kind,
                    withSemicolon(program, {anchor->begin, anchor->end}));
}

AnchorOrReason kbopt::anchorOfBody(const ParsedProgram &program,
                                   const clang::FunctionDecl *function) {
  const auto *body = llvm::dyn_cast_or_null<clang::CompoundStmt>(function->getBody());
  if (!body)
    return AnchorOrReason::refuse("it has no body of its own");
  std::string reason;
  std::optional<ByteRange> range = byteRange(program, body->getSourceRange(), &reason);
  if (!range)
    return AnchorOrReason::refuse(reason);
  if (body->getLBracLoc().isMacroID() || body->getRBracLoc().isMacroID())
    return AnchorOrReason::refuse("its braces come from a macro");
  ByteRange inside{range->begin + 1, range->end - 1};
  if (holdsDirective(program.text(), inside))
    return AnchorOrReason::refuse("a preprocessor directive stands in it");
  return makeAnchor(program, AnchorKind::Node, function, "FunctionBody", inside);
}

AnchorOrReason kbopt::anchorOfStatements(const ParsedProgram &program, const clang::Stmt *first,
                                         const clang::Stmt *last, const clang::Decl *owner) {
  AnchorOrReason begin = anchorOf(program, first, owner);
  if (!begin)
    return begin;
  AnchorOrReason end = anchorOf(program, last, owner);
  if (!end)
    return end;
  ByteRange range{begin->begin, end->end};
  if (holdsDirective(program.text(), range))
    return AnchorOrReason::refuse("a preprocessor directive stands in it");
  return makeAnchor(program, AnchorKind::Node, owner, "Statements", range);
}

AnchorOrReason kbopt::anchorBeforeName(const ParsedProgram &program,
                                       const clang::FunctionDecl *function) {
  if (function->hasAttr<clang::CUDALaunchBoundsAttr>())
    return AnchorOrReason::refuse("it has launch bounds already");
  if (function->getQualifier())
    return AnchorOrReason::refuse("its name is qualified");
  AnchorOrReason name =
      anchorOfRange(program, function->getNameInfo().getSourceRange(), function, "Name");
  if (!name)
    return name;
  return makeAnchor(program, AnchorKind::BeforeName, function, "Name", {name->begin, name->begin});
}

/// Offset of the beginning of the line that \p offset stands on.
static unsigned lineStart(StringRef text, unsigned offset) {
  size_t newline = text.take_front(offset).rfind('\n');
  return newline == StringRef::npos ? 0 : newline + 1;
}

AnchorOrReason kbopt::anchorBefore(const ParsedProgram &program,
                                   const clang::FunctionDecl *function) {
  const clang::Decl *outermost = function;
  if (const clang::FunctionTemplateDecl *pattern = function->getDescribedFunctionTemplate())
    outermost = pattern;
  // A method's declarations go before its class.
  for (const clang::DeclContext *context = outermost->getLexicalDeclContext();
       context && llvm::isa<clang::RecordDecl>(context); context = context->getLexicalParent())
    outermost = llvm::cast<clang::Decl>(context);
  std::string reason;
  std::optional<ByteRange> range = byteRange(program, outermost->getSourceRange(), &reason);
  if (!range)
    return AnchorOrReason::refuse(reason);
  StringRef text = program.text();
  unsigned begin = lineStart(text, range->begin);
  if (!text.slice(begin, range->begin).trim(" \t").empty())
    return AnchorOrReason::refuse("something else stands on the line it begins on");
  // Comments directly above belong to the function.
  while (begin) {
    unsigned above = lineStart(text, begin - 1);
    StringRef line = text.slice(above, begin - 1).trim();
    bool isComment = line.starts_with("//");
    if (!isComment && line.ends_with("*/")) {
      size_t open = text.take_front(begin).rfind("/*");
      if (open == StringRef::npos)
        break;
      unsigned start = lineStart(text, open);
      if (!text.slice(start, open).trim(" \t").empty())
        break;
      begin = start;
      continue;
    }
    if (!isComment)
      break;
    begin = above;
  }
  return makeAnchor(program, AnchorKind::BeforeFunction, function, "FunctionDecl", {begin, begin});
}

AnchorOrReason kbopt::anchorOfLaunch(const ParsedProgram &program, const clang::Expr *call,
                                     const clang::Decl *host) {
  const clang::Stmt *statement = call;
  // Up to the statement: through cleanups, casts and macros' do-while(0).
  for (;;) {
    const clang::Stmt *outer = parentOf(program, statement);
    if (!outer || !llvm::isa<clang::Expr>(outer))
      break;
    statement = outer;
  }
  AnchorOrReason anchor = anchorOf(program, statement, host);
  if (!anchor)
    return anchor;
  Anchor launch = *anchor;
  launch.kind = AnchorKind::LaunchSite;
  launch.nodeKind = call->getStmtClassName();
  return launch;
}

AnchorOrReason kbopt::anchorBeforeIncludes(const ParsedProgram &program) {
  StringRef text = program.text();
  clang::PreambleBounds bounds = clang::Lexer::ComputePreamble(text, program.language());
  for (unsigned at = 0; at < bounds.Size; at = text.find('\n', at) + 1) {
    StringRef line = text.substr(at).take_until([](char c) { return c == '\n'; }).trim();
    StringRef directive = line.consume_front("#") ? line.ltrim() : "";
    if (directive.starts_with("if"))
      break;
    if (directive.starts_with("include"))
      return makeAnchor(program, AnchorKind::Includes, program.context().getTranslationUnitDecl(),
                        "TranslationUnitDecl", {at, at});
    if (text.find('\n', at) == StringRef::npos)
      break;
  }
  return AnchorOrReason::refuse("it begins with no #include");
}

AnchorOrReason kbopt::anchorAfterIncludes(const ParsedProgram &program) {
  StringRef text = program.text();
  clang::PreambleBounds bounds = clang::Lexer::ComputePreamble(text, program.language());
  unsigned end = 0;
  for (unsigned at = 0; at < bounds.Size;) {
    size_t newline = text.find('\n', at);
    unsigned next = newline == StringRef::npos ? text.size() : newline + 1;
    StringRef line = text.slice(at, next).trim();
    if (line.consume_front("#") && line.ltrim().starts_with("include"))
      end = next;
    at = next;
  }
  return makeAnchor(program, AnchorKind::Includes, program.context().getTranslationUnitDecl(),
                    "TranslationUnitDecl", {end, end});
}
