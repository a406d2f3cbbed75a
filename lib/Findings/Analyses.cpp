//===- Analyses.cpp - Findings that analyses make -------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns what is said about strides, bank conflicts, contended atomics, races and
// launches of one thread. The questions themselves are Analysis's.
//
//===----------------------------------------------------------------------===//
#include "Collect.h"
#include "clang/AST/Expr.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

using namespace kbopt;

/// Stands in for sizes that only the run knows; no count of sectors that rests on it is printed.
constexpr int64_t typicalExtent = 4096;
/// A warp must move this many times the sectors that its bytes fill; less is often served by the
/// cache.
constexpr unsigned worthwhileFactor = 4;
/// Fewer sectors in a request are few, whatever share of them is used.
constexpr unsigned fewSectors = 8;
/// Elements that lie farther apart are no structures.
constexpr int64_t largeStructure = 4096;
/// What fewer lanes of a warp do costs little.
constexpr unsigned fewLanes = 8;

/// Whether only some threads of a warp get to \p access, and it is not known which: its cost says
/// nothing then.
static bool runsInFewLanes(kb::AccessOp access) {
  std::optional<kb::DomainAttr> domain = access.getDomain();
  if (!domain)
    return false;
  if (domain->isUnknown())
    return true;
  mlir::IntegerSet set = domain->getSet();
  for (unsigned i = 0; i < set.getNumConstraints(); ++i) {
    if (!set.isEq(i))
      continue;
    bool ofThread = false, ofOthers = false;
    set.getConstraint(i).walk([&](mlir::AffineExpr part) {
      auto dim = mlir::dyn_cast<mlir::AffineDimExpr>(part);
      ofThread |= dim && dim.getPosition() < kb::bidDim;
      ofOthers |=
          mlir::isa<mlir::AffineSymbolExpr>(part) || (dim && dim.getPosition() >= kb::bidDim);
    });
    if (ofThread && ofOthers)
      return true;
  }
  return false;
}

/// Whether conditions that are not understood may keep more lanes from \p access.
static bool mayHaveFewerLanes(kb::AccessOp access) {
  return access.getDomain() && !access.getDomain()->getExact();
}

/// Whether \p access stands in a loop from an element of the thread's own to an end that all
/// threads share, though the threads are more than one element apart: what is left behind the
/// vectors of all threads, which one thread alone may do.
static bool isRemainder(kb::AccessOp access, unsigned axis) {
  for (auto loop = access->getParentOfType<kb::LoopOp>(); loop;
       loop = loop->getParentOfType<kb::LoopOp>()) {
    std::optional<kb::ExprAttr> trip = loop.getTrip();
    if (!trip)
      continue;
    const mlir::AffineMap map = trip->getMap();
    mlir::AffineExpr thread = mlir::getAffineDimExpr(kb::tidDim + axis, access.getContext());
    auto step = mlir::dyn_cast<mlir::AffineConstantExpr>(
        mlir::simplifyAffineExpr(trip->getExpr().replace(thread, thread + 1) - trip->getExpr(),
                                 map.getNumDims(), map.getNumSymbols()));
    if (step && step.getValue() < -1)
      return true;
  }
  return false;
}

/// Whether \p stride is a field of a structure that no loop and no condition of the kernel asks
/// for: the step of a view, which is 1 for most.
static bool isStepOfView(kb::AccessOp access, const LaneStride &stride) {
  bool isExtent = false;
  llvm::StringRef field;
  for (mlir::StringAttr symbol : access.getAddress()->getSymbols())
    if (symbol.getValue().contains('.') &&
        llvm::StringRef(stride.text).starts_with(symbol.getValue()))
      field = symbol.getValue();
  if (field.empty())
    return false;
  auto asks = [&](llvm::ArrayRef<mlir::StringAttr> symbols) {
    return llvm::any_of(symbols, [&](mlir::StringAttr each) { return each.getValue() == field; });
  };
  access->getParentOfType<kb::KernelOp>()->walk([&](mlir::Operation *op) {
    if (auto loop = mlir::dyn_cast<kb::LoopOp>(op); loop && loop.getTrip())
      isExtent |= asks(loop.getTrip()->getSymbols());
    if (auto other = mlir::dyn_cast<kb::AccessOp>(op); other && other.getDomain())
      isExtent |= asks(other.getDomain()->getSymbols());
  });
  return !isExtent;
}

