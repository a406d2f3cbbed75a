//===- FormPoints.cpp - From threads to points ------------------------------===//
//
// Owns turning blockIdx * blockDim + threadIdx, guards and grid-stride loops into dimensions.
//
//===----------------------------------------------------------------------===//
#include "NestScalars.h"
#include "Points.h"
#include "TeamText.h"

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
    for (unsigned axis : {2, 1, 0})
      formAxis(axis);
    dropImplied(program.body);
    if (program.reason.empty())
      peel();
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
      bool isStart = llvm::is_contained(monomial, BidVar + axis) &&
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
      isGlobal &= !space.dependsOn(changed, BidVar + axis) && !space.dependsOn(changed, TidVar + axis);
      return poly;
    });
    if (!isGlobal)
      return false;
    rewritePolys(program.body, change);
    space[global].name = nameOf([&](const Poly &hint) { return change(hint) == var(global); }, axis);
    dimensions.push_back({global, var(GdimVar + axis) * var(BdimVar + axis)});
    for (Hint &hint : program.hints)
      hint.poly = change(hint.poly);
    if (size) {
      require(var(BdimVar + axis) - number(size));
      require(number(size) - var(BdimVar + axis));
    }
    return true;
  }

  /// Numbers all threads along \p axis where each of them has \p width neighbours: bid * size + tid * width. The block's
  /// own number is a quotient then.
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
    space[global].name = nameOf([&](const Poly &hint) { return change(hint) == var(global); }, axis);
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
        if (int64_t size = std::abs(coefficient); monomial == Poly::Monomial{BidVar + axis} && size > 1 && size <= 1024)
          sizes.insert(size);
    };
    if (auto launched = launches.block[axis]; launched.low == launched.high && launched.low > 1)
      sizes.insert(int64_t(launched.low));
    rewritePolys(program.body, [&](const Poly &poly) {
      look(poly);
      for (VarId id : space.variables(poly))
        look(space[id].dividend);
      return poly;
    });
    return sizes;
  }

  void formAxis(unsigned axis) {
    bool usesBlock = uses(BidVar + axis), usesThread = uses(TidVar + axis);
    if (usesBlock && usesThread) {
      if (formGlobal(axis, 0))
        return;
      for (int64_t size : blockSizes(axis))
        if (formGlobal(axis, size))
          return;
      for (int64_t size : blockSizes(axis))
        for (int64_t width : threadWidths(axis))
          if (size % width == 0 && size > width && formCoarse(axis, size, width))
            return;
    }
    auto form = [&](VarId from, VarId extent) {
      VarId id = addDimension(nameOf([&](const Poly &hint) { return hint == var(from); }, axis), var(extent));
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
    if (!usesBlock && !isOneBlock)
      require(number(1) - var(GdimVar + axis));
    if (!usesThread && !isOneThread && !program.isBlockUndone)
      require(number(1) - var(BdimVar + axis));
  }

  //===-- Guards and grid-stride loops ------------------------------------===//

  /// Moves lets before the only other statement into it. Null if there is no such statement.
  Statement *onlyStatement(Statement::Kind kind) {
    std::vector<Statement> &body = program.body;
    if (body.empty() || body.back().kind != kind)
      return nullptr;
    for (size_t i = 0; i + 1 < body.size(); ++i)
      if (body[i].kind != Statement::Let)
        return nullptr;
    return &body.back();
  }

  bool dependsOnLets(const Poly &poly) {
    return llvm::any_of(program.body, [&](const Statement &each) {
      return each.kind == Statement::Let && each.symbol && space.dependsOn(poly, *each.symbol);
    });
  }

  void replaceByBody(Statement *outer) {
    std::vector<Statement> inner = std::move(outer->body);
    program.body.pop_back();
    for (Statement &each : inner)
      program.body.push_back(std::move(each));
  }

  Dimension *dimensionOf(VarId id) {
    auto at = llvm::find_if(dimensions, [&](const Dimension &each) { return each.variable == id; });
    return at == dimensions.end() ? nullptr : &*at;
  }

  /// Takes bound - dim - 1 >= 0 as the extent of a dimension.
  bool takeBound(const Constraint &constraint) {
    if (constraint.isEquality)
      return false;
    for (Dimension &each : dimensions) {
      Poly bound = constraint.poly + var(each.variable) + number(1);
      if (!space.isUniform(bound))
        continue;
      if (!(bound == each.extent)) {
        require(each.extent - bound);
        each.extent = bound;
      }
      return true;
    }
    // dim >= 0
    return constraint.poly.monomials().size() == 1 && constraint.poly.monomials().begin()->second == 1 &&
           constraint.poly.monomials().begin()->first.size() == 1 &&
           dimensionOf(constraint.poly.monomials().begin()->first[0]);
  }

  bool peelGuard() {
    Statement *guard = onlyStatement(Statement::If);
    if (!guard || llvm::any_of(guard->constraints, [&](const Constraint &each) { return dependsOnLets(each.poly); }))
      return false;
    size_t before = guard->constraints.size();
    llvm::erase_if(guard->constraints, [&](const Constraint &each) { return takeBound(each); });
    if (guard->constraints.empty() && guard->value.text.empty()) {
      replaceByBody(guard);
      return true;
    }
    return guard->constraints.size() < before;
  }

  /// Whether an iteration of \p loop starts with what another one left in a scalar.
  static bool handsOnScalars(Statement &loop) {
    std::set<std::string> own;
    bool handsOn = false;
    auto readsOthers = [&](Statement &each, const std::string &name) {
      bool reads = false;
      forEachText(each, [&](Text &text) { reads |= mentions(text.text, name); });
      return reads;
    };
    for (Statement &each : loop.body) {
      bool sets = each.kind == Statement::Let || (each.kind == Statement::Assign && !readsOthers(each, each.name));
      if (sets)
        own.insert(each.name);
      std::vector<Statement> below = each.body;
      walk(below, [&](Statement &inner) {
        if (inner.kind == Statement::Let)
          own.insert(inner.name);
        handsOn |= (inner.kind == Statement::Assign || inner.kind == Statement::Combine) && !own.count(inner.name);
        return true;
      });
      handsOn |= (each.kind == Statement::Assign || each.kind == Statement::Combine) && !own.count(each.name);
    }
    // What is set in an iteration must not have been read before in it.
    std::set<std::string> set;
    for (Statement &each : loop.body) {
      for (const std::string &name : own)
        if (!set.count(name)) {
          bool isRead = readsOthers(each, name);
          std::vector<Statement> below = each.body;
          bool isDeclared = false;
          walk(below, [&](Statement &inner) {
            isRead |= readsOthers(inner, name);
            isDeclared |= inner.kind == Statement::Let && inner.name == name;
            return true;
          });
          handsOn |= isRead && !isDeclared;
        }
      if (each.kind == Statement::Let || each.kind == Statement::Assign)
        set.insert(each.name);
    }
    return handsOn;
  }

  /// for (i = dim; i < n; i += extent of dim).
  bool peelStride() {
    Statement *loop = onlyStatement(Statement::For);
    if (!loop || loop->progress != Statement::Add || loop->begin.monomials().size() != 1 || handsOnScalars(*loop))
      return false;
    auto &[monomial, coefficient] = *loop->begin.monomials().begin();
    Dimension *dimension = monomial.size() == 1 && coefficient == 1 ? dimensionOf(monomial[0]) : nullptr;
    if (!dimension || !(loop->step == dimension->extent) || !space.isUniform(loop->end))
      return false;
    bool isUsed = false;
    for (Statement &each : program.body) {
      std::vector<Statement> *inside = &each == loop ? &loop->body : nullptr;
      auto look = [&](const Poly &poly) {
        isUsed |= space.dependsOn(poly, dimension->variable);
        return poly;
      };
      if (inside)
        rewritePolys(*inside, look);
      else
        forEachOperand(each, [&](Operand &operand) { look(operand.offset); });
    }
    if (isUsed)
      return false;
    dimension->variable = loop->variable;
    space[loop->variable].low = 0;
    dimension->extent = loop->end;
    replaceByBody(loop);
    return true;
  }

  /// for (i = T * dim; i < T * dim + T; ++i), or i < T with T * dim + i everywhere: one dimension of T times as
  /// many points.
  bool peelTile() {
    Statement *loop = onlyStatement(Statement::For);
    if (!loop || loop->progress != Statement::Add || !(loop->step == number(1)))
      return false;
    Poly width = loop->end - loop->begin;
    if (!space.isUniform(width) || width == number(1) || handsOnScalars(*loop))
      return false;
    for (Dimension &dimension : dimensions) {
      Poly start = var(dimension.variable) * width;
      bool isOwnStart = loop->begin == start;
      if (!isOwnStart && !(loop->begin == Poly()))
        continue;
      Space::Variable joined = space[dimension.variable];
      joined.name = space[loop->variable].name;
      VarId whole = space.add(joined);
      Poly value = isOwnStart ? var(whole) : var(whole) - start;
      auto change = [&](const Poly &poly) {
        return space.substitute(poly, loop->variable, value);
      };
      bool isLeft = false;
      auto look = [&](const Poly &poly) {
        isLeft |= space.dependsOn(change(poly), dimension.variable);
        return poly;
      };
      rewritePolys(loop->body, look);
      for (Statement &each : program.body)
        if (&each != loop)
          forEachOperand(each, [&](Operand &operand) { look(operand.offset); });
      if (isLeft)
        continue;
      rewritePolys(loop->body, change);
      dimension.variable = whole;
      dimension.extent = dimension.extent * width;
      replaceByBody(loop);
      return true;
    }
    return false;
  }

  //===-- Neighbours of a thread ------------------------------------------===//

  /// The loop of a few iterations that is all there is below conditions and scalars.
  Statement *tileLoop(std::vector<Statement> *&parent) {
    parent = &program.body;
    for (;;) {
      if (parent->empty() || llvm::any_of(llvm::drop_end(*parent), [](auto &each) { return each.kind != Statement::Let; }))
        return nullptr;
      Statement &last = parent->back();
      if (last.kind == Statement::If) {
        parent = &last.body;
        continue;
      }
      bool isShort = last.kind == Statement::For && last.progress == Statement::Add && last.begin == Poly() &&
                     last.step == number(1) && last.end.isConstant() && last.end.constantTerm() >= 2 &&
                     last.end.constantTerm() <= 64;
      return isShort ? &last : nullptr;
    }
  }

  /// Whether iterations of \p loop neither hand on scalars nor read what another one stores.
  static bool standsAlone(Statement &loop) {
    std::set<std::string> declared;
    std::vector<Operand> stored;
    bool isAlone = true;
    walk(loop.body, [&](Statement &each) {
      if (each.kind == Statement::Let)
        declared.insert(each.name);
      if (each.kind == Statement::Store || each.kind == Statement::Atomic)
        stored.push_back(each.target);
      return true;
    });
    walk(loop.body, [&](Statement &each) {
      if (each.kind == Statement::Assign || each.kind == Statement::Combine)
        isAlone &= declared.count(each.name) != 0;
      isAlone &= each.kind != Statement::Barrier && each.kind != Statement::Opaque;
      for (Operand &operand : each.value.operands)
        for (Operand &target : stored)
          isAlone &= operand.kind != Operand::Collective &&
                     (operand.kind != Operand::Element || !(operand.base == target.base) || operand.offset == target.offset);
      return true;
    });
    return isAlone;
  }

  /// for (k < 8) with 8 * dim + k in every index: one dimension of 8 times the extent.
  bool peelNeighbours() {
    std::vector<Statement> *parent = nullptr;
    Statement *loop = tileLoop(parent);
    if (!loop || !standsAlone(*loop))
      return false;
    Poly width = loop->end, counter = var(loop->variable);
    for (Dimension &each : dimensions) {
      bool isTile = false, isOther = false;
      walk(loop->body, [&](Statement &inner) {
        forEachOperand(inner, [&](Operand &operand) {
          Poly step = operand.offset.coefficientOf(loop->variable), wide = operand.offset.coefficientOf(each.variable);
          Poly rest = operand.offset.without(loop->variable).without(each.variable);
          isTile |= !(step == Poly()) && operand.kind == Operand::Element;
          isOther |= !(wide == step * width) || space.dependsOn(rest, loop->variable) || space.dependsOn(rest, each.variable);
        });
        return true;
      });
      if (!isTile || isOther || !space.isUniform(each.extent))
        continue;
      Space::Variable whole;
      whole.kind = Space::Loop;
      whole.low = 0;
      VarId id = space.add(whole), before = each.variable, inner = loop->variable;
      auto change = [&](const Poly &poly) {
        Poly changed = space.substitute(poly, inner, var(id) - width * var(before));
        return space.substitute(changed, before, space.floorDiv(var(id), width));
      };
      std::string oldName = space[before].name;
      std::vector<Statement> body = std::move(loop->body);
      parent->pop_back();
      for (Statement &statement : body)
        parent->push_back(std::move(statement));
      rewritePolys(program.body, change);
      for (Hint &hint : program.hints)
        hint.poly = change(hint.poly);
      auto hint = llvm::find_if(program.hints, [&](const Hint &known) { return known.poly == var(id); });
      space[id].name = hint == program.hints.end() ? oldName : hint->name;
      each = {id, each.extent * width};
      return true;
    }
    return false;
  }

  /// Drops a condition on blocks that one on elements further in says more exactly:
  /// x / n >= y / n around x >= y.
  void dropImplied(std::vector<Statement> &body) {
    for (size_t i = 0; i < body.size(); ++i) {
      dropImplied(body[i].body);
      if (body[i].kind != Statement::If || body[i].constraints.size() != 1 || !body[i].value.text.empty())
        continue;
      std::vector<Statement> &inside = body[i].body;
      bool isChain = !inside.empty() && inside.back().kind == Statement::If && inside.back().value.text.empty();
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
      body.insert(body.begin() + i, std::make_move_iterator(moved.begin()), std::make_move_iterator(moved.end()));
    }
  }

  /// k * (x - y) >= 0 implies x / n - y / n >= 0.
  bool implies(const Constraint &exact, const Constraint &coarse) {
    if (exact.isEquality || coarse.isEquality || coarse.poly.monomials().size() != 2)
      return false;
    Poly difference, divisor;
    for (auto &[monomial, coefficient] : coarse.poly.monomials()) {
      if (monomial.size() != 1 || std::abs(coefficient) != 1 || space[monomial[0]].kind != Space::FloorDiv)
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

  void peel() {
    while (peelGuard() || peelStride() || peelTile() || peelNeighbours()) {
    }
  }

  ThreadProgram &program;
  Space &space;
  const analysis::LaunchRanges &launches;
  std::vector<Dimension> dimensions;
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
  return !isAtomic && llvm::none_of(loaded, [&](const Base &base) { return llvm::is_contained(stored, base); });
}

/// Counts every loop from 0 by 1.
static void normalize(ThreadProgram &program, std::vector<Statement> &body) {
  Space &space = program.space;
  for (Statement &each : body) {
    if (each.kind == Statement::For) {
      if (each.progress == Statement::Halve || each.progress == Statement::Double)
        return program.refuse("the loop over '" + space[each.variable].name + "' does not count");
      bool isDown = each.progress == Statement::Down;
      Poly one = Poly::constant(1), length = isDown ? each.begin - each.end + one : each.end - each.begin;
      bool isPlain = !isDown && each.begin == Poly() && each.step == one;
      if (!isPlain) {
        Space::Variable counter;
        counter.kind = Space::Loop;
        counter.name = space[each.variable].name;
        counter.low = 0;
        VarId id = space.add(counter);
        Poly moved = each.step * Poly::variable(id), value = isDown ? each.begin - moved : each.begin + moved;
        rewritePolys(each.body, [&](const Poly &poly) { return space.substitute(poly, each.variable, value); });
        if (!(each.step == one))
          length = space.countSteps(length, each.step);
        each.variable = id;
        each.begin = Poly();
        each.end = length;
        each.step = one;
        each.progress = Statement::Add;
      }
    }
    normalize(program, each.body);
  }
}

std::vector<Dimension> formPoints(ThreadProgram &program, const analysis::LaunchRanges &launches) {
  std::vector<Dimension> dimensions = PointFormer(program, launches).form();
  if (program.reason.empty())
    unflatten(program, dimensions);
  if (program.reason.empty())
    normalize(program, program.body);
  if (program.reason.empty())
    joinDigits(program);
  if (program.reason.empty())
    dischargeObligations(program, launches);
  return dimensions;
}

} // namespace kbopt::raise
