//===- JoinLoops.cpp - Loops that walk one line together ---------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns making one loop of two that stand directly in each other, where all that they do depends on
// i * n + j alone: rows that lie one after the other are one row, which threads and blocks can
// share out as they like.
//
//===----------------------------------------------------------------------===//
#include "Points.h"

namespace kbopt::raise {
namespace {

class LoopJoiner {
public:
  explicit LoopJoiner(ThreadProgram &program) : program(program), space(program.space) {}

  void run(std::vector<Statement> &body) {
    for (Statement &each : body) {
      run(each.body);
      while (join(each))
        continue;
    }
  }

private:
  bool isPlain(const Statement &loop) const {
    return loop.kind == Statement::For && loop.progress == Statement::Add && !loop.team &&
           loop.begin == Poly() && loop.step == Poly::constant(1);
  }

  /// Whether \p poly is surely at least 0.
  bool isNotNegative(const Poly &poly) const {
    if (space.isWithin(poly, 0, INT64_MAX))
      return true;
    return llvm::any_of(program.requirements, [&](const Poly &known) {
      const Poly more = poly - known;
      return more.isValid() && more.isConstant() && more.constantTerm() >= 0;
    });
  }

  void require(const Poly &poly) {
    if (!llvm::is_contained(program.requirements, poly))
      program.requirements.push_back(poly);
  }

  /// Makes one loop of \p outer and the loop that is all of its body.
  bool join(Statement &outer) {
    if (!isPlain(outer) || outer.body.size() != 1 || !isPlain(outer.body.front()))
      return false;
    Statement &inner = outer.body.front();
    const VarId i = outer.variable, j = inner.variable;
    const Poly &length = inner.end;
    // A sum is worth a test of the launch.
    const bool isTested = !isNotNegative(length);
    if (outer.order != inner.order || space.dependsOn(length, i) ||
        (isTested && (outer.order != kb::LoopOrder::Reduction || !space.isUniform(length))))
      return false;
    // j = both - i * length; what then still depends on i depends on more than their sum.
    const Poly rest = Poly::variable(j) - Poly::variable(i) * length;
    bool isSum = true;
    std::vector<Statement> body = inner.body;
    rewritePolys(body, [&](const Poly &poly) {
      Poly changed = space.substitute(poly, j, rest);
      isSum &= changed.isValid() && !space.dependsOn(changed, i);
      return changed;
    });
    const Poly both = outer.end * length;
    if (!isSum || !fits(both))
      return false;
    if (isTested)
      require(length);
    space[j].high.reset();
    inner.body = std::move(body);
    inner.end = both;
    Statement joined = std::move(inner);
    outer = std::move(joined);
    return true;
  }

  /// Whether an int counts to \p length; the launch has to show it where constants do not.
  bool fits(const Poly &length) {
    if (!length.isValid())
      return false;
    const Poly left = Poly::constant(INT32_MAX) - length;
    if (left.isConstant())
      return left.constantTerm() >= 0;
    if (!space.isUniform(length))
      return false;
    require(left);
    return true;
  }

  ThreadProgram &program;
  Space &space;
};

} // namespace

void joinLoops(ThreadProgram &program) { LoopJoiner(program).run(program.body); }

} // namespace kbopt::raise
