//===- ParallelLoops.cpp - Loops of a point that are dimensions ---------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns turning a loop that one thread runs, and whose iterations are independent, into a dimension
// of the nest: then the sum inside it has two dimensions, and a triangle is a domain.
//
//===----------------------------------------------------------------------===//
#include "EmitNest.h"
#include "kb-opt/Raise/Legality.h"

namespace kbopt::raise {
namespace {

class LoopPromoter {
public:
  LoopPromoter(ThreadProgram &program, std::vector<Dimension> &dimensions)
      : program(program), space(program.space), dimensions(dimensions) {}

  /// Makes a dimension of the loop that ends the body. False if that is no gain, or not certain to
  /// be right but for elements that two iterations touch.
  bool promote() {
    Statement *loop = lastLoop();
    if (!loop || loop->order == kb::LoopOrder::Reduction || leavesScalars(*loop))
      return false;
    std::optional<Poly> slope = slopeOf(loop->end);
    if (!slope || (*slope == Poly() && !hasReduction(loop->body)))
      return false;
    Statement inner = std::move(*loop);
    program.body.pop_back();
    return addDimension(std::move(inner), *slope);
  }

private:
  /// The loop at the end of the body, if it is the only one.
  Statement *lastLoop() {
    if (program.body.empty() || program.body.back().kind != Statement::For ||
        program.body.back().progress == Statement::Until)
      return nullptr;
    for (size_t i = 0; i + 1 < program.body.size(); ++i) {
      bool hasLoop = false;
      std::vector<Statement> one{program.body[i]};
      walk(one, [&](Statement &each) {
        hasLoop |= each.kind == Statement::For;
        return true;
      });
      if (hasLoop)
        return nullptr;
    }
    return &program.body.back();
  }

  static bool hasReduction(std::vector<Statement> &body) {
    bool found = false;
    walk(body, [&](Statement &each) {
      found |= each.kind == Statement::For && each.order == kb::LoopOrder::Reduction;
      return true;
    });
    return found;
  }

  /// Whether an iteration changes a scalar that others, or what follows, may read.
  static bool leavesScalars(Statement &loop) {
    std::set<std::string> declared;
    bool leaves = false;
    walk(loop.body, [&](Statement &each) {
      if (each.kind == Statement::Let)
        declared.insert(each.name);
      return true;
    });
    walk(loop.body, [&](Statement &each) {
      leaves |= (each.kind == Statement::Assign || each.kind == Statement::Combine) &&
                !declared.count(each.name);
      leaves |= each.kind == Statement::Atomic;
      return true;
    });
    return leaves;
  }

  /// The part of \p length that differs between points: a sum of dimensions with constant factors.
  std::optional<Poly> slopeOf(const Poly &length) {
    Poly slope;
    for (const Dimension &each : dimensions) {
      Poly factor = length.coefficientOf(each.variable);
      if (!factor.isValid() || !factor.isConstant())
        return std::nullopt;
      slope = slope + factor * Poly::variable(each.variable);
    }
    return space.isUniform(length - slope) ? std::optional(slope) : std::nullopt;
  }

  /// How many accesses of \p body vary with \p variable and with one of \p others.
  size_t mixedAccesses(std::vector<Statement> body, VarId variable, const Poly &others) {
    size_t mixed = 0;
    walk(body, [&](Statement &each) {
      forEachOperand(each, [&](Operand &operand) {
        bool varies = space.dependsOn(operand.offset, variable), varies2 = false;
        for (VarId id : space.variables(others))
          varies2 |= space.dependsOn(operand.offset, id);
        mixed += varies && varies2;
      });
      return true;
    });
    return mixed;
  }

  void require(const Poly &poly) {
    if ((!poly.isConstant() || poly.constantTerm() < 0) &&
        !llvm::is_contained(program.requirements, poly))
      program.requirements.push_back(poly);
  }