/// A finding of one access. Those of one kernel with the same rule and cause are one finding.
struct AccessFinding {
  ProgramFinding finding; ///< its message is what is said of the accesses
  std::string cause;
  kb::AccessOp access;
  std::vector<std::string> bases;     ///< the arrays; empty where the message names them
  std::optional<kb::AccessKind> kind; ///< nothing where loads and stores are joined
  int64_t weight = 0;                 ///< the heaviest is worded

  /// "loads from 'x' and 'y'".
  std::string subject() const {
    constexpr size_t mostNames = 3;
    std::string words = !kind                           ? "accesses to "
                        : kind == kb::AccessKind::Load  ? "loads from "
                        : kind == kb::AccessKind::Store ? "stores to "
                                                        : "atomics on ";
    const size_t shown = bases.size() > mostNames ? mostNames - 1 : bases.size();
    for (size_t i = 0; i < shown; ++i)
      words += (i == 0 ? "'" : i + 1 == bases.size() ? " and '" : ", '") + bases[i] + "'";
    if (shown < bases.size())
      words += " and " + std::to_string(bases.size() - shown) + " others";
    return words;
  }
};

/// The finding at \p access, worded by the caller.
static std::optional<AccessFinding> findingOf(const PassContext &context, llvm::StringRef rule,
                                              const KernelView &kernel, kb::AccessOp access) {
  const clang::Expr *expr = context.imported().exprOf(access);
  std::optional<ProgramFinding> finding =
      expr ? findingAt(context, rule, kernel, expr->getSourceRange()) : std::nullopt;
  if (!finding)
    return std::nullopt;
  std::string base = access.getBase().getName().str();
  return AccessFinding{std::move(*finding), base, access, {base}, access.getKind()};
}

/// Gives \p values a usual block where the launch does not say; false then.
static bool completeBlock(LaunchValues &values) {
  if (values.block[0])
    return true;
  values.block = {128, 1, 1};
  return false;
}

/// Whether \p access is to an array of structures of \p stride bytes.
static bool isInStructure(kb::AccessOp access, int64_t stride) {
  const int64_t argument = access.getBase().getArgument();
  const auto params = access->getParentOfType<kb::KernelOp>().getParams();
  if (access.getBase().getKind() != kb::BaseKind::Argument || argument < 0 ||
      argument >= int64_t(params.size()))
    return false;
  constexpr int64_t widestScalar = 8;
  return stride > widestScalar &&
         mlir::cast<kb::ParamAttr>(params[argument]).getElementBytes() == stride;
}

/// An address without the loops that walk through one structure.
struct PlaceInStructure {
  llvm::SmallVector<mlir::StringAttr> loops; ///< that are left, in the order of the dimensions
  mlir::AffineExpr expr;
  llvm::SmallVector<int64_t> offsets{0}; ///< what the others add
};

/// Where \p access, at \p address, starts in a structure of \p stride bytes.
static PlaceInStructure placeInStructure(kb::AccessOp access, kb::ExprAttr address,
                                         int64_t stride) {
  PlaceInStructure place;
  llvm::SmallVector<mlir::AffineExpr> dims;
  mlir::MLIRContext *context = access.getContext();
  const mlir::AffineMap map = address.getMap();
  const bool isStructure = isInStructure(access, stride);
  for (unsigned i = 0; i < map.getNumDims(); ++i)
    dims.push_back(mlir::getAffineDimExpr(i, context));
  for (auto [i, name] : llvm::enumerate(address.getLoops())) {
    mlir::AffineExpr &dim = dims[kb::firstLoopDim + i];
    auto step = mlir::dyn_cast<mlir::AffineConstantExpr>(
        mlir::simplifyAffineExpr(address.getExpr().replace(dim, dim + 1) - address.getExpr(),
                                 map.getNumDims(), map.getNumSymbols()));
    // A loop that the address does not move in has one place.
    std::optional<int64_t> count =
        step && step.getValue() == 0 ? std::optional<int64_t>(1) : std::nullopt;
    for (kb::LoopOp loop : kb::enclosingLoops(access))
      if (!count && loop.getName() == name.getValue())
        count = loop.getTripCount();
    // An array in a structure may be walked through as a whole.
    if (step && !count && isStructure && step.getValue() != 0)
      count = stride / std::abs(step.getValue());
    const bool isFixed = step && step.getValue() == 0;
    if (!step || !count || !(isFixed || isStructure) || *count <= 0 || *count > stride ||
        std::abs(step.getValue()) > stride / *count) {
      dim = mlir::getAffineDimExpr(kb::firstLoopDim + place.loops.size(), context);
      place.loops.push_back(name);
      continue;
    }
    dim = mlir::getAffineConstantExpr(0, context);
    llvm::SmallVector<int64_t> all;
    for (int64_t at : place.offsets)
      for (int64_t k = 0; k < *count; ++k)
        all.push_back(at + k * step.getValue());
    place.offsets = std::move(all);
  }
  place.expr = address.getExpr().replaceDims(dims);
  return place;
}

