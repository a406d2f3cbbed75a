//===- AssistedReply.h - What a model wants changed, as data ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the reply file (docs/Pipeline.md): which pass, which anchors, the text for
// each, and the numbers that were left open; reading and writing it, and reading
// what the coder and the debugger answer. Finding the anchors in a program is
// Grounding.h, checking the text EditRules.h. No Clang.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_ASSISTED_ASSISTEDREPLY_H
#define KBOPT_ASSISTED_ASSISTEDREPLY_H

#include "kb-opt/Assisted/Refusal.h"
#include "kb-opt/Core/PassInfo.h"
#include "kb-opt/Support/Digest.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/JSON.h"
#include <map>
#include <optional>
#include <vector>

namespace kbopt {

/// What an anchor's id says about it: "a1", "helper1", "launch1", "unused1", "decls", "includes",
/// "parameters", "attributes".
enum class SlotKind {
  Code,       ///< statements, or the whole body of a function
  Launch,     ///< a statement that launches a kernel
  Decls,      ///< the place before the kernel, for new declarations
  Includes,   ///< the place after the file's #include lines
  Parameters, ///< a kernel's parameter list, where the pass may change it
  Attributes, ///< the place before a kernel's name, where the pass may limit its registers
  Unused,     ///< a function that earlier steps added and that nothing uses: it may go
};
/// None for an id of no known form.
std::optional<SlotKind> slotKind(llvm::StringRef anchorId);

/// An anchor as a reply keeps it. It is found again by what it is, (declaration, kind,
/// digest); the offsets decide between equals.
struct SavedAnchor {
  std::string id;
  std::string usr;
  std::string nodeKind; ///< "FunctionBody", "Statements", or clang's class name
  unsigned begin = 0, end = 0;
  Digest digest;
  /// The same without numbers, where earlier replies left some of them open: the place is then
  /// found with other numbers, too. Empty: it is not.
  Digest numberless = {};
  bool operator==(const SavedAnchor &) const = default;
};

/// New text for one anchor. May hold placeholders, `{{TILE}}`.
struct ReplyEdit {
  std::string anchor; ///< its id
  std::string text;
  bool operator==(const ReplyEdit &) const = default;
};

/// A number or name that the reply leaves open, for tuning to fill.
struct TemplateParameter {
  std::string name;                ///< upper case: TILE, BLOCK_X
  std::vector<std::string> values; ///< integers or identifiers, in their natural order
  std::string defaultValue;        ///< one of `values`
  bool operator==(const TemplateParameter &) const = default;
};

/// What the coder and the debugger answer, and the part of `compose` that is code.
struct CoderReply {
  std::string pass;    ///< that the change is; empty: the one that was asked for
  std::string summary; ///< one line, in the past tense
  std::string cannot;  ///< why it cannot be done; then there are no edits
  std::string dispute; ///< of a debugger: why the gate is wrong; likewise
  std::vector<ReplyEdit> edits;
  std::vector<TemplateParameter> parameters;
  /// Absent: what the pass promises and assumes.
  std::optional<Promise> promise;
  std::optional<std::vector<Assumption>> assumes;
};

/// A reply that can be applied without asking a model: the content of a reply file.
struct AssistedReply {
  std::string pass;
  std::string kernel;
  std::string summary;
  Promise promise = Promise::Bitwise;
  std::vector<Assumption> assumes;
  std::vector<SavedAnchor> anchors; ///< those that `edits` name, in the program's order
  std::vector<ReplyEdit> edits;
  std::vector<TemplateParameter> parameters;

  const SavedAnchor *anchor(llvm::StringRef id) const;
  const TemplateParameter *parameter(llvm::StringRef name) const;
};

/// Limits on a reply; beyond them it is refused (rule `size`).
struct ReplyLimits {
  static constexpr size_t editBytes = 64 << 10; ///< all texts together
  static constexpr size_t editLines = 2000;     ///< likewise
  static constexpr size_t nesting = 128;        ///< brackets in brackets
  static constexpr size_t edits = 32;
  static constexpr size_t parameters = 6;
  static constexpr size_t values = 16; ///< per parameter
  static constexpr size_t summaryBytes = 300;
  static constexpr size_t fileBytes = 512 << 10;
};

/// JSON schema of what the coder answers.
llvm::StringRef coderSchema();
/// The same for the debugger, which may dispute a gate.
llvm::StringRef debuggerSchema();
/// The same for the minimal agent, which knows no passes.
llvm::StringRef minimalSchema();
/// Reads such an answer, already taken out of whatever the model wrapped it in. Errors are
/// `UsageError`s (diagnostics) that name the member at fault, for the model to mend.
llvm::Expected<CoderReply> readCoderReply(const llvm::json::Value &answer);

/// What is wrong with \p reply in itself: size, anchors, template, a promise that is weaker
/// than \p info's. Looks at no program.
std::optional<Refusal> checkReply(const AssistedReply &reply, const PassInfo &info);

/// The bytes of the reply file. Equal replies give equal bytes.
std::string printReply(const AssistedReply &reply);
/// Reads them. Errors are `UsageError`s that name the member at fault.
llvm::Expected<AssistedReply> parseReply(llvm::StringRef bytes);

} // namespace kbopt

#endif // KBOPT_ASSISTED_ASSISTEDREPLY_H
