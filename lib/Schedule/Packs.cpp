//===- Packs.cpp - Elements of one thread that lie side by side -------------===//
// SPDX-License-Identifier: Apache-2.0

#include "Packs.h"
#include "Accesses.h"
#include "Bounds.h"

using namespace kbopt;
using namespace mlir;

namespace {

/// An access of a body, in the order in which it runs.
struct Access {
  kb::OperandAttr operand;
  std::string key;
  bool isStore = false;
  bool isSure = false; ///< every iteration makes it
};

struct PackFinder {
  CudaText &text;
  Block &body;
  StringRef dim;
  Needs &needs;
  std::vector<Access> all;
  std::vector<Stream> packs;

  void run(ArrayRef<Stream> others) {
    body.walk<WalkOrder::PreOrder>([&](Operation *op) {
      bool isAlways = op->getBlock() == &body;
      for (kb::OperandAttr load : loadsOf(op))
        all.push_back({load, elementKey(text, load, dim), false,
                       isAlways && !isReadUnderCondition(op, load)});
      if (auto store = dyn_cast<kb::StoreOp>(op)) {
        kb::OperandAttr target = store.getTarget();
        all.push_back(
            {target, elementKey(text, target, dim), true, isAlways && !store.getAtomic()});
      }
    });
    for (const Access &access : all) {
      bool isTaken = llvm::any_of(others, [&](const Stream &each) {
        return each.operand.getBase() == access.operand.getBase();
      });
      for (int64_t bytes = 16; bytes > access.operand.getBytes() && !isTaken; bytes /= 2)
        isTaken = isHeld(access.key) || find(access, bytes);
    }
  }

  bool isHeld(StringRef key) const {
    return llvm::any_of(packs,
                        [&](const Stream &each) { return llvm::is_contained(each.parts, key); });
  }

  /// The element that is \p steps after \p first, if some access is to it and is always made.
  std::string keyAfter(const Access &first, int64_t steps) {
    SmallVector<StringAttr> loops, symbols;
    auto collect = [](ArrayRef<StringAttr> names, SmallVector<StringAttr> &to) {
      for (StringAttr name : names)
        if (!llvm::is_contained(to, name))
          to.push_back(name);
    };
    for (const Access &each : all) {
      kb::ExprAttr a = first.operand.getOffset(), b = each.operand.getOffset();
      loops.clear(), symbols.clear();
      collect(a.getLoops(), loops), collect(b.getLoops(), loops);
      collect(a.getSymbols(), symbols), collect(b.getSymbols(), symbols);
      if (each.isSure && each.operand.getBase() == first.operand.getBase() &&
          each.operand.getType() == first.operand.getType() &&
          areEqual(inSpace(a, loops, symbols).getExpr() + steps,
                   inSpace(b, loops, symbols).getExpr()))
        return each.key;
    }
    return "";
  }

  /// Makes a pack of \p bytes that begins at \p first, if there is one.
  bool find(const Access &first, int64_t bytes) {
    kb::OperandAttr operand = first.operand;
    kb::BaseAttr base = operand.getBase();
    if (!first.isSure || operand.getKind() != kb::OperandKind::Element || !operand.getBytes() ||
        bytes % operand.getBytes() || base.getKind() != kb::BaseKind::Argument ||
        base.getByteOffset() != 0 || usesNameOf(operand.getOffset(), body, &text))
      return false;
    int64_t width = bytes / operand.getBytes();
    auto conditions = multipleConditions(text.nest(), operand.getOffset(), "", width);
    if (!conditions)
      return false;
    Stream pack{first.key, "", operand};
    for (int64_t part = 0; part < width; ++part) {
      pack.parts.push_back(part ? keyAfter(first, part) : first.key);
      if (pack.parts.back().empty())
        return false;
    }
    if (!isWhole(pack) || !keepsOrder(pack))
      return false;
    for (const std::string &condition : *conditions)
      needs.expression(condition);
    needs.aligned(base, bytes);
    pack.array = arrayName(text, operand);
    packs.push_back(std::move(pack));
    return true;
  }

  /// Whether what is loaded or stored of \p pack is all of it; says which.
  bool isWhole(Stream &pack) const {
    std::set<StringRef> loaded, stored;
    bool mayLoad = false; // under a condition
    for (const Access &each : all) {
      bool isPart = llvm::is_contained(pack.parts, each.key);
      if (each.isStore && each.operand.getBase() == pack.operand.getBase() &&
          !(isPart && each.isSure))
        return false;
      mayLoad |= isPart && !each.isSure;
      if (isPart && each.isSure && (each.isStore || !stored.count(each.key)))
        (each.isStore ? stored : loaded).insert(each.key);
    }
    pack.loads = loaded.size() == pack.parts.size();
    pack.stores = stored.size() == pack.parts.size();
    return (pack.loads || (loaded.empty() && !mayLoad)) && (pack.stores || stored.empty());
  }

  /// Whether the loads of \p pack may run before the body and its stores after it. Other arrays
  /// must not overlap it then.
  bool keepsOrder(const Stream &pack) {
    kb::BaseAttr base = pack.operand.getBase();
    auto isPart = [&](const Access &each) { return llvm::is_contained(pack.parts, each.key); };
    size_t lastLoad = 0, firstStore = all.size();
    for (const auto &[at, each] : llvm::enumerate(all))
      if (isPart(each))
        each.isStore ? firstStore = std::min(firstStore, at) : lastLoad = at;
    std::vector<kb::BaseAttr> apart;
    for (const auto &[at, each] : llvm::enumerate(all)) {
      bool crossesLoad = pack.loads && each.isStore && at < lastLoad,
           crossesStore = pack.stores && at > firstStore;
      if (isPart(each) || !(crossesLoad || crossesStore))
        continue;
      if (each.operand.getBase() == base)
        return false;
      if (mayOverlap(text.kernel(), base, each.operand.getBase()))
        apart.push_back(each.operand.getBase());
    }
    for (kb::BaseAttr other : apart)
      needs.disjoint(base, other);
    return true;
  }
};

} // namespace

std::vector<Stream> kbopt::packsOf(CudaText &text, Block &body, ArrayRef<Stream> others,
                                   StringRef dim, Needs &needs) {
  PackFinder finder{text, body, dim, needs, {}, {}};
  finder.run(others);
  return std::move(finder.packs);
}

std::string kbopt::partOf(CudaText &text, ArrayRef<Stream> streams, kb::OperandAttr operand,
                          StringRef dim) {
  if (operand.getKind() != kb::OperandKind::Element)
    return "";
  std::string key = elementKey(text, operand, dim);
  for (const Stream &stream : streams)
    if (auto found = llvm::find(stream.parts, key); found != stream.parts.end())
      return stream.array + "[" + std::to_string(found - stream.parts.begin()) + "]";
  return "";
}
