//===- PassRegistry.cpp - The passes that a tool knows ---------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "kb-opt/Rewrite/PassRegistry.h"
#include "kb-opt/Rewrite/DataPass.h"
#include "kb-opt/Rewrite/Recipe.h"
#include "llvm/ADT/STLExtras.h"

using namespace kbopt;
using llvm::StringRef;

std::unique_ptr<RewritePass> PassRegistration::create() const {
  if (make)
    return make();
  if (info->recipe)
    return std::make_unique<RecipePass>(*info);
  return std::make_unique<DataPass>(*info);
}

void PassRegistry::add(PassRegistration registration) {
  assert(!lookup(registration.info->name) && "pass registered twice");
  auto place = llvm::lower_bound(entries, registration, [](const auto &a, const auto &b) {
    return a.info->name < b.info->name;
  });
  entries.insert(place, registration);
}

const PassRegistration *PassRegistry::lookup(StringRef nameOrAlias) const {
  for (const PassRegistration &entry : entries)
    if (entry.info->name == nameOrAlias)
      return &entry;
  for (const PassRegistration &entry : entries)
    if (llvm::is_contained(entry.info->aliases, nameOrAlias))
      return &entry;
  return nullptr;
}

std::vector<const PassInfo *> PassRegistry::infos() const {
  std::vector<const PassInfo *> result;
  for (const PassRegistration &entry : entries)
    result.push_back(entry.info);
  return result;
}

std::optional<std::string> PassRegistry::nearest(StringRef name) const {
  std::vector<StringRef> names;
  for (const PassRegistration &entry : entries)
    names.push_back(entry.info->name);
  for (const PassRegistration &entry : entries)
    names.insert(names.end(), entry.info->aliases.begin(), entry.info->aliases.end());
  return nearestName(name, names);
}
