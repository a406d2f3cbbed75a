//===- AccessQueries.cpp - What an access costs ----------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns evaluation of addresses lane by lane, and the figures that follow.
//
//===----------------------------------------------------------------------===//
#include "kb-opt/Analysis/AccessQueries.h"

#include "mlir/IR/AffineExprVisitor.h"
#include <set>

using namespace mlir;

namespace kbopt {

static constexpr int64_t sectorBytes = 32, warpLanes = 32, banks = 32, bankBytes = 4;
static constexpr int64_t mostThreadsOfBlock = 1024;

llvm::StringRef strideClassName(StrideClass stride) {
  switch (stride) {
  case StrideClass::Uniform:
    return "uniform";
  case StrideClass::Unit:
    return "unit";
  case StrideClass::Constant:
    return "constant";
  case StrideClass::Symbolic:
    return "symbolic";
  case StrideClass::Unknown:
    return "unknown";
  }
  llvm_unreachable("five classes");
}

LaunchValues LaunchValues::of(kb::LaunchOp launch) {
  LaunchValues values;
  for (unsigned c = 0; c < 3; ++c) {
    if (launch.getBlockValues()[c] >= 0)
      values.block[c] = launch.getBlockValues()[c];
    if (launch.getGridValues()[c] >= 0)
      values.grid[c] = launch.getGridValues()[c];
  }
  return values;
}

LaunchValues LaunchValues::common(kb::KernelOp kernel) {
  std::optional<LaunchValues> result;
  auto program = kernel->getParentOfType<kb::ProgramOp>();
  for (auto launch : program.getBody().getOps<kb::LaunchOp>()) {
    if (launch.getKernel() != kernel.getSymName())
      continue;
    LaunchValues here = of(launch);
    if (!result) {
      result = here;
      continue;
    }
    for (unsigned c = 0; c < 3; ++c) {
      if (result->block[c] != here.block[c])
        result->block[c].reset();
      if (result->grid[c] != here.grid[c])
        result->grid[c].reset();
    }
  }
  return result.value_or(LaunchValues());
}

/// Values of dimensions and symbols by position; unknown ones are missing.
struct Point {
  SmallVector<std::optional<int64_t>> dims, symbols;
};

static std::optional<int64_t> evaluateAt(AffineExpr expr, const Point &point) {
  if (auto constant = dyn_cast<AffineConstantExpr>(expr))
    return constant.getValue();
  if (auto dim = dyn_cast<AffineDimExpr>(expr))
    return point.dims[dim.getPosition()];
  if (auto symbol = dyn_cast<AffineSymbolExpr>(expr))
    return point.symbols[symbol.getPosition()];
  auto binary = cast<AffineBinaryOpExpr>(expr);
  auto left = evaluateAt(binary.getLHS(), point), right = evaluateAt(binary.getRHS(), point);
  bool isProduct = expr.getKind() == AffineExprKind::Mul;
  // Nothing times an unknown is nothing.
  if (isProduct && ((left && *left == 0) || (right && *right == 0)))
    return 0;
  if (!left || !right)
    return std::nullopt;
  int64_t result;
  switch (expr.getKind()) {
  case AffineExprKind::Add:
    return __builtin_add_overflow(*left, *right, &result) ? std::nullopt : std::optional(result);
  case AffineExprKind::Mul:
    return __builtin_mul_overflow(*left, *right, &result) ? std::nullopt : std::optional(result);
  default:
    break;
  }
  if (*right <= 0)
    return std::nullopt;
  int64_t quotient = *left / *right - (*left % *right < 0);
  switch (expr.getKind()) {
  case AffineExprKind::FloorDiv:
    return quotient;
  case AffineExprKind::CeilDiv:
    return quotient + (*left % *right != 0);
  case AffineExprKind::Mod:
    return *left - quotient * *right;
  default:
    llvm_unreachable("all kinds are handled");
  }
}

std::optional<int64_t> evaluate(kb::ExprAttr expr, const llvm::StringMap<int64_t> &named) {
  auto find = [&](StringRef name) -> std::optional<int64_t> {
    auto it = named.find(name);
    return it == named.end() ? std::nullopt : std::optional(it->second);
  };
  Point point;
  for (unsigned i = 0; i < expr.getMap().getNumDims(); ++i)
    point.dims.push_back(find(kb::dimName(i, expr.getLoops())));
  for (unsigned i = 0; i < expr.getMap().getNumSymbols(); ++i)
    point.symbols.push_back(find(kb::symbolName(i, expr.getSymbols())));
  return evaluateAt(expr.getExpr(), point);
}

/// Replaces the symbols that \p values knows.
static AffineExpr substitute(kb::ExprAttr expr, const LaunchValues &values) {
  MLIRContext *context = expr.getContext();
  llvm::DenseMap<AffineExpr, AffineExpr> known;
  auto set = [&](unsigned symbol, std::optional<int64_t> value) {
    if (value)
      known[getAffineSymbolExpr(symbol, context)] = getAffineConstantExpr(*value, context);
  };
  for (unsigned c = 0; c < 3; ++c) {
    set(kb::bdimSymbol + c, values.block[c]);
    set(kb::gdimSymbol + c, values.grid[c]);
  }
  for (auto [position, name] : llvm::enumerate(expr.getSymbols()))
    if (auto it = values.symbols.find(name.getValue()); it != values.symbols.end())
      set(kb::firstNamedSymbol + position, it->second);
  return expr.getExpr().replace(known);
}

/// expr at dim + 1 minus expr at dim, simplified; null if it still depends on a
/// dimension (a division, say).
static AffineExpr difference(AffineExpr expr, unsigned dim, unsigned numDims, unsigned numSymbols) {
  MLIRContext *context = expr.getContext();
  AffineExpr position = getAffineDimExpr(dim, context);
  AffineExpr delta =
      simplifyAffineExpr(expr.replace(position, position + 1) - expr, numDims, numSymbols);
  return delta.isSymbolicOrConstant() ? delta : AffineExpr();
}

/// Semi-affine differences do not always cancel; taken term by term they do.
static AffineExpr stepOf(AffineExpr expr, unsigned dim, unsigned numDims, unsigned numSymbols) {
  if (!expr.isFunctionOfDim(dim))
    return getAffineConstantExpr(0, expr.getContext());
  if (auto binary = dyn_cast<AffineBinaryOpExpr>(expr)) {
    AffineExpr left = binary.getLHS(), right = binary.getRHS();
    if (expr.getKind() == AffineExprKind::Add) {
      AffineExpr a = stepOf(left, dim, numDims, numSymbols),
                 b = stepOf(right, dim, numDims, numSymbols);
      return a && b ? simplifyAffineExpr(a + b, numDims, numSymbols) : AffineExpr();
    }
    if (expr.getKind() == AffineExprKind::Mul) {
      if (left.isFunctionOfDim(dim) && right.isFunctionOfDim(dim))
        return {};
      bool inLeft = left.isFunctionOfDim(dim);
      AffineExpr step = stepOf(inLeft ? left : right, dim, numDims, numSymbols);
      AffineExpr factor = inLeft ? right : left;
      return step && factor.isSymbolicOrConstant() ? step * factor : AffineExpr();
    }
  }
  return difference(expr, dim, numDims, numSymbols);
}

static LaneStride strideAlong(kb::AccessOp access, unsigned dim, const LaunchValues &values) {
  LaneStride result;
  kb::ExprAttr address = access.getAddressAttr();
  if (!address) {
    if (access.getUniformity() == kb::Uniformity::Uniform && dim < 3)
      result.kind = StrideClass::Uniform;
    return result;
  }
  // A symbol that varies may be another in the next iteration.
  if (dim >= kb::firstLoopDim)
    for (auto symbol :
         access->getParentOfType<kb::KernelOp>().getSymbols().getAsRange<kb::SymbolAttr>())
      if (symbol.getOrigin() == kb::SymbolOrigin::Varying &&
          llvm::any_of(address.getSymbols(),
                       [&](StringAttr name) { return name.getValue() == symbol.getName(); }))
        return result;
  AffineMap map = address.getMap();
  AffineExpr step = stepOf(substitute(address, values), dim, map.getNumDims(), map.getNumSymbols());
  if (!step)
    return result;
  if (auto constant = dyn_cast<AffineConstantExpr>(step)) {
    result.bytes = constant.getValue();
    result.kind = result.bytes == 0                                         ? StrideClass::Uniform
                  : result.bytes == static_cast<int64_t>(access.getBytes()) ? StrideClass::Unit
                                                                            : StrideClass::Constant;
    return result;
  }
  result.kind = StrideClass::Symbolic;
  result.text = kb::ExprAttr::get(access.getContext(), address.getLoops(), address.getSymbols(),
                                  AffineMap::get(map.getNumDims(), map.getNumSymbols(), step))
                    .str();
  return result;
}

LaneStride laneStride(kb::AccessOp access, unsigned dimension, const LaunchValues &values) {
  return strideAlong(access, kb::tidDim + dimension, values);
}

LaneStride loopStride(kb::AccessOp access, llvm::StringRef loop, const LaunchValues &values) {
  for (auto [position, around] : llvm::enumerate(kb::enclosingLoops(access)))
    if (around.getName() == loop)
      return strideAlong(access, kb::firstLoopDim + position, values);
  return {};
}

/// The conditions of an access that rule threads out of it, whatever block and iteration they are
/// in.
class ThreadFilter {
public:
  ThreadFilter(kb::AccessOp access, const LaunchValues &values) : domain(access.getDomainAttr()) {
    if (!domain || domain.isUnknown())
      return;
    IntegerSet set = domain.getSet();
    AffineMap all = AffineMap::get(set.getNumDims(), set.getNumSymbols(), set.getConstraints(),
                                   set.getContext());
    for (unsigned i = 0; i < set.getNumConstraints(); ++i)
      conditions.push_back(substitute(kb::ExprAttr::get(access.getContext(), domain.getLoops(),
                                                        domain.getSymbols(), all.getSubMap({i})),
                                      values));
    point.dims.assign(set.getNumDims(), std::nullopt);
    point.symbols.assign(set.getNumSymbols(), std::nullopt);
  }

