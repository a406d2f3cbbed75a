//===- RowsNest.cpp - A nest as rows that teams compute ---------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "RowsNest.h"
#include "Accesses.h"
#include "Bounds.h"
#include "Points.h"

using namespace kbopt;
using namespace mlir;

static unsigned freeLoopsAround(kb::OverOp over) {
  unsigned count = 0;
  for (auto up = over->getParentOfType<kb::OverOp>(); up; up = up->getParentOfType<kb::OverOp>())
    count += up.getOrder() != kb::LoopOrder::Ascending;
  return count;
}

SmallVector<kb::OverOp> kbopt::laneLoops(kb::NestOp nest, int64_t level) {
  SmallVector<kb::OverOp> found;
  nest.walk<WalkOrder::PreOrder>([&](kb::OverOp over) {
    if (over.getOrder() == kb::LoopOrder::Ascending)
      return WalkResult::advance();
    bool hasInner = false;
    over.getBody().walk(
        [&](kb::OverOp inner) { hasInner |= inner.getOrder() != kb::LoopOrder::Ascending; });
    if (freeLoopsAround(over) + 1 < level && hasInner)
      return WalkResult::advance();
    found.push_back(over);
    return WalkResult::skip();
  });
  return found;
}

kb::LetOp kbopt::declarationOf(kb::NestOp nest, StringRef name) {
  kb::LetOp found;
  nest.walk([&](kb::LetOp let) {
    if (!found && !let.getReassigns() && let.getName() == name)
      found = let;
  });
  return found;
}

SmallVector<kb::ReduceOp> kbopt::reductionsOf(kb::OverOp over) {
  SmallVector<kb::ReduceOp> found;
  over.getBody().walk([&](kb::ReduceOp reduce) {
    bool isInner = false;
    over.getBody().walk([&](kb::LetOp let) {
      isInner |= !let.getReassigns() && let.getName() == reduce.getName();
    });
    bool isKnown =
        llvm::any_of(found, [&](kb::ReduceOp each) { return each.getName() == reduce.getName(); });
    if (!isInner && !isKnown)
      found.push_back(reduce);
  });
  return found;
}

std::string kbopt::whyNotShared(kb::NestOp nest, kb::OverOp over) {
  std::string reason, where = "'" + over.getName().str() + "'";
  SmallVector<kb::ReduceOp> reductions = reductionsOf(over);
  for (kb::ReduceOp reduce : reductions) {
    if (StringRef(reduce.getReduction()).starts_with("arg"))
      return "the position of a maximum or minimum is not shared out yet";
    if (!declarationOf(nest, reduce.getName()))
      return "'" + reduce.getName().str() + "' is not declared where it is seen";
  }
  over.getBody().walk([&](Operation *op) {
    if (auto let = dyn_cast<kb::LetOp>(op); let && let.getReassigns()) {
      bool isInner = false;
      over.getBody().walk([&](kb::LetOp each) {
        isInner |= !each.getReassigns() && each.getName() == let.getName();
      });
      if (!isInner)
        reason = "'" + let.getName().str() + "' is carried from one iteration of " + where +
                 " to the next";
    }
    if (auto reduce = dyn_cast<kb::ReduceOp>(op))
      for (kb::ReduceOp each : reductions)
        if (each.getName() == reduce.getName() && each.getCombine() != reduce.getCombine())
          reason = "'" + reduce.getName().str() + "' is combined in two ways";
    if (auto text = op->getAttrOfType<StringAttr>("text"))
      collectIdentifiers(text.getValue(), [&](StringRef word) {
        for (kb::ReduceOp each : reductions)
          if (each.getName() == word)
            reason = "'" + word.str() + "' is read while " + where + " forms it";
      });
  });
  return reason;
}

