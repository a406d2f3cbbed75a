//===- TileBlock.cpp - Threads of a block as rows and columns ----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the arrangement of the threads of a block so that each axis of the grid has an axis of the
// block beside it:
//
//   row = blockIdx.x * 32 + threadIdx.x / 32            row = blockIdx.x * 32 + threadIdx.x
//   col = blockIdx.y * 32 + threadIdx.x % 32     =>     col = blockIdx.y * 32 + threadIdx.y
//
//===----------------------------------------------------------------------===//
#include "Tiles.h"

namespace kbopt::raise {
namespace {

using analysis::BidVar;
using analysis::TidVar;

class BlockArranger {
public:
  BlockArranger(ThreadProgram &program, std::array<int64_t, 3> block)
      : program(program), space(program.space), block(block) {}

  std::array<int64_t, 3> run() {
    // What obligations say of the threads holds for the block that is launched.
    for (unsigned axis = 0; axis < 3; ++axis) {
      VarId all = addNumber(block[axis]);
      for (Obligation &obligation : program.obligations)
        obligation.poly = space.substitute(obligation.poly, TidVar + axis, Poly::variable(all));
    }
    leaveOutIdle();
    for (unsigned axis = 0; axis < 3; ++axis)
      splitAxis(axis);
    std::array<std::optional<VarId>, 3> placed;
    std::vector<VarId> open = digits;
    for (unsigned axis = 0; axis < 3; ++axis)
      for (VarId digit : open)
        if (belongsTo(digit, axis)) {
          placed[axis] = digit;
          llvm::erase(open, digit);
          break;
        }
    std::array<int64_t, 3> arranged = {1, 1, 1};
    for (unsigned axis = 0; axis < 3; ++axis) {
      if (!placed[axis] && !open.empty()) {
        placed[axis] = open.front();
        open.erase(open.begin());
      }
      if (!placed[axis])
        continue;
      arranged[axis] = *space[*placed[axis]].high + 1;
      space[TidVar + axis].high = arranged[axis] - 1;
    }
    if (!open.empty()) {
      program.refuse("the threads of a block are numbered in too many ways");
      return arranged;
    }
    for (unsigned axis = 0; axis < 3; ++axis)
      if (placed[axis])
        replace(*placed[axis], Poly::variable(TidVar + axis));
    return arranged;
  }

private:
  VarId addNumber(int64_t count) {
    Space::Variable variable;
    variable.kind = Space::Loop;
    variable.name = "thread";
    variable.low = 0;
    variable.high = count - 1;
    return space.add(variable);
  }

  void replace(VarId var, const Poly &value) {
    auto change = [&](const Poly &poly) { return space.substitute(poly, var, value); };
    rewritePolys(program.body, change);
    for (Hint &hint : program.hints)
      hint.poly = change(hint.poly);
  }

  /// Threads that only fill tiles do nothing any more: the others are a smaller block.
  void leaveOutIdle() {
    if (program.body.size() != 1 || program.body[0].kind != Statement::If)
      return;
    std::array<int64_t, 3> first = {0, 0, 0};
    llvm::erase_if(program.body[0].constraints, [&](const Constraint &each) {
      for (unsigned axis = 0; axis < 3; ++axis) {
        Poly thread = Poly::variable(TidVar + axis), last = each.poly + thread,
             least = thread - each.poly;
        if (!each.isEquality && last.isConstant() && last.constantTerm() >= 0) {
          block[axis] = std::min(block[axis], last.constantTerm() + 1);
          return true;
        }
        if (!each.isEquality && least.isConstant() && least.constantTerm() < block[axis]) {
          first[axis] = std::max(first[axis], least.constantTerm());
          return true;
        }
      }
      return false;
    });
    for (unsigned axis = 0; axis < 3; ++axis) {
      if (first[axis] >= block[axis])
        return program.refuse("no thread of a block stores anything");
      if (first[axis])
        replace(TidVar + axis, Poly::variable(TidVar + axis) + Poly::constant(first[axis]));
      block[axis] -= first[axis];
    }
    if (program.body[0].constraints.empty() && program.body[0].value.text.empty()) {
      std::vector<Statement> inside = std::move(program.body[0].body);
      program.body = std::move(inside);
    }
  }

