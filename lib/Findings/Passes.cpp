//===- Passes.cpp - Findings that passes make -----------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the findings that rest on a pass: where it applies, what it mends is there. Where a pass
// sees a kernel as a whole, the findings stand at the code that it mends.
//
//===----------------------------------------------------------------------===//
#include "Collect.h"
#include "kb-opt/Rewrite/DataPass.h"
#include "kb-opt/Source/Anchor.h"
#include "clang/AST/Stmt.h"

using namespace kbopt;

std::optional<FindingPlace> kbopt::placeOf(const PassContext &context, clang::SourceRange range) {
  std::optional<ByteRange> bytes = byteRange(context.parsed(), range);
  return bytes ? std::optional(FindingPlace{bytes->begin, bytes->end}) : std::nullopt;
}

bool kbopt::touches(const Edits &edits, const FindingPlace &place) {
  return llvm::any_of(edits, [&](const Edit &edit) {
    return edit.offset < place.end && edit.offset + std::max(edit.length, 1u) > place.begin;
  });
}

llvm::ArrayRef<AppliedSite> PassTrials::at(llvm::StringRef pass, const KernelView &kernel) {
  auto [found, isNew] = applied.try_emplace({pass.str(), &kernel});
  std::vector<AppliedSite> &sites = found->second;
  const PassRegistration *registration = isNew ? registry.lookup(pass) : nullptr;
  if (!registration || !registration->info->deterministic ||
      !registration->info->refusalFor(context.parsed().command().arch).empty())
    return sites;
  std::unique_ptr<RewritePass> rule = registration->create();
  PassOptions options(*registration->info);
  for (Site &site : rule->sites(context, kernel)) {
    llvm::Expected<Rewrite> rewrite = rule->rewrite(context, site, options);
    if (rewrite)
      sites.push_back({std::move(site), std::move(*rewrite)});
    else
      llvm::consumeError(rewrite.takeError());
  }
  return sites;
}

void PassTrials::setPass(ProgramFinding &finding, llvm::StringRef pass,
                         const Rewrite &rewrite) const {
  finding.pass = pass.str();
  finding.summary = rewrite.summary;
  finding.promise = rewrite.promise.value_or(registry.lookup(pass)->info->promise);
  for (const Edit &edit : rewrite.edits)
    finding.replacements.push_back({edit.offset, edit.length, edit.replacement});
}

bool PassTrials::isAskable(llvm::StringRef pass, const KernelView &kernel) const {
  const PassRegistration *registration = registry.lookup(pass);
  // A rule that is tried first may have a form for a model as well, if that has sites of its own.
  if (!registration || !registration->info->assisted ||
      (registration->info->deterministic && registration->info->assisted->matcher.empty()) ||
      !registration->info->refusalFor(context.parsed().command().arch).empty())
    return false;
  return !DataPass(*registration->info).sites(context, kernel).empty();
}

/// Whether the compiler must take two pointers of \p kernel for the same memory, and it matters:
/// neither is declared to be alone, and something may be stored through one of them.
static bool mayStoreThroughAlias(const KernelView &kernel) {
  unsigned pointers = 0, mutables = 0;
  for (const clang::ParmVarDecl *each : kernel.function()->parameters())
    if (each->getType()->isPointerType() && !each->getType().isRestrictQualified()) {
      ++pointers;
      mutables += !each->getType()->getPointeeType().isConstQualified();
    }
  if (pointers < 2 || mutables == 0)
    return false;
  // Nothing that is loaded can change where nothing is loaded.
  bool loads = kernel.ops.empty();
  for (kb::KernelOp op : kernel.ops)
    op->walk([&](mlir::Operation *each) {
      auto access = mlir::dyn_cast<kb::AccessOp>(each);
      loads |= access ? access.getKind() != kb::AccessKind::Store &&
                            access.getSpace() != kb::MemorySpace::Shared &&
                            access.getSpace() != kb::MemorySpace::Local
                      : mlir::isa<kb::CallOp, kb::OpaqueOp>(each);
    });
  return loads;
}

bool kbopt::threadsMeet(kb::AccessOp atomic) {
  const LaunchValues values = LaunchValues::common(atomic->getParentOfType<kb::KernelOp>());
  const StrideClass stride = laneStride(atomic, 0, values).kind;
  if (stride != StrideClass::Uniform && stride != StrideClass::Unknown)
    return false;
  std::optional<kb::DomainAttr> domain = atomic.getDomain();
  if (!domain || domain->isUnknown())
    return true;
  mlir::IntegerSet set = domain->getSet();
  for (unsigned i = 0; i < set.getNumConstraints(); ++i)
    if (set.isEq(i) && set.getConstraint(i).isFunctionOfDim(kb::tidDim))
      return false;
  return true;
}

/// The atomics on global memory of \p kernel that \p rewrite changes and at which threads can meet;
/// where it changes their surroundings alone, all such atomics.
static std::vector<FindingPlace> changedAtomics(const PassContext &context,
                                                const KernelView &kernel, const Rewrite &rewrite) {
  std::set<FindingPlace> all, changed;
  bool changesAny = false;
  for (kb::KernelOp kernelOp : kernel.ops)
    kernelOp->walk([&](kb::AccessOp access) {
      const clang::Expr *call = context.imported().exprOf(access);
      if (!call || access.getKind() != kb::AccessKind::Atomic ||
          access.getSpace() == kb::MemorySpace::Shared)
        return;
      std::optional<FindingPlace> place = placeOf(context, call->getSourceRange());
      const bool isChanged = place && touches(rewrite.edits, *place);
      changesAny |= isChanged;
      if (place && threadsMeet(access)) {
        all.insert(*place);
        if (isChanged)
          changed.insert(*place);
      }
    });
  const std::set<FindingPlace> &places = changesAny ? changed : all;
  return std::vector<FindingPlace>(places.begin(), places.end());
}

