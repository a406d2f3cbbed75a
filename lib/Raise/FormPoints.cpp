//===- FormPoints.cpp - From threads to points ------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns turning blockIdx * blockDim + threadIdx, guards and grid-stride loops into dimensions.
//
//===----------------------------------------------------------------------===//
#include "Points.h"

namespace kbopt::raise {

using analysis::BdimVar;
using analysis::BidVar;
using analysis::GdimVar;
using analysis::TidVar;

namespace {

class PointFormer {
public:
  PointFormer(ThreadProgram &program, const analysis::LaunchRanges &launches)
      : program(program), space(program.space), launches(launches) {}

  std::vector<Dimension> form() {
    for (VarId axis : {0, 1, 2}) {
      pin(TidVar + axis, BdimVar + axis);
      pin(BidVar + axis, GdimVar + axis);
    }
    for (unsigned axis : {2, 1, 0})
      formAxis(axis);
    joinDimensions(program, dimensions, launches);
    dropImplied(program.body);
    if (program.reason.empty())
      peelDimensions(program, dimensions);
    return std::move(dimensions);
  }

private:
  bool uses(VarId var) {
    bool found = false;
    rewritePolys(program.body, [&](const Poly &poly) {
      found |= space.dependsOn(poly, var);
      return poly;
    });
    return found;
  }

  static Poly var(VarId id) { return Poly::variable(id); }
  static Poly number(int64_t value) { return Poly::constant(value); }
  void require(const Poly &poly) {
    if (poly.isConstant() && poly.constantTerm() >= 0)
      return;
    if (!llvm::is_contained(program.requirements, poly))
      program.requirements.push_back(poly);
  }

  VarId addDimension(llvm::StringRef name, Poly extent) {
    Space::Variable dimension;
    dimension.kind = Space::Loop;
    dimension.name = name;
    dimension.low = 0;
    VarId id = space.add(dimension);
    dimensions.push_back({id, std::move(extent)});
    return id;
  }

  /// The only value of \p index for which \p body does more than compute: all else stands under
  /// `index == value`. False where there is none.
  bool findPin(std::vector<Statement> &body, VarId index, std::optional<int64_t> &value) {
    for (Statement &each : body) {
      if (each.kind == Statement::Store || each.kind == Statement::Atomic ||
          each.kind == Statement::Barrier || each.kind == Statement::Opaque)
        return false;
      bool isPinned = false;
      if (each.kind == Statement::If)
        for (const Constraint &constraint : each.constraints) {
          Poly rest = constraint.poly - var(index);
          if (!constraint.isEquality || !rest.isConstant() || rest.constantTerm() > 0)
            continue;
          isPinned = !value || *value == -rest.constantTerm();
          value = -rest.constantTerm();
        }
      if (!isPinned && !findPin(each.body, index, value))
        return false;
    }
    return true;
  }

  /// Leaves the one thread, or block, that does something: `if (threadIdx.x == 0) …`.
  void pin(VarId index, VarId count) {
    std::optional<int64_t> value;
    if (!findPin(program.body, index, value) || !value)
      return;
    substitute(program, index, number(*value));
    dropTrue(program.body);
    if (*value > 0) // there is one for 0
      require(var(count) - number(*value + 1));
    pinned.insert(index);
  }

  /// Drops conditions that hold everywhere.
  void dropTrue(std::vector<Statement> &body) {
    for (size_t i = 0; i < body.size(); ++i) {
      Statement &each = body[i];
      dropTrue(each.body);
      llvm::erase_if(each.constraints, [](const Constraint &constraint) {
        return constraint.poly.isConstant() &&
               (constraint.isEquality ? constraint.poly.constantTerm() == 0
                                      : constraint.poly.constantTerm() >= 0);
      });
      if (each.kind != Statement::If || !each.constraints.empty() || !each.value.text.empty())
        continue;
      std::vector<Statement> inside = std::move(each.body);
      body.erase(body.begin() + i);
      body.insert(body.begin() + i, std::make_move_iterator(inside.begin()),
                  std::make_move_iterator(inside.end()));
      i += inside.size();
      --i;
    }
  }

