//===- LoopShapes.cpp - Loops in a form that says more -------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns two changes of loops that keep what each element goes through, in its order, and one of
// scalars:
//
//   for (i) out[i] = 0;                           for (i) {
//   for (k) for (i) out[i] += a[k] * b[k][i];  =>   out[i] = 0;
//                                                   for (k) out[i] += a[k] * b[k][i];
//                                                 }
// so that an element that is updated in memory becomes a sum, and
//
//   for (k < n) { if (k <= t) A; if (k > t) B; }  =>  for (k < t + 1) A;  for (k < n - t - 1) B at
//   k + t + 1;
//
// and `T x = a; if (c) x = b;` becomes `T x = c ? b : a;` where c is no condition on indices.
//
//===----------------------------------------------------------------------===//
#include "Points.h"

namespace kbopt::raise {
namespace {

class LoopShaper {
public:
  LoopShaper(ThreadProgram &program, llvm::ArrayRef<Dimension> dimensions)
      : program(program), space(program.space), dimensions(dimensions) {}

  void run(std::vector<Statement> &body) {
    for (size_t i = 0; i < body.size(); ++i) {
      joinChoice(body, i);
      if (body[i].kind == Statement::For)
        split(body, i);
      run(body[i].body);
      if (body[i].kind == Statement::For && exchange(body, i))
        i -= joinInit(body, i);
    }
  }

private:
  static bool isCounted(const Statement &loop) {
    return loop.kind == Statement::For && loop.progress == Statement::Add && loop.begin == Poly() &&
           loop.step == Poly::constant(1);
  }

  //===-- A scalar that is chosen ------------------------------------------===//

  static bool readsElement(const Text &text) {
    return llvm::any_of(text.operands,
                        [](const Operand &each) { return each.kind != Operand::Index; });
  }

  /// \p from with its holes numbered after those of \p to, whose operands get its own.
  static std::string appended(Text &to, const Text &from) {
    std::string result;
    llvm::StringRef rest = from.text;
    for (size_t at; (at = rest.find('$')) != llvm::StringRef::npos;) {
      result += rest.take_front(at + 1);
      rest = rest.drop_front(at + 1);
      unsigned hole = 0;
      rest.consumeInteger(10, hole);
      result += std::to_string(hole + to.operands.size());
    }
    to.operands.insert(to.operands.end(), from.operands.begin(), from.operands.end());
    return "(" + result + rest.str() + ")";
  }

  /// Takes the condition after the let at \p at into its value.
  static void joinChoice(std::vector<Statement> &body, size_t at) {
    if (at + 1 >= body.size() || body[at].kind != Statement::Let || body[at].symbol ||
        body[at].value.text.empty() || body[at + 1].kind != Statement::If)
      return;
    Statement &let = body[at], &choice = body[at + 1];
    if (!choice.constraints.empty() || choice.value.text.empty() || choice.body.size() != 1 ||
        readsElement(choice.value) || readsElement(let.value))
      return;
    const Statement &assign = choice.body.front();
    auto names = [&](const Text &text) { return llvm::StringRef(text.text).contains(let.name); };
    if (assign.kind != Statement::Assign || assign.name != let.name || names(assign.value) ||
        names(choice.value))
      return;
    Text value;
    std::string condition = appended(value, choice.value), chosen = appended(value, assign.value),
                other = appended(value, let.value), type = "(" + let.type + ")";
    value.text = condition + " ? " + type + chosen + " : " + type + other;
    let.value = std::move(value);
    body.erase(body.begin() + at + 1);
  }

  //===-- An element's updates together ----------------------------------===//

  /// Whether every access of \p body to a base that it stores to is one element of the iteration of
  /// \p inner, the same in every iteration of \p outer.
  bool ownsWhatItStores(std::vector<Statement> &body, VarId inner, std::optional<VarId> outer) {
    std::vector<Operand> targets;
    bool isPlain = true;
    for (Statement &each : body) {
      isPlain &= each.kind == Statement::Let || each.kind == Statement::Store;
      if (each.kind == Statement::Store &&
          llvm::none_of(targets, [&](auto &known) { return known.base == each.target.base; }))
        targets.push_back(each.target);
    }
    auto names = [&](const Poly &poly) {
      return llvm::any_of(body, [&](Statement &each) {
        return each.symbol && space.dependsOn(poly, *each.symbol);
      });
    };
    for (const Operand &target : targets) {
      Poly stride = target.offset.coefficientOf(inner);
      isPlain &= stride.isConstant() && stride.constantTerm() != 0 &&
                 !space.dependsOn(target.offset.without(inner), inner) && !names(target.offset);
      isPlain &= !outer || !space.dependsOn(target.offset, *outer);
      for (Statement &each : body)
        forEachOperand(each, [&](Operand &operand) {
          isPlain &= operand.kind != Operand::Element || !(operand.base == target.base) ||
                     operand.offset == target.offset;
        });
    }
    return isPlain && !targets.empty();
  }

