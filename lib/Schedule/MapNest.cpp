//===- MapNest.cpp - A nest as independent points -------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "MapNest.h"
#include "Accesses.h"

using namespace kbopt;
using namespace mlir;

static bool isBoxed(kb::ExprAttr extent) {
  return llvm::none_of(extent.getLoops(), [&](StringAttr dim) { return dependsOn(extent, dim); });
}

bool kbopt::loadsWhatIsStored(Block &body, kb::OverOp over) {
  llvm::SmallPtrSet<const void *, 4> stored;
  over.walk(
      [&](kb::StoreOp store) { stored.insert(store.getTarget().getBase().getAsOpaquePointer()); });
  return llvm::any_of(llvm::drop_end(body), [&](Operation &op) {
    return isa<kb::LetOp>(op) && llvm::any_of(loadsOf(&op), [&](kb::OperandAttr load) {
             return stored.contains(load.getBase().getAsOpaquePointer());
           });
  });
}

MapNest::MapNest(kb::NestOp nest, bool absorbs) : box(nest), body(&nest.getBody().front()) {
  while (absorbs) {
    auto over = body->empty() ? kb::OverOp() : dyn_cast<kb::OverOp>(body->back());
    bool onlyScalars =
        llvm::all_of(llvm::drop_end(*body), [](Operation &op) { return isa<kb::LetOp>(op); });
    if (!over || !onlyScalars || over.getOrder() != kb::LoopOrder::Any ||
        llvm::any_of(outer, [&](Block *each) { return loadsWhatIsStored(*each, over); }) ||
        loadsWhatIsStored(*body, over) || !isBoxed(over.getExtent()) ||
        CudaText(nest).hostExpression(over.getExtent()).empty())
      break;
    outer.push_back(body);
    box.names.push_back(over.getName());
    box.extents.push_back(over.getExtent());
    body = &over.getBody().front();
    this->absorbs = true;
  }
}

void MapNest::makeLast(StringRef dim) {
  auto *found = llvm::find(box.names, dim);
  size_t at = found - box.names.begin();
  std::rotate(box.names.begin() + at, box.names.begin() + at + 1, box.names.end());
  std::rotate(box.extents.begin() + at, box.extents.begin() + at + 1, box.extents.end());
}

kb::ExprAttr MapNest::extent(StringRef dim) const {
  return box.extents[llvm::find(box.names, dim) - box.names.begin()];
}

bool MapNest::hasInnerLoops() const {
  bool found = false;
  body->walk([&](kb::OverOp) { found = true; });
  return found;
}

int64_t MapNest::neighbourBytes(StringRef dim) const {
  int64_t bytes = 0;
  for (Operation &op : *body)
    forEachAccess(&op, [&](kb::OperandAttr operand, bool) {
      auto stride = strideAlong(operand.getOffset(), dim);
      if (stride && *stride == 0)
        return;
      bytes += stride && *stride == 1 ? operand.getBytes() : -operand.getBytes();
    });
  return bytes;
}

bool MapNest::addsNeighbours(StringRef dim) const {
  return llvm::any_of(body->getOps<kb::StoreOp>(), [&](kb::StoreOp store) {
    kb::OperandAttr target = store.getTarget();
    return store.getAtomic() == StringRef("atomicAdd") && target.getType() == "float" &&
           strideAlong(target.getOffset(), dim) == 1;
  });
}

bool MapNest::hasFarAccesses(StringRef dim) const {
  bool isFar = false;
  for (Operation &op : *body)
    forEachAccess(&op, [&](kb::OperandAttr operand, bool) {
      auto stride = strideAlong(operand.getOffset(), dim);
      isFar |= !stride || std::abs(*stride) > 8;
    });
  return isFar;
}

SmallVector<StringRef> MapNest::laneDims() const {
  SmallVector<StringRef> dims;
  if (absorbs)
    return {box.names.back()};
  dims.assign(box.names.rbegin(), box.names.rend());
  llvm::stable_sort(
      dims, [&](StringRef a, StringRef b) { return neighbourBytes(a) > neighbourBytes(b); });
  return dims;
}

std::optional<int64_t> MapNest::points(const LaunchSizes &sizes) const {
  int64_t points = 1;
  for (kb::ExprAttr extent : box.extents) {
    auto count = valueAt(extent, sizes);
    if (!count || llvm::MulOverflow(points, *count, points))
      return std::nullopt;
  }
  return points;
}

MapNest kbopt::mapNestOf(kb::NestOp nest, StringRef lanes) {
  MapNest plain(nest, false), all(nest, true);
  if (!all.absorbs || llvm::is_contained(plain.box.names, lanes))
    return plain;
  if (lanes.empty() && !plain.box.names.empty() &&
      all.neighbourBytes(all.laneDims().front()) < all.neighbourBytes(plain.laneDims().front()))
    return plain;
  return all;
}
