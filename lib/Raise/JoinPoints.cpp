//===- JoinPoints.cpp - Two dimensions that are one -----------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns joining dimensions that a kernel only uses together, `blockIdx.x * 32 + threadIdx.y`: a
// number of tiles and a place in the tile, whichever indices these are.
//
//===----------------------------------------------------------------------===//
#include "Points.h"

namespace kbopt::raise {
namespace {

class PairJoiner {
public:
  PairJoiner(ThreadProgram &program, std::vector<Dimension> &dimensions,
             const analysis::LaunchRanges &launches)
      : program(program), space(program.space), dimensions(dimensions), launches(launches) {}

  bool joinOne() {
    for (size_t tile = 0; tile < dimensions.size(); ++tile)
      for (size_t place = 0; place < dimensions.size(); ++place)
        if (tile != place)
          if (std::optional<Poly> size = sizeOfTiles(tile, place)) {
            join(tile, place, *size);
            return true;
          }
    return false;
  }

private:
  static Poly var(VarId id) { return Poly::variable(id); }

  /// \p poly for the launches in sight.
  Poly launched(Poly poly) {
    for (unsigned axis : {0, 1, 2})
      if (auto range = launches.block[axis]; range.low == range.high && range.low > 0)
        poly = space.substitute(poly, analysis::BdimVar + axis, Poly::constant(int64_t(range.low)));
    return poly;
  }

  /// Whether the kernel has a variable or a condition of \p outer and \p inner together; elements
  /// of `a[8][8]` that blocks of fewer threads use are no row.
  bool isNamed(VarId outer, VarId inner) {
    auto isBoth = [&](const Poly &poly) {
      return space.dependsOn(poly, outer) && space.dependsOn(poly, inner);
    };
    bool isNamed = llvm::any_of(program.hints, [&](const Hint &hint) { return isBoth(hint.poly); });
    walk(program.body, [&](Statement &each) {
      isNamed |= llvm::any_of(each.constraints,
                              [&](const Constraint &guard) { return isBoth(guard.poly); });
      return !isNamed;
    });
    return isNamed;
  }

  /// The number of places in a tile where everything depends on tile * size + place alone.
  std::optional<Poly> sizeOfTiles(size_t tile, size_t place) {
    VarId outer = dimensions[tile].variable, inner = dimensions[place].variable;
    std::optional<Poly> size;
    bool isPair = true;
    rewritePolys(program.body, [&](const Poly &poly) {
      if (!isPair || (!space.dependsOn(poly, outer) && !space.dependsOn(poly, inner)))
        return poly;
      Poly wide = poly.coefficientOf(outer), step = poly.coefficientOf(inner);
      isPair = wide.isValid() && step.isValid() && !(step == Poly()) && !(wide == Poly());
      std::optional<Poly> own = isPair ? exactQuotient(wide, step) : std::nullopt;
      Poly rest = poly.without(outer).without(inner);
      isPair &= own && space.isUniform(*own) && (!size || *size == *own) &&
                !space.dependsOn(rest, outer) && !space.dependsOn(rest, inner);
      size = own;
      return poly;
    });
    bool isOfGrid = llvm::any_of(space.variables(dimensions[tile].extent), [](VarId id) {
      return id >= analysis::GdimVar && id < analysis::GdimVar + 3;
    });
    if (!isPair || !size || *size == Poly::constant(1) || !isOfGrid || !isNamed(outer, inner))
      return std::nullopt;
    Poly missing = launched(*size - dimensions[place].extent);
    return missing.isConstant() && !(missing == Poly()) ? std::nullopt : size;
  }

  void join(size_t tile, size_t place, const Poly &size) {
    const Dimension outer = dimensions[tile], inner = dimensions[place];
    for (const Poly &condition : {size - inner.extent, inner.extent - size})
      if (!condition.isConstant() && !llvm::is_contained(program.requirements, condition))
        program.requirements.push_back(condition);
    Space::Variable joined;
    joined.kind = Space::Loop;
    joined.low = 0;
    VarId whole = space.add(joined);
    auto change = [&](const Poly &poly) {
      return space.substitute(poly, inner.variable, var(whole) - size * var(outer.variable));
    };
    rewritePolys(program.body, change);
    space[whole].name = space[inner.variable].name;
    for (Hint &hint : program.hints) {
      hint.poly = change(hint.poly);
      if (hint.poly == var(whole))
        space[whole].name = hint.name;
    }
    dimensions[tile] = {whole, outer.extent * size};
    dimensions.erase(dimensions.begin() + place);
  }

  ThreadProgram &program;
  Space &space;
  std::vector<Dimension> &dimensions;
  const analysis::LaunchRanges &launches;
};

} // namespace

bool joinDimensions(ThreadProgram &program, std::vector<Dimension> &dimensions,
                    const analysis::LaunchRanges &launches) {
  bool joins = false;
  while (PairJoiner(program, dimensions, launches).joinOne())
    joins = true;
  return joins;
}

} // namespace kbopt::raise
