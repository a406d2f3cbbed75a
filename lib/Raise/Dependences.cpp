//===- Dependences.cpp - Threads that touch one element -----------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the proof that points are independent of each other, and the order that loops need.
//
//===----------------------------------------------------------------------===//
#include "Points.h"
#include <numeric>

namespace kbopt::raise {
namespace {

struct Access {
  const Operand *element;
  bool isStore;
};

class DependenceCheck {
public:
  DependenceCheck(ThreadProgram &program, llvm::ArrayRef<Dimension> dimensions)
      : program(program), space(program.space), ends(loopRanges(program.body)) {
    for (const Dimension &each : dimensions)
      extents[each.variable] = each.extent;
    for (auto &[id, range] : ends)
      loopExtents[id] = range.second;
  }

  std::string run() {
    std::string doubtful;
    for (auto &[base, accesses] : accessesOf(program.body)) {
      bool isStored = llvm::any_of(accesses, [](const Access &each) { return each.isStore; });
      if (isStored && !areApart(accesses, extents))
        doubtful = "different threads may touch the same element of '" + base + "'";
    }
    isInPoint = true;
    orderLoops(program.body);
    return doubtful;
  }

private:
  using Extents = std::map<VarId, Poly>;

  /// By base; atomics of bases that nothing else touches are left out.
  std::map<std::string, std::vector<Access>> accessesOf(std::vector<Statement> &body) {
    std::map<std::string, std::vector<Access>> result, atomics;
    walk(body, [&](Statement &each) {
      for (Operand &operand : each.value.operands)
        if (operand.kind == Operand::Element)
          result[operand.base.name].push_back({&operand, false});
      if (each.kind == Statement::Store)
        result[each.target.base.name].push_back({&each.target, true});
      if (each.kind == Statement::Atomic)
        atomics[each.target.base.name].push_back({&each.target, true});
      return true;
    });
    for (auto &[base, accesses] : atomics)
      if (auto at = result.find(base); at != result.end())
        at->second.insert(at->second.end(), accesses.begin(), accesses.end());
    return result;
  }

  /// a >= b, required where it is not known.
  bool isAtLeast(const Poly &a, const Poly &b) {
    Poly difference = a - b;
    if (difference.isConstant())
      return difference.constantTerm() >= 0;
    if (space.isWithin(difference, 0, INT64_MAX))
      return true;
    if (isInPoint && llvm::any_of(extents, [&](const auto &each) {
          Poly more = difference - each.second;
          return more.isConstant() && more.constantTerm() >= -1;
        }))
      return true; // there is a point
    if (!space.isUniform(difference))
      return false;
    if (!llvm::is_contained(program.requirements, difference))
      program.requirements.push_back(difference);
    return true;
  }

  /// A variable that moves the address by `stride` for each of its values 0 <= value < extent.
  struct Digit {
    Poly stride, extent;
    size_t uses = 0; ///< accesses that it moves
  };

  /// Whether \p accesses (of one base) by different values of the variables of \p apart touch
  /// different elements, whatever the other loops do.
  bool areApart(llvm::ArrayRef<Access> accesses, const Extents &apart) {
    size_t before = program.requirements.size();
    std::map<VarId, Poly> strides;
    std::vector<Poly> rests;
    for (const Access &each : accesses) {
      std::map<VarId, Poly> own;
      Poly rest = each.element->offset;
      for (auto &[id, extent] : apart) {
        own[id] = each.element->offset.coefficientOf(id);
        rest = rest.without(id);
        if (!own[id].isValid() || !isOuter(own[id], apart))
          return false;
      }
      for (auto &[id, extent] : apart)
        if (space.dependsOn(rest, id))
          return false; // inside a division
      if (!rests.empty() && strides != own)
        return false;
      strides = own;
      rests.push_back(rest);
    }
    std::vector<Digit> digits;
    for (auto &[id, stride] : strides)
      digits.push_back({stride, apart.at(id)});
    for (bool byDistance : {false, true}) {
      std::vector<Digit> all = digits;
      Poly one = Poly::constant(1);
      unitStrides.clear();
      if (addInnerDigits(rests, apart, all, byDistance) && isMixedRadix(all, one) &&
          mayHold(before))
        return true;
      program.requirements.resize(before);
    }
    unitStrides.clear();
    if (knowsExtents && areApartModulo(rests, apart, digits) && mayHold(before))
      return true;
    program.requirements.resize(before);
    unitStrides.clear();
    std::optional<Poly> width = innerWidth(rests, apart);
    if (width && isAtLeast(*width, Poly::constant(1)) && isMixedRadix(digits, *width) &&
        mayHold(before))
      return true;
    program.requirements.resize(before);
    return false;
  }