  /// \p poly with block starts (bid * bdim, or bid * size) written as \p start.
  Poly withStart(const Poly &poly, unsigned axis, int64_t size, const Poly &start) {
    Poly sum;
    for (auto &[monomial, coefficient] : poly.monomials()) {
      Poly::Monomial rest = monomial;
      auto take = [&](VarId id) {
        auto *at = llvm::find(rest, id);
        if (at == rest.end())
          return false;
        rest.erase(at);
        return true;
      };
      bool isStart =
          llvm::is_contained(monomial, BidVar + axis) &&
          (size ? coefficient % size == 0 : llvm::is_contained(monomial, BdimVar + axis));
      Poly term = number(coefficient);
      if (isStart) {
        take(BidVar + axis);
        if (size)
          term = number(coefficient / size);
        else
          take(BdimVar + axis);
        term = term * start;
      }
      for (VarId id : rest) {
        const Space::Variable division = space[id];
        if (division.kind == Space::FloorDiv || division.kind == Space::Mod) {
          Poly dividend = withStart(division.dividend, axis, size, start);
          term = term * (division.kind == Space::Mod ? space.mod(dividend, division.divisor)
                                                     : space.floorDiv(dividend, division.divisor));
        } else {
          term = term * var(id);
        }
      }
      sum = sum + term;
    }
    return poly.isValid() ? sum : poly;
  }

  /// Whether threads of all blocks form one row of numbers along \p axis: bid * bdim + tid.
  bool formGlobal(unsigned axis, int64_t size) {
    VarId global = space.size();
    Space::Variable dimension;
    dimension.kind = Space::Loop;
    dimension.low = 0;
    space.add(dimension);
    Poly start = var(global) - var(TidVar + axis);
    bool isGlobal = true;
    auto change = [&](const Poly &poly) { return withStart(poly, axis, size, start); };
    rewritePolys(program.body, [&](const Poly &poly) {
      Poly changed = change(poly);
      isGlobal &=
          !space.dependsOn(changed, BidVar + axis) && !space.dependsOn(changed, TidVar + axis);
      return poly;
    });
    if (!isGlobal)
      return false;
    rewritePolys(program.body, change);
    space[global].name =
        nameOf([&](const Poly &hint) { return change(hint) == var(global); }, axis);
    dimensions.push_back({global, var(GdimVar + axis) * var(BdimVar + axis)});
    for (Hint &hint : program.hints)
      hint.poly = change(hint.poly);
    if (size) {
      require(var(BdimVar + axis) - number(size));
      require(number(size) - var(BdimVar + axis));
    }
    return true;
  }

  /// Numbers all threads along \p axis where each of them has \p width neighbours: bid * size + tid
  /// * width. The block's own number is a quotient then.
  bool formCoarse(unsigned axis, int64_t size, int64_t width) {
    int64_t threads = size / width;
    Space::Variable dimension;
    dimension.kind = Space::Loop;
    dimension.low = 0;
    VarId global = space.add(dimension);
    Poly start = (var(global) - var(TidVar + axis)) * number(width);
    auto change = [&](const Poly &poly) {
      Poly changed = withStart(poly, axis, size, start);
      return space.substitute(changed, BidVar + axis, space.floorDiv(var(global), number(threads)));
    };
    bool isGlobal = true;
    rewritePolys(program.body, [&](const Poly &poly) {
      isGlobal &= !space.dependsOn(change(poly), TidVar + axis);
      return poly;
    });
    if (!isGlobal)
      return false;
    rewritePolys(program.body, change);
    space[global].name =
        nameOf([&](const Poly &hint) { return change(hint) == var(global); }, axis);
    dimensions.push_back({global, var(GdimVar + axis) * number(threads)});
    for (Hint &hint : program.hints)
      hint.poly = change(hint.poly);
    require(var(BdimVar + axis) - number(threads));
    require(number(threads) - var(BdimVar + axis));
    return true;
  }

  /// Constants that the number of a thread is multiplied with.
  std::set<int64_t> threadWidths(unsigned axis) {
    std::set<int64_t> widths;
    rewritePolys(program.body, [&](const Poly &poly) {
      for (auto &[monomial, coefficient] : poly.monomials())
        if (monomial == Poly::Monomial{TidVar + axis} && coefficient > 1 && coefficient <= 64)
          widths.insert(coefficient);
      return poly;
    });
    return widths;
  }

  std::string nameOf(llvm::function_ref<bool(const Poly &)> fits, unsigned axis) {
    for (const Hint &hint : program.hints)
      if (fits(hint.poly))
        return hint.name;
    static const char *const plain[] = {"x", "y", "z"};
    std::string name = plain[axis];
    while (!program.names.insert(name).second)
      name += "_";
    return name;
  }

