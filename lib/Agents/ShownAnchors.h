//===- ShownAnchors.h - What a pass may change, for planners ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns what planners are told of the places that the replies to a pass may fill, and of those that
// have no anchor.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_LIB_AGENTS_SHOWNANCHORS_H
#define KBOPT_LIB_AGENTS_SHOWNANCHORS_H

#include "kb-opt/Assisted/PromptBuilder.h"
#include "kb-opt/Rewrite/Assisted/Grounding.h"

namespace kbopt {

/// Whether places of the kind \p site become anchors of their own; else the kernel's body does.
bool hasOwnAnchors(SiteKind site);

/// Fills the anchors of \p pass, which \p info describes, and takes away its sites that cannot be
/// anchored, as those in a macro. Reasons go to \p left, each once. False where nothing of the
/// kernel can be changed: then the pass is no choice.
bool showAnchors(const ParsedProgram &program, const PassInfo &info, PromptPass &pass,
                 std::vector<std::string> &left);

/// Why \p lines cannot be anchored for \p info at \p kernel; empty if they can.
std::string whyNotAnchored(const ParsedProgram &program, const PassInfo &info,
                           llvm::StringRef kernel, LineSpan lines);

} // namespace kbopt

#endif // KBOPT_LIB_AGENTS_SHOWNANCHORS_H