/// The condition of \p branch; null if it is no `if` and no choice between expressions.
static const clang::Expr *conditionOf(const clang::Stmt *branch) {
  if (const auto *choice = llvm::dyn_cast_or_null<clang::IfStmt>(branch))
    return choice->getCond();
  if (const auto *choice = llvm::dyn_cast_or_null<clang::ConditionalOperator>(branch))
    return choice->getCond();
  return nullptr;
}

/// The branches of \p kernel that \p rewrite makes selects of, without those that the compiler
/// makes selects of anyway.
static std::vector<FindingPlace> changedBranches(const PassContext &context,
                                                 const KernelView &kernel, const Rewrite &rewrite) {
  const CodeOffsets branches(context, kernel, &OptimisedCode::branches);
  std::map<FindingPlace, bool> changed; // whether it is left in the device code
  for (kb::KernelOp kernelOp : kernel.ops)
    kernelOp->walk([&](kb::BranchOp branch) {
      const clang::Stmt *statement = context.imported().stmtOf(branch);
      const clang::Expr *condition = conditionOf(statement);
      std::optional<FindingPlace> place, test;
      if (condition) {
        place = placeOf(context, statement->getSourceRange());
        test = placeOf(context, condition->getSourceRange());
      }
      if (place && test && touches(rewrite.edits, *place))
        changed[*place] |= branches.isIn(test->begin, test->end);
    });
  std::vector<FindingPlace> places;
  for (const auto &[place, isLeft] : changed) {
    // Around a branch that is changed another one is not.
    bool isAround = llvm::any_of(changed, [&, &outer = place](const auto &other) {
      return !(other.first == outer) && outer.begin <= other.first.begin &&
             other.first.end <= outer.end;
    });
    if (isLeft && !isAround)
      places.push_back(place);
  }
  return places;
}

/// Where the code stands for which \p rule has a pass that rewrites the kernel as a whole.
static std::vector<FindingPlace> placesInKernel(const PassContext &context, const FindingRule &rule,
                                                const AppliedSite &applied) {
  const KernelView &kernel = *applied.site.kernel;
  if (rule.id == "double-arithmetic")
    return doubleExpressions(context, kernel, applied.rewrite);
  if (rule.id == "divergent-branch")
    return changedBranches(context, kernel, applied.rewrite);
  return changedAtomics(context, kernel, applied.rewrite);
}

/// The finding of \p rule at \p applied; nothing where what the pass changes is not what the rule
/// finds.
static std::optional<ProgramFinding> findAt(const PassContext &context, const FindingRule &rule,
                                            const AppliedSite &applied) {
  auto writes = [&](llvm::StringRef text) {
    return llvm::any_of(applied.rewrite.edits, [&](const Edit &edit) {
      return llvm::StringRef(edit.replacement).contains(text);
    });
  };
  if (!writes(rule.mustWrite) || (!rule.mustNotWrite.empty() && writes(rule.mustNotWrite)))
    return std::nullopt;
  std::optional<ProgramFinding> finding =
      findingAt(context, rule.id, *applied.site.kernel, applied.site.range);
  if (finding && applied.site.as<clang::FunctionDecl>()) {
    std::vector<FindingPlace> places = placesInKernel(context, rule, applied);
    if (places.empty())
      return std::nullopt;
    finding->begin = places.front().begin;
    finding->end = places.front().end;
    finding->also.assign(places.begin() + 1, places.end());
  }
  if (finding)
    finding->message = rule.message.str();
  return finding;
}

/// Makes \p other, which the same step of the same pass mends, a part of \p finding.
static void join(ProgramFinding &finding, ProgramFinding other) {
  finding.also.push_back({other.begin, other.end});
  finding.summary += ", " + other.summary;
  finding.promise = std::max(finding.promise, other.promise);
  llvm::append_range(finding.replacements, std::move(other.replacements));
}

void kbopt::addPassFindings(const PassContext &context, const KernelView &kernel,
                            PassTrials &trials, std::vector<ProgramFinding> &findings) {
  for (const FindingRule &rule : findingRules()) {
    if (rule.message.empty() || (rule.id == "missing-restrict" && !mayStoreThroughAlias(kernel)))
      continue;
    std::optional<ProgramFinding> ofParameters;
    for (const AppliedSite &applied : trials.at(rule.passes[0], kernel)) {
      std::optional<ProgramFinding> finding = findAt(context, rule, applied);
      if (!finding)
        continue;
      trials.setPass(*finding, rule.passes[0], applied.rewrite);
      if (!applied.site.as<clang::ParmVarDecl>())
        findings.push_back(std::move(*finding));
      else if (!ofParameters)
        ofParameters = std::move(finding);
      else
        join(*ofParameters, std::move(*finding));
    }
    if (ofParameters)
      findings.push_back(std::move(*ofParameters));
  }
}
