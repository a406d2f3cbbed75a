//===- Anchor.h - The source range that a rewrite may change ---*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns anchors: tying a byte range of the main file to the declaration and AST
// node it stands for, and noticing when the text below has changed.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_SOURCE_ANCHOR_H
#define KBOPT_SOURCE_ANCHOR_H

#include "kb-opt/Source/ParsedProgram.h"
#include "clang/AST/Decl.h"
#include "clang/AST/Expr.h"
#include <optional>

namespace kbopt {

enum class AnchorKind {
  Node,           ///< a statement, expression or declaration: its whole text
  BeforeFunction, ///< an insertion point before a function: new declarations
  LaunchSite,     ///< a kernel launch with the statement around it
  Includes,       ///< an insertion point after the last leading #include
  BeforeName,     ///< an insertion point before a function's name: attributes
};

llvm::StringRef anchorKindName(AnchorKind kind);

/// A plain value. `begin` and `end` are byte offsets into the text that was
/// parsed; an insertion point has begin == end.
struct Anchor {
  AnchorKind kind = AnchorKind::Node;
  std::string usr;      ///< of the declaration that contains the node, or is it
  std::string nodeKind; ///< clang's class name: "ForStmt", "FunctionDecl"
  unsigned begin = 0;
  unsigned end = 0;
  unsigned line = 0;   ///< of begin, from 1
  unsigned column = 0; ///< of begin, from 1, in bytes
  Digest digest;       ///< of text[begin, end); for an insertion point of the line after it

  bool contains(unsigned offset, unsigned length) const {
    return offset >= begin && offset + length <= end;
  }
  /// Whether \p text still holds at the anchor what was there when it was made.
  bool matches(llvm::StringRef text) const;
  bool operator==(const Anchor &other) const = default;
};

/// An anchor, or why there can be none (the code comes from a macro, lies in
/// a header, …).
class AnchorOrReason {
public:
  AnchorOrReason(Anchor anchor) : anchor(std::move(anchor)) {}
  static AnchorOrReason refuse(std::string reason) {
    AnchorOrReason result;
    result.why = std::move(reason);
    return result;
  }
  explicit operator bool() const { return anchor.has_value(); }
  const Anchor &operator*() const { return *anchor; }
  const Anchor *operator->() const { return &*anchor; }
  llvm::StringRef reason() const { return why; }

private:
  AnchorOrReason() = default;
  std::optional<Anchor> anchor;
  std::string why;
};

/// The statement's text; a statement that ends in a semicolon includes it.
/// \p owner is the function it stands in.
AnchorOrReason anchorOf(const ParsedProgram &program, const clang::Stmt *statement,
                        const clang::Decl *owner);
/// The declaration's text; a variable or member includes its semicolon where it
/// is alone in its statement.
AnchorOrReason anchorOf(const ParsedProgram &program, const clang::Decl *declaration);
/// A part of a declaration or statement that has no node of its own (a
/// parameter list, a loop header); \p nodeKind says what it is.
AnchorOrReason anchorOfRange(const ParsedProgram &program, clang::SourceRange range,
                             const clang::Decl *owner, llvm::StringRef nodeKind);
/// What stands between the braces of \p function's body.
AnchorOrReason anchorOfBody(const ParsedProgram &program, const clang::FunctionDecl *function);
/// The statements from \p first to \p last, which stand in one list.
AnchorOrReason anchorOfStatements(const ParsedProgram &program, const clang::Stmt *first,
                                  const clang::Stmt *last, const clang::Decl *owner);
/// Before \p function and its template header, attributes and doc comment.
AnchorOrReason anchorBefore(const ParsedProgram &program, const clang::FunctionDecl *function);
/// Before \p function's name: attributes. Refused where it has launch bounds already, and where the
/// name is qualified.
AnchorOrReason anchorBeforeName(const ParsedProgram &program, const clang::FunctionDecl *function);
/// The full statement around the launch \p call in \p host.
AnchorOrReason anchorOfLaunch(const ParsedProgram &program, const clang::Expr *call,
                              const clang::Decl *host);
/// Before the first leading #include, where macros of the user's headers do not reach; refused
/// where there is none.
AnchorOrReason anchorBeforeIncludes(const ParsedProgram &program);
/// After the last leading #include (the file's first line without one).
AnchorOrReason anchorAfterIncludes(const ParsedProgram &program);

/// Byte range [first, second) of \p range in the main file, or why there is
/// none. Token ranges are widened to the last token's end.
struct ByteRange {
  unsigned begin, end;
};
std::optional<ByteRange> byteRange(const ParsedProgram &program, clang::SourceRange range,
                                   std::string *reason = nullptr);

} // namespace kbopt

#endif // KBOPT_SOURCE_ANCHOR_H