  /// Whether the requirements from number \p first on hold for some sizes from 4 on that are all
  /// the same, and two blocks of two threads along each axis. Conditions that only smaller launches
  /// meet are worth nothing.
  bool mayHold(size_t first) const {
    auto holds = [&](const Poly &poly, int64_t size) {
      int64_t sum = 0;
      for (auto &[monomial, coefficient] : poly.monomials()) {
        auto isOfLaunch = [](VarId id) {
          return id >= analysis::BdimVar && id < analysis::GdimVar + 3;
        };
        if (llvm::any_of(
                monomial,
                [&](VarId id) { return !isOfLaunch(id) && space[id].kind != Space::Param; }) ||
            monomial.size() > 4)
          return true;
        int64_t product = coefficient;
        for (VarId id : monomial)
          product *= isOfLaunch(id) ? 2 : unitStrides.count(id) ? 1 : size;
        sum += product;
      }
      return sum >= 0;
    };
    llvm::ArrayRef<Poly> added = llvm::ArrayRef(program.requirements).drop_front(first);
    return llvm::any_of(llvm::ArrayRef<int64_t>{4, 16, 64, 512, 4096}, [&](int64_t size) {
      return llvm::all_of(added, [&](const Poly &each) { return holds(each, size); });
    });
  }

  /// The ranges of all loops and of the variables of \p apart.
  std::map<VarId, std::pair<Poly, Poly>> allEnds(const Extents &apart) const {
    std::map<VarId, std::pair<Poly, Poly>> result = ends;
    for (const Extents *some : {&extents, &apart})
      for (auto &[id, extent] : *some)
        result[id] = {Poly(), extent};
    return result;
  }

  /// Loops inside and differences of constants as digits. False where they are none.
  bool addInnerDigits(llvm::ArrayRef<Poly> rests, const Extents &apart, std::vector<Digit> &digits,
                      bool byDistance) {
    std::set<VarId> kept = outer;
    for (auto &[id, extent] : apart)
      kept.erase(id);
    std::map<VarId, std::pair<Poly, Poly>> ranges = allEnds(apart);
    std::vector<Digit> inner;
    std::vector<Poly> constants;
    for (Poly rest : rests) {
      for (auto &[id, range] : ends) {
        if (kept.count(id) || !rest.contains(id))
          continue;
        Digit digit{rest.coefficientOf(id), Poly()};
        std::optional<Poly> last =
            bound(program, ranges, range.second - Poly::constant(1), true, kept);
        rest = rest.without(id);
        if (!digit.stride.isValid() || !isOuter(digit.stride, apart) || !last)
          return false;
        digit.extent = *last + Poly::constant(1);
        auto same =
            llvm::find_if(inner, [&](const Digit &other) { return other.stride == digit.stride; });
        if (same == inner.end())
          same = inner.insert(inner.end(), digit);
        else if (!(same->extent == digit.extent))
          return false;
        ++same->uses;
      }
      if (!isOuter(rest, apart))
        return false;
      constants.push_back(rest);
    }
    // An access outside of such a loop happens even if the loop does not run.
    for (const Digit &each : inner)
      if (each.uses < rests.size() && !isAtLeast(each.extent, Poly::constant(1)))
        return false;
    size_t apartDigits = digits.size();
    digits.insert(digits.end(), inner.begin(), inner.end());
    return addConstantDigit(constants, digits, apartDigits, byDistance);
  }

  /// Offsets k * unit beside each other. False where a value of the first \p apartDigits reaches
  /// what another value of the same digit does: a[i] and a[i + 1]. With \p byDistance, a[i] and a[i
  /// + 64] lie one step of 64 apart.
  bool addConstantDigit(llvm::ArrayRef<Poly> constants, std::vector<Digit> &digits,
                        size_t apartDigits, bool byDistance) {
    int64_t least = 0, most = 0, step = 0;
    std::optional<Poly> unit;
    for (const Poly &each : constants) {
      Poly difference = each - constants[0];
      if (difference == Poly())
        continue;
      if (difference.monomials().size() != 1)
        return false;
      auto &[monomial, coefficient] = *difference.monomials().begin();
      Poly base = Poly::constant(1);
      for (VarId id : monomial)
        base = base * Poly::variable(id);
      if (unit && !(*unit == base))
        return false;
      unit = base;
      least = std::min(least, coefficient);
      most = std::max(most, coefficient);
      step = std::gcd(step, coefficient);
    }
    if (!unit)
      return true;
    if (byDistance) {
      unit = *unit * Poly::constant(step);
      least /= step;
      most /= step;
    }
    auto same = llvm::find_if(digits, [&](const Digit &other) { return other.stride == *unit; });
    if (same - digits.begin() < std::ptrdiff_t(apartDigits))
      return false;
    if (same != digits.end())
      same->extent = same->extent + Poly::constant(most - least);
    else
      digits.push_back({*unit, Poly::constant(most - least + 1)});
    return true;
  }