std::string kbopt::whyNotRows(kb::NestOp nest, int64_t level) {
  if (std::string reason = whyNoBox(nest); !reason.empty())
    return reason;
  SmallVector<kb::OverOp> lanes = laneLoops(nest, level);
  if (lanes.empty())
    return "no inner dimension can be shared out among threads";
  for (kb::OverOp over : lanes)
    if (std::string reason = whyNotShared(nest, over); !reason.empty())
      return reason;
  return "";
}

RowCache kbopt::rowCacheOf(CudaText &text, ArrayRef<kb::OverOp> lanes) {
  RowCache cache;
  for (kb::OverOp over : lanes) {
    if (!isa<kb::NestOp>(over->getParentOp()))
      continue;
    if (!cache.extent)
      cache.extent = over.getExtent();
    if (text.expression(over.getExtent()) == text.expression(cache.extent))
      cache.loops.push_back(over);
  }
  std::map<std::string, unsigned> uses; // loops by key
  std::map<std::string, bool>
      direct; // whether every access to the base is this key of a loop's own
  for (auto [index, over] : llvm::enumerate(cache.loops)) {
    std::map<std::string, bool> here;
    for (Operation &op : over.getBody().front()) {
      auto add = [&](kb::OperandAttr operand, bool stores) {
        std::string key = elementKey(text, operand, over.getName());
        bool isNew =
            llvm::none_of(cache.streams, [&](const Stream &each) { return each.key == key; });
        if (isNew && !usesNameOf(operand.getOffset(), over.getBody().front(), &text) &&
            dependsOn(operand.getOffset(), over.getName()))
          cache.streams.push_back({key, "", operand, Stream::Registers, !stores, stores});
        uses[key] += here.insert({key, true}).second;
        if (stores)
          cache.lastStore[key] = index;
      };
      if (!isa<kb::WhenOp>(op))
        for (kb::OperandAttr load : loadsOf(&op))
          if (!isReadUnderCondition(&op, load))
            add(load, false);
      if (auto store = dyn_cast<kb::StoreOp>(op))
        add(store.getTarget(), true);
    }
  }
  // What comes before the first of the loops or after the last one finds the row in memory.
  auto isOutside = [&](Operation *op) {
    Operation *top = text.nest().getBody().front().findAncestorOpInBlock(*op);
    return !cache.loops.empty() && top &&
           (top->isBeforeInBlock(cache.loops.front()) || cache.loops.back()->isBeforeInBlock(top));
  };
  auto isAlone = [&](const Stream &stream) {
    bool isStored = false, isAlone = true;
    text.nest().walk([&](Operation *op) {
      auto look = [&](kb::OperandAttr operand, bool stores) {
        if (operand.getBase() != stream.operand.getBase() || isOutside(op))
          return;
        auto over = dyn_cast<kb::OverOp>(op->getParentOp());
        isStored |= stores;
        isAlone &= over && llvm::is_contained(cache.loops, over) &&
                   elementKey(text, operand, over.getName()) == stream.key;
      };
      for (kb::OperandAttr load : loadsOf(op))
        look(load, false);
      if (auto store = dyn_cast<kb::StoreOp>(op)) {
        look(store.getTarget(), true);
        isAlone &= !store.getAtomic() || isOutside(op) ||
                   store.getTarget().getBase() != stream.operand.getBase();
      }
    });
    return !isStored || isAlone;
  };
  llvm::erase_if(cache.streams,
                 [&](const Stream &stream) { return uses[stream.key] < 2 || !isAlone(stream); });
  return cache;
}

