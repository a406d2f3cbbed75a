//===- TileLoops.cpp - Loops over tiles as loops over terms ------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns what is left to do once tiles are gone: one loop in place of one over tiles and one inside
// each, without the zeros at the end of the last tile, and without scalars that only handed on a
// value.
//
//===----------------------------------------------------------------------===//
#include "Tiles.h"

#include "NestScalars.h"
#include "TeamText.h"
#include "llvm/ADT/StringExtras.h"

namespace kbopt::raise {
namespace {

using Body = std::vector<Statement>;

//===-- Texts that are zero ------------------------------------------------===//

/// Whether an expression is zero, and not -0, where some scalars are, read as sums and products of
/// what is not negative.
class ZeroText {
public:
  /// \p keepZero: functions and types that leave a zero one.
  ZeroText(llvm::StringRef text, const std::set<std::string> &zeros,
           const std::set<std::string> &keepZero)
      : rest(text), zeros(zeros), keepZero(keepZero) {}
  bool isZero() {
    Sign sign = sum();
    skip();
    return isValid && rest.empty() && sign == Zero;
  }

private:
  enum Sign { Zero, Finite, Unknown };

  void skip() { rest = rest.ltrim(); }
  bool take(llvm::StringRef word) {
    skip();
    return rest.consume_front(word);
  }

  Sign sum() {
    Sign all = product();
    for (skip(); isValid && (rest.starts_with("+") || rest.starts_with("-")); skip()) {
      rest = rest.drop_front();
      Sign next = product();
      all = all == Zero && next == Zero         ? Zero
            : all != Unknown && next != Unknown ? Finite
                                                : Unknown;
    }
    return all;
  }

  Sign product() {
    Sign all = factor();
    for (skip(); isValid && rest.starts_with("*"); skip()) {
      rest = rest.drop_front();
      Sign next = factor();
      bool isFinite = all != Unknown && next != Unknown;
      all = isFinite && (all == Zero || next == Zero) ? Zero : isFinite ? Finite : Unknown;
    }
    return all;
  }

  Sign factor() {
    if (take("+"))
      return factor();
    for (llvm::StringRef cast : {"(float)", "(double)", "(int)", "(half)", "(__half)",
                                 "static_cast<float>", "static_cast<double>", "static_cast<int>"})
      if (take(cast))
        return factor();
    if (take("(")) {
      Sign inner = sum();
      isValid &= take(")");
      return inner;
    }
    skip();
    llvm::StringRef word =
        rest.take_while([](char c) { return llvm::isAlnum(c) || c == '_' || c == '.'; });
    rest = rest.drop_front(word.size());
    isValid &= !word.empty();
    if (!word.empty() && llvm::isDigit(word[0]))
      return isIdentity(word, "add") ? Zero : Finite;
    if (zeros.count(word.str()))
      return Zero;
    bool isKnown = keepZero.count(word.str());
    if (take("(")) {
      Sign inner = sum();
      bool isProduct = word == "__hmul" || word == "__fmul_rn" || word == "__dmul_rn";
      if (isProduct && take(",")) {
        Sign other = sum();
        inner = inner == Zero && other == Zero ? Zero : Unknown;
        isKnown = true;
      }
      isValid &= take(")");
      return isKnown && inner == Zero ? Zero : Unknown;
    }
    return Unknown;
  }

  llvm::StringRef rest;
  const std::set<std::string> &zeros, &keepZero;
  bool isValid = true;
};

//===-- Loops --------------------------------------------------------------===//

class TileLoopJoiner {
public:
  explicit TileLoopJoiner(ThreadProgram &program) : program(program), space(program.space) {
    walk(program.body, [&](Statement &each) {
      if (each.kind == Statement::Let && isName(each.type))
        keepZero.insert(each.type); // the user's name for a scalar's type
      return true;
    });
  }

