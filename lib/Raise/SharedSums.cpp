//===- SharedSums.cpp - Sums of a block in shared memory --------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the recognition of a shared array that is set to zero, added to, and added to global memory.
//
//===----------------------------------------------------------------------===//
#include "SharedSums.h"

#include "TeamText.h"

namespace kbopt::raise {
namespace {

using Body = std::vector<Statement>;

/// Elements start + i, for 0 <= i < count, of a shared array, and where they are added in the end.
struct Region {
  Base base;
  Poly start, count;
  std::string type;
  size_t zeroed = 0, added = 0; ///< statements of the block
  Operand target;               ///< at i = `variable`
  VarId variable = 0;
};

bool isShared(const Operand &operand) {
  return operand.kind == Operand::Element && operand.base.memory == Base::Shared;
}

class SharedSums {
public:
  explicit SharedSums(ThreadProgram &program) : program(program), space(program.space) {}

  void run(Body &body, std::vector<const Statement *> guards) {
    if (forward(body, guards))
      return;
    for (Statement &each : body)
      if (each.kind == Statement::If) {
        guards.push_back(&each);
        run(each.body, guards);
        guards.pop_back();
      }
  }

private:
  ThreadProgram &program;
  Space &space;
  std::vector<Region> regions;

  /// for (i = tid; i < count; i += bdim.x).
  static bool isBlockLoop(const Statement &each) {
    return each.kind == Statement::For && each.progress == Statement::Add &&
           each.begin == Poly::variable(analysis::TidVar) &&
           each.step == Poly::variable(analysis::BdimVar);
  }

  /// Writes what each thread does for an element of its own, `bins[tid] = 0` or `if (tid < 64) …`,
  /// as the loop of a block, which it is where there are enough threads.
  void asLoops(Body &body) {
    Poly tid = Poly::variable(analysis::TidVar), bdim = Poly::variable(analysis::BdimVar),
         one = Poly::constant(1);
    for (Statement &each : body) {
      bool isGuarded = each.kind == Statement::If && each.value.text.empty() &&
                       each.constraints.size() == 1 && !each.constraints[0].isEquality &&
                       each.body.size() == 1;
      Statement &inner = isGuarded ? each.body[0] : each;
      Operand *added = inner.kind == Statement::Atomic ? onlyOperand(inner.value) : nullptr;
      const Operand *element = inner.kind == Statement::Store && isShared(inner.target)
                                   ? &inner.target
                               : added && isShared(*added) ? added
                                                           : nullptr;
      if (!element || !(element->offset.coefficientOf(analysis::TidVar) == one))
        continue;
      auto array = llvm::find_if(program.shared, [&](const SharedArray &known) {
        return known.name == element->base.name;
      });
      Poly count = isGuarded                       ? each.constraints[0].poly + tid + one
                   : array != program.shared.end() ? array->elements
                                                   : Poly();
      if (!count.isConstant() || count.constantTerm() < 1)
        continue;
      Space::Variable counter;
      counter.kind = Space::Loop;
      counter.name = "bin";
      while (!program.names.insert(counter.name).second)
        counter.name += "_";
      counter.low = 0;
      counter.high = count.constantTerm() - 1;
      Statement loop;
      loop.kind = Statement::For;
      loop.variable = space.add(counter);
      loop.begin = tid;
      loop.end = count;
      loop.step = bdim;
      loop.body.push_back(inner);
      rewritePolys(loop.body, [&](const Poly &poly) {
        return space.substitute(poly, analysis::TidVar, Poly::variable(loop.variable));
      });
      pending.push_back(bdim - count);
      if (!isGuarded)
        pending.push_back(count - bdim);
      each = std::move(loop);
    }
  }

  /// Whether \p region is all that there is of its array, so that every index lies in it.
  bool isWhole(const Region &region) {
    auto array = llvm::find_if(
        program.shared, [&](const SharedArray &known) { return known.name == region.base.name; });
    return region.start == Poly() && array != program.shared.end() && array->elements.isValid() &&
           region.count == array->elements;
  }

