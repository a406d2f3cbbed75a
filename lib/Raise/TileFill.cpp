//===- TileFill.cpp - A store to a shared array, by element -----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the numbering of the threads that fill a shared array, and its inverse.
//
//===----------------------------------------------------------------------===//
#include "TileFill.h"

namespace kbopt::raise {

using analysis::TidVar;

std::optional<std::pair<int64_t, int64_t>> rangeOf(const Space &space, const Poly &poly) {
  constexpr int64_t most = int64_t(1) << 40;
  __int128 low = 0, high = 0;
  if (!poly.isValid())
    return std::nullopt;
  for (auto &[monomial, coefficient] : poly.monomials()) {
    __int128 least = coefficient, greatest = coefficient;
    for (VarId var : monomial) {
      std::optional<std::pair<int64_t, int64_t>> range;
      if (const Space::Variable &known = space[var]; known.low && known.high)
        range = {*known.low, *known.high};
      else if (known.kind == Space::FloorDiv && known.divisor.isConstant())
        if ((range = rangeOf(space, known.dividend)))
          range = range->first < 0
                      ? std::nullopt
                      : std::optional(std::pair(range->first / known.divisor.constantTerm(),
                                                range->second / known.divisor.constantTerm()));
      if (!range)
        return std::nullopt;
      __int128 corners[] = {least * range->first, least * range->second, greatest * range->first,
                            greatest * range->second};
      least = *std::min_element(corners, corners + 4);
      greatest = *std::max_element(corners, corners + 4);
      if (least < -most || greatest > most)
        return std::nullopt;
    }
    low += least;
    high += greatest;
  }
  if (low < -most || high > most)
    return std::nullopt;
  return std::pair(int64_t(low), int64_t(high));
}

void TileFill::rewrite(llvm::function_ref<Poly(const Poly &)> change) {
  auto inText = [&](Text &text) {
    for (Operand &operand : text.operands)
      operand.offset = change(operand.offset);
  };
  target.offset = change(target.offset);
  inText(value);
  for (TileGuard &guard : guards) {
    inText(guard.text);
    for (Constraint &constraint : guard.constraints)
      constraint.poly = change(constraint.poly);
  }
  rewritePolys(scalars, change);
}

namespace {

class WriterNumbers {
public:
  WriterNumbers(Space &space, TileFill &fill) : space(space), fill(fill) {}

  bool run(llvm::ArrayRef<Statement> loops, llvm::ArrayRef<int64_t> block) {
    for (unsigned axis = 0; axis < 3; ++axis)
      replace(TidVar + axis, Poly::variable(threads[axis] = addDigit("t", block[axis])));
    for (const Statement &loop : loops)
      if (!addLoop(loop))
        return false;
    for (unsigned rounds = 0; rounds < 8; ++rounds)
      if (!splitOnce())
        break;
    joinRows();
    return true;
  }

private:
  VarId addDigit(const std::string &name, int64_t count) {
    Space::Variable variable;
    variable.kind = Space::Loop;
    variable.name = name;
    variable.low = 0;
    variable.high = count - 1;
    VarId id = space.add(variable);
    fill.digits.push_back({id, count});
    return id;
  }

  void replace(VarId var, const Poly &value) {
    fill.rewrite([&](const Poly &poly) { return space.substitute(poly, var, value); });
  }

  bool mentions(VarId var) {
    bool found = false;
    fill.rewrite([&](const Poly &poly) {
      found |= space.dependsOn(poly, var);
      return poly;
    });
    return found;
  }

  TileDigit *digitOf(VarId var) {
    auto at =
        llvm::find_if(fill.digits, [&](const TileDigit &each) { return each.variable == var; });
    return at == fill.digits.end() ? nullptr : &*at;
  }

