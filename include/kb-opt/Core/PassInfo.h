//===- PassInfo.h - What is known of a pass without running it -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the plain records that describe a pass: name, options with their tuning
// ranges, the states it answers, its neighbours, its promise, and what a model
// is told where no rule writes it. They are generated from the Pass.td or
// pass.yaml of passes/<family>/<pass>/, or read from a pass.yaml at run time
// (Rewrite/PassFile.h). No Clang, no MLIR.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_CORE_PASSINFO_H
#define KBOPT_CORE_PASSINFO_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include <optional>
#include <string>

namespace kbopt {

/// What a pass may do to results. The judge holds it to this.
enum class Promise {
  Bitwise,        ///< every observable byte stays the same
  Reassociates,   ///< floating-point sums may be formed in another order
  LowerPrecision, ///< some operation is done in fewer bits
};

/// `bitwise`, `reassociates` or `lower-precision`.
llvm::StringRef promiseName(Promise promise);

/// What code may rely on though a caller need not grant it. A pass names what its
/// rewrite relies on, or tests for and then does something else; gate G7 takes it away.
enum class Assumption {
  Aligned, ///< pointers are aligned to a vector of their elements
  NoAlias, ///< pointers lead to different memory
};

/// `aligned` or `noalias`.
llvm::StringRef assumptionName(Assumption assumption);

/// The pass that stands for any change of a kernel: what a model wrote goes by its name where no
/// other pass is named for it.
inline constexpr llvm::StringLiteral openPass = "invent";

enum class OptionType { Integer, Boolean, String };

/// What one site of a pass is.
enum class SiteKind { Kernel, Parameter, Loop, Access, Shared, Launch };

/// `kernel`, `parameter`, `loop`, `access`, `shared` or `launch`.
llvm::StringRef siteKindName(SiteKind kind);

/// The value of that name; none if there is none.
std::optional<Promise> promiseFromName(llvm::StringRef name);
std::optional<Assumption> assumptionFromName(llvm::StringRef name);
std::optional<SiteKind> siteKindFromName(llvm::StringRef name);

/// One option of a pass, as written in `pass{name=value}`.
struct OptionInfo {
  llvm::StringRef name;
  OptionType type;
  /// As it is written in a pipeline.
  llvm::StringRef defaultValue;
  llvm::StringRef summary;
  /// The values that a policy may try, as written in a pipeline; empty where
  /// the option is not for tuning.
  llvm::ArrayRef<llvm::StringRef> tuning;
  /// Inclusive limits of an integer option.
  int64_t minimum;
  int64_t maximum;
};

/// Something that replies may only use where their pass allows it.
struct Allowance {
  llvm::StringRef name;
  /// For people and models: what may be written then.
  llvm::StringRef summary;
};
/// All that a pass can allow, sorted by name.
llvm::ArrayRef<Allowance> allowances();

/// A number that a reply should leave open, as `{{TILE}}`, for tuning to fill.
struct ReplyParameter {
  llvm::StringRef name;
  llvm::StringRef summary;
  /// One of `values`.
  llvm::StringRef defaultValue;
  /// As written in a pipeline; at least two.
  llvm::ArrayRef<llvm::StringRef> values;
};

/// How a model is asked for a pass.
struct AssistedForm {
  /// The text of prompt.md; never empty.
  llvm::StringRef prompt;
  /// examples/before.cu and after.cu; both are empty where there are none.
  llvm::StringRef before, after;
  /// Names of `allowances()`, beyond what every reply may use.
  llvm::ArrayRef<llvm::StringRef> allow;
  llvm::ArrayRef<ReplyParameter> parameters;
  /// clang-query's text for the sites, which it binds as "site"; empty where the
  /// site kind or C++ finds them.
  llvm::StringRef matcher;

  bool allows(llvm::StringRef what) const;
};

/// A rule that is an example: what was done to one program is done to kernels like its own.
struct RecipeForm {
  /// examples/before.cu and after.cu; neither is empty.
  llvm::StringRef before, after;
  /// The kernel of `before` that `after` changed, by its text; empty where none is.
  llvm::StringRef kernel = {};
  /// Expressions of that kernel for which others may stand.
  llvm::ArrayRef<llvm::StringRef> open = {};
};

/// The static description of one pass. Its storage is constant; that of a built-in
/// pass lives as long as the program, that of another as long as its registration.
struct PassInfo {
  llvm::StringRef name;
  llvm::StringRef family;
  llvm::ArrayRef<llvm::StringRef> aliases;
  llvm::StringRef summary;
  llvm::StringRef description;
  llvm::ArrayRef<OptionInfo> options;
  /// Names of the states it answers, such as `uncoalesced_access`.
  llvm::ArrayRef<llvm::StringRef> states;
  /// Passes that must not be combined with this one on the same kernel.
  llvm::ArrayRef<llvm::StringRef> excludes;
  /// Passes that tend to apply or pay after this one.
  llvm::ArrayRef<llvm::StringRef> enables;
  /// Passes whose values should be tuned again after this one.
  llvm::ArrayRef<llvm::StringRef> retunes;
  SiteKind site;
  Promise promise;
  llvm::ArrayRef<Assumption> assumes;
  /// Smallest compute capability, 10 * major + minor; 0 for any.
  unsigned minimumChip;
  /// It needs features of that very chip: code for its own architecture alone, as sm_90a is.
  bool exactChip = false;
  /// Null where a model cannot be asked.
  const AssistedForm *assisted = nullptr;
  /// Whether a rule, in C++ or by example, rewrites by itself; without it the pass needs a model.
  bool deterministic = true;
  /// Null where the rule is no example.
  const RecipeForm *recipe = nullptr;

  const OptionInfo *option(llvm::StringRef name) const;
  /// Why code for \p arch ("sm_90", "sm_90a") cannot have it; empty if it can.
  std::string refusalFor(llvm::StringRef arch) const;
};

/// The compute capability of \p arch, "sm_90" or "sm_90a" or "compute_90", as 10 * major + minor; 0
/// if it names none.
unsigned capabilityOf(llvm::StringRef arch);

/// The name in \p known that is closest to \p name by edit distance, if it is
/// close enough to suggest; the first of several.
std::optional<std::string> nearestName(llvm::StringRef name, llvm::ArrayRef<llvm::StringRef> known);

} // namespace kbopt

#endif // KBOPT_CORE_PASSINFO_H