/// Whether half of the \p stride bytes from one thread's element to the next, or more, are touched
/// by accesses of \p access's kind: the fields of a structure share its sectors. What a copy of a
/// structure moves as a whole, and no field reads, does not count.
static bool usesHalf(kb::AccessOp access, int64_t stride) {
  if (stride > largeStructure)
    return false;
  const kb::ExprAttr address = access.getAddressAttr();
  const PlaceInStructure own = placeInStructure(access, address, stride);
  llvm::BitVector touched(stride);
  access->getParentOfType<kb::KernelOp>()->walk([&](kb::AccessOp other) {
    const kb::ExprAttr at = other.getAddressAttr();
    if (!at || other.getKind() != access.getKind() || other.getBase() != access.getBase() ||
        other.getType() == "bytes" || at.getSymbols() != address.getSymbols())
      return;
    const PlaceInStructure place = placeInStructure(other, at, stride);
    if (place.loops != own.loops)
      return;
    const mlir::AffineMap map = address.getMap();
    auto apart = mlir::dyn_cast<mlir::AffineConstantExpr>(mlir::simplifyAffineExpr(
        place.expr - own.expr, std::max(map.getNumDims(), at.getMap().getNumDims()),
        map.getNumSymbols()));
    if (!apart)
      return;
    for (int64_t offset : place.offsets)
      for (int64_t byte = 0; byte < int64_t(other.getBytes()); ++byte)
        touched.set(llvm::mod(apart.getValue() + offset + byte, stride));
  });
  return 2 * int64_t(touched.count()) >= stride;
}

static std::optional<AccessFinding> uncoalesced(const PassContext &context,
                                                const KernelView &kernel, kb::AccessOp access,
                                                LaunchValues values) {
  if (access.getSpace() != kb::MemorySpace::Global || !access.getAddress() ||
      runsInFewLanes(access))
    return std::nullopt;
  const bool blockKnown = completeBlock(values);
  const unsigned axis = values.block[0] == 1 ? 1 : 0;
  const LaneStride stride = laneStride(access, axis, values);
  if (stride.kind != StrideClass::Constant && stride.kind != StrideClass::Symbolic)
    return std::nullopt;
  if (isRemainder(access, axis) || isStepOfView(access, stride))
    return std::nullopt;
  for (mlir::StringAttr symbol : access.getAddress()->getSymbols())
    values.symbols.try_emplace(symbol.getValue(), typicalExtent);
  for (unsigned i = 0; i < 3; ++i) {
    values.block[i] = values.block[i].value_or(1);
    values.grid[i] = values.grid[i].value_or(typicalExtent);
  }
  const bool certain = stride.kind == StrideClass::Constant;
  std::optional<RequestCost> cost = activeRequestCost(access, values);
  if (!cost || cost->lanes < fewLanes || cost->sectors < fewSectors ||
      cost->sectors < worthwhileFactor * cost->idealSectors ||
      (certain && usesHalf(access, std::abs(stride.bytes))))
    return std::nullopt;
  std::optional<AccessFinding> found = findingOf(context, "uncoalesced-access", kernel, access);
  if (!found)
    return std::nullopt;
  ProgramFinding &finding = found->finding;
  const std::string apart =
      certain ? std::to_string(std::abs(stride.bytes)) : "'" + stride.text + "'";
  finding.proof = certain && blockKnown && !mayHaveFewerLanes(access) ? FindingProof::Proven
                                                                      : FindingProof::Estimated;
  finding.message = llvm::formatv("are not coalesced: threads that follow each other in "
                                  "threadIdx.{0} are {1} bytes apart",
                                  axis ? "y" : "x", apart);
  if (finding.proof == FindingProof::Proven)
    finding.message += llvm::formatv(", so that a warp moves {0} sectors where {1} would do",
                                     cost->sectors, cost->idealSectors)
                           .str();
  // One mapping of threads to elements, whatever arrays it concerns.
  found->cause = apart + (axis ? " y" : " x");
  found->weight = cost->sectors;
  return found;
}

