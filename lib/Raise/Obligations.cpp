//===- Obligations.cpp - What polynomials rest on -----------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns bounds of polynomials, and turning "this fits 32 bits" into conditions over what a launch
// knows.
//
//===----------------------------------------------------------------------===//
#include "Points.h"

namespace kbopt::raise {
namespace {

void require(ThreadProgram &program, const Poly &poly) {
  if (poly.isConstant() && poly.constantTerm() >= 0)
    return;
  if (!llvm::is_contained(program.requirements, poly))
    program.requirements.push_back(poly);
}

/// True if \p poly >= 0, false if <= 0, requiring that sizes are not negative.
std::optional<bool> sign(ThreadProgram &program, const Poly &poly) {
  std::optional<bool> result;
  llvm::SmallVector<VarId> needed;
  for (auto &[monomial, coefficient] : poly.monomials()) {
    if (result && *result != (coefficient > 0))
      return std::nullopt;
    result = coefficient > 0;
    for (VarId id : monomial) {
      const Space::Variable &variable = program.space[id];
      if (variable.low && *variable.low >= 0)
        continue;
      bool isQuotient =
          variable.kind == Space::FloorDiv; // of values that the reader found to be >= 0
      if (variable.kind != Space::Param && !isQuotient)
        return std::nullopt;
      if (!isQuotient)
        needed.push_back(id);
    }
  }
  for (VarId id : needed)
    require(program, Poly::variable(id));
  return result.value_or(true);
}

} // namespace

std::map<VarId, std::pair<Poly, Poly>> loopRanges(std::vector<Statement> &body) {
  std::map<VarId, std::pair<Poly, Poly>> ranges;
  walk(body, [&](Statement &each) {
    if (each.kind == Statement::For &&
        (each.progress == Statement::Add || each.progress == Statement::Until))
      ranges[each.variable] = {each.begin, each.end};
    return true;
  });
  return ranges;
}

std::optional<Poly> bound(ThreadProgram &program,
                          const std::map<VarId, std::pair<Poly, Poly>> &ends, Poly poly,
                          bool isUpper, const std::set<VarId> &kept) {
  Space &space = program.space;
  Poly one = Poly::constant(1);
  auto isFree = [&](VarId id) { return kept.count(id) || space.isUniform(Poly::variable(id)); };
  /// The least and greatest value of a variable that differs between threads or iterations.
  auto range = [&](VarId id) -> std::optional<std::pair<Poly, Poly>> {
    const Space::Variable &variable = space[id];
    if (id < analysis::BdimVar)
      return std::pair(Poly(), Poly::variable(id + 6) - one);
    if (auto at = ends.find(id); at != ends.end())
      return std::pair(at->second.first, at->second.second - one);
    if (variable.kind == Space::Mod)
      return std::pair(Poly(), variable.divisor - one);
    if (variable.low && variable.high && variable.kind != Space::Param)
      return std::pair(Poly::constant(*variable.low), Poly::constant(*variable.high));
    return std::nullopt;
  };
  for (unsigned steps = 0; steps < 32; ++steps) {
    // The innermost variable first: the range of a loop may depend on outer ones.
    std::optional<VarId> last;
    for (auto &[monomial, coefficient] : poly.monomials())
      for (VarId id : monomial)
        if (!isFree(id) && (!last || id > *last))
          last = id;
    if (!last)
      return poly;
    std::optional<std::pair<Poly, Poly>> found = range(*last);
    // A quotient of values that the reader found to be >= 0 lies between 0 and the dividend.
    if (const Space::Variable division = space[*last]; !found && division.kind == Space::FloorDiv)
      if (std::optional<Poly> most = bound(program, ends, division.dividend, true, kept))
        found = {Poly(),
                 division.divisor.isConstant() ? space.floorDiv(*most, division.divisor) : *most};
    Poly slope = poly.coefficientOf(*last);
    std::optional<bool> rises = found && slope.isValid() ? sign(program, slope) : std::nullopt;
    if (!rises)
      return std::nullopt;
    poly = poly.without(*last) + slope * (*rises == isUpper ? found->second : found->first);
  }
  return std::nullopt;
}

/// At most gdim.x * bdim.x, or 2^26 along another axis.
static bool isThreadNumber(const Poly &poly) {
  for (auto &[monomial, coefficient] : poly.monomials()) {
    bool isThread = monomial.size() == 1 && monomial[0] < analysis::BidVar;
    bool isProduct = monomial.size() == 2 && monomial[0] >= analysis::BidVar;
    bool isStart = isProduct && monomial[0] < analysis::BdimVar && monomial[1] == monomial[0] + 3;
    bool isSpan = isProduct && monomial[0] >= analysis::BdimVar &&
                  monomial[0] < analysis::GdimVar && monomial[1] == monomial[0] + 3;
    if (coefficient != 1 || (!isThread && !isStart && !isSpan))
      return false;
  }
  return poly.monomials().size() <= 2;
}

void dischargeObligations(ThreadProgram &program, const analysis::LaunchRanges &launches) {
  Space &space = program.space;
  std::map<VarId, std::pair<Poly, Poly>> ends = loopRanges(program.body);
  for (auto &[id, range] : program.given)
    ends.insert({id, range});
  for (const Obligation &each : program.obligations) {
    if (isThreadNumber(each.poly) && each.high >= INT32_MAX && each.low <= 0) {
      if (!launches.fits31 && launches.grid[0].high * launches.block[0].high > (__int128)1 << 31)
        require(program, Poly::constant(int64_t(1) << 31) -
                             Poly::variable(analysis::GdimVar) * Poly::variable(analysis::BdimVar));
      continue;
    }
    std::optional<Poly> most = bound(program, ends, each.poly, true),
                        least = bound(program, ends, each.poly, false);
    if (!most || !least)
      return program.refuse("it is not certain that " + each.what);
    if (each.high != INT64_MAX && !space.isWithin(*most, INT64_MIN, each.high))
      require(program, Poly::constant(each.high) - *most);
    if (each.low != INT64_MIN && !space.isWithin(*least, each.low, INT64_MAX))
      require(program, *least - Poly::constant(each.low));
  }
}

} // namespace kbopt::raise
