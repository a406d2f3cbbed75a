//===- LoopEquations.cpp - Loops over the solutions of an equation ---------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns a change of loops that keeps what each point does, in its order: where all that an iteration
// does stands under an equation, the loop visits only the iterations that satisfy it.
//
//   for (k < K) if ((a - k) % s == 0) use((a - k) / s, k);    =>
//   for (k < (K - a % s + s - 1) / s) use(a / s - k, a % s + k * s);
//
// These are the terms of a transposed convolution: the taps of one phase of the stride.
//
//===----------------------------------------------------------------------===//
#include "Points.h"

namespace kbopt::raise {
namespace {

/// (whole - apart * counter) % divisor == 0, or with `rises` (whole + counter) % divisor == 0.
struct Equation {
  Poly whole, divisor;
  int64_t apart = 1;
  bool rises = false;
};

/// The number below \p divisor whose product with \p number leaves a rest of 1; 0 if there is none.
int64_t inverseOf(int64_t number, int64_t divisor) {
  for (int64_t each = 1; each < divisor; ++each)
    if (each * number % divisor == 1)
      return each;
  return 0;
}

bool isTrue(const Constraint &each) {
  return each.poly.isValid() && each.poly.isConstant() &&
         (each.isEquality ? each.poly == Poly() : each.poly.constantTerm() >= 0);
}

/// Drops equations that are solved, also those of a stride of one, and conditions of which
/// nothing is left.
void dropTrue(std::vector<Statement> &body) {
  for (size_t i = 0; i < body.size(); ++i) {
    dropTrue(body[i].body);
    llvm::erase_if(body[i].constraints, isTrue);
    if (body[i].kind != Statement::If || !body[i].constraints.empty() ||
        !body[i].value.text.empty())
      continue;
    std::vector<Statement> inside = std::move(body[i].body);
    body.erase(body.begin() + i);
    body.insert(body.begin() + i, std::make_move_iterator(inside.begin()),
                std::make_move_iterator(inside.end()));
    i += inside.size();
    --i;
  }
}

class EquationSolver {
public:
  explicit EquationSolver(ThreadProgram &program) : program(program), space(program.space) {}

  void run(std::vector<Statement> &body) {
    for (Statement &each : body) {
      run(each.body);
      bool isCounted = each.kind == Statement::For && each.progress == Statement::Add &&
                       each.begin == Poly() && each.step == one;
      std::set<VarId> inner;
      if (std::optional<Equation> found =
              isCounted ? find(each.body, each.variable, inner) : std::nullopt)
        visitSolutions(each, *found);
    }
  }

private:
  static constexpr int64_t mostSteps = 64;

  bool isNeverNegative(const Poly &poly) const {
    return poly.isValid() && llvm::all_of(poly.monomials(), [&](const auto &term) {
             return term.second > 0 && llvm::all_of(term.first, [&](VarId id) {
                      const Space::Variable &variable = space[id];
                      if (variable.low && *variable.low >= 0)
                        return true;
                      if (variable.kind == Space::FloorDiv)
                        return isNeverNegative(variable.dividend);
                      return llvm::any_of(program.requirements, [&](const Poly &required) {
                        Poly above = Poly::variable(id) - required;
                        return above.isConstant() && above.constantTerm() >= 0;
                      });
                    });
           });
  }

  std::optional<Equation> solve(const Constraint &constraint, VarId counter,
                                const std::set<VarId> &inner) const {
    const auto &terms = constraint.poly.monomials();
    if (!constraint.isEquality || terms.size() != 1 || terms.begin()->first.size() != 1 ||
        space[terms.begin()->first[0]].kind != Space::Mod)
      return std::nullopt;
    const Space::Variable &rest = space[terms.begin()->first[0]];
    Poly slope = rest.dividend.coefficientOf(counter);
    if (!slope.isValid() || !slope.isConstant() || slope == Poly())
      return std::nullopt;
    Equation equation{rest.dividend.without(counter), rest.divisor, -slope.constantTerm(),
                      slope == one};
    // Windows whose taps lie apart: constants without a common factor.
    bool isSmall = rest.divisor.isConstant() && rest.divisor.constantTerm() <= mostSteps;
    bool isUnit = equation.rises || equation.apart == 1 ||
                  (equation.apart > 1 && equation.apart <= mostSteps && isSmall &&
                   inverseOf(equation.apart, rest.divisor.constantTerm()));
    for (const Poly *part : {&equation.whole, &equation.divisor}) {
      std::set<VarId> used = space.variables(*part);
      isUnit &=
          !used.count(counter) && llvm::none_of(inner, [&](VarId id) { return used.count(id); });
    }
    return isUnit && isNeverNegative(equation.whole) ? std::optional(equation) : std::nullopt;
  }

