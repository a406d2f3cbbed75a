//===- PeelPoints.cpp - Guards and loops of a thread as dimensions ------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns taking the guards around a kernel as extents, and joining dimensions with grid-stride loops,
// tiles and neighbours.
//
//===----------------------------------------------------------------------===//
#include "NestScalars.h"
#include "Points.h"
#include "TeamText.h"

namespace kbopt::raise {
namespace {

class PointPeeler {
public:
  PointPeeler(ThreadProgram &program, std::vector<Dimension> &dimensions)
      : program(program), space(program.space), dimensions(dimensions) {}

  void peel() {
    while (peelGuard() || peelCommonGuard() || peelStride() || peelTile() || peelNeighbours()) {
    }
  }

private:
  static Poly var(VarId id) { return Poly::variable(id); }
  static Poly number(int64_t value) { return Poly::constant(value); }
  void require(const Poly &poly) {
    if (poly.isConstant() && poly.constantTerm() >= 0)
      return;
    if (!llvm::is_contained(program.requirements, poly))
      program.requirements.push_back(poly);
  }

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
    return constraint.poly.monomials().size() == 1 &&
           constraint.poly.monomials().begin()->second == 1 &&
           constraint.poly.monomials().begin()->first.size() == 1 &&
           dimensionOf(constraint.poly.monomials().begin()->first[0]);
  }

  bool peelGuard() {
    Statement *guard = onlyStatement(Statement::If);
    if (!guard || llvm::any_of(guard->constraints,
                               [&](const Constraint &each) { return dependsOnLets(each.poly); }))
      return false;
    size_t before = guard->constraints.size();
    llvm::erase_if(guard->constraints, [&](const Constraint &each) { return takeBound(each); });
    if (guard->constraints.empty() && guard->value.text.empty()) {
      replaceByBody(guard);
      return true;
    }
    return guard->constraints.size() < before;
  }

  /// The conditions that all of \p branch is done under: its own, and those of a branch that is all
  /// it consists of.
  static void collectGuards(const Statement &branch, std::vector<Constraint> &guards) {
    guards.insert(guards.end(), branch.constraints.begin(), branch.constraints.end());
    if (branch.body.size() == 1 && branch.body[0].kind == Statement::If)
      collectGuards(branch.body[0], guards);
  }
  static void dropGuard(Statement &branch, const Constraint &guard) {
    llvm::erase_if(branch.constraints, [&](const Constraint &each) {
      return each.poly == guard.poly && !each.isEquality;
    });
    if (branch.body.size() != 1 || branch.body[0].kind != Statement::If)
      return;
    Statement &inner = branch.body[0];
    dropGuard(inner, guard);
    if (inner.constraints.empty() && inner.value.text.empty()) {
      std::vector<Statement> moved = std::move(inner.body);
      branch.body = std::move(moved);
    }
  }

  /// A guard that every one of several branches has.
  bool peelCommonGuard() {
    std::vector<Statement> &body = program.body;
    auto first =
        llvm::find_if(body, [](const Statement &each) { return each.kind != Statement::Let; });
    llvm::MutableArrayRef<Statement> branches(body.data() + (first - body.begin()),
                                              body.end() - first);
    if (branches.size() < 2 ||
        llvm::any_of(branches, [](const Statement &each) { return each.kind != Statement::If; }))
      return false;
    std::vector<Constraint> guards;
    collectGuards(branches.front(), guards);
    for (const Constraint &guard : guards) {
      bool isCommon = !guard.isEquality && !dependsOnLets(guard.poly) &&
                      llvm::all_of(branches, [&](const Statement &each) {
                        std::vector<Constraint> own;
                        collectGuards(each, own);
                        return llvm::any_of(own, [&](const Constraint &other) {
                          return other.poly == guard.poly && !other.isEquality;
                        });
                      });
      if (!isCommon || !takeBound(guard))
        continue;
      for (Statement &branch : branches)
        dropGuard(branch, guard);
      return true;
    }
    return false;
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
      bool sets = each.kind == Statement::Let ||
                  (each.kind == Statement::Assign && !readsOthers(each, each.name));
      if (sets)
        own.insert(each.name);
      std::vector<Statement> below = each.body;
      walk(below, [&](Statement &inner) {
        if (inner.kind == Statement::Let)
          own.insert(inner.name);
        handsOn |= (inner.kind == Statement::Assign || inner.kind == Statement::Combine) &&
                   !own.count(inner.name);
        return true;
      });
      handsOn |= (each.kind == Statement::Assign || each.kind == Statement::Combine) &&
                 !own.count(each.name);
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
    if (!loop || loop->progress != Statement::Add || loop->begin.monomials().size() != 1 ||
        handsOnScalars(*loop))
      return false;
    auto &[monomial, coefficient] = *loop->begin.monomials().begin();
    Dimension *dimension =
        monomial.size() == 1 && coefficient == 1 ? dimensionOf(monomial[0]) : nullptr;
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
    program.onePoint.push_back({loop->variable, dimension->extent - loop->end});
    dimension->variable = loop->variable;
    space[loop->variable].low = 0;
    dimension->extent = loop->end;
    replaceByBody(loop);
    return true;
  }

  /// for (i = T * dim; i < T * dim + T; ++i), or i < T with T * dim + i everywhere: one dimension
  /// of T times as many points.
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
      auto change = [&](const Poly &poly) { return space.substitute(poly, loop->variable, value); };
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
      program.isPointWhole = false;
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
      if (parent->empty() || llvm::any_of(llvm::drop_end(*parent),
                                          [](auto &each) { return each.kind != Statement::Let; }))
        return nullptr;
      Statement &last = parent->back();
      if (last.kind == Statement::If) {
        parent = &last.body;
        continue;
      }
      bool isShort = last.kind == Statement::For && last.progress == Statement::Add &&
                     last.begin == Poly() && last.step == number(1) && last.end.isConstant() &&
                     last.end.constantTerm() >= 2 && last.end.constantTerm() <= 64;
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
                     (operand.kind != Operand::Element || !(operand.base == target.base) ||
                      operand.offset == target.offset);
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
          Poly step = operand.offset.coefficientOf(loop->variable),
               wide = operand.offset.coefficientOf(each.variable);
          Poly rest = operand.offset.without(loop->variable).without(each.variable);
          isTile |= !(step == Poly()) && operand.kind == Operand::Element;
          isOther |= !(wide == step * width) || space.dependsOn(rest, loop->variable) ||
                     space.dependsOn(rest, each.variable);
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
      auto hint =
          llvm::find_if(program.hints, [&](const Hint &known) { return known.poly == var(id); });
      space[id].name = hint == program.hints.end() ? oldName : hint->name;
      program.isPointWhole = false;
      each = {id, each.extent * width};
      return true;
    }
    return false;
  }

  ThreadProgram &program;
  Space &space;
  std::vector<Dimension> &dimensions;
};

} // namespace

void peelDimensions(ThreadProgram &program, std::vector<Dimension> &dimensions) {
  PointPeeler(program, dimensions).peel();
}

} // namespace kbopt::raise