  void run(Body &body) {
    for (size_t i = 0; i < body.size(); ++i) {
      startAtZero(body[i]);
      run(body[i].body);
      while (join(body[i])) {
      }
      body.insert(body.begin() + i + 1, after.begin(), after.end());
      i += after.size();
      after.clear();
    }
  }

private:
  static Poly var(VarId id) { return Poly::variable(id); }
  static Poly number(int64_t value) { return Poly::constant(value); }

  /// A loop that starts where the block or thread does counts from there.
  void startAtZero(Statement &loop) {
    if (loop.kind != Statement::For || loop.progress != Statement::Add || loop.begin.isConstant())
      return;
    Space::Variable variable = space[loop.variable];
    variable.low = 0;
    variable.high.reset();
    VarId counter = space.add(variable);
    Poly value = loop.begin + var(counter);
    rewritePolys(loop.body,
                 [&](const Poly &poly) { return space.substitute(poly, loop.variable, value); });
    loop.end = loop.end - loop.begin;
    loop.begin = Poly();
    loop.variable = counter;
    program.given[counter] = {loop.begin, loop.end};
  }

  /// for (t) for (k < n) with n * t + k, or t + k where t counts by n, in all indices is one loop.
  bool join(Statement &outer) {
    if (outer.kind != Statement::For || outer.progress != Statement::Add || outer.body.size() != 1)
      return false;
    Statement inner = outer.body[0];
    if (inner.kind != Statement::For || inner.progress != Statement::Add ||
        !(inner.begin == Poly()) || !(inner.step == number(1)) || !inner.end.isConstant() ||
        inner.end.constantTerm() < 1 || !outer.step.isConstant())
      return false;
    int64_t width = inner.end.constantTerm(), step = outer.step.constantTerm();
    bool countsTerms = step == width && width > 1;
    if (!countsTerms && (step != 1 || !(outer.begin == Poly())))
      return false;
    Space::Variable variable = space[inner.variable];
    variable.high.reset();
    VarId whole = space.add(variable);
    Poly before = var(whole) - var(outer.variable) * number(countsTerms ? 1 : width);
    bool isLeft = false;
    Body body = inner.body;
    rewritePolys(body, [&](const Poly &poly) {
      Poly changed = space.substitute(poly, inner.variable, before);
      isLeft |= space.dependsOn(changed, outer.variable);
      return changed;
    });
    if (isLeft)
      return false;
    Poly tiles = countsTerms ? space.countSteps(outer.end - outer.begin, outer.step) : outer.end;
    Statement joined = outer;
    joined.variable = whole;
    joined.step = number(1);
    joined.end = outer.begin + tiles * number(width);
    joined.body = std::move(body);
    program.given[whole] = {joined.begin, joined.end};
    if (!endAtGuard(joined, countsTerms ? std::optional(outer.end) : std::nullopt, width))
      endAtWholeTiles(joined, tiles, countsTerms ? std::optional(outer.end) : std::nullopt, width);
    outer = std::move(joined);
    return true;
  }

  /// Whether \p high, whole tiles of \p width, is surely \p end, rounded up.
  bool reaches(const Poly &high, const Poly &end, int64_t width) {
    Poly room = high - end;
    if (room.isConstant() && room.constantTerm() >= 0 && room.constantTerm() < width)
      return true;
    // n * ((end + n - 1) / n) - end
    for (auto &[monomial, coefficient] : room.monomials()) {
      if (monomial.size() != 1 || space[monomial[0]].kind != Space::FloorDiv)
        continue;
      const Space::Variable &quotient = space[monomial[0]];
      bool isRounded = quotient.divisor == number(coefficient);
      Poly rest = room - var(monomial[0]) * number(coefficient) + quotient.dividend -
                  number(coefficient - 1);
      if (isRounded && rest == Poly())
        return true;
    }
    return false;
  }