  /// Constants that the kernel writes where the size of a block is meant.
  std::set<int64_t> blockSizes(unsigned axis) {
    std::set<int64_t> sizes;
    auto look = [&](const Poly &poly) {
      for (auto &[monomial, coefficient] : poly.monomials())
        if (int64_t size = std::abs(coefficient);
            monomial == Poly::Monomial{BidVar + axis} && size > 1 && size <= 1024)
          sizes.insert(size);
    };
    if (auto launched = launches.block[axis]; launched.low == launched.high && launched.low > 1)
      sizes.insert(int64_t(launched.low));
    std::set<int64_t> launched = sizes;
    rewritePolys(program.body, [&](const Poly &poly) {
      look(poly);
      for (VarId id : space.variables(poly))
        look(space[id].dividend);
      return poly;
    });
    for (int64_t size : std::set<int64_t>(sizes))
      if (!launched.count(size) && hasDigitsBetween(axis, size))
        sizes.erase(size);
    return sizes;
  }

  /// Whether bid * size + tid stands with something between them, as in `a[bid][tid.y][tid.x]` of
  /// rows of 8 and blocks of 64: then the threads of one block are no neighbours of those of the
  /// next.
  bool hasDigitsBetween(unsigned axis, int64_t size) {
    bool isBetween = false;
    rewritePolys(program.body, [&](const Poly &poly) {
      Poly step = poly.coefficientOf(TidVar + axis);
      bool isRow = step.isConstant() && step.constantTerm() > 0 &&
                   poly.coefficientOf(BidVar + axis) == step * number(size);
      for (auto &[monomial, coefficient] : poly.monomials())
        isBetween |= isRow && monomial.size() == 1 && coefficient > step.constantTerm() &&
                     coefficient < size * step.constantTerm();
      return poly;
    });
    return isBetween;
  }

  /// Whether the launches that are in sight may have blocks of \p size threads along \p axis.
  bool mayBeBlock(unsigned axis, int64_t size) const {
    auto launched = launches.block[axis];
    return !(launched.low == launched.high && launched.low > 1 && int64_t(launched.low) != size);
  }

  void formAxis(unsigned axis) {
    bool usesBlock = uses(BidVar + axis), usesThread = uses(TidVar + axis);
    if (usesBlock && usesThread) {
      if (formGlobal(axis, 0))
        return;
      for (int64_t size : blockSizes(axis))
        if (mayBeBlock(axis, size) && formGlobal(axis, size))
          return;
      for (int64_t size : blockSizes(axis))
        for (int64_t width : threadWidths(axis))
          if (size % width == 0 && size > width && !hasDigitsBetween(axis, size / width) &&
              formCoarse(axis, size, width))
            return;
    }
    auto form = [&](VarId from, VarId extent) {
      VarId id = addDimension(nameOf([&](const Poly &hint) { return hint == var(from); }, axis),
                              var(extent));
      auto change = [&](const Poly &poly) { return space.substitute(poly, from, var(id)); };
      rewritePolys(program.body, change);
      for (Hint &hint : program.hints)
        hint.poly = change(hint.poly);
    };
    if (usesBlock)
      form(BidVar + axis, GdimVar + axis);
    if (usesThread)
      form(TidVar + axis, BdimVar + axis);
    // Threads that do not know of each other do the same.
    if (isIdempotent(program))
      return;
    bool isOneBlock = launches.grid[axis].high == 1, isOneThread = launches.block[axis].high == 1;
    isOneBlock |= program.isOneBlock || pinned.count(BidVar + axis);
    isOneThread |= program.isBlockUndone || pinned.count(TidVar + axis);
    if (!usesBlock && !isOneBlock)
      require(number(1) - var(GdimVar + axis));
    if (!usesThread && !isOneThread)
      require(number(1) - var(BdimVar + axis));
  }

