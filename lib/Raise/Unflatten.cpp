//===- Unflatten.cpp - Digits of an index ------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns splitting a dimension that a kernel takes apart by division: with i = (b * T + t) * C + c
// the dimension i becomes b, t and c.
//
//===----------------------------------------------------------------------===//
#include "Points.h"

namespace kbopt::raise {

/// The largest monomial: of the highest degree, then the first in lexicographic order.
static const std::pair<const Poly::Monomial, int64_t> &leading(const Poly &poly) {
  return *std::max_element(poly.monomials().begin(), poly.monomials().end(), [](auto &a, auto &b) {
    return a.first.size() != b.first.size() ? a.first.size() < b.first.size() : b.first < a.first;
  });
}

/// Division with remainder by a sum, of which the remainder must be 0.
static std::optional<Poly> quotientBySum(Poly dividend, const Poly &divisor) {
  Poly quotient;
  for (unsigned steps = 0; !dividend.monomials().empty(); ++steps) {
    auto [monomial, coefficient] = leading(dividend);
    auto &[factors, factor] = leading(divisor);
    Poly::Monomial rest;
    bool divides = std::includes(monomial.begin(), monomial.end(), factors.begin(), factors.end());
    if (steps > 64 || !dividend.isValid() || !divides || coefficient % factor)
      return std::nullopt;
    std::set_difference(monomial.begin(), monomial.end(), factors.begin(), factors.end(),
                        std::back_inserter(rest));
    Poly term = Poly::constant(coefficient / factor);
    for (VarId id : rest)
      term = term * Poly::variable(id);
    quotient = quotient + term;
    dividend = dividend - term * divisor;
  }
  return quotient;
}

std::optional<Poly> exactQuotient(const Poly &dividend, const Poly &divisor) {
  if (divisor.monomials().empty())
    return std::nullopt;
  if (divisor.monomials().size() != 1)
    return quotientBySum(dividend, divisor);
  auto &[factors, factor] = *divisor.monomials().begin();
  Poly quotient;
  for (auto &[monomial, coefficient] : dividend.monomials()) {
    Poly::Monomial rest = monomial;
    for (VarId id : factors) {
      auto *at = llvm::find(rest, id);
      if (at == rest.end())
        return std::nullopt;
      rest.erase(at);
    }
    if (coefficient % factor)
      return std::nullopt;
    Poly term = Poly::constant(coefficient / factor);
    for (VarId id : rest)
      term = term * Poly::variable(id);
    quotient = quotient + term;
  }
  return quotient;
}

namespace {

class Unflattener {
public:
  Unflattener(ThreadProgram &program, Dimension dimension)
      : program(program), space(program.space), dimension(dimension) {}