  /// Ends the loop where its terms become zero.
  bool endAtGuard(Statement &loop, const std::optional<Poly> &given, int64_t width) {
    std::vector<Poly> ends;
    walk(loop.body, [&](Statement &each) {
      for (const Constraint &constraint : each.constraints) {
        Poly end = constraint.poly + var(loop.variable) + number(1);
        if (!constraint.isEquality && each.kind == Statement::If && space.isUniform(end) &&
            !llvm::is_contained(ends, end))
          ends.push_back(end);
      }
      return true;
    });
    for (const Poly &end : ends) {
      if (!isNothingBeyond(loop, end))
        continue;
      bool isRoom = reaches(loop.end, end, width) || (given && *given == end);
      if (!isRoom)
        continue;
      addZeros(loop, end - loop.begin, width);
      loop.end = end;
      dropGuard(loop.body, loop.variable, end);
      program.given[loop.variable] = {loop.begin, loop.end};
      return true;
    }
    return false;
  }

  /// Whole tiles need a length that divides.
  void endAtWholeTiles(Statement &loop, const Poly &tiles, const std::optional<Poly> &given,
                       int64_t width) {
    Poly end = loop.end;
    if (given)
      end = *given;
    else
      for (auto &[monomial, coefficient] : tiles.monomials())
        if (monomial.size() == 1 && coefficient == 1 && tiles.monomials().size() == 1 &&
            space[monomial[0]].kind == Space::FloorDiv &&
            space[monomial[0]].divisor == number(width)) {
          end = space[monomial[0]].dividend;
          if (end.constantTerm() == width - 1)
            end = end - number(width - 1);
        }
    Poly rest = space.mod(end - loop.begin, number(width));
    if (end == loop.end || !space.isUniform(rest))
      return;
    if (!(rest == Poly()))
      program.requirements.push_back(rest * number(-1));
    loop.end = end;
    program.given[loop.variable] = {loop.begin, loop.end};
  }

  /// The zeros that are left out make a sum of -0 one of 0; a sum is -0 where a fused multiply-add
  /// underflows.
  void addZeros(Statement &loop, const Poly &terms, int64_t width) {
    Statement guard;
    guard.kind = Statement::If;
    guard.constraints.push_back({space.mod(terms, number(width)) - number(1)});
    for (Statement &each : loop.body) {
      std::string type =
          each.kind == Statement::Combine ? each.type.empty() ? typeOf(each.name) : each.type : "";
      bool isInteger = llvm::StringRef(type).contains("int") || type == "long" ||
                       type == "long long" || type == "unsigned" || type == "short" ||
                       type == "char";
      if (each.kind != Statement::Combine || isInteger)
        continue;
      Statement set;
      set.kind = Statement::Assign;
      set.name = each.name;
      set.value.text = each.name + " + " +
                       (type == "float"    ? "0.0f"
                        : type == "double" ? "0.0"
                                           : "(" + type + ")0");
      guard.body.push_back(std::move(set));
    }
    if (!guard.body.empty())
      after.push_back(std::move(guard));
  }

  std::string typeOf(const std::string &name) {
    std::string type;
    walk(program.body, [&](Statement &each) {
      if (each.kind == Statement::Let && each.name == name)
        type = each.type;
      return true;
    });
    return type;
  }

  bool isGuard(const Constraint &constraint, VarId counter, const Poly &end) {
    return !constraint.isEquality && constraint.poly + var(counter) + number(1) == end;
  }

  void dropGuard(Body &body, VarId counter, const Poly &end) {
    for (Statement &each : body) {
      llvm::erase_if(each.constraints, [&](const Constraint &constraint) {
        return isGuard(constraint, counter, end);
      });
      dropGuard(each.body, counter, end);
    }
  }

  /// Whether iterations from \p end on add nothing but zeros.
  bool isNothingBeyond(Statement &loop, const Poly &end) {
    std::set<std::string> zeros;
    for (Statement &each : loop.body) {
      switch (each.kind) {
      case Statement::Let:
        if (each.symbol)
          return false;
        if (!each.value.text.empty() && each.value.isPlain() &&
            ZeroText(each.value.text, zeros, keepZero).isZero())
          zeros.insert(each.name);
        break;
      case Statement::If: {
        bool isOff = llvm::any_of(each.constraints, [&](const Constraint &constraint) {
          return isGuard(constraint, loop.variable, end);
        });
        for (Statement &inner : each.body)
          if (!isOff || inner.kind == Statement::For)
            return false;
        break;
      }
      case Statement::Combine:
        if (each.reduction != "add" || !each.value.isPlain() ||
            !ZeroText(each.value.text, zeros, keepZero).isZero() || !startsAtZero(each.name))
          return false;
        break;
      default:
        return false;
      }
    }
    return true;
  }

