//===- Edits.cpp - Changes to a text, bound to anchors --------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "kb-opt/Source/Edits.h"

#include "FileStyle.h"
#include "kb-opt/Source/Declined.h"
#include "kb-opt/Source/ProgramFacts.h"
#include "kb-opt/Support/Error.h"
#include "clang/Tooling/Core/Replacement.h"
#include "llvm/ADT/STLExtras.h"

using namespace kbopt;
using llvm::StringRef;

static std::string placeOf(const Anchor &anchor) {
  return (anchor.nodeKind + " at " + llvm::Twine(anchor.line) + ":" + llvm::Twine(anchor.column))
      .str();
}

llvm::Error Edits::replace(const Anchor &anchor, unsigned offset, unsigned length,
                           StringRef replacement) {
  if (!anchor.contains(offset, length))
    return llvm::make_error<UsageError>("an edit of bytes " + std::to_string(offset) + " to " +
                                            std::to_string(offset + length) +
                                            " leaves its anchor, the " + placeOf(anchor),
                                        "an edit may change only what its anchor covers");
  // Two ranges that touch do not overlap; an insertion inside a range does.
  for (const Edit &other : edits) {
    unsigned end = offset + length, otherEnd = other.offset + other.length;
    bool overlap = length && other.length ? offset < otherEnd && other.offset < end
                   : length               ? offset < other.offset && other.offset < end
                                          : other.offset < offset && offset < otherEnd;
    if (overlap)
      return llvm::make_error<UsageError>("two edits of the same bytes, in the " + placeOf(anchor) +
                                              " and the " + placeOf(other.anchor),
                                          "apply one rewrite after the other");
  }
  Edit edit{anchor, offset, length, replacement.str()};
  // An insertion goes before a replacement that begins at the same byte.
  auto place = llvm::find_if(edits, [&](const Edit &other) {
    return other.offset > offset || (other.offset == offset && other.length && !length);
  });
  edits.insert(place, std::move(edit));
  return llvm::Error::success();
}

llvm::Error Edits::replace(const Anchor &anchor, const ParsedProgram &program,
                           clang::SourceRange range, StringRef replacement) {
  std::string reason;
  std::optional<ByteRange> bytes = byteRange(program, range, &reason);
  if (!bytes) {
    unsigned line = lineColumn(program, range.getBegin()).line;
    return decline("the text at line " + llvm::Twine(line ? line : anchor.line) +
                   " cannot be changed: " + reason);
  }
  return replace(anchor, bytes->begin, bytes->end - bytes->begin, replacement);
}

// Schedules of several kernels are edits of one text, and become one patch here. Each is complete
// by itself, so that two of them may add the same #include, or declare the same function (the test
// of allocations) before the same one: that is needed once. Everything else must not overlap.
llvm::Error Edits::merge(const Edits &other) {
  auto isThere = [&](const Edit &edit) {
    bool isDeclaration =
        edit.anchor.kind == AnchorKind::Includes || edit.anchor.kind == AnchorKind::BeforeFunction;
    return isDeclaration && llvm::any_of(edits, [&](const Edit &each) {
             return each.anchor.kind == edit.anchor.kind && each.replacement == edit.replacement &&
                    (each.anchor.kind == AnchorKind::Includes || each.anchor == edit.anchor);
           });
  };
  for (const Edit &edit : other)
    if (isThere(edit))
      continue;
    else if (llvm::Error error = replace(edit.anchor, edit.offset, edit.length, edit.replacement))
      return error;
  return llvm::Error::success();
}

llvm::Expected<std::string> kbopt::applyEdits(StringRef text, const Edits &edits,
                                              const FormatChoice &format) {
  namespace tooling = clang::tooling;
  tooling::Replacements replacements;
  // Several insertions at one byte become one replacement, in their order; one
  // before a replacement joins it.
  struct Piece {
    unsigned offset, length;
    std::string text;
    bool formatted;
  };
  std::vector<Piece> pieces;
  for (const Edit &edit : edits) {
    if (!edit.anchor.matches(text))
      return llvm::make_error<UsageError>("the text of the " + placeOf(edit.anchor) +
                                              " has changed since the edit was made",
                                          "parse the new text and make the edit again");
    bool oneLine = !StringRef(edit.replacement).contains('\n') &&
                   !text.substr(edit.offset, edit.length).contains('\n');
    if (!pieces.empty() && pieces.back().offset == edit.offset && pieces.back().length == 0) {
      pieces.back().length = edit.length;
      pieces.back().text += edit.replacement;
      pieces.back().formatted |= !oneLine;
    } else {
      pieces.push_back({edit.offset, edit.length, edit.replacement, !oneLine});
    }
  }
  std::vector<tooling::Range> touched;
  int shift = 0;
  for (const Piece &piece : pieces) {
    // The same text again is no edit.
    if (text.substr(piece.offset, piece.length) == piece.text)
      continue;
    if (llvm::Error error =
            replacements.add(tooling::Replacement("", piece.offset, piece.length, piece.text)))
      return llvm::make_error<UsageError>(llvm::toString(std::move(error)));
    if (piece.formatted)
      touched.emplace_back(piece.offset + shift, piece.text.size());
    shift += int(piece.text.size()) - int(piece.length);
  }
  llvm::Expected<std::string> changed = tooling::applyAllReplacements(text, replacements);
  if (!changed || format.kind == FormatChoice::None || touched.empty())
    return changed;
  return formatRanges(*changed, touched, format.file, text);
}