  bool forward(Body &body, const std::vector<const Statement *> &guards) {
    regions.clear();
    pending.clear();
    Body result = body;
    asLoops(result);
    findZeros(result);
    if (regions.empty() || !findEnds(result))
      return false;
    for (size_t i = 0; i < result.size(); ++i)
      if (!replaceIn(result[i], result, i, nullptr))
        return false;
    for (const Statement *guard : guards)
      if (!holdsForAll(*guard))
        return false;
    Body others = program.body;
    size_t uses = countUses(others), here = countUses(body);
    if (uses != here)
      return false; // another part of the kernel uses shared memory
    strip(result);
    if (countUses(result))
      return false;
    for (const Poly &requirement : pending)
      program.requirements.push_back(requirement);
    body = std::move(result);
    return true;
  }

  size_t countUses(Body &body) {
    size_t count = 0;
    walk(body, [&](Statement &each) {
      forEachOperand(each, [&](Operand &operand) { count += isShared(operand); });
      return true;
    });
    return count;
  }

  void findZeros(Body &body) {
    for (size_t i = 0; i < body.size(); ++i) {
      if (!isBlockLoop(body[i]))
        continue;
      for (Statement &each : body[i].body) {
        bool isZero = each.kind == Statement::Store && isShared(each.target) &&
                      each.value.isPlain() && isIdentity(each.value.text, "add");
        if (!isZero || each.target.offset.coefficientOf(body[i].variable) != Poly::constant(1))
          return;
        Region region;
        region.base = each.target.base;
        region.start = each.target.offset.without(body[i].variable);
        region.count = body[i].end;
        region.type = each.target.type;
        region.zeroed = i;
        if (!space.isUniform(region.start) || !space.isUniform(region.count))
          return;
        regions.push_back(region);
      }
    }
  }

  Region *regionAt(const Operand &operand, const Poly &start, const Poly &count) {
    for (Region &region : regions)
      if (region.base == operand.base && region.start == start && region.count == count &&
          region.type == operand.type)
        return &region;
    return nullptr;
  }

  bool findEnds(Body &body) {
    size_t found = 0;
    for (size_t i = 0; i < body.size(); ++i) {
      if (!isBlockLoop(body[i]))
        continue;
      for (Statement &each : body[i].body) {
        Operand *operand = onlyOperand(each.value);
        if (each.kind != Statement::Atomic || !operand || !isShared(*operand))
          continue;
        Poly index = Poly::variable(body[i].variable);
        Region *region = regionAt(*operand, operand->offset - index, body[i].end);
        bool isPlain = each.function == "atomicAdd" && each.target.base.memory == Base::Global &&
                       each.target.type == operand->type;
        if (!region || !isPlain || region->added || region->zeroed >= i ||
            space.dependsOn(each.target.offset, analysis::TidVar) ||
            space.dependsOn(each.target.offset, analysis::BidVar))
          return false;
        region->added = i;
        region->target = each.target;
        region->variable = body[i].variable;
        ++found;
      }
    }
    auto hasBarrier = [&](size_t from, size_t to) {
      for (size_t i = from + 1; i < to; ++i)
        if (body[i].kind == Statement::Barrier && body[i].function != "__syncwarp")
          return true;
      return false;
    };
    return found == regions.size() && llvm::all_of(regions, [&](Region &region) {
             return hasBarrier(region.zeroed, region.added);
           });
  }