  /// scale * (number of a thread among `count`) + rest, where the number takes digits all of whose
  /// values occur.
  struct Number {
    Poly scale, rest;
    int64_t count = 1;
    std::vector<VarId> digits;
  };
  /// \p poly as the number that its digits form.
  std::optional<Number> numberIn(const Poly &poly) {
    Number number;
    std::vector<std::pair<int64_t, VarId>> parts;
    for (auto &[monomial, coefficient] : poly.monomials()) {
      TileDigit *digit = monomial.size() == 1 ? digitOf(monomial[0]) : nullptr;
      if (digit && coefficient > 0)
        parts.push_back({coefficient, monomial[0]});
      else if (llvm::any_of(monomial, [&](VarId var) { return digitOf(var); }))
        return std::nullopt;
    }
    if (parts.empty())
      return std::nullopt;
    llvm::sort(parts);
    int64_t scale = parts[0].first;
    number.rest = poly;
    for (auto [coefficient, var] : parts) {
      if (coefficient != scale * number.count)
        return std::nullopt;
      number.count *= digitOf(var)->count;
      number.digits.push_back(var);
      number.rest = number.rest.without(var);
    }
    number.scale = Poly::constant(scale);
    return number;
  }

  /// One digit in place of those of \p number. False if they are used one by one, too.
  std::optional<VarId> joinDigits(const Number &number) {
    if (number.digits.size() == 1)
      return number.digits[0];
    TileFill before = fill;
    VarId whole = addDigit("t", number.count);
    Poly rest = Poly::variable(whole);
    int64_t stride = 1;
    for (size_t i = 1; i < number.digits.size(); ++i) {
      stride *= digitOf(number.digits[i - 1])->count;
      rest = rest - Poly::variable(number.digits[i]) * Poly::constant(stride);
    }
    replace(number.digits[0], rest);
    for (VarId var : number.digits)
      if (mentions(var)) {
        fill = std::move(before);
        return std::nullopt;
      }
    llvm::erase_if(fill.digits, [&](const TileDigit &each) {
      return llvm::is_contained(number.digits, each.variable);
    });
    return whole;
  }

  bool addLoop(Statement loop) {
    for (unsigned axis = 0; axis < 3; ++axis)
      for (Poly *poly : {&loop.begin, &loop.end, &loop.step})
        *poly = space.substitute(*poly, TidVar + axis, Poly::variable(threads[axis]));
    if (loop.progress != Statement::Add || !loop.step.isConstant() || loop.step.constantTerm() < 1)
      return false;
    std::optional<Number> number = numberIn(loop.begin);
    int64_t step = loop.step.constantTerm(), scale = step;
    Poly first = loop.begin;
    if (number) {
      scale = number->scale.constantTerm();
      if (step != scale * number->count)
        return false;
      first = number->rest;
    }
    Poly length = loop.end - first;
    if (!length.isConstant() || length.constantTerm() < 1)
      return false;
    // Threads share out the range among them: the loop has each of its values in one thread.
    VarId counter =
        addDigit(space[loop.variable].name, (length.constantTerm() + scale - 1) / scale);
    replace(loop.variable, first + Poly::variable(counter) * Poly::constant(scale));
    if (!number)
      return true;
    for (VarId var : number->digits)
      if (mentions(var))
        return false;
    llvm::erase_if(fill.digits, [&](const TileDigit &each) {
      return llvm::is_contained(number->digits, each.variable);
    });
    return true;
  }

  /// Splits a digit that is divided by a constant, or joins digits of which a sum is divided. False
  /// if there is none.
  bool splitOnce() {
    std::optional<std::pair<Poly, int64_t>> found;
    fill.rewrite([&](const Poly &poly) {
      for (VarId var : space.variables(poly)) {
        const Space::Variable &known = space[var];
        bool isDivision = known.kind == Space::Mod || known.kind == Space::FloorDiv;
        if (isDivision && known.divisor.isConstant() && numberIn(known.dividend) &&
            (!found || known.divisor.constantTerm() < found->second))
          found = {known.dividend, known.divisor.constantTerm()};
      }
      return poly;
    });
    if (!found)
      return false;
    Number number = *numberIn(found->first);
    int64_t scale = number.scale.constantTerm(), divisor = found->second;
    if (divisor % scale || divisor / scale < 2)
      return false;
    divisor /= scale;
    std::optional<VarId> whole = joinDigits(number);
    if (!whole)
      return false;
    int64_t count = digitOf(*whole)->count;
    if (count <= divisor || count % divisor)
      return false;
    VarId low = addDigit("t", divisor), high = addDigit("t", count / divisor);
    replace(*whole, Poly::variable(low) + Poly::variable(high) * Poly::constant(divisor));
    llvm::erase_if(fill.digits, [&](const TileDigit &each) { return each.variable == *whole; });
    return true;
  }

