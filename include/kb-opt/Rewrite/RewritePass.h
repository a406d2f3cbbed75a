//===- RewritePass.h - One optimization of CUDA source ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the interface that every pass under passes/ implements: find the sites,
// say whether the pass applies at one, and return the edits as data. A pass
// writes no file, runs no program and keeps no state between sites.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_REWRITE_REWRITEPASS_H
#define KBOPT_REWRITE_REWRITEPASS_H

#include "kb-opt/Core/NestFacts.h"
#include "kb-opt/Core/PassInfo.h"
#include "kb-opt/Rewrite/PassContext.h"
#include "kb-opt/Source/Declined.h"
#include "kb-opt/Source/Edits.h"
#include "clang/AST/ASTTypeTraits.h"

namespace kbopt {

/// A place where a pass could act. Valid as long as the program it was found
/// in.
struct Site {
  /// The kernel (its pattern, for a template) that the site belongs to.
  const KernelView *kernel = nullptr;
  /// The statement, expression or declaration; for a kernel its FunctionDecl.
  clang::DynTypedNode node;
  /// The operation in the kb IR of the kernel's first instance; null where
  /// there is none for the node.
  mlir::Operation *op = nullptr;
  /// Where remarks point, and what a suppression comment must cover.
  clang::SourceRange range;

  template <class Node> const Node *as() const { return node.get<Node>(); }
};

/// Whether a pass applies, or a reason in the user's words: lower case, no
/// full stop, naming the variable, loop or array that stands in the way.
class [[nodiscard]] Decision {
public:
  static Decision applies() { return Decision(""); }
  static Decision doesNotApply(const llvm::Twine &reason) {
    assert(!reason.isTriviallyEmpty() && "a reason is needed");
    return Decision(reason.str());
  }
  explicit operator bool() const { return why.empty(); }
  llvm::StringRef reason() const { return why; }

private:
  explicit Decision(std::string why) : why(std::move(why)) {}
  std::string why;
};

/// The values of a pass's options: those that were given, else the defaults.
class PassOptions {
public:
  explicit PassOptions(const PassInfo &info) : info(&info) {}

  /// Fails with a `UsageError` if there is no such option, or the value is of
  /// the wrong type or out of range; the note suggests the nearest name.
  llvm::Error set(llvm::StringRef name, llvm::StringRef value);
  int64_t integer(llvm::StringRef name) const;
  bool boolean(llvm::StringRef name) const;
  llvm::StringRef string(llvm::StringRef name) const;
  /// Every option with its value, in the order of Pass.td.
  std::vector<std::pair<std::string, std::string>> all() const;

private:
  const PassInfo *info;
  std::map<std::string, std::string> given;
};

/// \p error with its text errors as reasons: analyses and printers say in those why something
/// cannot be had.
llvm::Error declined(llvm::Error error);

/// What a pass makes of a site.
/// The option of a pass whose values `RewritePass::choices` lists.
inline constexpr llvm::StringLiteral choiceOption = "as";

struct Rewrite {
  Edits edits;
  /// For the remark: what was done, in the past tense ("loaded 'x' four floats
  /// at a time").
  std::string summary;
  /// What it promises, where the pass's own promise is that of its worst case.
  std::optional<Promise> promise = std::nullopt;
  /// Of a rewrite by `composes`: the schedule that the kernel now has.
  std::optional<Schedule> schedule = std::nullopt;
  /// Where more than the program decided, as a workload: the value of `choiceOption` with which the
  /// pass does the same without that.
  std::optional<std::string> choice = std::nullopt;
};

/// What is worth trying at a site.
struct SiteChoices {
  std::vector<std::string> values; ///< of the option `choiceOption`, most promising first
  NestFacts facts = {};            ///< where they are whole schedules
};

/// One optimization. Stateless: `rewrite` is a function of its arguments.
class RewritePass {
public:
  virtual ~RewritePass();

  /// The sites in \p kernel, in source order. Cheap; includes places where the
  /// pass will not apply, so that each gets its missed remark.
  virtual std::vector<Site> sites(const PassContext &context, const KernelView &kernel) const = 0;

  /// The edits at \p site with \p options, or a `Declined` that says why there are none: it is not
  /// legal, it is unknown whether it is, or there would be no change. Asked once for each site and
  /// options; the answer is kept as long as the program stays the same.
  virtual llvm::Expected<Rewrite> rewrite(const PassContext &context, const Site &site,
                                          const PassOptions &options) const = 0;

  /// Values that are worth trying at \p site, where the pass applies. A search tries them together
  /// before anything else. By default none.
  virtual SiteChoices choices(const PassContext &context, const Site &site) const;

  /// Whether it changes the schedule of raised kernels: then adjacent steps of a pipeline work on
  /// one nest, and `rewrite` is given the program before the first of them.
  virtual bool composes() const { return false; }
};

} // namespace kbopt

#endif // KBOPT_REWRITE_REWRITEPASS_H