  /// Additions to shared elements below \p each, statement \p at of \p body, which \p loop
  /// encloses.
  bool replaceIn(Statement &each, Body &body, size_t at, const Statement *loop) {
    for (Region &region : regions)
      if (at == region.zeroed || at == region.added)
        return true;
    if (each.kind == Statement::Atomic && isShared(each.target)) {
      if (each.function != "atomicAdd")
        return false;
      Poly index = loop ? Poly::variable(loop->variable) : Poly();
      Region *region = nullptr;
      bool isInLoop = false;
      for (Region &known : regions)
        if (loop && known.base == each.target.base && each.target.offset - index == known.start &&
            loop->end == known.count)
          region = &known, isInLoop = true;
      for (Region &known : regions)
        if (!region && known.base == each.target.base && isWhole(known)) {
          region = &known;
          index = each.target.offset;
        }
      bool isOrdered =
          region && region->zeroed < at && at < region->added && separated(body, *region, at);
      if (!isOrdered || each.target.type != region->type ||
          (isInLoop &&
           (loop->progress != Statement::Add || !space.isWithin(loop->begin, 0, INT32_MAX))))
        return false;
      each.target = region->target;
      each.target.offset = space.substitute(each.target.offset, region->variable, index);
    }
    for (Statement &inner : each.body)
      if (!replaceIn(inner, body, at, each.kind == Statement::For ? &each : loop))
        return false;
    return true;
  }

  bool separated(Body &body, const Region &region, size_t at) {
    bool before = false, after = false;
    for (size_t i = region.zeroed + 1; i < region.added; ++i)
      if (body[i].kind == Statement::Barrier && body[i].function != "__syncwarp")
        (i < at ? before : after) = true;
    return before && after;
  }

  std::vector<Poly> pending;

  /// Not negative, and largest in the last thread of the last block.
  bool isCount(VarId var) const {
    const Space::Variable &known = space[var];
    bool isQuotient = known.kind == Space::FloorDiv && known.divisor.isConstant();
    return var < analysis::FirstOtherVar ||
           (isQuotient && (space.isUniform(known.dividend) ||
                           known.dividend == Poly::variable(analysis::TidVar)));
  }

  /// Threads that have left would leave elements at which they were not zero: the launch must have
  /// none.
  bool holdsForAll(const Statement &guard) {
    if (!guard.value.text.empty())
      return false;
    for (const Constraint &constraint : guard.constraints) {
      Poly last = constraint.poly;
      if (!space.dependsOn(last, analysis::TidVar))
        continue;
      // The last thread of the last block has the smallest value.
      for (auto &[monomial, factor] : last.monomials()) {
        bool isOfThread = false;
        for (VarId var : monomial)
          isOfThread |=
              var == analysis::BidVar || space.dependsOn(Poly::variable(var), analysis::TidVar);
        for (VarId var : monomial)
          if (isOfThread && (factor > 0 || !isCount(var)))
            return false;
      }
      if (constraint.isEquality)
        return false;
      for (VarId var : space.variables(constraint.poly)) {
        const Space::Variable known = space[var];
        if (known.kind == Space::FloorDiv && known.dividend == Poly::variable(analysis::TidVar))
          last = space.substitute(last, var,
                                  space.floorDiv(Poly::variable(analysis::BdimVar), known.divisor) -
                                      Poly::constant(1));
      }
      last = space.substitute(last, analysis::TidVar,
                              Poly::variable(analysis::BdimVar) - Poly::constant(1));
      last = space.substitute(last, analysis::BidVar,
                              Poly::variable(analysis::GdimVar) - Poly::constant(1));
      if (!space.isUniform(last))
        return false;
      pending.push_back(last);
    }
    return true;
  }

  /// Removes the loops that set to zero and add in the end, and the barriers around them.
  void strip(Body &body) {
    std::set<size_t> gone;
    for (const Region &region : regions)
      gone.insert({region.zeroed, region.added});
    for (size_t i = body.size(); i-- > 0;) {
      bool isBarrier = body[i].kind == Statement::Barrier && body[i].function != "__syncwarp";
      if (isBarrier)
        body.erase(body.begin() + i);
      else if (gone.count(i))
        llvm::erase_if(body[i].body, [](Statement &each) {
          bool isEnd = each.kind == Statement::Atomic && !each.value.operands.empty() &&
                       isShared(each.value.operands[0]);
          return (each.kind == Statement::Store && isShared(each.target)) || isEnd;
        });
      if (!isBarrier && gone.count(i) && body[i].body.empty())
        body.erase(body.begin() + i);
    }
  }
};

} // namespace

void forwardSharedSums(ThreadProgram &program) {
  if (program.reason.empty())
    SharedSums(program).run(program.body, {});
}

} // namespace kbopt::raise
