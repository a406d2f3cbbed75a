//===- Grounding.h - The places that a model may fill -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns grounded instruction (STARK, section 4.3): from a kernel and the lines that
// a planner picked to anchors, from anchors to the text with markers, and from the
// anchors of a reply back to a program that may have changed since.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_REWRITE_ASSISTED_GROUNDING_H
#define KBOPT_REWRITE_ASSISTED_GROUNDING_H

#include "kb-opt/Assisted/AssistedReply.h"
#include "kb-opt/Source/Anchor.h"

namespace kbopt {

/// Lines of the main file, from 1, both included.
struct LineSpan {
  unsigned first = 0, last = 0;
};

struct GroundingRequest {
  /// The kernel, as in the source; its namespace may be left out.
  std::string kernel;
  /// Lines whose statements may be replaced, in the kernel or in device functions of the
  /// main file. Empty: the kernel's whole body.
  std::vector<LineSpan> lines;
  /// Further kernels whose bodies and launches may be replaced: those to be fused.
  std::vector<std::string> alsoKernels;
  /// Values that stand in the program for numbers which earlier replies left open. What holds one
  /// is found again with another number in its place, so that those replies can still be tuned.
  std::set<std::string> openNumbers;
  /// The text of the program that the search began with. With `launches`, functions that it does
  /// not name and that nothing uses may be removed. Empty: none may.
  std::string original;
  /// The pass's allowances (PassInfo.h); `signatures` adds the slot `parameters`,
  /// `register-limits` and `launches` the slot `attributes`; with `host-code` the anchors of
  /// launches are the bodies of the functions that they stand in, but for `main`.
  llvm::ArrayRef<llvm::StringRef> allow;
};

/// An anchor with its name.
struct GroundedAnchor {
  /// "a1", "helper1", "launch1", "unused1", "decls", "includes", "parameters", "attributes".
  std::string id;
  Anchor anchor;
  std::string what; ///< "the body of kernel 'gemm'", for prompts
  /// Which of the request's lines it stands for, from 0, in their order; several where they
  /// touched.
  std::vector<unsigned> spans = {};
  Digest numberless = {}; ///< SavedAnchor's
};

/// A program with the places that may be filled. Valid without the program.
struct GroundedSource {
  std::string kernel;                  ///< qualified
  std::vector<GroundedAnchor> anchors; ///< by place in the text
  std::string text;                    ///< of the program
  /// Places that got no anchor, and why: "the launch at line 40: it comes from the macro 'RUN'".
  std::vector<std::string> left;

  const GroundedAnchor *anchor(llvm::StringRef id) const;
  /// The text with `/* <<<KB:BEGIN a1>>> */ … /* <<<KB:END a1>>> */` around each anchor. Of a
  /// text longer than \p maxBytes only the parts near the anchors are kept, with a line that
  /// says how many lines are not shown.
  std::string marked(size_t maxBytes = 48 << 10) const;
};

/// Grounds \p request in \p program. With the kernel's whole body go those of the device functions
/// that it alone calls. Lines of one function that touch one another's statements
/// become one anchor; lines in no device function are refused. Failures are `UsageError`s
/// (diagnostics) that say what cannot be anchored: no such kernel, a directive in the body, a text
/// that holds markers.
llvm::Expected<GroundedSource> ground(const ParsedProgram &program,
                                      const GroundingRequest &request);

/// The lines of \p program from its first declaration that device code may use, with the macros
/// before it, to `main` without it.
LineSpan deviceLines(const ParsedProgram &program);

/// \p reply as a file: the coder's answer tied to the anchors that it names. An unknown anchor
/// is a `Refusal`.
struct ReplyOrRefusal {
  AssistedReply reply;
  std::optional<Refusal> refusal;
};
ReplyOrRefusal makeReply(const GroundedSource &source, const PassInfo &pass, CoderReply answer);

/// The place of \p saved in \p program: the only one of its declaration, kind and content, or
/// of several the one at its offset. Where it may (SavedAnchor::numberless), numbers may be others.
/// Otherwise why there is none: "the program has changed at …".
AnchorOrReason locate(const ParsedProgram &program, llvm::StringRef kernel,
                      const SavedAnchor &saved);

} // namespace kbopt

#endif // KBOPT_REWRITE_ASSISTED_GROUNDING_H
