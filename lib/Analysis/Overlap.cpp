//===- Overlap.cpp - Whether accesses can touch the same bytes --------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the overlap questions of Legality.h. Addresses over unknown array extents
// are first taken apart into rows and columns (a * n + b with 0 <= b < n), which
// makes them linear.
//
//===----------------------------------------------------------------------===//
#include "LinearSystem.h"
#include "kb-opt/Analysis/Legality.h"
#include "kb-opt/Analysis/Reuse.h"

using namespace mlir;

namespace kbopt {

using analysis::LinearSystem;
using analysis::Poly;
using analysis::VarId;

namespace {

/// One question about two accesses.
class OverlapQuestion {
public:
  OverlapQuestion(kb::AccessOp first, kb::AccessOp second, const LaunchValues &given,
                  LinearSystem::Sharing sharing, bool estimate = false)
      : first(first), second(second), values(given), base(values), estimate(estimate) {
    base.sharing = sharing;
  }

  /// Adds what is known of both, and that their bytes meet. False if an address
  /// is unknown.
  bool prepare() {
    if (!first.getAddressAttr() || !second.getAddressAttr())
      return false;
    complete = base.addDomain(first, 0);
    complete &= base.addDomain(second, 1);
    Poly a = address(first, 0), b = address(second, 1);
    if (!a.isValid() || !b.isValid())
      return false;
    int64_t bytesA = first.getBytes(), bytesB = second.getBytes();
    if (bytesA <= 0 || bytesB <= 0)
      return false;
    auto inElements = [&](const Poly &poly) -> std::optional<Poly> {
      Poly result;
      for (auto &[monomial, coefficient] : poly.monomials()) {
        if (coefficient % bytesA)
          return std::nullopt;
        Poly term = Poly::constant(coefficient / bytesA);
        for (VarId var : monomial)
          term = term * Poly::variable(var);
        result = result + term;
      }
      return result;
    };
    auto elementA = inElements(a), elementB = inElements(b);
    if (bytesA == bytesB && elementA && elementB) {
      equate(*elementA, *elementB, 0);
    } else {
      base.addInequality(a - b + Poly::constant(bytesA - 1));
      base.addInequality(b - a + Poly::constant(bytesB - 1));
    }
    return true;
  }

  /// \p disjoint, unless the addresses or domains rest on what is not proven.
  Answer ifCertain(Answer disjoint) const {
    if (estimate)
      return disjoint;
    for (kb::AccessOp access : {first, second})
      if (std::string doubt = unprovenAssumption(access); !doubt.empty())
        return Answer::dontKnow("accesses to '" + access.getBase().getName().str() +
                                "' are disjoint only if " + doubt + ", which is not proven");
    return disjoint;
  }

  /// Answers for the cases that \p restrict makes of the system.
  template <typename Fn> Answer decide(unsigned cases, Fn restrict) {
    bool found = false;
    for (unsigned i = 0; i < cases; ++i) {
      LinearSystem system = base;
      restrict(system, i);
      if (system.isEmpty())
        continue;
      if (!complete || !system.isExact())
        return Answer::dontKnow("accesses to '" + first.getBase().getName().str() +
                                "' cannot be shown to be disjoint");
      found = true;
    }
    if (found)
      return Answer::yes("accesses to '" + first.getBase().getName().str() + "' meet");
    return ifCertain(
        Answer::no("accesses to '" + first.getBase().getName().str() + "' are disjoint"));
  }

private:
  Poly address(kb::AccessOp access, unsigned instance) {
    kb::ExprAttr expr = access.getAddressAttr();
    return base.import(access, expr.getExpr(), expr.getLoops(), expr.getSymbols(), instance);
  }

  /// Whether \p poly lies in [0, bound) wherever both domains hold.
  bool isWithin(const Poly &poly, const Poly &bound) {
    LinearSystem below = base, above = base;
    below.addInequality(poly * Poly::constant(-1) - Poly::constant(1));
    above.addInequality(poly - bound);
    return below.isEmpty() && above.isEmpty();
  }