  static bool mentionsBase(std::vector<Statement> &body, size_t count,
                           std::vector<Statement> &stores) {
    bool found = false;
    for (size_t i = 0; i < count; ++i)
      forEachOperand(body[i], [&](Operand &operand) {
        for (Statement &store : stores)
          found |= operand.kind == Operand::Element && store.kind == Statement::Store &&
                   operand.base == store.target.base;
      });
    return found;
  }

  /// for (k) { lets; for (i) ... } becomes for (i) for (k) { lets; ... }.
  bool exchange(std::vector<Statement> &body, size_t at) {
    Statement &outer = body[at];
    if (!isCounted(outer) || outer.body.empty() || !isCounted(outer.body.back()))
      return false;
    Statement &inner = outer.body.back();
    size_t lets = outer.body.size() - 1;
    // Neither the inner loop nor where it stores may depend on what differs from one iteration to
    // the next.
    auto dependsOnLet = [&](const Poly &poly) {
      return llvm::any_of(outer.body, [&](Statement &each) {
        return each.symbol && space.dependsOn(poly, *each.symbol);
      });
    };
    for (size_t i = 0; i < lets; ++i)
      if (outer.body[i].kind != Statement::Let)
        return false;
    if (dependsOnLet(inner.end))
      return false;
    for (Statement &each : inner.body)
      if (each.kind == Statement::Store && dependsOnLet(each.target.offset))
        return false;
    if (space.dependsOn(inner.end, outer.variable) || space.dependsOn(outer.end, inner.variable) ||
        !ownsWhatItStores(inner.body, inner.variable, outer.variable) ||
        mentionsBase(outer.body, lets, inner.body))
      return false;
    Statement newOuter = inner, newInner = std::move(outer);
    std::vector<Statement> work = std::move(newOuter.body);
    newInner.body.pop_back();
    for (Statement &each : work)
      newInner.body.push_back(std::move(each));
    newOuter.body.clear();
    newOuter.body.push_back(std::move(newInner));
    body[at] = std::move(newOuter);
    return true;
  }

  /// Moves the loop before the one at \p at, which gives its elements their first values, into it.
  /// Returns how many statements are gone.
  size_t joinInit(std::vector<Statement> &body, size_t at) {
    if (at == 0 || !isCounted(body[at - 1]) || !(body[at - 1].end == body[at].end))
      return 0;
    Statement &init = body[at - 1], &loop = body[at];
    if (!ownsWhatItStores(init.body, init.variable, std::nullopt))
      return 0;
    std::vector<Statement> moved = init.body;
    Poly value = Poly::variable(loop.variable);
    rewritePolys(moved,
                 [&](const Poly &poly) { return space.substitute(poly, init.variable, value); });
    // Whatever both touch, one of them storing to it, must be the same element.
    bool isSame = true;
    std::vector<std::pair<Operand, bool>> first, second;
    auto collect = [](std::vector<Statement> &from, std::vector<std::pair<Operand, bool>> &to) {
      walk(from, [&](Statement &each) {
        for (Operand &operand : each.value.operands)
          if (operand.kind == Operand::Element)
            to.push_back({operand, false});
        if (each.kind == Statement::Store)
          to.push_back({each.target, true});
        return true;
      });
    };
    collect(moved, first);
    collect(loop.body, second);
    for (auto &[a, aStores] : first)
      for (auto &[b, bStores] : second)
        isSame &= !(aStores || bStores) || !(a.base == b.base) || a.offset == b.offset;
    if (!isSame)
      return 0;
    loop.body.insert(loop.body.begin(), std::make_move_iterator(moved.begin()),
                     std::make_move_iterator(moved.end()));
    body.erase(body.begin() + at - 1);
    return 1;
  }

