//===- Edits.h - Changes to a text, bound to anchors ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns edits as data, the rule that none leaves its anchor, applying them, and
// formatting what they touched in the file's own style.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_SOURCE_EDITS_H
#define KBOPT_SOURCE_EDITS_H

#include "kb-opt/Source/Anchor.h"

namespace kbopt {

/// Replaces text[offset, offset + length), which lies inside `anchor`.
struct Edit {
  Anchor anchor;
  unsigned offset;
  unsigned length;
  std::string replacement;
};

/// The edits of one rewrite. All offsets refer to the text before any of them.
class Edits {
public:
  /// Each fails with a `UsageError` if the range leaves the anchor, or overlaps
  /// an earlier edit. Insertions at one place keep the order of the calls.
  llvm::Error replace(const Anchor &anchor, unsigned offset, unsigned length,
                      llvm::StringRef replacement);
  llvm::Error replaceAll(const Anchor &anchor, llvm::StringRef replacement) {
    return replace(anchor, anchor.begin, anchor.end - anchor.begin, replacement);
  }
  llvm::Error insertAt(const Anchor &anchor, unsigned offset, llvm::StringRef text) {
    return replace(anchor, offset, 0, text);
  }
  llvm::Error insertBefore(const Anchor &anchor, llvm::StringRef text) {
    return replace(anchor, anchor.begin, 0, text);
  }
  llvm::Error insertAfter(const Anchor &anchor, llvm::StringRef text) {
    return replace(anchor, anchor.end, 0, text);
  }
  /// Replaces the text of \p range (of \p program, inside the anchor). `Declined` where that is no
  /// text of the file: it comes from a macro, or lies in a header.
  llvm::Error replace(const Anchor &anchor, const ParsedProgram &program, clang::SourceRange range,
                      llvm::StringRef replacement);
  /// Adds all of \p other, an #include that is there already only once; fails on the first overlap.
  llvm::Error merge(const Edits &other);

  bool empty() const { return edits.empty(); }
  size_t size() const { return edits.size(); }
  std::vector<Edit>::const_iterator begin() const { return edits.begin(); }
  std::vector<Edit>::const_iterator end() const { return edits.end(); }

private:
  std::vector<Edit> edits; ///< by offset; insertions at one place in call order
};

/// How touched lines are formatted.
struct FormatChoice {
  enum Kind {
    None,      ///< leave the replacement text as it is
    FileStyle, ///< nearest .clang-format, or what the text itself looks like
  } kind = FileStyle;
  std::string file; ///< where the search for .clang-format starts
};

/// \p text with \p edits applied. Fails with a `UsageError` if an anchor does
/// not match the text (it has changed since the anchor was made). What stands
/// outside the edits stays byte for byte as it is. An edit that
/// puts one line in place of a piece of one line is not reformatted.
llvm::Expected<std::string> applyEdits(llvm::StringRef text, const Edits &edits,
                                       const FormatChoice &format = {});

} // namespace kbopt

#endif // KBOPT_SOURCE_EDITS_H