  bool rulesOut(int64_t x, int64_t y, int64_t z) {
    if (conditions.empty())
      return false;
    point.dims[0] = x;
    point.dims[1] = y;
    point.dims[2] = z;
    for (auto [position, condition] : llvm::enumerate(conditions))
      if (auto value = evaluateAt(condition, point);
          value && (domain.getSet().isEq(position) ? *value != 0 : *value < 0))
        return true;
    return false;
  }

private:
  kb::DomainAttr domain;
  SmallVector<AffineExpr> conditions;
  Point point;
};

/// Offsets of threads [first, first + count) of block 0; nothing if one is not
/// known. Uniform unknowns are taken as 0, which shifts all lanes alike. Threads that \p filter
/// rules out are left out.
static std::optional<SmallVector<int64_t>> offsets(kb::AccessOp access, const LaunchValues &values,
                                                   int64_t first, int64_t count,
                                                   ThreadFilter *filter = nullptr) {
  kb::ExprAttr address = access.getAddressAttr();
  if (!address || !values.block[0])
    return std::nullopt;
  AffineExpr expr = substitute(address, values);
  AffineMap map = address.getMap();
  // Parts that no thread index changes move the whole warp; the contract puts
  // them at a multiple of 256 bytes.
  SmallVector<AffineExpr> work = {expr}, parts;
  while (!work.empty()) {
    AffineExpr part = work.pop_back_val();
    if (part.getKind() == AffineExprKind::Add) {
      auto sum = cast<AffineBinaryOpExpr>(part);
      work.push_back(sum.getLHS());
      work.push_back(sum.getRHS());
    } else if (part.isFunctionOfDim(0) || part.isFunctionOfDim(1) || part.isFunctionOfDim(2) ||
               isa<AffineConstantExpr>(part)) {
      parts.push_back(part);
    }
  }
  Point point;
  point.dims.assign(map.getNumDims(), int64_t(0));
  point.symbols.assign(map.getNumSymbols(), std::nullopt);
  // Warps narrower than a row of the block depend on the other extents.
  if (*values.block[0] % warpLanes != 0 && (!values.block[1] || !values.block[2]))
    return std::nullopt;
  int64_t x = *values.block[0], y = values.block[1].value_or(1), z = values.block[2].value_or(1);
  if (x <= 0 || y <= 0 || z <= 0)
    return std::nullopt;
  SmallVector<int64_t> result;
  for (int64_t thread = first; thread < std::min(first + count, x * y * z); ++thread) {
    point.dims[0] = thread % x;
    point.dims[1] = thread / x % y;
    point.dims[2] = thread / (x * y);
    if (filter && filter->rulesOut(*point.dims[0], *point.dims[1], *point.dims[2]))
      continue;
    int64_t sum = 0;
    for (AffineExpr part : parts) {
      auto value = evaluateAt(part, point);
      if (!value || __builtin_add_overflow(sum, *value, &sum))
        return std::nullopt;
    }
    result.push_back(sum);
  }
  return result;
}

static int64_t floorDivide(int64_t value, int64_t by) { return value / by - (value % by < 0); }

/// Distinct bytes of accesses of \p bytes at \p starts.
static uint64_t distinctBytes(ArrayRef<int64_t> starts, int64_t bytes) {
  SmallVector<int64_t> sorted(starts);
  llvm::sort(sorted);
  uint64_t total = 0;
  int64_t end = INT64_MIN;
  for (int64_t start : sorted) {
    total += std::max<int64_t>(0, start + bytes - std::max(start, end));
    end = std::max(end, start + bytes);
  }
  return total;
}

/// Lanes that are served together where each has \p bytes.
static size_t lanesPerGroup(int64_t bytes) {
  return warpLanes / (bytes <= 4 ? 1 : bytes <= 8 ? 2 : 4);
}

/// Visits of the busiest bank. A request of 8 or 16 bytes a lane is served in
/// two or four groups of lanes.
static unsigned wavefrontsOf(ArrayRef<int64_t> starts, int64_t bytes) {
  const size_t group = lanesPerGroup(bytes);
  unsigned total = 0;
  for (size_t first = 0; first < starts.size(); first += group) {
    std::vector<std::set<int64_t>> words(banks);
    for (int64_t start : starts.slice(first, std::min(group, starts.size() - first)))
      for (int64_t word = floorDivide(start, bankBytes);
           word <= floorDivide(start + bytes - 1, bankBytes); ++word)
        words[((word % banks) + banks) % banks].insert(word);
    size_t most = 0;
    for (auto &bank : words)
      most = std::max(most, bank.size());
    total += most;
  }
  return total;
}

/// The cost of one request whose lanes begin at \p starts.
static RequestCost costOf(kb::AccessOp access, ArrayRef<int64_t> starts) {
  int64_t bytes = access.getBytes();
  RequestCost cost;
  cost.lanes = starts.size();
  cost.bytesRequested = uint64_t(cost.lanes) * bytes;
  cost.bytesDistinct = distinctBytes(starts, bytes);
  std::set<int64_t> sectors;
  for (int64_t start : starts)
    for (int64_t sector = floorDivide(start, sectorBytes);
         sector <= floorDivide(start + bytes - 1, sectorBytes); ++sector)
      sectors.insert(sector);
  cost.sectors = sectors.size();
  cost.idealSectors = (cost.bytesDistinct + sectorBytes - 1) / sectorBytes;
  if (access.getSpace() == kb::MemorySpace::Shared) {
    cost.wavefronts = wavefrontsOf(starts, bytes);
    cost.idealWavefronts =
        std::max<unsigned>((cost.lanes + lanesPerGroup(bytes) - 1) / lanesPerGroup(bytes),
                           (cost.bytesDistinct + banks * bankBytes - 1) / (banks * bankBytes));
  }
  return cost;
}

std::optional<RequestCost> requestCost(kb::AccessOp access, const LaunchValues &values,
                                       unsigned warp) {
  if (access.getBytes() <= 0)
    return std::nullopt;
  auto starts = offsets(access, values, int64_t(warp) * warpLanes, warpLanes);
  if (!starts || starts->empty())
    return std::nullopt;
  return costOf(access, *starts);
}

/// Where the lanes begin that take part in \p access, of the first warp that has most of them.
static SmallVector<int64_t> activeOffsets(kb::AccessOp access, const LaunchValues &values) {
  if (access.getBytes() <= 0 || !values.block[0])
    return {};
  ThreadFilter filter(access, values);
  const int64_t threads =
      *values.block[0] * values.block[1].value_or(1) * values.block[2].value_or(1);
  SmallVector<int64_t> most;
  for (int64_t first = 0;
       first < std::min<int64_t>(threads, mostThreadsOfBlock) && most.size() < size_t(warpLanes);
       first += warpLanes) {
    auto starts = offsets(access, values, first, warpLanes, &filter);
    if (!starts)
      return {};
    if (starts->size() > most.size())
      most = std::move(*starts);
  }
  return most;
}

std::optional<RequestCost> activeRequestCost(kb::AccessOp access, const LaunchValues &values) {
  SmallVector<int64_t> starts = activeOffsets(access, values);
  return starts.empty() ? std::nullopt : std::optional(costOf(access, starts));
}

std::optional<RequestCost> paddedRequestCost(kb::AccessOp access, const LaunchValues &values,
                                             int64_t rowBytes, int64_t padBytes) {
  SmallVector<int64_t> starts = activeOffsets(access, values);
  if (starts.empty() || rowBytes <= 0)
    return std::nullopt;
  for (int64_t &start : starts)
    start += floorDivide(start, rowBytes) * padBytes;
  return costOf(access, starts);
}

static std::optional<SmallVector<int64_t>> blockOffsets(kb::AccessOp access,
                                                        const LaunchValues &values) {
  if (!values.block[0] || !values.block[1] || !values.block[2])
    return std::nullopt;
  return offsets(access, values, 0, *values.block[0] * *values.block[1] * *values.block[2]);
}

std::optional<double> threadsPerElement(kb::AccessOp access, const LaunchValues &values) {
  auto starts = blockOffsets(access, values);
  if (!starts || starts->empty())
    return std::nullopt;
  std::set<int64_t> distinct(starts->begin(), starts->end());
  return double(starts->size()) / distinct.size();
}

std::optional<uint64_t> footprintPerBlock(kb::AccessOp access, const LaunchValues &values) {
  auto starts = blockOffsets(access, values);
  if (!starts)
    return std::nullopt;
  return distinctBytes(*starts, access.getBytes());
}

} // namespace kbopt