std::vector<RowSum> kbopt::rowSumsOf(CudaText &text, const RowCache &cache) {
  std::vector<RowSum> sums;
  kb::NestOp nest = text.nest();
  auto isOfPoint = [&](kb::ExprAttr expr) {
    bool depends = usesNameOf(expr, nest.getBody().front(), &text);
    for (auto dim : nest.getDims().getAsRange<StringAttr>())
      depends |= dependsOn(expr, dim);
    return depends;
  };
  if (cache.loops.empty() || isOfPoint(cache.extent))
    return sums;
  std::map<std::string, unsigned> found; // accesses by base
  for (kb::OverOp over : cache.loops)
    for (auto store : over.getBody().front().getOps<kb::StoreOp>()) {
      kb::OperandAttr target = store.getTarget();
      StringRef type = target.getType();
      bool isSum = store.getAtomic() && *store.getAtomic() == "atomicAdd" &&
                   (type == "float" || type == "double" || type == "int") &&
                   strideAlong(target.getOffset(), over.getName()) == 1 &&
                   !isOfPoint(target.getOffset()) &&
                   !usesNameOf(target.getOffset(), over.getBody().front(), &text);
      if (!isSum)
        continue;
      std::string key = elementKey(text, target, over.getName());
      ++found[target.getBase().getName().str()];
      if (llvm::none_of(sums, [&](const RowSum &each) { return each.stream.key == key; }))
        sums.push_back({{key, "", target, Stream::Registers}, over.getName().str()});
    }
  // Nothing else may use the array.
  std::map<std::string, unsigned> all, elements;
  nest.walk([&](Operation *op) {
    for (kb::OperandAttr load : loadsOf(op))
      ++all[load.getBase().getName().str()];
    if (auto store = dyn_cast<kb::StoreOp>(op))
      ++all[store.getTarget().getBase().getName().str()];
  });
  for (const RowSum &sum : sums)
    ++elements[sum.stream.operand.getBase().getName().str()];
  llvm::erase_if(sums, [&](const RowSum &sum) {
    std::string base = sum.stream.operand.getBase().getName().str();
    return all[base] != found[base] || elements[base] != 1;
  });
  return sums;
}

int64_t kbopt::wordsHeld(CudaText &text, const RowCache &cache) {
  std::vector<int64_t> words(cache.loops.size(), 0); // bytes after each loop
  for (const Stream &stream : cache.streams) {
    std::optional<size_t> first;
    size_t last = 0;
    for (size_t index = 0; index < cache.loops.size(); ++index) {
      kb::OverOp over = cache.loops[index];
      for (Operation &op : over.getBody().front()) {
        SmallVector<kb::OperandAttr> accesses = loadsOf(&op);
        if (auto store = dyn_cast<kb::StoreOp>(op))
          accesses.push_back(store.getTarget());
        for (kb::OperandAttr each : accesses)
          if (elementKey(text, each, over.getName()) == stream.key) {
            first = first.value_or(index);
            last = index;
          }
      }
    }
    for (size_t i = first.value_or(0); i < last; ++i)
      words[i] += stream.operand.getBytes();
  }
  return words.empty() ? 0 : (*llvm::max_element(words) + 3) / 4;
}

kb::ExprAttr kbopt::largestExtent(kb::NestOp nest, kb::ExprAttr extent) {
  SmallVector<StringAttr> loops(extent.getLoops()), symbols;
  for (auto symbol : nest.getSymbols().getAsRange<kb::SymbolAttr>())
    symbols.push_back(StringAttr::get(nest.getContext(), symbol.getName()));
  for (kb::ExprAttr each : nest.getExtents().getAsRange<kb::ExprAttr>())
    for (StringAttr loop : each.getLoops())
      if (!llvm::is_contained(loops, loop))
        loops.push_back(loop);
  kb::ExprAttr result = inSpace(extent, loops, symbols);
  // Inner dimensions first: their ranges may depend on outer ones.
  for (size_t index = loops.size(); index-- > 0;) {
    if (!dependsOn(result, loops[index]))
      continue;
    kb::ExprAttr range;
    for (auto [dim, each] : llvm::zip(nest.getDims().getAsRange<StringAttr>(),
                                      nest.getExtents().getAsRange<kb::ExprAttr>()))
      if (dim == loops[index])
        range = inSpace(each, loops, symbols);
    if (range)
      result = extreme(result, loops[index], range, true);
    if (!range || !result)
      return {};
  }
  return result;
}