  /// a == b. Where both are `q * n + r` with r in [0, n), that is two equations.
  void equate(const Poly &a, const Poly &b, unsigned depth) {
    std::set<VarId> factors;
    for (const Poly *poly : {&a, &b})
      for (auto &[monomial, coefficient] : poly->monomials())
        if (monomial.size() > 1)
          factors.insert(monomial.begin(), monomial.end());
    for (VarId var : factors) {
      if (depth > 4)
        break;
      Poly quotientA = a.coefficientOf(var), quotientB = b.coefficientOf(var);
      if (!quotientA.isValid() || !quotientB.isValid())
        continue;
      Poly restA = a.without(var), restB = b.without(var), extent = Poly::variable(var);
      if (!isWithin(restA, extent) || !isWithin(restB, extent))
        continue;
      equate(quotientA, quotientB, depth + 1);
      equate(restA, restB, depth + 1);
      return;
    }
    base.addEquality(a - b);
  }

  kb::AccessOp first, second;
  LaunchValues values;
  LinearSystem base;
  bool estimate; ///< what is not proven may be assumed
  bool complete = true;
};

/// Asks with \p values; where that is undecided because the block's extents are
/// unknown, looks for an example with extents of 8.
template <typename Fn> Answer askTwice(const LaunchValues &values, Fn ask) {
  Answer answer = ask(values);
  if (!answer.unknown() ||
      llvm::all_of(values.block, [](auto &extent) { return extent.has_value(); }))
    return answer;
  LaunchValues example = values;
  for (auto &extent : example.block)
    if (!extent)
      extent = 8;
  Answer second = ask(example);
  return second.proven() ? second : answer;
}

/// \p given with what all launches of the kernel agree on.
LaunchValues withLaunches(kb::AccessOp access, const LaunchValues &given) {
  LaunchValues values = given;
  auto common = LaunchValues::common(access->getParentOfType<kb::KernelOp>());
  for (unsigned c = 0; c < 3; ++c) {
    if (!values.block[c])
      values.block[c] = common.block[c];
    if (!values.grid[c])
      values.grid[c] = common.grid[c];
  }
  return values;
}

} // namespace

static Answer askThreads(kb::AccessOp first, kb::AccessOp second, const LaunchValues &values,
                         bool sameBlock, bool estimate = false);

Answer threadsMayOverlap(kb::AccessOp first, kb::AccessOp second, const LaunchValues &values,
                         bool sameBlock) {
  sameBlock |=
      first.getSpace() == kb::MemorySpace::Shared || second.getSpace() == kb::MemorySpace::Shared;
  if (first.getSpace() == kb::MemorySpace::Local || second.getSpace() == kb::MemorySpace::Local)
    return Answer::no("local memory belongs to one thread");
  return askTwice(withLaunches(first, values), [&](const LaunchValues &known) {
    return askThreads(first, second, known, sameBlock);
  });
}

static Answer askThreads(kb::AccessOp first, kb::AccessOp second, const LaunchValues &values,
                         bool sameBlock, bool estimate) {
  OverlapQuestion question(first, second, values, LinearSystem::Sharing::Apart, estimate);
  if (!question.prepare())
    return Answer::dontKnow("an address in '" + first.getBase().getName().str() +
                            "' is not affine");
  // One case per way in which two threads differ: a component of the thread
  // index in one block, or of the block index; either may be the smaller.
  return question.decide(sameBlock ? 6 : 12, [&](LinearSystem &system, unsigned number) {
    unsigned c = number % 3, less = number / 3 % 2, more = 1 - less;
    bool byBlock = number >= 6;
    Poly one = Poly::constant(1);
    if (byBlock) {
      system.addInequality(Poly::variable(system.dim(more, kb::bidDim + c)) -
                           Poly::variable(system.dim(less, kb::bidDim + c)) - one);
      system.addInequality(system.blockStart(more, c) - system.blockStart(less, c) -
                           system.blockDim(c));
      return;
    }
    system.addInequality(Poly::variable(system.dim(more, kb::tidDim + c)) -
                         Poly::variable(system.dim(less, kb::tidDim + c)) - one);
    for (unsigned d = 0; d < 3; ++d) {
      system.addEquality(Poly::variable(system.dim(0, kb::bidDim + d)) -
                         Poly::variable(system.dim(1, kb::bidDim + d)));
      system.addEquality(system.blockStart(0, d) - system.blockStart(1, d));
    }
  });
}

static Answer askThread(kb::AccessOp first, kb::AccessOp second, bool acrossIterations,
                        const LaunchValues &values, bool estimate = false) {
  OverlapQuestion question(first, second, values,
                           acrossIterations ? LinearSystem::Sharing::SameThread
                                            : LinearSystem::Sharing::SameIteration,
                           estimate);
  if (!question.prepare())
    return Answer::dontKnow("an address in '" + first.getBase().getName().str() +
                            "' is not affine");
  SmallVector<kb::LoopOp> loopsA = kb::enclosingLoops(first), loopsB = kb::enclosingLoops(second);
  return question.decide(1, [&](LinearSystem &system, unsigned) {
    auto equal = [&](unsigned dim) {
      system.addEquality(Poly::variable(system.dim(0, dim)) - Poly::variable(system.dim(1, dim)));
    };
    for (unsigned c = 0; c < kb::firstLoopDim; ++c)
      equal(c);
    for (unsigned c = 0; c < 3; ++c)
      system.addEquality(system.blockStart(0, c) - system.blockStart(1, c));
    for (size_t i = 0; !acrossIterations && i < std::min(loopsA.size(), loopsB.size()); ++i)
      if (loopsA[i] == loopsB[i])
        equal(kb::firstLoopDim + i);
  });
}

Answer sameThreadMayOverlap(kb::AccessOp first, kb::AccessOp second, bool acrossIterations,
                            const LaunchValues &values) {
  return askTwice(withLaunches(first, values), [&](const LaunchValues &known) {
    return askThread(first, second, acrossIterations, known);
  });
}

/// What is likely of \p access's launches: axes that no address of the kernel uses have the
/// extent 1; others, where \p invent, a small one.
static LaunchValues likelyValues(kb::AccessOp access, bool invent) {
  LaunchValues values = withLaunches(access, {});
  std::array<bool, 3> used = {};
  access->getParentOfType<kb::KernelOp>()->walk([&](kb::AccessOp other) {
    if (kb::ExprAttr address = other.getAddressAttr())
      for (unsigned c = 0; c < 3; ++c)
        used[c] |= address.getMap().isFunctionOfDim(kb::tidDim + c) ||
                   address.getMap().isFunctionOfDim(kb::bidDim + c);
  });
  for (unsigned c = 0; c < 3; ++c) {
    if (!values.block[c] && (invent || !used[c]))
      values.block[c] = used[c] ? 8 : 1;
    if (!values.grid[c] && (invent || !used[c]))
      values.grid[c] = used[c] ? 4 : 1;
  }
  return values;
}

Answer isTouchedAgain(kb::AccessOp first, kb::AccessOp second) {
  for (kb::LoopOp loop : kb::enclosingLoops(first)) {
    StrideClass stride = loopStride(first, loop.getName(), likelyValues(first, false)).kind;
    if (first == second && (stride == StrideClass::Uniform || stride == StrideClass::Unknown))
      return Answer::yes("loop '" + loop.getName().str() +
                         "' comes back to the same elements of '" +
                         first.getBase().getName().str() + "'");
  }
  Answer answer;
  for (bool invent : {false, true}) {
    LaunchValues values = likelyValues(first, invent);
    answer = askThreads(first, second, values, /*sameBlock=*/false, /*estimate=*/true);
    if (answer.refuted() && first != second)
      answer = askThread(first, second, /*acrossIterations=*/true, values, /*estimate=*/true);
    if (!answer.unknown())
      break;
  }
  return answer;
}

} // namespace kbopt