  /// Whether the sum starts as zero, and not as -0.
  bool startsAtZero(const std::string &name) {
    bool isZero = true, isFound = false;
    walk(program.body, [&](Statement &each) {
      bool sets = each.kind == Statement::Let || each.kind == Statement::Assign;
      if (sets && each.name == name) {
        isFound = true;
        llvm::StringRef text = bare(each.value.text);
        bool isPositive = each.value.isPlain() && !text.contains('-');
        isZero &= isPositive && (text.empty() || ZeroText(text, {}, keepZero).isZero());
      }
      return true;
    });
    return isFound && isZero;
  }

  ThreadProgram &program;
  Space &space;
  Body after; ///< what follows the loop that is joined
  std::set<std::string> keepZero = {"__half2float",
                                    "__float2half",
                                    "__float2half_rn",
                                    "float",
                                    "__bfloat162float",
                                    "__float2bfloat16",
                                    "fabsf",
                                    "fabs",
                                    "abs",
                                    "__int2float_rn",
                                    "sqrtf",
                                    "sqrt",
                                    "double"};
};

//===-- Scalars ------------------------------------------------------------===//

class ScalarCleaner {
public:
  explicit ScalarCleaner(ThreadProgram &program) : program(program), space(program.space) {}

  void run() {
    for (unsigned rounds = 0; rounds < 16; ++rounds) {
      bool changed = settle(program.body);
      changed |= dropUnused(program.body);
      if (!changed)
        return;
    }
  }

private:
  /// Conditions that always hold, and scalars that get their value right after they are declared.
  bool settle(Body &body) {
    bool changed = false;
    for (size_t i = 0; i < body.size();) {
      Statement &each = body[i];
      bool isEmpty =
          (each.kind == Statement::If || each.kind == Statement::For) && each.body.empty();
      if (isEmpty) {
        body.erase(body.begin() + i);
        changed = true;
        continue;
      }
      if (each.kind == Statement::If && each.constraints.empty() && each.value.text.empty()) {
        Body inner = std::move(each.body);
        body.erase(body.begin() + i);
        body.insert(body.begin() + i, std::make_move_iterator(inner.begin()),
                    std::make_move_iterator(inner.end()));
        changed = true;
        continue;
      }
      bool isSet = i && each.kind == Statement::Assign && body[i - 1].kind == Statement::Let &&
                   body[i - 1].name == each.name && !mentions(each.value.text, each.name) &&
                   !body[i - 1].symbol;
      if (isSet) {
        body[i - 1].value = std::move(each.value);
        body.erase(body.begin() + i);
        changed = true;
        continue;
      }
      changed |= settle(each.body);
      if (declareLater(body, i)) {
        changed = true;
        continue;
      }
      if (inlineNext(body, i)) {
        changed = true;
        continue;
      }
      ++i;
    }
    return changed;
  }

  /// Declares the scalar of the let at \p at, which has no value, where it gets one.
  static bool declareLater(Body &body, size_t at) {
    Statement &let = body[at];
    if (let.kind != Statement::Let || let.symbol || !let.value.text.empty())
      return false;
    for (size_t i = at + 1; i < body.size(); ++i) {
      Statement &each = body[i];
      if (each.kind == Statement::Assign && each.name == let.name &&
          !mentions(each.value.text, let.name)) {
        each.kind = Statement::Let;
        each.type = let.type;
        body.erase(body.begin() + at);
        return true;
      }
      bool isUsed = each.name == let.name || mentions(each.value.text, let.name);
      walk(each.body, [&](Statement &inner) {
        isUsed |= inner.name == let.name || mentions(inner.value.text, let.name);
        return true;
      });
      if (isUsed)
        return false;
    }
    return false;
  }

