//===- EditRules.h - What a reply may change --------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the structural checks of a reply (Refusal.h has their table): first on its
// texts, before anything is compiled, then on the program that they make,
// compared with the program before. That results stay the same is the judge's to
// find; here a reply is kept from being anything but a rewrite of its anchors.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_REWRITE_ASSISTED_EDITRULES_H
#define KBOPT_REWRITE_ASSISTED_EDITRULES_H

#include "kb-opt/Assisted/AssistedReply.h"
#include "kb-opt/Source/Anchor.h"

namespace kbopt {

/// One edit whose anchor is found and whose numbers are filled in.
struct PlacedEdit {
  std::string id;
  Anchor anchor;    ///< in the program before
  std::string text; ///< as the reply has it, without placeholders
  /// What takes the place of the anchor's text: `text` with the line breaks, and where a single
  /// statement stands the braces, that keep it from running into its neighbours.
  std::string inserted;
};

/// An edit of \p program, which was parsed in \p language.
PlacedEdit place(std::string id, Anchor anchor, std::string text, llvm::StringRef program,
                 const clang::LangOptions &language);

/// Headers that a reply may include: parts of the toolkit with nothing but device code.
llvm::ArrayRef<llvm::StringRef> allowedIncludes();

/// The rules on texts: `size` to `library`, without those of `checkReply`. \p program is the text
/// that the anchors are of.
std::optional<Refusal> checkTexts(llvm::ArrayRef<PlacedEdit> edits,
                                  llvm::ArrayRef<llvm::StringRef> allow, llvm::StringRef program,
                                  const clang::LangOptions &language);

/// The rules on programs: `outside-anchor` and all after it. \p after is \p before with every
/// anchor's text replaced by `inserted` and nothing else changed, no formatting either.
/// \p edits are in the order of their anchors, of which none overlap.
std::optional<Refusal> checkProgram(const ParsedProgram &before, const ParsedProgram &after,
                                    llvm::ArrayRef<PlacedEdit> edits,
                                    llvm::ArrayRef<llvm::StringRef> allow);

} // namespace kbopt

#endif // KBOPT_REWRITE_ASSISTED_EDITRULES_H
