//===- ContractionSum.cpp - The sum of a nest and what is around it ---------===//
// SPDX-License-Identifier: Apache-2.0

#include "ContractionSum.h"

using namespace kbopt;
using namespace mlir;

namespace {

class SumFinder {
public:
  SumFinder(kb::NestOp nest, Contraction &to, SumOfNest &sum) : nest(nest), to(to), sum(sum) {}

  std::string find() {
    findBody();
    return findLoops();
  }

private:
  kb::NestOp nest;
  Contraction &to;
  SumOfNest &sum;
  kb::OverOp sumLoop;
  kb::WhenOp guard;

  /// Parallel dimensions, also those that one thread of the given kernel runs over, and the block
  /// in them.
  void findBody() {
    for (auto [dim, extent] : llvm::zip(nest.getDims().getAsRange<StringAttr>(),
                                        nest.getExtents().getAsRange<kb::ExprAttr>()))
      sum.parallel.push_back({dim.getValue().str(), extent});
    if (auto domain = nest.getDomain())
      sum.domains.push_back(*domain);
    sum.body = &nest.getBody().front();
    while (llvm::hasSingleElement(*sum.body)) {
      auto over = dyn_cast<kb::OverOp>(sum.body->front());
      if (!over || over.getOrder() != kb::LoopOrder::Any)
        break;
      sum.parallel.push_back({over.getName().str(), over.getExtent()});
      sum.body = &over.getBody().front();
    }
  }

  static bool hasLoop(Operation &op) {
    bool found = false;
    op.walk([&](kb::OverOp) { found = true; });
    return found;
  }

  /// The sum stands in the body, or in one condition there. Its loops may have conditions between
  /// them.
  std::string findLoops() {
    std::string reason = scan(*sum.body);
    if (!reason.empty())
      return reason;
    if (!sumLoop)
      return "there is no loop that sums";
    std::vector<kb::DomainAttr> under;
    Block *inner = nullptr;
    for (Operation *next = sumLoop; next;) {
      if (auto over = dyn_cast<kb::OverOp>(next)) {
        if (over.getOrder() != kb::LoopOrder::Reduction)
          return ("the loop over " + over.getName() + " is not a sum").str();
        to.depth.push_back({over.getName().str(), over.getExtent()});
        inner = &over.getBody().front();
      } else {
        under.push_back(*cast<kb::WhenOp>(next).getDomain());
        inner = &cast<kb::WhenOp>(next).getBody().front();
      }
      next = llvm::hasSingleElement(*inner) ? &inner->front() : nullptr;
      if (next && !isa<kb::OverOp>(next) && !(isExact(*next) && hasLoop(*next)))
        next = nullptr;
    }
    if (reason = findTerm(*inner, under); !reason.empty())
      return reason;
    return checkSums();
  }

  static bool isExact(Operation &op) {
    auto when = dyn_cast<kb::WhenOp>(op);
    return when && when.getDomain() && when.getDomain()->getExact();
  }

  std::string scan(Block &block) {
    bool isOuter = &block == sum.body;
    for (Operation &op : block) {
      auto over = dyn_cast<kb::OverOp>(op);
      auto when = dyn_cast<kb::WhenOp>(op);
      if (hasLoop(op) && sumLoop)
        return ("there is another loop beside that over " + sumLoop.getName()).str();
      if (over) {
        sumLoop = over;
      } else if (when && hasLoop(op)) {
        if (!isOuter || !isExact(op))
          return "the condition around the sum is not affine";
        sum.domains.push_back(*when.getDomain());
        guard = when;
        if (std::string reason = scan(when.getBody().front()); !reason.empty())
          return reason;
      } else if (sumLoop) {
        (isOuter && guard ? to.besideAfter : to.after).push_back(&op);
      } else if (auto let = dyn_cast<kb::LetOp>(op)) {
        to.perOutput.push_back(let);
      } else if (isOuter) {
        to.besideBefore.push_back(&op);
      } else {
        return "there are stores or conditions before the sum";
      }
    }
    return to.besideBefore.empty() || guard || !sumLoop
               ? ""
               : "there are stores or conditions before the sum";
  }

  /// The statements of \p block, those in conditions among them.
  std::string findTerm(Block &block, const std::vector<kb::DomainAttr> &under) {
    for (Operation &op : block) {
      auto let = dyn_cast<kb::LetOp>(op);
      if (auto reduce = dyn_cast<kb::ReduceOp>(op)) {
        if (reduce.getName().contains(','))
          return "the loop also looks for a position (" + reduce.getName().str() + ")";
        if (!to.isSum(reduce.getName()))
          to.sums.emplace_back(reduce.getName().str(), "");
      } else if (isExact(op) && !hasLoop(op)) {
        std::vector<kb::DomainAttr> inside = under;
        inside.push_back(*cast<kb::WhenOp>(op).getDomain());
        if (std::string reason = findTerm(cast<kb::WhenOp>(op).getBody().front(), inside);
            !reason.empty())
          return reason;
        continue;
      } else if (!let || (let.getReassigns() ? !replacesZero(let) : isDeclared(let.getName()))) {
        return "the loop over " + to.depth.front().name + " does more than to sum";
      }
      to.term.push_back(&op);
      sum.conditions.push_back(under);
    }
    return "";
  }

  bool isDeclared(StringRef name) {
    return llvm::any_of(to.term, [&](Operation *op) {
      auto let = dyn_cast<kb::LetOp>(op);
      return let && let.getName() == name;
    });
  }

  /// Whether \p let gives a variable that is zero an element in place of it: `v = c ? x[i] : 0`. In
  /// a tile with zeros where the condition fails, the element is that.
  bool replacesZero(kb::LetOp let) {
    SmallVector<kb::LetOp> before;
    for (Operation *op : to.term)
      if (auto each = dyn_cast<kb::LetOp>(op); each && each.getName() == let.getName())
        before.push_back(each);
      else if (mentions(op, let.getName()))
        return false;
    return before.size() == 1 && isZeroText(before.front().getText()) &&
           let.getOperands().size() == 1 &&
           keepsZero(let.getText(), [](StringRef hole) { return hole == "$0"; });
  }

  std::string checkSums() {
    if (to.sums.empty())
      return "the loop over " + to.depth.front().name + " sums nothing";
    for (auto &[name, type] : to.sums)
      for (kb::LetOp let : to.perOutput)
        if (let.getName() == name && !let.getReassigns())
          type = let.getType().str();
    for (auto &[name, type] : to.sums)
      if (type.empty())
        return name + " is not declared at the point that it belongs to";
    return "";
  }
};

} // namespace

std::string kbopt::findSum(kb::NestOp nest, Contraction &contraction, SumOfNest &sum) {
  return SumFinder(nest, contraction, sum).find();
}
