//===- Dependences.cpp - Who touches which element ----------------------------===//
//
// Owns the proof that points are independent of each other, and the order that loops need.
//
//===----------------------------------------------------------------------===//
#include "Points.h"

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

  void run() {
    for (auto &[base, accesses] : accessesOf(program.body)) {
      bool isStored = llvm::any_of(accesses, [](const Access &each) { return each.isStore; });
      if (isStored && !areApart(accesses, extents))
        return program.refuse("different threads may touch the same element of '" + base + "'");
    }
    orderLoops(program.body);
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
    if (!space.isUniform(difference))
      return false;
    if (!llvm::is_contained(program.requirements, difference))
      program.requirements.push_back(difference);
    return true;
  }

  /// Whether \p accesses (of one base) by different values of the variables of \p apart touch different
  /// elements, whatever the other loops do.
  bool areApart(llvm::ArrayRef<Access> accesses, const Extents &apart) {
    std::set<VarId> kept;
    for (auto &[id, extent] : apart)
      kept.insert(id);
    std::map<VarId, Poly> strides;
    std::optional<Poly> least, most;
    for (const Access &each : accesses) {
      const Poly &offset = each.element->offset;
      Poly inner = offset;
      std::map<VarId, Poly> own;
      for (VarId id : kept) {
        Poly stride = offset.coefficientOf(id);
        inner = inner.without(id);
        if (!stride.isValid() || !isOuter(stride, kept))
          return false;
        own[id] = stride;
      }
      for (VarId id : kept)
        if (space.dependsOn(inner, id))
          return false; // inside a division
      if (&each == accesses.begin())
        strides = own;
      else if (strides != own)
        return false;
      std::optional<Poly> low = bound(program, ends, inner, false, outer), high = bound(program, ends, inner, true, outer);
      if (!low || !high)
        return false;
      if (!least) {
        least = low, most = high;
        continue;
      }
      Poly lower = *low - *least, upper = *high - *most;
      if (!lower.isConstant() || !upper.isConstant())
        return false;
      if (lower.constantTerm() < 0)
        least = low;
      if (upper.constantTerm() > 0)
        most = high;
    }
    return isMixedRadix(strides, apart, *most - *least + Poly::constant(1));
  }

  /// Variables outside the loop that is looked at have one value.
  bool isOuter(const Poly &poly, const std::set<VarId> &kept) {
    return llvm::all_of(space.variables(poly), [&](VarId id) {
      return !kept.count(id) && (outer.count(id) || space.isUniform(Poly::variable(id)));
    });
  }

  /// Each stride is at least the next smaller one times that one's extent; the smallest at least \p width.
  bool isMixedRadix(std::map<VarId, Poly> strides, const Extents &apart, Poly width) {
    while (!strides.empty()) {
      auto next = strides.end();
      for (auto at = strides.begin(); at != strides.end(); ++at) {
        bool isLeast = llvm::all_of(strides, [&](auto &other) {
          return other.first == at->first || exactQuotient(other.second, at->second) ||
                 (other.second - at->second).isConstant();
        });
        if (at->second == width || (isLeast && next == strides.end()))
          next = at;
      }
      if (next == strides.end() || next->second == Poly())
        return false;
      if (!isAtLeast(next->second, width))
        return false;
      width = next->second * apart.at(next->first);
      strides.erase(next);
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
    if (!space.isUniform(loop.end)) // a triangle: how many there are is not needed for one variable
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
  std::set<VarId> outer; ///< loops and points that have one value where a loop is looked at
};

} // namespace

void checkDependences(ThreadProgram &program, llvm::ArrayRef<Dimension> dimensions) {
  DependenceCheck(program, dimensions).run();
}

} // namespace kbopt::raise
