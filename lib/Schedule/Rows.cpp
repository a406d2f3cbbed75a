//===- Rows.cpp - A team of threads for each row ----------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the sketch `rows`: reductions along inner dimensions, and what goes with them, for each
// point of the outer ones. Before, a thread walks its row alone; afterwards
//
//   for (int i = lane; i < C; i += lanes)
//     sum += x[(size_t)row * C + i];
//   for (int offset = 16; offset > 0; offset /= 2)
//     sum += __shfl_xor_sync(0xffffffff, sum, offset);
//
//===----------------------------------------------------------------------===//
#include "Accesses.h"
#include "RowsPrinter.h"

using namespace kbopt;
using namespace mlir;

std::string RowsPrinter::whyNot() {
  size = schedule.integer("team", 32);
  rows = schedule.integer("rows", 1);
  if (!llvm::isPowerOf2_64(size) || size < 2 || size > 1024)
    return "the key 'team' must be a power of two from 2 to 1024";
  if (rows < 1 || size * rows > 1024 || (size > 32 && rows > 1) || (size * rows) % 32 != 0)
    return "the keys 'team' and 'rows' do not make whole warps of one block";
  StringRef kept = schedule.string("cache");
  if (!kept.empty() && kept != "none" && kept != "registers")
    return "the key 'cache' has no meaning '" + kept.str() + "' here";
  if (!llvm::isPowerOf2_64(schedule.integer("vector", 1)) || schedule.integer("vector", 1) > 16)
    return "the key 'vector' must be a power of two up to 16";
  if (schedule.integer("online")) {
    online = onlinePairsOf(laneLoops(nest, schedule.integer("level", 1)));
    if (online.empty())
      return "no sum of exponentials is relative to a maximum right before it";
    if (kept == "registers")
      return "with 'online=1' no row waits in registers";
  }
  return whyNotRows(nest, schedule.integer("level", 1));
}

void RowsPrinter::nameThings() {
  shape.lane = team.isBlock() ? "threadIdx.x" : text.freshName("lane");
  shape.lanes = text.freshName("lanes");
  shape.width = text.freshName("width");
  shape.chunks = text.freshName("chunks");
  shape.first = text.freshName("first");
  shape.chunk = text.freshName("k");
  shape.element = text.freshName("e");
  shape.inflight = schedule.integer("inflight", 1);
}

/// The loop's iterations can be taken several at a time, and some element is then moved in one
/// access.
bool RowsPrinter::isVectorLoop(kb::OverOp over) {
  auto conditions = multipleConditions(nest, over.getExtent(), "", schedule.integer("vector", 1));
  if (!conditions)
    return false;
  bool any = false;
  Block &body = over.getBody().front();
  for (Operation &op : body) { // not what stands under a condition
    auto look = [&](kb::OperandAttr operand) {
      any |= isVector(text, operand, body, over.getName(), schedule.integer("vector", 1), nullptr);
    };
    for (kb::OperandAttr load : loadsOf(&op))
      if (!isReadUnderCondition(&op, load))
        look(load);
    if (auto store = dyn_cast<kb::StoreOp>(op))
      look(store.getTarget());
  }
  return any;
}

void RowsPrinter::chooseVectors() {
  if (schedule.string("cache") == "registers")
    cache = rowCacheOf(text, lanes);
  if (!cache.streams.empty()) {
    shape.turns = schedule.integer("chunks", 1);
    shape.vector = llvm::any_of(cache.loops, [&](kb::OverOp over) { return isVectorLoop(over); })
                       ? schedule.integer("vector", 1)
                       : 1;
    for (Stream &stream : cache.streams)
      stream.array = arrayName(text, stream.operand);
    if (team.isBlock() && !nest.getDims().empty())
      for (RowSum &sum : rowSumsOf(text, cache)) {
        sum.stream.array = text.freshName(sum.stream.operand.getBase().getName().str() + "Sums");
        sums.emplace_back(sum.stream, sum.dim);
      }
    registers += heldElements();
  } else {
    cache = {};
  }
}

int64_t RowsPrinter::heldElements() {
  return cache.streams.empty()
             ? 0
             : shape.turns * shape.vector * (wordsHeld(text, cache) + int64_t(sums.size()));
}

std::string RowsPrinter::partialFor(kb::OverOp over, kb::ReduceOp reduce) {
  StringRef variable = reduce.getName();
  if (isIdempotent(reduce))
    return variable.str();
  // The value before the loop is neutral if the last statement that sets it says so.
  for (Operation *op = over->getPrevNode(); op; op = op->getPrevNode()) {
    if (auto let = dyn_cast<kb::LetOp>(op); let && let.getName() == variable) {
      if (isNeutral(reduce, let.getText()))
        return variable.str();
      break;
    }
    bool changes = false;
    op->walk([&](Operation *inner) {
      if (auto each = dyn_cast<kb::ReduceOp>(inner))
        changes |= each.getName() == variable;
      if (auto let = dyn_cast<kb::LetOp>(inner))
        changes |= let.getName() == variable;
    });
    if (changes)
      break;
  }
  return text.freshName("part");
}

