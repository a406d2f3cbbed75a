//===- Refusal.h - Why a reply is not taken ---------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the table of rules that a model's edits must keep. What each refuses is
// said once, here, for prompts and remarks. The checks themselves
// are in EditRules.h. No Clang.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_ASSISTED_REFUSAL_H
#define KBOPT_ASSISTED_REFUSAL_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include <string>

namespace kbopt {

/// In the order in which they are checked: the reply as such, its text, and, from
/// `Parse` on, the program that it makes.
enum class EditRule {
  Size,
  UnknownAnchor,
  NothingChanged,
  Template,
  Promise,
  Character,
  Marker,
  Suppression,
  Unbalanced,
  Include,
  Directive,
  CompilerWord,
  InlineAsm,
  Library,
  Parse,
  OutsideAnchor,
  Signature,
  Kernels,
  Launches,
  Output,
  Declaration,
  RedefinedName,
  MutableState,
  ConstantMemory,
  Attribute,
  DeviceCall,
  HostCall,
  DeviceLaunch,
};

/// One row of the table.
struct EditRuleInfo {
  EditRule rule;
  /// As remarks, evidence and docs name it: "mutable-state".
  llvm::StringRef name;
  /// What a reply has to keep, as few words as say it: lower case, no full stop. Every question to
  /// a coder holds it; docs/Security.md has the long form.
  llvm::StringRef demand;
  /// The allowance of a pass (`allowances()` in PassInfo.h) that lifts it; empty if none does.
  llvm::StringRef liftedBy;
};

/// Every rule, in the order of `EditRule`.
llvm::ArrayRef<EditRuleInfo> editRules();
llvm::StringRef editRuleName(EditRule rule);

/// Why a reply is not taken: a value, not an error, for it is the model's fault and
/// the model's to repair.
struct Refusal {
  EditRule rule;
  /// In the user's words: lower case, no full stop, naming what stands in the way.
  std::string sentence;
  /// The anchor in whose text it lies; empty where that is not known.
  std::string anchor;

  /// "refused by rule 'mutable-state' in a1: the variable 'counter' …".
  std::string text() const;
};

} // namespace kbopt

#endif // KBOPT_ASSISTED_REFUSAL_H
