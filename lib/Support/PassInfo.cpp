//===- PassInfo.cpp - What is known of a pass without running it -----------===//

#include "kb-opt/Support/PassInfo.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/ErrorHandling.h"

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

StringRef kbopt::assumptionName(Assumption assumption) {
  switch (assumption) {
  case Assumption::Aligned:
    return "aligned";
  case Assumption::NoAlias:
    return "noalias";
  }
  llvm_unreachable("assumption");
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

std::optional<std::string> kbopt::nearestName(StringRef name, llvm::ArrayRef<StringRef> known) {
  // Two letters exchanged, or a third of them; beyond that a suggestion misleads.
  unsigned best = std::max<unsigned>(2, name.size() / 3) + 1;
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
