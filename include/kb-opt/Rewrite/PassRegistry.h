//===- PassRegistry.h - The passes that a tool knows -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the list of passes. The built-in list is generated from the folders
// under passes/, others are read from folders of the user's (PassFile.h); nothing
// registers itself.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_REWRITE_PASSREGISTRY_H
#define KBOPT_REWRITE_PASSREGISTRY_H

#include "kb-opt/Core/PassInfo.h"
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace kbopt {

class RewritePass;

/// One pass: its description and how to make it.
struct PassRegistration {
  const PassInfo *info;
  /// Null for a pass that is data only.
  std::unique_ptr<RewritePass> (*make)() = nullptr;
  /// What \p info points into, where that is not constant.
  std::shared_ptr<const void> storage = nullptr;

  std::unique_ptr<RewritePass> create() const;
};

/// A value; look-ups are linear in the number of passes.
class PassRegistry {
public:
  /// Passes are kept sorted by name. A name that is there already is a bug.
  void add(PassRegistration registration);
  llvm::ArrayRef<PassRegistration> passes() const { return entries; }
  /// The descriptions, sorted by name.
  std::vector<const PassInfo *> infos() const;
  /// By name or alias; null if there is none.
  const PassRegistration *lookup(llvm::StringRef nameOrAlias) const;
  /// The closest name by edit distance, if one is close enough to suggest.
  std::optional<std::string> nearest(llvm::StringRef name) const;

private:
  std::vector<PassRegistration> entries;
};

/// Every pass under passes/. Defined in generated code (target kbPasses).
const PassRegistry &builtinPasses();

} // namespace kbopt

#endif // KBOPT_REWRITE_PASSREGISTRY_H
