//===- ShownAnchors.h - What a pass may change, in a prompt -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns what roles are told of the places that the replies to a pass may fill, and of those that
// have no anchor; and the part of a program that `compose` sees.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_LIB_AGENTS_SHOWNANCHORS_H
#define KBOPT_LIB_AGENTS_SHOWNANCHORS_H

#include "kb-opt/Assisted/PromptBuilder.h"
#include "kb-opt/Pipeline/Pipeline.h"
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

/// The numbers that stand in the program where the replies of \p pipeline left some open.
std::set<std::string> openNumbers(llvm::ArrayRef<Step> pipeline);

/// The lines \p shown of \p source with its marks, each with its number, and of the other lines
/// those near a mark. Of a text that is too long only lines near marks are kept. Without the
/// workload.
std::string shownProgram(const GroundedSource &source, LineSpan shown);

} // namespace kbopt

#endif // KBOPT_LIB_AGENTS_SHOWNANCHORS_H