static std::optional<AccessFinding> bankConflict(const PassContext &context,
                                                 const KernelView &kernel, kb::AccessOp access,
                                                 LaunchValues values) {
  if (access.getSpace() != kb::MemorySpace::Shared || runsInFewLanes(access))
    return std::nullopt;
  std::optional<RequestCost> cost = activeRequestCost(access, values);
  if (!cost || cost->idealWavefronts == 0 || cost->wavefronts < 2 * cost->idealWavefronts)
    return std::nullopt;
  std::optional<AccessFinding> found = findingOf(context, "bank-conflict", kernel, access);
  if (!found)
    return std::nullopt;
  const bool certain = !mayHaveFewerLanes(access);
  found->weight = cost->wavefronts / cost->idealWavefronts;
  found->finding.proof = certain ? FindingProof::Proven : FindingProof::Estimated;
  found->finding.message =
      llvm::formatv("have {0}a {1}-way bank conflict", certain ? "" : "up to ", found->weight);
  return found;
}

/// Whether \p expr, an atomic, only loads: __nv_atomic_load_n and its relatives.
static bool isAtomicLoad(const clang::Expr *expr) {
  const auto *call = llvm::dyn_cast_or_null<clang::CallExpr>(expr ? expr->IgnoreImpCasts() : expr);
  const clang::FunctionDecl *callee = call ? call->getDirectCallee() : nullptr;
  return callee && callee->getIdentifier() && callee->getName().contains("atomic_load");
}

/// An atomic with which all threads of a block update one element.
static std::optional<AccessFinding> contendedAtomic(const PassContext &context,
                                                    const KernelView &kernel, kb::AccessOp access,
                                                    LaunchValues values) {
  if (access.getKind() != kb::AccessKind::Atomic || access.getSpace() == kb::MemorySpace::Shared ||
      runsInFewLanes(access) || mayHaveFewerLanes(access) || !threadsMeet(access) ||
      isAtomicLoad(context.imported().exprOf(access)))
    return std::nullopt;
  const bool blockKnown = completeBlock(values);
  const unsigned axis = values.block[0] == 1 ? 1 : 0;
  const std::optional<RequestCost> cost = activeRequestCost(access, values);
  if (laneStride(access, axis, values).kind != StrideClass::Uniform ||
      (cost && cost->lanes < fewLanes))
    return std::nullopt;
  std::optional<AccessFinding> found = findingOf(context, "contended-atomics", kernel, access);
  if (!found)
    return std::nullopt;
  found->finding.proof = blockKnown ? FindingProof::Proven : FindingProof::Estimated;
  found->finding.message = "meet: all threads of a block update one element";
  return found;
}

/// One finding for each cause in \p found, at the place that comes first in the text.
static std::vector<AccessFinding> joinCauses(std::vector<AccessFinding> found) {
  auto placeOf = [](const ProgramFinding &finding) {
    return FindingPlace{finding.begin, finding.end};
  };
  llvm::stable_sort(found, [&](const AccessFinding &a, const AccessFinding &b) {
    return placeOf(a.finding) < placeOf(b.finding);
  });
  std::vector<AccessFinding> joined;
  for (AccessFinding &each : found) {
    auto same = llvm::find_if(joined, [&](const AccessFinding &other) {
      return other.finding.rule == each.finding.rule && other.cause == each.cause;
    });
    if (same == joined.end()) {
      joined.push_back(std::move(each));
      continue;
    }
    for (std::string &base : each.bases)
      if (!llvm::is_contained(same->bases, base))
        same->bases.push_back(std::move(base));
    if (same->kind != each.kind)
      same->kind.reset();
    ProgramFinding &finding = same->finding;
    const FindingPlace place = placeOf(each.finding);
    if (place != placeOf(finding) && !llvm::is_contained(finding.also, place))
      finding.also.push_back(place);
    if (each.weight > same->weight) {
      same->weight = each.weight;
      finding.message = std::move(each.finding.message);
      finding.proof = each.finding.proof;
    }
  }
  return joined;
}