  //===-- A condition on the counter --------------------------------------===//

  /// The number of iterations, from the first one, in which \p each is done: a poly, if it is
  /// `counter < poly`.
  std::optional<Poly> lengthOf(const Statement &each, VarId counter) {
    if (each.kind != Statement::If || !each.value.text.empty() || each.constraints.size() != 1 ||
        each.constraints[0].isEquality)
      return std::nullopt;
    Poly length = each.constraints[0].poly + Poly::variable(counter) + Poly::constant(1);
    return space.dependsOn(length, counter) ? std::nullopt : std::optional(length);
  }
  /// The first iteration in which \p each is done and all later ones.
  std::optional<Poly> startOf(const Statement &each, VarId counter) {
    if (each.kind != Statement::If || !each.value.text.empty() || each.constraints.size() != 1 ||
        each.constraints[0].isEquality)
      return std::nullopt;
    Poly start = Poly::variable(counter) - each.constraints[0].poly;
    return space.dependsOn(start, counter) ? std::nullopt : std::optional(start);
  }

  /// 0 <= poly wherever a point is.
  bool isNeverNegative(const Poly &poly) {
    size_t before = program.requirements.size();
    std::map<VarId, std::pair<Poly, Poly>> ends = loopRanges(program.body);
    for (const Dimension &each : dimensions)
      ends[each.variable] = {Poly(), each.extent};
    std::optional<Poly> least = bound(program, ends, poly, false);
    bool isNew = program.requirements.size() != before;
    program.requirements.resize(before);
    return least && !isNew && space.isWithin(*least, 0, INT64_MAX);
  }

  /// for (d < n) { if (d < m) A; if (d >= m) B; } becomes two loops.
  void split(std::vector<Statement> &body, size_t at) {
    Statement &loop = body[at];
    if (!isCounted(loop) || loop.body.size() != 2)
      return;
    VarId counter = loop.variable;
    std::optional<Poly> middle = lengthOf(loop.body[0], counter),
                        start = startOf(loop.body[1], counter);
    if (!middle) {
      middle = lengthOf(loop.body[1], counter);
      start = startOf(loop.body[0], counter);
      if (middle && start)
        std::swap(loop.body[0], loop.body[1]);
    }
    if (!middle || !start || !(*middle == *start) || !isNeverNegative(*middle) ||
        !isNeverNegative(loop.end - *middle))
      return;
    Space::Variable second = space[counter];
    second.low = 0;
    VarId id = space.add(second);
    Statement late = loop;
    late.variable = id;
    late.end = loop.end - *middle;
    late.body = std::move(loop.body[1].body);
    Poly value = Poly::variable(id) + *middle;
    rewritePolys(late.body,
                 [&](const Poly &poly) { return space.substitute(poly, counter, value); });
    loop.end = *middle;
    std::vector<Statement> early = std::move(loop.body[0].body);
    loop.body = std::move(early);
    body.insert(body.begin() + at + 1, std::move(late));
  }

  ThreadProgram &program;
  Space &space;
  llvm::ArrayRef<Dimension> dimensions;
};

} // namespace

/// Drops conditions that a dimension lies below its extent.
static void dropKnown(std::vector<Statement> &body, llvm::ArrayRef<Dimension> dimensions) {
  std::vector<Statement> result;
  for (Statement &each : body) {
    dropKnown(each.body, dimensions);
    if (each.kind == Statement::If) {
      llvm::erase_if(each.constraints, [&](const Constraint &constraint) {
        return !constraint.isEquality && llvm::any_of(dimensions, [&](const Dimension &dimension) {
          return constraint.poly ==
                 dimension.extent - Poly::variable(dimension.variable) - Poly::constant(1);
        });
      });
      if (each.constraints.empty() && each.value.text.empty()) {
        result.insert(result.end(), std::make_move_iterator(each.body.begin()),
                      std::make_move_iterator(each.body.end()));
        continue;
      }
    }
    result.push_back(std::move(each));
  }
  body = std::move(result);
}

void reshapeLoops(ThreadProgram &program, llvm::ArrayRef<Dimension> dimensions) {
  dropKnown(program.body, dimensions);
  solveEquations(program);
  LoopShaper(program, dimensions).run(program.body);
}

} // namespace kbopt::raise