  /// The equation under which all of \p body stands; \p inner are the variables that it declares on
  /// the way.
  std::optional<Equation> find(std::vector<Statement> &body, VarId counter,
                               std::set<VarId> &inner) const {
    if (body.empty())
      return std::nullopt;
    for (Statement &each : llvm::drop_end(body)) {
      bool exchanges = each.kind != Statement::Let;
      forEachOperand(each,
                     [&](Operand &operand) { exchanges |= operand.kind == Operand::Collective; });
      if (exchanges)
        return std::nullopt;
      if (each.symbol)
        inner.insert(*each.symbol);
    }
    Statement &last = body.back();
    if (last.kind == Statement::If)
      for (const Constraint &constraint : last.constraints)
        if (std::optional<Equation> found = solve(constraint, counter, inner))
          return found;
    if (last.kind == Statement::For && last.progress == Statement::Add)
      inner.insert(last.variable);
    else if (last.kind != Statement::If)
      return std::nullopt;
    return find(last.body, counter, inner);
  }

  void visitSolutions(Statement &loop, const Equation &equation) {
    const Poly &a = equation.whole, &s = equation.divisor;
    const bool isPlain = equation.rises || equation.apart == 1;
    Poly apart = Poly::constant(equation.rises ? -1 : equation.apart),
         turn = isPlain ? one : Poly::constant(inverseOf(equation.apart, s.constantTerm())),
         rounded = equation.rises ? a + s - one : turn * a, rest = space.mod(rounded, s),
         start = equation.rises ? s - one - rest : rest;
    // A multiple of s.
    Poly first = a - apart * start, quotient = space.floorDiv(isPlain ? rounded : first, s);
    Space::Variable counter = space[loop.variable];
    counter.low = 0;
    counter.high = {};
    Poly number = Poly::variable(space.add(counter)), value = start + s * number;
    rewritePolys(loop.body, [&](const Poly &poly) {
      return exact(space.substitute(poly, loop.variable, value), first, quotient, s);
    });
    walk(loop.body, [&](Statement &each) {
      for (Constraint &constraint : each.constraints)
        if (!constraint.isEquality && isPlain)
          constraint.poly = divided(constraint.poly, rest, rounded - s * quotient, s);
      return true;
    });
    dropTrue(loop.body);
    bool isSmall = s.isConstant() && s.constantTerm() <= mostSteps;
    if (equation.rises)
      loop.end = space.floorDiv(loop.end + rest, s);
    else if (isSmall) // s - 1 - a % s without a minus
      loop.end = space.floorDiv(loop.end + space.mod((s - one) * (turn * a + one), s), s);
    else
      loop.end = space.countSteps(loop.end - start, s);
    loop.variable = number.monomials().begin()->first[0];
  }

  /// \p poly in which divisions by \p s of \p first, and of what lies a multiple of s from it, are
  /// gone.
  Poly exact(const Poly &poly, const Poly &first, const Poly &quotient, const Poly &s) {
    Poly sum;
    for (const auto &[monomial, coefficient] : poly.monomials()) {
      Poly term = Poly::constant(coefficient);
      for (VarId id : monomial) {
        const Space::Variable division = space[id];
        bool isDivision = division.kind == Space::FloorDiv || division.kind == Space::Mod;
        std::optional<Poly> steps = isDivision && division.divisor == s
                                        ? exactQuotient(division.dividend - first, s)
                                        : std::nullopt;
        if (!steps)
          term = term * Poly::variable(id);
        else if (division.kind == Space::Mod)
          term = Poly();
        else
          term = term * (quotient + *steps);
      }
      sum = sum + term;
    }
    return poly.isValid() ? sum : poly;
  }

  /// \p poly >= 0 divided by \p s where that leaves no division; \p rest is \p value.
  Poly divided(const Poly &poly, const Poly &rest, const Poly &value, const Poly &s) const {
    bool isVariable = rest.monomials().size() == 1 && rest.monomials().begin()->first.size() == 1;
    VarId id = isVariable ? rest.monomials().begin()->first[0] : 0;
    if (!isVariable || !poly.contains(id) || !poly.coefficientOf(id).isValid())
      return poly;
    Poly whole = poly.without(id) + poly.coefficientOf(id) * value;
    int64_t constant = whole.constantTerm(), left = constant;
    if (s.isConstant()) // rounded down, as the rest is a multiple
      left = constant / s.constantTerm() - (constant % s.constantTerm() < 0);
    else if (constant != 0 && constant != -1)
      return poly;
    std::optional<Poly> result = exactQuotient(whole - Poly::constant(constant), s);
    return result ? *result + Poly::constant(left) : poly;
  }

  ThreadProgram &program;
  Space &space;
  const Poly one = Poly::constant(1);
};

} // namespace

void solveEquations(ThreadProgram &program) {
  EquationSolver(program).run(program.body);
  dropTrue(program.body);
}

} // namespace kbopt::raise