  /// The digits, outermost first; just the dimension if it cannot be split.
  std::vector<Dimension> split() {
    collectWeights();
    if (weights.size() < 2 || !orderWeights())
      return {dimension};
    std::vector<Dimension> digits;
    for (size_t k = weights.size(); k-- > 0;) {
      bool isTop = k + 1 == weights.size();
      std::optional<Poly> extent =
          exactQuotient(isTop ? dimension.extent : weights[k + 1], weights[k]);
      if (!extent && !isTop)
        return {dimension};
      if (!extent) { // the rest of the division must be 0
        program.requirements.push_back(Poly() - space.mod(dimension.extent, weights[k]));
        extent = space.floorDiv(dimension.extent, weights[k]);
      }
      Space::Variable digit;
      digit.kind = Space::Loop;
      digit.low = 0;
      digits.push_back({space.add(digit), *extent});
    }
    whole = digits.front().extent * weights.back();
    value = Poly();
    for (size_t k = 0; k < weights.size(); ++k)
      value = value + weights[k] * Poly::variable(digits[weights.size() - 1 - k].variable);
    lower.assign(weights.size() + 1, Poly());
    for (size_t k = 1; k <= weights.size(); ++k)
      lower[k] =
          lower[k - 1] + weights[k - 1] * Poly::variable(digits[weights.size() - k].variable);
    auto change = [&](const Poly &poly) { return rewrite(poly); };
    rewritePolys(program.body, change);
    for (Hint &hint : program.hints)
      hint.poly = change(hint.poly);
    for (Dimension &digit : digits)
      nameDigit(digit.variable);
    return digits;
  }

private:
  /// Weights of digits: 1, and what the dimension is divided by.
  void collectWeights() {
    weights = {Poly::constant(1)};
    // A quotient by a constant that only conditions use can stay one.
    std::set<VarId> inOffsets;
    walk(program.body, [&](Statement &each) {
      forEachOperand(each,
                     [&](Operand &operand) { inOffsets.merge(space.variables(operand.offset)); });
      return true;
    });
    rewritePolys(program.body, [&](const Poly &poly) {
      for (VarId id : space.variables(poly))
        if ((space[id].kind == Space::FloorDiv || space[id].kind == Space::Mod) &&
            (!space[id].divisor.isConstant() || inOffsets.count(id)))
          if (std::optional<Poly> weight = weightOf(space[id].dividend))
            addWeight(*weight * space[id].divisor);
      return poly;
    });
  }
  void addWeight(const Poly &weight) {
    if (!llvm::is_contained(weights, weight) && !(weight == dimension.extent))
      weights.push_back(weight);
  }

  /// dim is divided by 1 so far, dim / a by a, dim % a by 1.
  std::optional<Poly> weightOf(const Poly &dividend) {
    if (dividend == Poly::variable(dimension.variable))
      return Poly::constant(1);
    if (dividend.monomials().size() != 1)
      return std::nullopt;
    auto &[monomial, coefficient] = *dividend.monomials().begin();
    if (coefficient != 1 || monomial.size() != 1)
      return std::nullopt;
    const Space::Variable &division = space[monomial[0]];
    if (division.kind != Space::FloorDiv && division.kind != Space::Mod)
      return std::nullopt;
    std::optional<Poly> inner = weightOf(division.dividend);
    if (inner && division.kind == Space::FloorDiv)
      return *inner * division.divisor;
    return inner;
  }

  /// Keeps weights of which each divides the next; what does not fit stays a division.
  bool orderWeights() {
    auto quotients = [&](const Poly &weight) {
      return llvm::count_if(space.variables(weight),
                            [&](VarId id) { return space[id].kind >= Space::FloorDiv; });
    };
    llvm::stable_sort(weights,
                      [&](const Poly &a, const Poly &b) { return quotients(a) < quotients(b); });
    std::vector<Poly> chain;
    for (const Poly &weight : weights) {
      size_t at = 0;
      while (at < chain.size() && exactQuotient(weight, chain[at]))
        ++at;
      bool divides = std::all_of(chain.begin() + at, chain.end(), [&](const Poly &next) {
        return exactQuotient(next, weight).has_value();
      });
      if (divides)
        chain.insert(chain.begin() + at, weight);
    }
    weights = std::move(chain);
    return weights.size() > 1;
  }

  /// \p poly with the digits in the dimension's place; divisions that take digits apart are gone.
  Poly rewrite(const Poly &poly) {
    Poly sum;
    for (auto &[monomial, coefficient] : poly.monomials()) {
      Poly term = Poly::constant(coefficient);
      for (VarId id : monomial)
        term = term * rewriteVariable(id);
      sum = sum + term;
    }
    return poly.isValid() ? sum : poly;
  }

