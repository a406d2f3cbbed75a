//===- TileFill.cpp - A store to a shared array, by element -----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the numbering of the threads that fill a shared array, and its inverse.
//
//===----------------------------------------------------------------------===//
#include "TileFill.h"

namespace kbopt::raise {

using analysis::TidVar;

/// \p poly as quotient * divisor + rest, term by term.
static std::pair<Poly, Poly> splitBy(const Poly &poly, const Poly &divisor) {
  auto product = [](const Poly::Monomial &monomial, int64_t coefficient) {
    Poly term = Poly::constant(coefficient);
    for (VarId var : monomial)
      term = term * Poly::variable(var);
    return term;
  };
  Poly whole, rest = poly;
  if (divisor.isConstant()) {
    int64_t number = divisor.constantTerm();
    for (auto &[monomial, coefficient] : poly.monomials()) {
      // The nearest multiple below, so that `17 * i + 16` is 16 after i rows of 17.
      int64_t quotient = coefficient / number;
      if (coefficient < 0 && coefficient % number)
        --quotient;
      whole = whole + product(monomial, quotient);
    }
    return {whole, poly - whole * divisor};
  }
  auto &[leading, factor] = *divisor.monomials().rbegin();
  constexpr unsigned mostTerms = 32;
  for (unsigned i = 0; i < mostTerms; ++i) {
    Poly term;
    for (auto &[monomial, coefficient] : rest.monomials()) {
      Poly::Monomial left;
      std::set_difference(monomial.begin(), monomial.end(), leading.begin(), leading.end(),
                          std::back_inserter(left));
      if (coefficient % factor == 0 && left.size() + leading.size() == monomial.size())
        term = product(left, coefficient / factor);
    }
    if (term == Poly())
      return {whole, rest};
    whole = whole + term;
    rest = rest - term * divisor;
  }
  return {Poly(), poly};
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

  bool run(llvm::ArrayRef<Statement> loops, const std::array<Poly, 3> &block) {
    for (unsigned axis = 0; axis < 3; ++axis)
      replace(TidVar + axis, Poly::variable(threads[axis] = addDigit("t", block[axis])));
    for (const Statement &loop : loops)
      if (!addLoop(loop))
        return false;
    for (unsigned rounds = 0; rounds < 8; ++rounds)
      if (!splitOnce())
        break;
    joinRows();
    llvm::erase_if(fill.digits, [&](const TileDigit &each) {
      bool isOne = each.count == number(1);
      if (isOne)
        replace(each.variable, Poly());
      return isOne;
    });
    return true;
  }

private:
  static Poly number(int64_t value) { return Poly::constant(value); }

  VarId addDigit(const std::string &name, const Poly &count) {
    Space::Variable variable;
    variable.kind = Space::Loop;
    variable.name = name;
    variable.low = 0;
    if (count.isConstant())
      variable.high = count.constantTerm() - 1;
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
    Poly count = Poly::constant(1);
    std::vector<VarId> digits;
  };
  /// \p poly as the number that its digits form.
  std::optional<Number> numberIn(const Poly &poly) {
    Number all;
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
    all.scale = number(parts[0].first);
    all.rest = poly;
    for (auto [coefficient, var] : parts) {
      if (!(number(coefficient) == all.scale * all.count))
        return std::nullopt;
      all.count = all.count * digitOf(var)->count;
      all.digits.push_back(var);
      all.rest = all.rest.without(var);
    }
    return all;
  }

  /// One digit in place of those of \p number. False if they are used one by one, too.
  std::optional<VarId> joinDigits(const Number &number) {
    if (number.digits.size() == 1)
      return number.digits[0];
    TileFill before = fill;
    VarId whole = addDigit("t", number.count);
    Poly rest = Poly::variable(whole);
    Poly stride = Poly::constant(1);
    for (size_t i = 1; i < number.digits.size(); ++i) {
      stride = stride * digitOf(number.digits[i - 1])->count;
      rest = rest - Poly::variable(number.digits[i]) * stride;
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
    std::optional<Number> begin = numberIn(loop.begin);
    Poly scale = loop.step, first = loop.begin;
    if (begin) {
      scale = begin->scale;
      if (!(loop.step == scale * begin->count))
        return false;
      first = begin->rest;
    }
    Poly length = loop.end - first;
    int64_t step = scale.constantTerm();
    if (length.isConstant() && length.constantTerm() >= 1)
      length = number((length.constantTerm() + step - 1) / step);
    else if (length.isConstant() || step != 1 || !isSameForBlock(length))
      return false;
    // Threads share out the range among them: the loop has each of its values in one thread.
    VarId counter = addDigit(space[loop.variable].name, length);
    replace(loop.variable, first + Poly::variable(counter) * scale);
    if (!begin)
      return true;
    for (VarId var : begin->digits)
      if (mentions(var))
        return false;
    llvm::erase_if(fill.digits, [&](const TileDigit &each) {
      return llvm::is_contained(begin->digits, each.variable);
    });
    return true;
  }

  bool isSameForBlock(const Poly &poly) {
    return llvm::all_of(space.variables(poly), [&](VarId var) {
      return !digitOf(var) && space[var].kind != Space::Varying &&
             (var < TidVar || var > TidVar + 2);
    });
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
      return splitByRows();
    Number all = *numberIn(found->first);
    int64_t scale = all.scale.constantTerm(), divisor = found->second;
    if (divisor % scale || divisor / scale < 2)
      return false;
    divisor /= scale;
    std::optional<VarId> whole = joinDigits(all);
    if (!whole)
      return false;
    auto [rows, rest] = splitBy(digitOf(*whole)->count, number(divisor));
    if (!(rest == Poly()) || rows == number(1))
      return false;
    split(*whole, number(divisor), rows);
    return true;
  }

  /// The same for a digit that is divided by the length of a row which the launch decides.
  bool splitByRows() {
    std::optional<std::pair<VarId, Poly>> found;
    fill.rewrite([&](const Poly &poly) {
      for (VarId var : space.variables(poly)) {
        const Space::Variable &known = space[var];
        bool isDivision = known.kind == Space::Mod || known.kind == Space::FloorDiv;
        for (const TileDigit &digit : fill.digits)
          if (isDivision && known.dividend == Poly::variable(digit.variable) &&
              !known.divisor.isConstant() && isSameForBlock(known.divisor))
            found = {digit.variable, known.divisor};
      }
      return poly;
    });
    if (!found)
      return false;
    auto [whole, divisor] = *found;
    auto [rows, rest] = splitBy(digitOf(whole)->count, divisor);
    if (!(rest == Poly()))
      return false;
    split(whole, divisor, rows);
    return true;
  }

  /// low + high * \p width in place of the digit \p whole.
  void split(VarId whole, const Poly &width, const Poly &rows) {
    Poly low = Poly::variable(addDigit("t", width)), high = Poly::variable(addDigit("t", rows));
    size_t count = space.size();
    for (VarId var = analysis::FirstOtherVar; var < count; ++var) {
      Space::Kind kind = space[var].kind;
      if ((kind == Space::Mod || kind == Space::FloorDiv) && space[var].divisor == width &&
          space[var].dividend == Poly::variable(whole))
        replace(var, kind == Space::Mod ? low : high);
    }
    replace(whole, low + high * width);
    llvm::erase_if(fill.digits, [&](const TileDigit &each) { return each.variable == whole; });
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
              !(wide == step * low.count))
            continue;
          Number both;
          both.count = low.count * high.count;
          both.digits = {low.variable, high.variable};
          joins = joinDigits(both).has_value();
        }
    }
  }

  Space &space;
  TileFill &fill;
  VarId threads[3];
};

} // namespace