/// Races of \p kernel, if nothing in it orders threads or is unknown. A store of all threads to one
/// place is left out: they usually store the same.
static void addRaces(const PassContext &context, const KernelView &kernel, kb::KernelOp op,
                     const LaunchValues &values, std::vector<AccessFinding> &found) {
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
  // Rows are taken to be longer than a block has threads, so that those of a block do not meet in
  // different rows.
  LaunchValues typical = values;
  for (kb::AccessOp access : accesses)
    if (access.getAddress())
      for (mlir::StringAttr symbol : access.getAddress()->getSymbols())
        typical.symbols.try_emplace(symbol.getValue(), typicalExtent);
  for (kb::AccessOp store : accesses) {
    if (store.getKind() != kb::AccessKind::Store || !isGlobal(store) ||
        !unprovenAssumption(store).empty() ||
        laneStride(store, 0, values).kind == StrideClass::Uniform)
      continue;
    for (kb::AccessOp load : accesses) {
      if (load.getKind() != kb::AccessKind::Load || !isGlobal(load) ||
          load.getBase() != store.getBase() || !unprovenAssumption(load).empty() ||
          !threadsMayOverlap(store, load, typical, /*sameBlock=*/true).proven())
        continue;
      std::optional<AccessFinding> race = findingOf(context, "possible-race", kernel, load);
      if (!race)
        continue;
      race->bases.clear();
      race->finding.proof = FindingProof::Estimated;
      race->finding.message = llvm::formatv(
          "possible race: another thread may store the element of '{0}' that this loads",
          load.getBase().getName());
      found.push_back(std::move(*race));
    }
  }
}

/// Launches with one block of one thread, of a kernel with a loop that more threads could share.
static void addSingleThreads(const PassContext &context, const KernelView &kernel, kb::KernelOp op,
                             std::vector<ProgramFinding> &findings) {
  if (!op->walk([](kb::LoopOp) { return mlir::WalkResult::interrupt(); }).wasInterrupted())
    return;
  std::optional<ProgramFinding> finding;
  for (kb::LaunchOp launch : context.imported().launchesOf(op)) {
    auto one = [](int64_t value) { return value == 1; };
    if (!llvm::all_of(launch.getGridValues(), one) || !llvm::all_of(launch.getBlockValues(), one))
      continue;
    const clang::SourceRange range = context.imported().factOf(launch)->call->getSourceRange();
    if (!finding)
      finding = findingAt(context, "single-thread", kernel, range);
    else if (std::optional<FindingPlace> place = placeOf(context, range))
      finding->also.push_back(*place);
  }
  if (!finding)
    return;
  finding->message = ("one thread does all the work of '" + kernel.name() + "'").str();
  findings.push_back(std::move(*finding));
}

void kbopt::addAnalysisFindings(const PassContext &context, const KernelView &kernel,
                                PassTrials &trials, std::vector<ProgramFinding> &findings) {
  std::vector<AccessFinding> found;
  for (kb::KernelOp op : kernel.ops) {
    LaunchValues values = LaunchValues::common(op);
    addArgumentValues(context, op, values);
    addSingleThreads(context, kernel, op, findings);
    op->walk([&](kb::AccessOp access) {
      for (auto *question : {uncoalesced, bankConflict, contendedAtomic})
        if (std::optional<AccessFinding> each = question(context, kernel, access, values))
          found.push_back(std::move(*each));
    });
    addRaces(context, kernel, op, values, found);
  }
  for (AccessFinding &each : joinCauses(std::move(found))) {
    if (!each.bases.empty())
      each.finding.message = each.subject() + " " + each.finding.message;
    tryPasses(context, kernel, trials, each.access, each.finding);
    findings.push_back(std::move(each.finding));
  }
}