  Poly rewriteVariable(VarId id) {
    if (id == dimension.variable)
      return value;
    const Space::Variable division = space[id];
    bool isDivision = division.kind == Space::FloorDiv || division.kind == Space::Mod;
    if (!isDivision || !space.dependsOn(Poly::variable(id), dimension.variable))
      return Poly::variable(id);
    Poly dividend = rewrite(division.dividend);
    // What is left is a sum of lower digits with their weights; the dividend may have lost its
    // lowest ones.
    for (size_t k = 0; k <= weights.size(); ++k)
      for (size_t skip = 0; skip <= std::min(k, weights.size() - 1); ++skip) {
        std::optional<Poly> rest = exactQuotient(lower[k] - lower[skip], weights[skip]);
        std::optional<Poly> width =
            exactQuotient(k < weights.size() ? weights[k] : whole, weights[skip]);
        if (!rest || !width || !(*width == division.divisor))
          continue;
        if (std::optional<Poly> quotient = exactQuotient(dividend - *rest, division.divisor))
          return division.kind == Space::FloorDiv ? *quotient : *rest;
      }
    if (dividend == division.dividend)
      return Poly::variable(id);
    return division.kind == Space::Mod ? space.mod(dividend, division.divisor)
                                       : space.floorDiv(dividend, division.divisor);
  }
  void nameDigit(VarId id) {
    std::string &name = space[id].name;
    for (const Hint &hint : program.hints)
      if (hint.poly == Poly::variable(id)) {
        name = hint.name;
        return;
      }
    name = space[dimension.variable].name + "_digit";
    while (!program.names.insert(name).second)
      name += "_";
  }

  ThreadProgram &program;
  Space &space;
  Dimension dimension;
  std::vector<Poly> weights; ///< ascending
  std::vector<Poly> lower;   ///< the value of the digits below each weight
  Poly value;
  Poly whole; ///< above every value
};

} // namespace

void unflatten(ThreadProgram &program, std::vector<Dimension> &dimensions) {
  // A digit may be taken apart again.
  for (unsigned round = 0, before = 0; round < 4 && before != dimensions.size(); ++round) {
    before = dimensions.size();
    std::vector<Dimension> result;
    for (const Dimension &each : dimensions) {
      std::vector<Dimension> digits = Unflattener(program, each).split();
      result.insert(result.end(), digits.begin(), digits.end());
    }
    dimensions = std::move(result);
  }
}

/// \p poly with two of its terms written as one: k * (x % a) + k * a * (x / a) as k * x, and with
/// (x % (a * b)) / a in the place of x / a as k * (x % (a * b)). Nothing if there are no such
/// terms.
static std::optional<Poly> joinDigits(Space &space, const Poly &poly) {
  for (auto &[monomial, coefficient] : poly.monomials())
    for (VarId low : monomial) {
      const Space::Variable rest = space[low];
      if (rest.kind != Space::Mod)
        continue;
      Poly k = Poly::constant(coefficient);
      bool isTaken = false;
      for (VarId id : monomial)
        if (id != low || std::exchange(isTaken, true))
          k = k * Poly::variable(id);
      for (VarId high : space.variables(poly)) {
        const Space::Variable quotient = space[high];
        if (quotient.kind != Space::FloorDiv || !(quotient.divisor == rest.divisor))
          continue;
        Poly whole = quotient.dividend; // x, or x % (a * b)
        bool isSame = whole == rest.dividend;
        if (!isSame && whole.monomials().size() == 1 && whole.monomials().begin()->second == 1 &&
            whole.monomials().begin()->first.size() == 1) {
          const Space::Variable &inner = space[whole.monomials().begin()->first[0]];
          isSame = inner.kind == Space::Mod && inner.dividend == rest.dividend &&
                   exactQuotient(inner.divisor, rest.divisor);
        }
        Poly others = poly - k * (Poly::variable(low) + rest.divisor * Poly::variable(high));
        if (isSame && others.monomials().size() < poly.monomials().size())
          return others + k * whole;
      }
    }
  return std::nullopt;
}

void joinDigits(ThreadProgram &program) {
  rewritePolys(program.body, [&](const Poly &poly) {
    Poly result = poly;
    for (unsigned steps = 0; steps < 16; ++steps) {
      std::optional<Poly> joined = joinDigits(program.space, result);
      if (!joined)
        break;
      result = *joined;
    }
    return result;
  });
}

} // namespace kbopt::raise