bool numberWriters(Space &space, TileFill &fill, llvm::ArrayRef<Statement> loops,
                   const std::array<Poly, 3> &block) {
  return WriterNumbers(space, fill).run(loops, block);
}

/// \p poly as number * stride + digit, with 0 <= digit < stride by \p facts.
static std::optional<std::pair<Poly, Poly>> splitDigit(const Facts &facts, const Poly &poly,
                                                       const Poly &stride) {
  auto [number, digit] = splitBy(poly, stride);
  for (int64_t borrowed : {0, 1, -1}) {
    Poly more = Poly::constant(borrowed);
    if (facts.isDigit(digit - more * stride, stride))
      return std::pair(number + more, digit - more * stride);
  }
  return std::nullopt;
}

bool pinDigits(Space &space, TileFill &fill) {
  for (size_t i = 0; i < fill.digits.size(); ++i) {
    const TileDigit digit = fill.digits[i];
    std::optional<Poly> value;
    TileGuard *by = nullptr;
    for (TileGuard &guard : fill.guards)
      for (const Constraint &each : guard.constraints) {
        Poly factor = each.poly.coefficientOf(digit.variable),
             rest = each.poly.without(digit.variable);
        bool isUnit = factor == Poly::constant(1) || factor == Poly::constant(-1);
        bool isOwn = llvm::any_of(fill.digits, [&](const TileDigit &other) {
          return space.dependsOn(rest, other.variable);
        });
        if (!each.isEquality || !isUnit || isOwn || value)
          continue;
        value = rest * factor * Poly::constant(-1);
        by = &guard;
      }
    if (!value)
      continue;
    Constraint first{*value, false}, last{digit.count - *value - Poly::constant(1), false};
    if (Facts facts(space, {}); facts.excludes(first) || facts.excludes(last))
      return false;
    by->constraints.push_back(first);
    by->constraints.push_back(last);
    fill.rewrite([&](const Poly &poly) { return space.substitute(poly, digit.variable, *value); });
    llvm::erase_if(by->constraints,
                   [&](const Constraint &each) { return Facts(space, {}).implies(each); });
    fill.digits.erase(fill.digits.begin() + i--);
  }
  return true;
}