  /// Whether whatever else moves the addresses moves them by multiples of a number that all \p
  /// digits together stay below: the layers of a volume, where they are the rows and columns.
  bool areApartModulo(llvm::ArrayRef<Poly> rests, const Extents &apart,
                      llvm::ArrayRef<Digit> digits) {
    Poly common;
    for (auto &[monomial, coefficient] : rests[0].monomials()) {
      Poly term = Poly::constant(coefficient);
      for (VarId id : monomial)
        term = term * Poly::variable(id);
      bool isShared = isOuter(term, apart) &&
                      llvm::all_of(rests, [&, &monomial = monomial,
                                           &coefficient = coefficient](const Poly &rest) {
                        auto at = rest.monomials().find(monomial);
                        return at != rest.monomials().end() && at->second == coefficient;
                      });
      if (isShared)
        common = common + term;
    }
    std::optional<Poly::Monomial> factors;
    int64_t number = 0;
    for (const Poly &rest : rests) {
      Poly moved = rest - common;
      if (!moved.isValid())
        return false;
      for (auto &[monomial, coefficient] : moved.monomials()) {
        Poly::Monomial shared;
        if (factors)
          std::set_intersection(factors->begin(), factors->end(), monomial.begin(), monomial.end(),
                                std::back_inserter(shared));
        factors = factors ? shared : Poly::Monomial(monomial.begin(), monomial.end());
        number = std::gcd(number, coefficient);
      }
    }
    if (!factors)
      return false;
    llvm::erase_if(*factors, [&](VarId id) { return !isOuter(Poly::variable(id), apart); });
    Poly modulus = Poly::constant(number);
    for (VarId id : *factors)
      modulus = modulus * Poly::variable(id);
    Poly width = Poly::constant(1);
    return isMixedRadix({digits.begin(), digits.end()}, width) && isAtLeast(modulus, width);
  }

  /// How many elements the loops inside reach over.
  std::optional<Poly> innerWidth(llvm::ArrayRef<Poly> rests, const Extents &apart) {
    std::optional<Poly> least, most;
    std::set<VarId> kept = outer;
    for (auto &[id, extent] : apart)
      kept.erase(id);
    for (const Poly &rest : rests) {
      std::optional<Poly> low = bound(program, allEnds(apart), rest, false, kept),
                          high = bound(program, allEnds(apart), rest, true, kept);
      if (!low || !high)
        return std::nullopt;
      if (!least) {
        least = low, most = high;
        continue;
      }
      Poly lower = *low - *least, upper = *high - *most;
      if (!lower.isConstant() || !upper.isConstant())
        return std::nullopt;
      if (lower.constantTerm() < 0)
        least = low;
      if (upper.constantTerm() > 0)
        most = high;
    }
    return *most - *least + Poly::constant(1);
  }

  /// Variables outside the loop that is looked at have one value.
  bool isOuter(const Poly &poly, const Extents &apart) {
    return llvm::all_of(space.variables(poly), [&](VarId id) {
      return !apart.count(id) && (outer.count(id) || space.isUniform(Poly::variable(id)));
    });
  }

  bool isParameter(const Poly &poly) const {
    if (poly.monomials().size() != 1)
      return false;
    auto &[monomial, coefficient] = *poly.monomials().begin();
    return coefficient == 1 && monomial.size() == 1 && space[monomial[0]].kind == Space::Param;
  }

