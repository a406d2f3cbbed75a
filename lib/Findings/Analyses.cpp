//===- Analyses.cpp - Findings that analyses make -------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns what is said about strides, bank conflicts, races and launches of one
// thread. The questions themselves are Analysis's.
//
//===----------------------------------------------------------------------===//
#include "Collect.h"
#include "clang/AST/Expr.h"
#include "llvm/Support/FormatVariadic.h"

using namespace kbopt;

/// Stands in for sizes that only the run knows; no count of sectors that rests on it is printed.
constexpr int64_t typicalExtent = 4096;
/// A warp must move this many times the sectors that its bytes fill; less is often served by the
/// cache.
constexpr unsigned worthwhileFactor = 4;

/// Whether only some threads of a warp get to \p access: its cost with all lanes active says
/// nothing then.
static bool runsInFewLanes(kb::AccessOp access) {
  std::optional<kb::DomainAttr> domain = access.getDomain();
  if (!domain)
    return false;
  if (domain->isUnknown())
    return true;
  return domain->getSet().getNumEqualities() > 0;
}

static llvm::StringRef kindWords(kb::AccessKind kind) {
  return kind == kb::AccessKind::Load    ? "loads from"
         : kind == kb::AccessKind::Store ? "stores to"
                                         : "atomics on";
}

/// The finding at \p access, worded by the caller.
static std::optional<ProgramFinding> findingOf(const PassContext &context, llvm::StringRef rule,
                                               const KernelView &kernel, kb::AccessOp access) {
  const clang::Expr *expr = context.imported().exprOf(access);
  return expr ? findingAt(context, rule, kernel, expr->getSourceRange()) : std::nullopt;
}

static std::optional<ProgramFinding> uncoalesced(const PassContext &context,
                                                 const KernelView &kernel, kb::AccessOp access,
                                                 LaunchValues values) {
  if (access.getSpace() != kb::MemorySpace::Global || !access.getAddress() ||
      runsInFewLanes(access))
    return std::nullopt;
  const bool blockKnown = values.block[0].has_value();
  if (!blockKnown)
    values.block = {128, 1, 1};
  const unsigned axis = values.block[0] == 1 ? 1 : 0;
  const LaneStride stride = laneStride(access, axis, values);
  if (stride.kind != StrideClass::Constant && stride.kind != StrideClass::Symbolic)
    return std::nullopt;
  for (mlir::StringAttr symbol : access.getAddress()->getSymbols())
    values.symbols.try_emplace(symbol.getValue(), typicalExtent);
  for (unsigned i = 0; i < 3; ++i) {
    values.block[i] = values.block[i].value_or(1);
    values.grid[i] = values.grid[i].value_or(typicalExtent);
  }
  std::optional<RequestCost> cost = requestCost(access, values);
  if (!cost || cost->lanes < 8 || cost->sectors < worthwhileFactor * cost->idealSectors)
    return std::nullopt;
  std::optional<ProgramFinding> finding = findingOf(context, "uncoalesced-access", kernel, access);
  if (!finding)
    return std::nullopt;
  const bool certain = stride.kind == StrideClass::Constant;
  finding->proof = certain && blockKnown ? FindingProof::Proven : FindingProof::Estimated;
  finding->message = llvm::formatv(
      "{0} '{1}' are not coalesced: threads that follow each other in threadIdx.{2} are {3} "
      "bytes apart",
      kindWords(access.getKind()), access.getBase().getName(), axis ? "y" : "x",
      certain ? std::to_string(std::abs(stride.bytes)) : "'" + stride.text + "'");
  if (finding->proof == FindingProof::Proven)
    finding->message += llvm::formatv(", so that a warp moves {0} sectors where {1} would do",
                                      cost->sectors, cost->idealSectors)
                            .str();
  return finding;
}

