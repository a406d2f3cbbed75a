//===- Refusal.cpp - The table of rules ------------------------------------===//

#include "kb-opt/Rewrite/Assisted/Refusal.h"
#include <cassert>

using namespace kbopt;

llvm::ArrayRef<EditRuleInfo> kbopt::editRules() {
  static constexpr EditRuleInfo table[] = {
      {EditRule::Size, "size",
       "keep all texts together below 64 KiB and 2000 lines, and brackets at most 128 deep", ""},
      {EditRule::UnknownAnchor, "unknown-anchor",
       "name only anchors that the source shows, each at most once", ""},
      {EditRule::NothingChanged, "nothing-changed", "change something", ""},
      {EditRule::Template, "template",
       "declare every {{NAME}} as a parameter and use every parameter; names are upper case, values "
       "are integers or identifiers, the default is one of them; a C++ list in a list is written "
       "with a space, { {",
       ""},
      {EditRule::Promise, "promise", "promise no less than the pass does, and assume no more", ""},
      {EditRule::Character, "character",
       "write printable characters, spaces, tabs and line breaks only, and none that turns the "
       "direction of text",
       ""},
      {EditRule::Marker, "marker", "leave the markers <<<KB: out of the texts", ""},
      {EditRule::Suppression, "suppression", "write no NOKBOPT comment", ""},
      {EditRule::Unbalanced, "unbalanced",
       "close within a text every bracket, comment and string that it opens, and no other", ""},
      {EditRule::Include, "include",
       "put #include lines into the anchor 'includes' and nothing else there, and include only "
       "headers of the list",
       ""},
      {EditRule::Directive, "directive",
       "use no preprocessor line but #pragma unroll; write constexpr, a template or an inline "
       "function in place of a macro",
       ""},
      {EditRule::CompilerWord, "compiler-word",
       "use no __DATE__, __TIME__, __FILE__, __LINE__, __COUNTER__ or _Pragma", ""},
      {EditRule::InlineAsm, "inline-asm", "write no inline assembly", "asm"},
      {EditRule::Library, "library",
       "call no library: no cuBLAS, cuDNN, CUTLASS, Thrust, CUB, Triton or the like", ""},
      {EditRule::Parse, "parse", "write text with which the program compiles, within the limits", ""},
      {EditRule::OutsideAnchor, "outside-anchor",
       "let every function and launch around the anchors end where it did", ""},
      {EditRule::Signature, "signature", "keep the kernel's name and parameters", "signatures"},
      {EditRule::Kernels, "kernels", "add and remove no kernel", "launches"},
      {EditRule::Launches, "launches",
       "launch in every launch anchor the kernel that it launched", "launches"},
      {EditRule::Output, "output",
       "go on using every pointer through which the kernel may write and which it used", "signatures"},
      {EditRule::Declaration, "declaration",
       "declare only functions with a body, types, constants and namespaces of your own: nothing "
       "extern, no using directive, no specialisation of others' templates, no operators of others' "
       "types",
       ""},
      {EditRule::RedefinedName, "redefined-name",
       "give new declarations names that the program does not use and that are not reserved", ""},
      {EditRule::MutableState, "mutable-state",
       "add no variable that outlives a launch: no __device__, __managed__ or static variable that "
       "can change",
       ""},
      {EditRule::ConstantMemory, "constant-memory", "add no __constant__ variable",
       "constant-memory"},
      {EditRule::Attribute, "attribute",
       "use no attributes but the CUDA ones, alignas, [[maybe_unused]], [[likely]] and inlining", ""},
      {EditRule::DeviceCall, "device-call",
       "call in device code nothing that prints, allocates, traps, waits or reads a clock, and no "
       "compiler builtins",
       ""},
      {EditRule::HostCall, "host-call",
       "call in host code only what the anchor called before, kernels, and the parts of the runtime "
       "that the pass allows",
       ""},
      {EditRule::DeviceLaunch, "device-launch", "launch nothing from device code", ""},
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