  /// Rows that threads and the rounds of a loop number together are one digit: `tid.y + j` where j
  /// counts by the number of threads.
  void joinRows() {
    for (bool joins = true; joins;) {
      joins = false;
      for (size_t i = 0; i < fill.digits.size() && !joins; ++i)
        for (size_t j = 0; j < fill.digits.size() && !joins; ++j) {
          TileDigit low = fill.digits[i], high = fill.digits[j];
          Poly step = fill.target.offset.coefficientOf(low.variable),
               wide = fill.target.offset.coefficientOf(high.variable);
          if (i == j || !step.isConstant() || step.constantTerm() < 1 ||
              !(wide == step * Poly::constant(low.count)))
            continue;
          Number number;
          number.count = low.count * high.count;
          number.digits = {low.variable, high.variable};
          joins = joinDigits(number).has_value();
        }
    }
  }

  Space &space;
  TileFill &fill;
  VarId threads[3];
};

} // namespace

bool numberWriters(Space &space, TileFill &fill, llvm::ArrayRef<Statement> loops,
                   llvm::ArrayRef<int64_t> block) {
  return WriterNumbers(space, fill).run(loops, block);
}

std::optional<std::vector<Poly>> writersOf(Space &space, const TileFill &fill, const Poly &offset,
                                           bool &isNever) {
  struct Digit {
    int64_t coefficient;
    size_t position;
  };
  std::vector<Digit> digits;
  Poly rest = offset, start = fill.target.offset;
  isNever = false;
  for (auto [i, digit] : llvm::enumerate(fill.digits)) {
    Poly coefficient = start.coefficientOf(digit.variable);
    start = start.without(digit.variable);
    if (!coefficient.isConstant() || coefficient.constantTerm() < 0)
      return std::nullopt;
    if (coefficient.constantTerm() > 0)
      digits.push_back({coefficient.constantTerm(), i});
  }
  for (const TileDigit &digit : fill.digits)
    if (space.dependsOn(start, digit.variable))
      return std::nullopt;
  rest = rest - start;
  llvm::sort(digits, [](const Digit &a, const Digit &b) { return a.coefficient > b.coefficient; });
  // Every digit is less than what the next one counts.
  int64_t below = 0;
  for (const Digit &digit : llvm::reverse(digits)) {
    if (below >= digit.coefficient)
      return std::nullopt;
    below += digit.coefficient * (fill.digits[digit.position].count - 1);
  }
  std::vector<Poly> values(fill.digits.size());
  for (const Digit &digit : digits) {
    Poly whole, left;
    for (auto &[monomial, coefficient] : rest.monomials()) {
      // The nearest multiple below, so that `17 * i + 16` is 16 after i rows of 17.
      int64_t quotient = coefficient / digit.coefficient;
      if (coefficient < 0 && coefficient % digit.coefficient)
        --quotient;
      Poly term = Poly::constant(1);
      for (VarId var : monomial)
        term = term * Poly::variable(var);
      whole = whole + term * Poly::constant(quotient);
      left = left + term * Poly::constant(coefficient - quotient * digit.coefficient);
    }
    auto remaining = rangeOf(space, left), number = rangeOf(space, whole);
    if (!remaining || remaining->first < 0 || remaining->second >= digit.coefficient || !number)
      return std::nullopt;
    int64_t count = fill.digits[digit.position].count;
    if (number->second < 0 || number->first >= count) {
      isNever = true;
      return std::nullopt;
    }
    if (number->first < 0 || number->second >= count)
      return std::nullopt;
    values[digit.position] = whole;
    rest = left;
  }
  if (!(rest == Poly())) {
    auto range = rangeOf(space, rest);
    isNever = range && (range->first > 0 || range->second < 0);
    return std::nullopt;
  }
  return values;
}

} // namespace kbopt::raise
