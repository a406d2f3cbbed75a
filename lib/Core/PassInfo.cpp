//===- PassInfo.cpp - What is known of a pass without running it -----------===//
// SPDX-License-Identifier: Apache-2.0

#include "kb-opt/Core/PassInfo.h"
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

template <class Value>
static std::optional<Value> fromName(StringRef name, std::initializer_list<Value> values,
                                     StringRef (*nameOf)(Value)) {
  for (Value value : values)
    if (nameOf(value) == name)
      return value;
  return std::nullopt;
}

std::optional<Promise> kbopt::promiseFromName(StringRef name) {
  return fromName(name, {Promise::Bitwise, Promise::Reassociates, Promise::LowerPrecision},
                  promiseName);
}

std::optional<Assumption> kbopt::assumptionFromName(StringRef name) {
  return fromName(name, {Assumption::Aligned, Assumption::NoAlias}, assumptionName);
}

std::optional<SiteKind> kbopt::siteKindFromName(StringRef name) {
  return fromName(name,
                  {SiteKind::Kernel, SiteKind::Parameter, SiteKind::Loop, SiteKind::Access,
                   SiteKind::Shared, SiteKind::Launch},
                  siteKindName);
}

llvm::ArrayRef<Allowance> kbopt::allowances() {
  static constexpr Allowance all[] = {
      {"allocations", "the host may allocate and free device memory"},
      {"asm", "inline PTX"},
      {"constant-memory", "new __constant__ variables, which the host fills before the launch"},
      {"cooperative-launch", "cooperative launches and barriers over the whole grid"},
      {"function-attributes", "cudaFuncSetAttribute and dynamic shared memory above 48 KB"},
      {"graphs", "capturing and launching CUDA graphs"},
      {"host-code", "the whole bodies of the host functions that launch the kernel, but of main, "
                    "in place of the launches"},
      {"host-transfers", "other ways of copying between host and device, pinned host memory"},
      {"l2-policy", "access policy windows on streams"},
      {"launches",
       "kernels, and launches of them, may be added, joined and removed; the kernel may "
       "have launch bounds"},
      {"register-limits", "launch bounds or a number of registers for the kernel"},
      {"signatures", "kernels may get other parameters"},
      {"streams", "streams and events of its own"},
      {"tensor-maps", "tensor maps, made with the driver's interface"},
      {"textures", "texture objects"},
  };
  return all;
}

bool AssistedForm::allows(StringRef what) const { return llvm::is_contained(allow, what); }

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

unsigned kbopt::capabilityOf(StringRef arch) {
  unsigned capability = 0;
  if (!arch.consume_front("sm_"))
    arch.consume_front("compute_");
  return arch.consumeInteger(10, capability) ? 0 : capability;
}

std::string PassInfo::refusalFor(StringRef arch) const {
  const std::string needed = "sm_" + std::to_string(minimumChip);
  if (exactChip)
    return arch.ends_with(needed.substr(3) + "a")
               ? ""
               : "the pass needs code for " + needed + "a: --arch=" + needed + "a";
  return capabilityOf(arch) >= minimumChip ? "" : "the pass needs " + needed + " or later";
}
