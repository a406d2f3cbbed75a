//===- PassRegistry.cpp - The passes that a tool knows ---------------------===//

#include "kb-opt/Rewrite/PassRegistry.h"
#include "kb-opt/Rewrite/RewritePass.h"
#include "llvm/ADT/STLExtras.h"

using namespace kbopt;
using llvm::StringRef;

StringRef kbopt::promiseName(Promise promise) {
  switch (promise) {
  case Promise::Bitwise:
    return "bitwise";
  case Promise::Reassociates:
    return "reassociates";
  case Promise::LowerPrecision:
    return "lower-precision";
  }
  llvm_unreachable("promise");
}

StringRef kbopt::siteKindName(SiteKind kind) {
  switch (kind) {
  case SiteKind::Kernel:
    return "kernel";
  case SiteKind::Parameter:
    return "parameter";
  case SiteKind::Loop:
    return "loop";
  case SiteKind::Access:
    return "access";
  case SiteKind::Shared:
    return "shared";
  case SiteKind::Launch:
    return "launch";
  }
  llvm_unreachable("site kind");
}

const OptionInfo *PassInfo::option(StringRef name) const {
  const auto *it = llvm::find_if(options, [&](const OptionInfo &o) { return o.name == name; });
  return it == options.end() ? nullptr : it;
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

std::optional<std::string> kbopt::nearestName(StringRef name, llvm::ArrayRef<StringRef> known) {
  // A third of the letters may differ; beyond that a suggestion misleads.
  unsigned best = std::max<unsigned>(1, name.size() / 3) + 1;
  std::optional<std::string> nearest;
  for (StringRef candidate : known) {
    unsigned distance = name.edit_distance(candidate, /*AllowReplacements=*/true, best);
    if (distance < best) {
      best = distance;
      nearest = candidate.str();
    }
  }
  return nearest;
}

std::optional<std::string> PassRegistry::nearest(StringRef name) const {
  std::vector<StringRef> names;
  for (const PassRegistration &entry : entries)
    names.push_back(entry.info->name);
  for (const PassRegistration &entry : entries)
    names.insert(names.end(), entry.info->aliases.begin(), entry.info->aliases.end());
  return nearestName(name, names);
}