  /// Drops a condition on blocks that one on elements further in says more exactly:
  /// x / n >= y / n around x >= y.
  void dropImplied(std::vector<Statement> &body) {
    for (size_t i = 0; i < body.size(); ++i) {
      dropImplied(body[i].body);
      if (body[i].kind != Statement::If || body[i].constraints.size() != 1 ||
          !body[i].value.text.empty())
        continue;
      std::vector<Statement> &inside = body[i].body;
      bool isChain = !inside.empty() && inside.back().kind == Statement::If &&
                     inside.back().value.text.empty();
      for (size_t k = 0; k + 1 < inside.size(); ++k) {
        isChain &= inside[k].kind == Statement::Let;
        for (Operand &operand : inside[k].value.operands)
          isChain &= operand.kind == Operand::Index;
      }
      if (!isChain || llvm::none_of(inside.back().constraints, [&](const Constraint &each) {
            return implies(each, body[i].constraints[0]);
          }))
        continue;
      std::vector<Statement> moved = std::move(inside);
      body.erase(body.begin() + i);
      body.insert(body.begin() + i, std::make_move_iterator(moved.begin()),
                  std::make_move_iterator(moved.end()));
    }
  }

  /// k * (x - y) >= 0 implies x / n - y / n >= 0.
  bool implies(const Constraint &exact, const Constraint &coarse) {
    if (exact.isEquality || coarse.isEquality || coarse.poly.monomials().size() != 2)
      return false;
    Poly difference, divisor;
    for (auto &[monomial, coefficient] : coarse.poly.monomials()) {
      if (monomial.size() != 1 || std::abs(coefficient) != 1 ||
          space[monomial[0]].kind != Space::FloorDiv)
        return false;
      const Space::Variable &quotient = space[monomial[0]];
      if (!(divisor == Poly()) && !(divisor == quotient.divisor))
        return false;
      divisor = quotient.divisor;
      difference = difference + quotient.dividend * number(coefficient);
    }
    for (int64_t factor = 1; factor <= 64; ++factor)
      if (exact.poly == difference * number(factor))
        return true;
    return false;
  }

  ThreadProgram &program;
  Space &space;
  const analysis::LaunchRanges &launches;
  std::vector<Dimension> dimensions;
  std::set<VarId> pinned; ///< indices that have one value
};

} // namespace

bool isIdempotent(ThreadProgram &program) {
  std::vector<Base> stored, loaded;
  bool isAtomic = false;
  walk(program.body, [&](Statement &each) {
    isAtomic |= each.kind == Statement::Atomic;
    if (each.kind == Statement::Store)
      stored.push_back(each.target.base);
    for (Operand &operand : each.value.operands)
      if (operand.kind == Operand::Element)
        loaded.push_back(operand.base);
    return true;
  });
  return !isAtomic &&
         llvm::none_of(loaded, [&](const Base &base) { return llvm::is_contained(stored, base); });
}

void countFromZero(ThreadProgram &program, Statement &loop) {
  Space &space = program.space;
  bool isDown = loop.progress == Statement::Down;
  Poly one = Poly::constant(1),
       length = isDown ? loop.begin - loop.end + one : loop.end - loop.begin;
  if (!isDown && loop.begin == Poly() && loop.step == one)
    return;
  Space::Variable counter;
  counter.kind = Space::Loop;
  counter.name = space[loop.variable].name;
  counter.low = 0;
  VarId id = space.add(counter);
  Poly moved = loop.step * Poly::variable(id),
       value = isDown ? loop.begin - moved : loop.begin + moved;
  rewritePolys(loop.body,
               [&](const Poly &poly) { return space.substitute(poly, loop.variable, value); });
  if (!(loop.step == one))
    length = space.countSteps(length, loop.step);
  loop.variable = id;
  loop.begin = Poly();
  loop.end = length;
  loop.step = one;
  loop.progress = Statement::Add;
}

/// Counts every loop from 0 by 1.
static void normalize(ThreadProgram &program, std::vector<Statement> &body) {
  for (Statement &each : body) {
    if (each.kind == Statement::For) {
      if (each.progress == Statement::Halve || each.progress == Statement::Double)
        return program.refuse("the loop over '" + program.space[each.variable].name +
                              "' does not count");
      countFromZero(program, each);
    }
    normalize(program, each.body);
  }
}

std::vector<Dimension> formPoints(ThreadProgram &program, const analysis::LaunchRanges &launches) {
  std::vector<Dimension> dimensions = PointFormer(program, launches).form();
  if (program.reason.empty())
    unflatten(program, dimensions);
  if (program.reason.empty() && joinDimensions(program, dimensions, launches))
    peelDimensions(program, dimensions);
  if (program.reason.empty())
    normalize(program, program.body);
  if (program.reason.empty())
    joinDigits(program);
  if (program.reason.empty())
    dischargeObligations(program, launches);
  return dimensions;
}

} // namespace kbopt::raise