  bool addDimension(Statement loop, const Poly &slope) {
    Poly one = Poly::constant(1), counter = Poly::variable(loop.variable);
    Dimension added{loop.variable, loop.end};
    std::vector<Constraint> conditions;
    if (!(slope == Poly())) {
      std::map<VarId, std::pair<Poly, Poly>> ends;
      for (const Dimension &each : dimensions)
        ends[each.variable] = {Poly(), each.extent};
      std::optional<Poly> most = bound(program, ends, loop.end, true);
      if (!most)
        return false;
      // for (j = i + 1; j < n; ++j): counted from where the first point begins, elements at j vary
      // with j alone.
      std::vector<Statement> moved = loop.body;
      rewritePolys(moved, [&](const Poly &poly) {
        return space.substitute(poly, loop.variable, counter + slope);
      });
      bool mayMove = llvm::all_of(slope.monomials(), [](auto &term) { return term.second < 0; });
      if (mayMove && mixedAccesses(moved, loop.variable, slope) <
                         mixedAccesses(loop.body, loop.variable, slope)) {
        loop.body = std::move(moved);
        conditions.push_back({counter + slope});
        added.extent = loop.end - slope;
      } else {
        conditions.push_back({loop.end - one - counter});
        added.extent = *most;
      }
    }
    guardStores(added);
    if (conditions.empty()) {
      for (Statement &each : loop.body)
        program.body.push_back(std::move(each));
    } else {
      Statement guard;
      guard.kind = Statement::If;
      guard.constraints = std::move(conditions);
      guard.body = std::move(loop.body);
      program.body.push_back(std::move(guard));
    }
    space[added.variable].low = 0;
    dimensions.push_back(std::move(added));
    return true;
  }

  /// What the thread did once beside the loop is done by the first point along \p dimension.
  void guardStores(const Dimension &dimension) {
    std::vector<Statement> before = std::exchange(program.body, {});
    Statement once;
    once.kind = Statement::If;
    once.constraints.push_back({Poly::variable(dimension.variable), true});
    for (Statement &each : before) {
      bool isScalar = each.kind == Statement::Let || each.kind == Statement::Assign ||
                      each.kind == Statement::Combine;
      if (isScalar) {
        program.body.push_back(std::move(each));
        continue;
      }
      Statement first = once;
      first.body.push_back(std::move(each));
      program.body.push_back(std::move(first));
      require(dimension.extent - Poly::constant(1));
    }
  }

  ThreadProgram &program;
  Space &space;
  std::vector<Dimension> &dimensions;
};

} // namespace

kb::NestOp withLoopsAsDimensions(const ThreadProgram &program, llvm::ArrayRef<Dimension> dimensions,
                                 kb::KernelOp kernel, mlir::OpBuilder &builder, double seconds) {
  ThreadProgram wider = program;
  std::vector<Dimension> all(dimensions.begin(), dimensions.end());
  if (!LoopPromoter(wider, all).promote())
    return {};
  while (LoopPromoter(wider, all).promote()) {
  }
  kb::NestOp nest = emitNest(wider, all, kernel, builder);
  if (nest && isLegalNest(nest, seconds).proven())
    return nest;
  if (nest)
    nest.erase();
  return {};
}

void requireRowLengths(ThreadProgram &program, llvm::ArrayRef<Dimension> dimensions) {
  constexpr int64_t shortestRow = 8;
  std::map<VarId, std::pair<Poly, Poly>> ends = loopRanges(program.body);
  for (const Dimension &each : dimensions)
    ends[each.variable] = {Poly(), each.extent};
  std::vector<Base> stored;
  std::vector<Operand> accesses;
  walk(program.body, [&](Statement &each) {
    if (each.kind == Statement::Store)
      stored.push_back(each.target.base);
    forEachOperand(each, [&](Operand &operand) {
      if (operand.kind == Operand::Element)
        accesses.push_back(operand);
    });
    return true;
  });
  llvm::erase_if(accesses,
                 [&](const Operand &each) { return !llvm::is_contained(stored, each.base); });
  std::set<int64_t> lengths;
  for (const Operand &each : accesses)
    for (auto &[monomial, coefficient] : each.offset.monomials())
      if (monomial.size() == 1 && std::abs(coefficient) >= shortestRow)
        lengths.insert(std::abs(coefficient));
  for (int64_t length : lengths) {
    // 1025 * i beside 1024 * j is a diagonal.
    if (llvm::any_of(lengths, [&](int64_t other) { return other < length && length % other != 0; }))
      continue;
    for (const Operand &each : accesses) {
      Poly rest;
      for (auto &[monomial, coefficient] : each.offset.monomials()) {
        int64_t times = (coefficient + (coefficient < 0 ? -(length / 2) : length / 2)) / length;
        Poly term = Poly::constant(coefficient - times * length);
        for (VarId id : monomial)
          term = term * Poly::variable(id);
        rest = rest + term;
      }
      std::optional<Poly> least = bound(program, ends, rest, false),
                          most = bound(program, ends, rest, true);
      if (!least || !most)
        continue;
      for (const Poly &each : {*least, Poly::constant(length - 1) - *most})
        if (!each.isConstant() && !llvm::is_contained(program.requirements, each))
          program.requirements.push_back(each);
    }
  }
}

} // namespace kbopt::raise
