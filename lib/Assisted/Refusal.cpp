//===- Refusal.cpp - The table of rules ------------------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "kb-opt/Assisted/Refusal.h"
#include <cassert>

using namespace kbopt;

llvm::ArrayRef<EditRuleInfo> kbopt::editRules() {
  static constexpr EditRuleInfo table[] = {
      {EditRule::Size, "size", "at most 64 KiB and 2000 lines together, brackets at most 128 deep",
       ""},
      {EditRule::UnknownAnchor, "unknown-anchor", "only anchors of the source, each at most once",
       ""},
      {EditRule::NothingChanged, "nothing-changed", "something has to change", ""},
      {EditRule::Template, "template",
       "every {{NAME}} declared in upper case as a parameter and every parameter used; values are "
       "integers or identifiers; in C++ write { { with a space",
       ""},
      {EditRule::Promise, "promise", "no weaker than the pass, no further assumption", ""},
      {EditRule::Character, "character", "no invisible characters", ""},
      {EditRule::Marker, "marker", "no <<<KB: in a text", ""},
      {EditRule::Suppression, "suppression", "no NOKBOPT comment", ""},
      {EditRule::Unbalanced, "unbalanced",
       "every bracket, comment and string closed within its text", ""},
      {EditRule::Include, "include",
       "#include lines only in 'includes'; of CUDA's headers those of cooperative groups, barrier, "
       "pipeline, mma.h, half and vector types, math constants",
       ""},
      {EditRule::Directive, "directive", "no preprocessor line but #pragma unroll", ""},
      {EditRule::CompilerWord, "compiler-word", "no __LINE__, __TIME__ and the like, no _Pragma",
       ""},
      {EditRule::InlineAsm, "inline-asm", "none", "asm"},
      {EditRule::Library, "library", "no cuBLAS, cuDNN, CUTLASS, Thrust, CUB, Triton or the like",
       ""},
      {EditRule::Parse, "parse", "the program compiles", ""},
      {EditRule::OutsideAnchor, "outside-anchor", "functions and launches end where they did", ""},
      {EditRule::Signature, "signature", "the kernel's name and parameters stay", "signatures"},
      {EditRule::Kernels, "kernels", "none added, none removed", "launches"},
      {EditRule::Launches, "launches", "each launch anchor launches its kernel", "launches"},
      {EditRule::Output, "output",
       "every pointer that the kernel used and may write through stays in use", "signatures"},
      {EditRule::Declaration, "declaration",
       "only functions with bodies, types, constants, own namespaces; no extern, using directive, "
       "or specialisation or operator of foreign types",
       ""},
      {EditRule::RedefinedName, "redefined-name",
       "new names are not in the program and not reserved", ""},
      {EditRule::MutableState, "mutable-state",
       "no __device__, __managed__ or static variable that can change", ""},
      {EditRule::ConstantMemory, "constant-memory", "no __constant__ variable", "constant-memory"},
      {EditRule::Attribute, "attribute",
       "only CUDA's, alignas, [[maybe_unused]], [[likely]], inlining", ""},
      {EditRule::DeviceCall, "device-call",
       "nothing that prints, allocates, traps, waits or reads a clock, no compiler builtins", ""},
      {EditRule::HostCall, "host-call",
       "only what the anchor called, kernels, and what the pass allows", ""},
      {EditRule::DeviceLaunch, "device-launch", "none", ""},
  };
  return table;
}

static const EditRuleInfo &infoOf(EditRule rule) {
  const EditRuleInfo &info = editRules()[static_cast<size_t>(rule)];
  assert(info.rule == rule && "the table has the order of the enumeration");
  return info;
}

llvm::StringRef kbopt::editRuleName(EditRule rule) { return infoOf(rule).name; }

std::string Refusal::text() const {
  std::string place = anchor.empty() ? "" : " in " + anchor;
  return "refused by rule '" + editRuleName(rule).str() + "'" + place + ": " + sentence;
}