  /// Gives the digits by which the kernel takes the number of a thread along \p axis apart names of
  /// their own.
  void splitAxis(unsigned axis) {
    std::set<int64_t> divisors;
    rewritePolys(program.body, [&](const Poly &poly) {
      for (VarId var : space.variables(poly)) {
        const Space::Variable &known = space[var];
        bool isDivision = known.kind == Space::Mod || known.kind == Space::FloorDiv;
        if (isDivision && known.divisor.isConstant() &&
            known.dividend == Poly::variable(TidVar + axis))
          divisors.insert(known.divisor.constantTerm());
      }
      return poly;
    });
    int64_t before = 1;
    Poly value;
    divisors.insert(block[axis]);
    for (int64_t divisor : divisors) {
      if (divisor % before || block[axis] % divisor)
        return addWhole(axis);
      if (divisor == before)
        continue;
      VarId digit = addNumber(divisor / before);
      digits.push_back(digit);
      value = value + Poly::variable(digit) * Poly::constant(before);
      before = divisor;
    }
    replace(TidVar + axis, value);
  }

  void addWhole(unsigned axis) {
    VarId digit = addNumber(block[axis]);
    digits.push_back(digit);
    replace(TidVar + axis, Poly::variable(digit));
  }

  /// Whether blocks along \p axis and \p digit number one range together.
  bool belongsTo(VarId digit, unsigned axis) {
    Poly count = Poly::constant(*space[digit].high + 1),
         start = Poly::variable(BidVar + axis) * count;
    bool isUsed = false, isLeft = false;
    VarId whole = BidVar + axis;
    rewritePolys(program.body, [&](const Poly &poly) {
      isUsed |= space.dependsOn(poly, whole);
      isLeft |=
          space.dependsOn(space.substitute(poly, digit, Poly::variable(digit) - start), whole);
      return poly;
    });
    return isUsed && !isLeft;
  }

  ThreadProgram &program;
  Space &space;
  std::array<int64_t, 3> block;
  std::vector<VarId> digits;
};

} // namespace

void arrangeBlock(ThreadProgram &program, TileBlock &block, analysis::LaunchRanges &launches) {
  if (llvm::is_contained(block.threads, 0)) {
    // With a size that the launch decides, threads and blocks number one range together as ever.
    block.arranged = block.threads;
    for (unsigned axis = 0; axis < 3; ++axis)
      if (int64_t size = block.threads[axis])
        launches.block[axis] = {size, size};
    return;
  }
  block.arranged = BlockArranger(program, block.threads).run();
  for (unsigned axis = 0; axis < 3; ++axis)
    launches.block[axis] = {block.arranged[axis], block.arranged[axis]};
}

void restoreBlock(ThreadProgram &program, std::vector<Dimension> &dimensions,
                  const TileBlock &block) {
  Space &space = program.space;
  auto change = [&](Poly poly) {
    for (unsigned axis = 0; axis < 3; ++axis)
      if (block.arranged[axis])
        poly =
            space.substitute(poly, analysis::BdimVar + axis, Poly::constant(block.arranged[axis]));
    return poly;
  };
  rewritePolys(program.body, change);
  for (Poly &requirement : program.requirements)
    requirement = change(requirement);
  llvm::erase_if(program.requirements,
                 [](const Poly &poly) { return poly.isConstant() && poly.constantTerm() >= 0; });
  for (Dimension &dimension : dimensions)
    dimension.extent = change(dimension.extent);
  for (unsigned axis = 0; axis < 3; ++axis) {
    if (!block.threads[axis])
      continue;
    Poly width = Poly::variable(analysis::BdimVar + axis),
         number = Poly::constant(block.threads[axis]);
    program.requirements.push_back(width - number);
    program.requirements.push_back(number - width);
  }
}

} // namespace kbopt::raise