void RowsPrinter::touch(ArrayRef<std::pair<kb::OperandAttr, bool>> accesses, kb::OverOp owner) {
  bool conflicts = false;
  std::map<std::string, std::map<std::string, bool>> now;
  for (auto [operand, stores] : accesses) {
    std::string base = operand.getBase().getName().str();
    // Two loops give the same element to the same thread if they share out the same iterations in
    // the same way.
    std::string key = owner ? elementKey(text, operand, owner.getName()) +
                                  text.expression(owner.getExtent()) +
                                  (isVectorLoop(owner) ? " vector" : "") +
                                  (llvm::is_contained(cache.loops, owner) ? " turns" : "")
                            : "";
    for (auto &[other, stored] : touched[base])
      conflicts |= (stored || stores) && (other != key || key.empty());
    now[base][key] |= stores;
  }
  if (conflicts) {
    team.barrier(code);
    touched.clear();
  }
  for (auto &[base, keys] : now)
    for (auto &[key, stores] : keys)
      touched[base][key] |= stores;
}

SmallVector<std::pair<kb::OperandAttr, bool>> kbopt::accessesOf(Operation *root) {
  SmallVector<std::pair<kb::OperandAttr, bool>> found;
  root->walk([&](Operation *op) {
    for (kb::OperandAttr load : loadsOf(op))
      found.push_back({load, false});
    if (auto store = dyn_cast<kb::StoreOp>(op))
      found.push_back({store.getTarget(), true});
  });
  return found;
}

void RowsPrinter::fillCache(kb::OverOp over, ArrayRef<Stream> streams, StringRef extent) {
  std::vector<Stream> toFill;
  for (const Stream &stream : streams) {
    if (stream.place != Stream::Registers ||
        llvm::any_of(held, [&](const Stream &each) { return each.key == stream.key; }))
      continue;
    held.push_back(stream);
    code.line(declaration(stream, shape));
    if (stream.loads)
      toFill.push_back(stream);
  }
  if (!toFill.empty())
    printFill(text, code, over.getName(), extent, shape, toFill);
}

void RowsPrinter::laneLoop(kb::OverOp over) {
  touch(accessesOf(over), over);
  Block &body = over.getBody().front();
  auto *inCache = llvm::find(cache.loops, over);
  bool isCached = inCache != cache.loops.end();
  LaneShape own = shape;
  if (!isCached) {
    own.turns = 0;
    own.vector = isVectorLoop(over) ? schedule.integer("vector", 1) : 1;
  }
  own.packs = own.vector == 1;
  if (own.vector > 1) {
    auto conditions = multipleConditions(nest, over.getExtent(), "", own.vector);
    for (const std::string &condition : *conditions)
      needs.expression(condition);
  }
  std::string extent = text.expression(over.getExtent());
  std::vector<Stream> streams = streamsOf(text, body, over.getName(), own,
                                          isCached ? cache.streams : std::vector<Stream>(), needs);
  for (Stream &stream : streams)
    if (stream.place == Stream::Registers && stream.stores)
      stream.writesBack = cache.lastStore[stream.key] == unsigned(inCache - cache.loops.begin());
  if (isCached) {
    fillCache(over, streams, extent);
    for (const auto &[stream, dim] : sums)
      streams.push_back(stream);
  }
  SmallVector<kb::ReduceOp> summed; // those that the team combines after this loop
  std::map<std::string, std::string> partial = deferred;
  for (kb::ReduceOp reduce : reductionsOf(over))
    if (!deferred.count(reduce.getName().str()))
      summed.push_back(reduce);
  startSums(over, summed, partial);
  over.walk([&](kb::StoreOp store) {
    reassociates |= store.getAtomic() && !isIntegerType(store.getTarget().getType());
  });
  printLaneLoop(text, code, body, over.getName(), extent, own, streams, partial);
  endSums(summed, partial);
}

StringRef kbopt::typeOf(kb::NestOp nest, kb::ReduceOp reduce) {
  StringRef type = declarationOf(nest, reduce.getName()).getType();
  type.consume_front("const ");
  return type;
}

void RowsPrinter::startSums(kb::OverOp over, ArrayRef<kb::ReduceOp> reduces,
                            std::map<std::string, std::string> &partial) {
  for (kb::ReduceOp reduce : reduces) {
    std::string variable = partialFor(over, reduce);
    StringRef type = typeOf(nest, reduce);
    if (variable != reduce.getName())
      code.line(type + " " + variable + " = " + reduce.getIdentity() + ";");
    partial[reduce.getName().str()] = variable;
    reassociates |= !isIdempotent(reduce) && !isIntegerType(type);
  }
}

void RowsPrinter::endSums(ArrayRef<kb::ReduceOp> reduces,
                          const std::map<std::string, std::string> &partial) {
  std::vector<Team::Value> values;
  for (kb::ReduceOp reduce : reduces)
    values.push_back({reduce, typeOf(nest, reduce).str(), partial.at(reduce.getName().str())});
  team.combine(code, values);
  for (Team::Value &each : values)
    if (each.variable != each.reduce.getName())
      StatementPrinter{text, code}.combine(each.reduce, each.reduce.getName(), each.variable);
}

