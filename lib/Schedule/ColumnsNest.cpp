//===- ColumnsNest.cpp - A nest as columns of a matrix ----------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "ColumnsNest.h"
#include "Accesses.h"
#include "Points.h"
#include "RowsNest.h"
#include "Sketches.h"

using namespace kbopt;
using namespace mlir;

kb::WhenOp kbopt::columnGuard(kb::NestOp nest) {
  Block &body = nest.getBody().front();
  auto when = llvm::hasSingleElement(body) ? dyn_cast<kb::WhenOp>(body.front()) : kb::WhenOp();
  bool hasLoops = false;
  if (when)
    when.getBody().walk([&](kb::OverOp) { hasLoops = true; });
  return hasLoops && when.getText().empty() && when.getDomain() ? when : kb::WhenOp();
}

Block &kbopt::columnBody(kb::NestOp nest) {
  kb::WhenOp guard = columnGuard(nest);
  return guard ? guard.getBody().front() : nest.getBody().front();
}

kb::OverOp kbopt::sharedLoop(kb::OverOp top) {
  while (true) {
    Block &body = top.getBody().front();
    auto inner = body.empty() ? kb::OverOp() : dyn_cast<kb::OverOp>(body.back());
    bool onlyScalars =
        llvm::all_of(llvm::drop_end(body), [](Operation &op) { return isa<kb::LetOp>(op); });
    if (!inner || !onlyScalars || inner.getOrder() != top.getOrder())
      return top;
    top = inner;
  }
}

std::string kbopt::columnDim(kb::NestOp nest) {
  std::string best;
  int64_t most = 0;
  for (auto dim : nest.getDims().getAsRange<StringAttr>()) {
    int64_t bytes = 0;
    for (auto over : columnBody(nest).getOps<kb::OverOp>())
      over.getBody().walk([&](Operation *op) {
        for (kb::OperandAttr load : loadsOf(op)) {
          auto stride = strideAlong(load.getOffset(), dim);
          if (!stride || *stride != 0)
            bytes += stride && *stride == 1 ? load.getBytes() : -load.getBytes();
        }
      });
    if (bytes > most) {
      most = bytes;
      best = dim.getValue().str();
    }
  }
  return best;
}

/// Statements of the point are run by all threads of a column, stores by one. \returns why that is
/// not sound.
static std::string whyNotOneStore(kb::NestOp nest) {
  std::set<std::string> loaded, stored; // loaded: since the threads last waited for each other
  std::string reason;
  auto load = [&](kb::OperandAttr operand) {
    std::string base = operand.getBase().getName().str();
    loaded.insert(base);
    if (stored.count(base))
      reason = "'" + base + "' is read after it has been stored to";
  };
  auto store = [&](kb::OperandAttr operand) {
    std::string base = operand.getBase().getName().str();
    if (loaded.count(base))
      reason = "'" + base + "' is read by threads that do not wait for its store";
    stored.insert(base);
  };
  for (Operation &op : columnBody(nest)) {
    if (auto each = dyn_cast<kb::StoreOp>(op)) {
      // Its own operands are loaded by the thread that stores.
      for (kb::OperandAttr operand : loadsOf(&op))
        if (operand.getBase() != each.getTarget().getBase())
          load(operand);
      store(each.getTarget());
      continue;
    }
    SmallVector<kb::OperandAttr> stores;
    op.walk([&](Operation *inner) {
      auto target = dyn_cast<kb::StoreOp>(inner);
      for (kb::OperandAttr operand : loadsOf(inner))
        if (!target || operand != target.getTarget())
          load(operand);
      if (target)
        stores.push_back(target.getTarget());
    });
    auto over = dyn_cast<kb::OverOp>(op);
    if (over && !reductionsOf(over).empty()) {
      if (!stores.empty())
        reason = "'" + over.getName().str() + "' stores while it reduces";
      loaded.clear(); // combining waits
    }
    for (kb::OperandAttr each : stores)
      store(each);
  }
  return reason;
}

std::string kbopt::whyNotColumns(kb::NestOp nest) {
  if (std::string reason = whyNoBox(nest); !reason.empty())
    return reason;
  if (nest.getDomain())
    return "its points are not a box";
  bool hasArrays = false;
  nest.walk([&](kb::LetOp let) { hasArrays |= let.getType().contains('['); });
  if (hasArrays)
    return "a point has an array of its own";
  bool reduces = false;
  for (Operation &op : columnBody(nest)) {
    auto over = dyn_cast<kb::OverOp>(op);
    bool hasInner = false;
    op.walk([&](kb::OverOp inner) { hasInner |= inner.getOperation() != &op; });
    if (!over && hasInner)
      return "a loop stands under a condition";
    // Threads of all columns compute scalars, inside the condition or not.
    auto let = dyn_cast<kb::LetOp>(op);
    if (let && columnGuard(nest) &&
        (!loadsOf(let).empty() || let.getText().find_first_of("/%(") != StringRef::npos))
      return "'" + let.getName().str() + "' is computed under a condition";
    if (!over)
      continue;
    kb::OverOp shared = sharedLoop(over);
    if (over.getOrder() == kb::LoopOrder::Ascending)
      return "the iterations of '" + over.getName().str() + "' must run in order";
    if (std::string reason = whyNotShared(nest, over); !reason.empty())
      return reason;
    reduces |= !reductionsOf(over).empty();
    if (dependsOn(shared.getExtent(), columnDim(nest)))
      return "the extent of '" + shared.getName().str() + "' differs from column to column";
  }
  if (!reduces)
    return "it has no reduction";
  if (columnDim(nest).empty())
    return "neighbouring points do not read neighbouring elements";
  return whyNotOneStore(nest);
}

int64_t kbopt::columnVector(kb::NestOp nest, const LaunchSizes &sizes) {
  // Under a condition, columns are stored one by one.
  auto hasStore = [](kb::WhenOp when) { return !when.getOps<kb::StoreOp>().empty(); };
  if (columnGuard(nest) || llvm::any_of(columnBody(nest).getOps<kb::WhenOp>(), hasStore))
    return 1;
  CudaText text(nest);
  std::string dim = columnDim(nest);
  int64_t bytes = 16;
  for (auto over : columnBody(nest).getOps<kb::OverOp>()) {
    Block &body = sharedLoop(over).getBody().front();
    for (Operation &op : body)
      for (kb::OperandAttr load : loadsOf(&op))
        if (isVector(text, load, body, dim, 2, nullptr))
          bytes = std::min(bytes, load.getBytes());
  }
  Box box(nest);
  auto columns = valueAt(box.extents[llvm::find(box.names, dim) - box.names.begin()], sizes);
  int64_t vector = 16 / bytes;
  while (columns && *columns % vector != 0)
    vector /= 2;
  return vector;
}