static std::optional<ProgramFinding> bankConflict(const PassContext &context,
                                                  const KernelView &kernel, kb::AccessOp access,
                                                  const LaunchValues &values) {
  if (access.getSpace() != kb::MemorySpace::Shared || runsInFewLanes(access))
    return std::nullopt;
  std::optional<RequestCost> cost = requestCost(access, values);
  if (!cost || cost->idealWavefronts == 0 || cost->wavefronts < 2 * cost->idealWavefronts)
    return std::nullopt;
  std::optional<ProgramFinding> finding = findingOf(context, "bank-conflict", kernel, access);
  if (finding)
    finding->message =
        llvm::formatv("{0} '{1}' have a {2}-way bank conflict", kindWords(access.getKind()),
                      access.getBase().getName(), cost->wavefronts / cost->idealWavefronts);
  return finding;
}

/// Races of \p kernel, if nothing in it orders threads or is unknown. A store of all threads to one
/// place is left out: they usually store the same.
static void addRaces(const PassContext &context, const KernelView &kernel, kb::KernelOp op,
                     const LaunchValues &values, std::vector<ProgramFinding> &findings) {
  std::vector<kb::AccessOp> accesses;
  bool orders = false;
  op->walk([&](mlir::Operation *each) {
    orders |= mlir::isa<kb::BarrierOp, kb::ShuffleOp, kb::MmaOp, kb::CallOp, kb::OpaqueOp>(each);
    if (auto access = mlir::dyn_cast<kb::AccessOp>(each)) {
      orders |= access.getKind() == kb::AccessKind::Atomic || access.getIsVolatile();
      accesses.push_back(access);
    }
  });
  if (orders)
    return;
  auto isGlobal = [](kb::AccessOp access) {
    return access.getSpace() == kb::MemorySpace::Global &&
           access.getBase().getKind() == kb::BaseKind::Argument && access.getAddress() &&
           !runsInFewLanes(access);
  };
  for (kb::AccessOp store : accesses) {
    if (store.getKind() != kb::AccessKind::Store || !isGlobal(store) ||
        !unprovenAssumption(store).empty() ||
        laneStride(store, 0, values).kind == StrideClass::Uniform)
      continue;
    for (kb::AccessOp load : accesses) {
      if (load.getKind() != kb::AccessKind::Load || !isGlobal(load) ||
          load.getBase() != store.getBase() || !unprovenAssumption(load).empty() ||
          !threadsMayOverlap(store, load, values).proven())
        continue;
      std::optional<ProgramFinding> finding = findingOf(context, "possible-race", kernel, load);
      if (!finding)
        continue;
      finding->proof = FindingProof::Estimated;
      finding->message = llvm::formatv(
          "possible race: another thread may store the element of '{0}' that this loads",
          load.getBase().getName());
      findings.push_back(std::move(*finding));
    }
  }
}

/// Launches with one block of one thread.
static void addSingleThreads(const PassContext &context, const KernelView &kernel, kb::KernelOp op,
                             std::vector<ProgramFinding> &findings) {
  for (kb::LaunchOp launch : context.imported().launchesOf(op)) {
    auto one = [](int64_t value) { return value == 1; };
    if (!llvm::all_of(launch.getGridValues(), one) || !llvm::all_of(launch.getBlockValues(), one))
      continue;
    const LaunchFact *fact = context.imported().factOf(launch);
    std::optional<ProgramFinding> finding =
        findingAt(context, "single-thread", kernel, fact->call->getSourceRange());
    if (!finding)
      continue;
    finding->message = ("one thread does all the work of '" + kernel.name() + "'").str();
    findings.push_back(std::move(*finding));
  }
}

void kbopt::addAnalysisFindings(const PassContext &context, const KernelView &kernel,
                                std::vector<ProgramFinding> &findings) {
  for (kb::KernelOp op : kernel.ops) {
    const LaunchValues values = LaunchValues::common(op);
    addSingleThreads(context, kernel, op, findings);
    op->walk([&](kb::AccessOp access) {
      for (auto *question :
           {uncoalesced, +[](const PassContext &c, const KernelView &k, kb::AccessOp a,
                             LaunchValues v) { return bankConflict(c, k, a, v); }})
        if (std::optional<ProgramFinding> finding = question(context, kernel, access, values))
          findings.push_back(std::move(*finding));
    });
    addRaces(context, kernel, op, values, findings);
  }
}