std::vector<Poly> stridesOf(llvm::ArrayRef<const TileFill *> fills) {
  std::vector<Poly> strides{Poly::constant(1)};
  for (const TileFill *fill : fills)
    for (const TileDigit &digit : fill->digits) {
      Poly stride = fill->target.offset.coefficientOf(digit.variable);
      if (!(stride == Poly()) && !llvm::is_contained(strides, stride))
        strides.push_back(stride);
    }
  return strides;
}

std::optional<TileWriters> writersOf(const Space &space, const Facts &facts, const TileFill &fill,
                                     llvm::ArrayRef<Poly> strides, const Poly &offset,
                                     bool &isNever) {
  const Poly one = Poly::constant(1);
  struct Digit {
    Poly stride, count;
    std::optional<size_t> position; ///< in the fill; without one, there is one value
  };
  std::vector<Digit> digits;
  Poly start = fill.target.offset;
  isNever = false;
  for (auto [i, digit] : llvm::enumerate(fill.digits)) {
    Poly stride = start.coefficientOf(digit.variable);
    start = start.without(digit.variable);
    if (stride == Poly())
      continue;
    if (!facts.isNonNegative(stride - one))
      return std::nullopt;
    digits.push_back({stride, digit.count, i});
  }
  for (const TileDigit &digit : fill.digits)
    if (space.dependsOn(start, digit.variable))
      return std::nullopt;
  for (const Poly &stride : strides)
    if (llvm::none_of(digits, [&](const Digit &each) { return each.stride == stride; }))
      digits.push_back({stride, one, std::nullopt});
  // The greatest stride first.
  for (size_t i = 0; i < digits.size(); ++i)
    for (size_t j = i + 1; j < digits.size(); ++j)
      if (facts.isNonNegative(digits[j].stride - digits[i].stride - one))
        std::swap(digits[i], digits[j]);
  // Every digit, with those after it, is less than what the one before counts.
  std::vector<Poly> below(digits.size());
  for (size_t i = digits.size(); i-- > 1;) {
    below[i - 1] = below[i] + digits[i].stride * (digits[i].count - one);
    if (!facts.isNonNegative(digits[i - 1].stride - below[i - 1] - one))
      return std::nullopt;
  }
  TileWriters writers;
  writers.values.resize(fill.digits.size());
  Poly rest = offset;
  for (auto [digit, lower] : llvm::zip(digits, below)) {
    Facts here = facts.with(writers.range);
    Poly number;
    if (auto parts = splitDigit(here, rest - start, digit.stride)) {
      std::tie(number, rest) = *parts;
      start = Poly();
    } else {
      // Both as rows and places in a row.
      auto place = splitDigit(here, rest, digit.stride),
           first = splitDigit(here, start, digit.stride);
      if (!place || !first || !here.isNonNegative(digit.stride - first->second - lower - one))
        return std::nullopt;
      number = place->first - first->first;
      rest = place->second;
      start = first->second;
    }
    Constraints range{{number, false}, {digit.count - number - one, false}};
    if (digit.count == one)
      range = {{number, true}};
    isNever = llvm::any_of(range, [&](const Constraint &each) { return here.excludes(each); });
    if (isNever)
      return std::nullopt;
    llvm::append_range(writers.range, here.open(range));
    if (digit.position)
      writers.values[*digit.position] = number;
  }
  return writers;
}

} // namespace kbopt::raise