/// The sums of loops of the team inside \p over that nothing needs before \p over ends.
SmallVector<kb::ReduceOp> RowsPrinter::sumsUntilEndOf(kb::OverOp over) {
  SmallVector<kb::ReduceOp> found;
  if (over.getOrder() != kb::LoopOrder::Reduction)
    return found;
  std::map<StringRef, unsigned> all, ofTeam; // reductions by variable
  over.walk([&](kb::ReduceOp reduce) { ++all[reduce.getName()]; });
  for (kb::OverOp lane : lanes) {
    bool isInside = over->isProperAncestor(lane);
    for (Operation *up = lane->getParentOp(); isInside && up != over; up = up->getParentOp())
      if (auto between = dyn_cast<kb::OverOp>(up))
        isInside &= between.getOrder() == kb::LoopOrder::Reduction;
    if (!isInside)
      continue;
    for (kb::ReduceOp reduce : reductionsOf(lane)) {
      bool isOutside = !over->isProperAncestor(declarationOf(nest, reduce.getName()));
      if (isOutside && !ofTeam[reduce.getName()]++)
        found.push_back(reduce);
    }
  }
  llvm::erase_if(found, [&](kb::ReduceOp reduce) {
    return all[reduce.getName()] != ofTeam[reduce.getName()] ||
           deferred.count(reduce.getName().str());
  });
  return found;
}

void RowsPrinter::serialLoop(kb::OverOp over) {
  SmallVector<kb::ReduceOp> later = sumsUntilEndOf(over);
  startSums(over, later, deferred);
  if (!later.empty() && shape.inflight > 1) // its rounds only load and add
    code.unroll(shape.inflight);
  code.open(loopHead(text, over));
  printPoint(over.getBody().front());
  // The next iteration may touch what this one has stored, unless their order is free.
  bool stores = llvm::any_of(accessesOf(over), [](const auto &each) { return each.second; });
  if (stores && over.getOrder() == kb::LoopOrder::Ascending) {
    team.barrier(code);
    touched.clear();
  }
  code.close();
  endSums(later, deferred);
  for (kb::ReduceOp reduce : later)
    deferred.erase(reduce.getName().str());
}

void RowsPrinter::storesOfFirstLane(ArrayRef<kb::StoreOp> stores) {
  SmallVector<std::pair<kb::OperandAttr, bool>> accesses;
  for (kb::StoreOp store : stores)
    llvm::append_range(accesses, accessesOf(store));
  // One thread does them all, in order; only what others do can conflict.
  touch(accesses, {});
  lanesAreUsed = true;
  StatementPrinter printer{text, code};
  std::string head = "if (" + shape.lane + " == 0)";
  if (stores.size() == 1) {
    code.line(head).indent().line(printer.store(stores.front())).outdent();
    return;
  }
  code.open(head);
  for (kb::StoreOp store : stores)
    code.line(printer.store(store));
  code.close();
}

/// Whether the team combines a sum of \p over only after a loop around it.
bool RowsPrinter::isDeferred(kb::OverOp over) {
  return llvm::any_of(reductionsOf(over), [&](kb::ReduceOp reduce) {
    return deferred.count(reduce.getName().str()) != 0;
  });
}

void RowsPrinter::printPoint(Block &block) {
  SmallVector<kb::StoreOp> stores;
  auto flush = [&] {
    if (!stores.empty())
      storesOfFirstLane(stores);
    stores.clear();
  };
  for (Operation &op : block) {
    if (done.contains(&op))
      continue;
    if (auto store = dyn_cast<kb::StoreOp>(op)) {
      stores.push_back(store);
      continue;
    }
    flush();
    auto pair = llvm::find_if(online, [&](OnlinePair &each) {
      return each.most.getOperation() == &op && !isDeferred(each.most) && !isDeferred(each.sums);
    });
    if (pair != online.end()) {
      for (Operation *next = op.getNextNode(); next != pair->sums; next = next->getNextNode()) {
        touch(accessesOf(next), {});
        StatementPrinter{text, code}.print(next);
        done.insert(next);
      }
      done.insert(pair->sums);
      onlineLoop(*pair);
    } else if (auto over = dyn_cast<kb::OverOp>(op)) {
      llvm::is_contained(lanes, over) ? laneLoop(over) : serialLoop(over);
    } else if (auto when = dyn_cast<kb::WhenOp>(op)) {
      SmallVector<std::pair<kb::OperandAttr, bool>> loads;
      for (kb::OperandAttr load : loadsOf(when))
        loads.push_back({load, false});
      touch(loads, {});
      code.open("if (" + text.condition(when) + ")");
      printPoint(when.getBody().front());
      code.close();
      // What was touched inside is not known to be ordered where the condition is false.
    } else {
      touch(accessesOf(&op), {});
      StatementPrinter{text, code}.print(&op);
    }
  }
  flush();
}