  std::string typeOf(llvm::StringRef name) {
    std::string type;
    walk(program.body, [&](Statement &each) {
      if (each.kind == Statement::Let && each.name == name)
        type = each.type;
      return true;
    });
    return type;
  }

  /// Puts the value of the let at \p at where it is read, if that is in the following lets and sums
  /// alone.
  bool inlineNext(Body &body, size_t at) {
    Statement &let = body[at];
    if (let.kind != Statement::Let || let.symbol || let.value.text.empty())
      return false;
    size_t user = body.size();
    for (size_t i = at + 1; i < body.size(); ++i) {
      Statement &each = body[i];
      bool isPlain = each.kind == Statement::Let || each.kind == Statement::Combine;
      if ((each.kind == Statement::Assign || each.kind == Statement::Combine) &&
          each.name == let.name)
        return false;
      bool isUsed = mentions(each.value.text, let.name);
      bool isInside = false;
      walk(each.body, [&](Statement &inner) {
        isInside |= inner.name == let.name || mentions(inner.value.text, let.name);
        return true;
      });
      if (isInside || (isUsed && (user != body.size() || !isPlain)))
        return false;
      if (isUsed)
        user = i;
      // What the value is computed from may change.
      if (!isPlain && user == body.size())
        return false;
    }
    if (user == body.size())
      return false;
    for (size_t i = at + 1; i < user; ++i) {
      bool mayChange = !body[i].name.empty() && mentions(let.value.text, body[i].name);
      walk(body[i].body, [&](Statement &inner) {
        mayChange |= !inner.name.empty() && mentions(let.value.text, inner.name);
        return true;
      });
      if (mayChange)
        return false;
    }
    Text value = let.value;
    bool isTyped = onlyOperand(value)
                       ? onlyOperand(value)->type == let.type
                       : isName(bare(value.text)) && typeOf(bare(value.text)) == let.type;
    if (!isTyped)
      value.text = "(" + let.type + ")(" + value.text + ")";
    Text &text = body[user].value;
    unsigned hole = text.operands.size();
    text.operands.push_back(Operand());
    renameIn(text, let.name, "$" + std::to_string(hole));
    fillHole(text, hole, value);
    mergeEqualOperands(text);
    body.erase(body.begin() + at);
    return true;
  }

  bool dropUnused(Body &body) {
    std::set<std::string> read;
    std::set<VarId> used;
    walk(program.body, [&](Statement &each) {
      each.value.text.empty() ? void() : (void)texts.emplace_back(each.value.text);
      return true;
    });
    for (const std::string &text : texts)
      for (llvm::StringRef rest = text; !rest.empty();) {
        llvm::StringRef word = rest.take_while([](char c) { return llvm::isAlnum(c) || c == '_'; });
        if (!word.empty())
          read.insert(word.str());
        rest = rest.drop_front(std::max<size_t>(word.size(), 1));
      }
    texts.clear();
    rewritePolys(program.body, [&](const Poly &poly) {
      for (VarId var : space.variables(poly))
        used.insert(var);
      return poly;
    });
    return drop(body, read, used);
  }

  static bool drop(Body &body, const std::set<std::string> &read, const std::set<VarId> &used) {
    size_t before = body.size();
    llvm::erase_if(body, [&](Statement &each) {
      bool isScalar = each.kind == Statement::Let || each.kind == Statement::Assign ||
                      each.kind == Statement::Combine;
      return isScalar && !read.count(each.name) && !(each.symbol && used.count(*each.symbol));
    });
    bool changed = body.size() != before;
    for (Statement &each : body)
      changed |= drop(each.body, read, used);
    return changed;
  }

  ThreadProgram &program;
  Space &space;
  std::vector<std::string> texts;
};

} // namespace

void joinTileLoops(ThreadProgram &program) { TileLoopJoiner(program).run(program.body); }

void cleanScalars(ThreadProgram &program) { ScalarCleaner(program).run(); }

} // namespace kbopt::raise