  /// Each stride is at least the next smaller one times that one's extent; the smallest at least \p
  /// width, which becomes the largest stride times its extent.
  bool isMixedRadix(std::vector<Digit> digits, Poly &width) {
    while (!digits.empty()) {
      auto next = llvm::find_if(digits, [&](const Digit &each) { return each.stride == width; });
      for (bool isExact : {true, false})
        if (next == digits.end())
          next = llvm::find_if(digits, [&](const Digit &each) {
            return llvm::all_of(digits, [&](const Digit &other) {
              return exactQuotient(other.stride, each.stride) ||
                     (!isExact && (other.stride - each.stride).isConstant());
            });
          });
      bool isGiven =
          next ==
          digits.end(); // a stride that is given with the launch, of few elements side by side
      if (isGiven)
        next = llvm::find_if(digits, [&](const Digit &each) {
          return each.extent.isConstant() && isParameter(each.stride);
        });
      if (next == digits.end() || next->stride == Poly() || !isAtLeast(next->stride, width))
        return false;
      if (isGiven)
        unitStrides.insert(next->stride.monomials().begin()->first[0]);
      width = next->stride * next->extent;
      digits.erase(next);
    }
    return true;
  }

  //===-- The order of loops ----------------------------------------------===//

  void orderLoops(std::vector<Statement> &body) {
    for (Statement &each : body) {
      if (each.kind == Statement::For)
        orderLoop(each);
      bool isLoop = each.kind == Statement::For;
      if (isLoop)
        outer.insert(each.variable);
      orderLoops(each.body);
      if (isLoop)
        outer.erase(each.variable);
    }
  }

  void orderLoop(Statement &loop) {
    for (const auto &[id, extent] : extents)
      outer.insert(id);
    loop.order = kb::LoopOrder::Ascending;
    if (loop.progress == Statement::Until)
      return;
    std::set<std::string> declared;
    std::map<std::string, std::string> combined; ///< variable and how
    bool isFree = true;
    walk(loop.body, [&](Statement &each) {
      if (each.kind == Statement::Let)
        declared.insert(each.name);
      return true;
    });
    walk(loop.body, [&](Statement &each) {
      bool isOutside = !declared.count(each.name);
      if (each.kind == Statement::Assign && isOutside)
        isFree = false;
      if (each.kind == Statement::Combine && isOutside) {
        auto [at, isNew] = combined.try_emplace(each.name, each.combine);
        isFree &= isNew || at->second == each.combine;
      }
      return true;
    });
    for (auto &[name, how] : combined)
      isFree &= !isRead(loop.body, name);
    if (!isFree)
      return;
    Extents own = {{loop.variable, loop.end}};
    knowsExtents = space.isUniform(loop.end);
    if (!knowsExtents) // a triangle: how many there are is not needed for one variable
      own[loop.variable] = Poly::constant(1);
    for (auto &[base, accesses] : accessesOf(loop.body)) {
      bool isStored = llvm::any_of(accesses, [](const Access &each) { return each.isStore; });
      size_t before = program.requirements.size();
      bool isApart = !isStored || areApart(accesses, own);
      if (program.requirements.size() > before) { // not worth a condition
        program.requirements.resize(before);
        isApart = false;
      }
      if (!isApart)
        return;
    }
    loop.order = combined.empty() ? kb::LoopOrder::Any : kb::LoopOrder::Reduction;
  }

  static bool mentionsName(llvm::StringRef text, llvm::StringRef name) {
    for (size_t at = text.find(name); at != llvm::StringRef::npos; at = text.find(name, at + 1)) {
      auto isWord = [](char c) { return llvm::isAlnum(c) || c == '_'; };
      bool starts = at == 0 || !isWord(text[at - 1]);
      bool stops = at + name.size() == text.size() || !isWord(text[at + name.size()]);
      if (starts && stops)
        return true;
    }
    return false;
  }

  /// Whether a text names \p name.
  bool isRead(std::vector<Statement> &body, const std::string &name) {
    bool found = false;
    walk(body, [&](Statement &each) {
      found |= mentionsName(each.value.text, name);
      return true;
    });
    return found;
  }

  ThreadProgram &program;
  Space &space;
  std::map<VarId, std::pair<Poly, Poly>> ends;
  Extents extents, loopExtents;
  bool isInPoint = false;      ///< a loop of a point is looked at: its dimensions are not empty
  bool knowsExtents = true;    ///< of the variables that are looked at
  std::set<VarId> unitStrides; ///< parameters that may well be 1
  std::set<VarId> outer;       ///< loops and points that have one value where a loop is looked at
};

} // namespace

std::string checkDependences(ThreadProgram &program, llvm::ArrayRef<Dimension> dimensions) {
  return DependenceCheck(program, dimensions).run();
}

} // namespace kbopt::raise
