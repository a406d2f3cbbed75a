//===- ScanNest.cpp - Loops that carry a sum from one to the next ----------===//
// SPDX-License-Identifier: Apache-2.0

#include "ScanNest.h"
#include "Accesses.h"
#include "Bounds.h"
#include "Team.h"
#include "llvm/ADT/StringSwitch.h"

using namespace kbopt;
using namespace mlir;

/// The neutral element of \p combine ("%a + %b") for values of \p type; empty where it is not
/// known.
static std::string identityOf(StringRef combine, StringRef type) {
  bool isFloat = type == "float", isReal = isFloat || type == "double";
  bool isSigned = type == "int" || type == "long" || type == "long long";
  if (!isReal && !isIntegerType(type))
    return "";
  StringRef function = combine.split('(').first;
  if (combine == "%a + %b")
    return isFloat ? "0.0f" : isReal ? "0.0" : "0";
  if (combine == "%a * %b")
    return isFloat ? "1.0f" : isReal ? "1.0" : "1";
  if (!isReal && (combine == "%a | %b" || combine == "%a ^ %b"))
    return "0";
  if (!isReal && combine == "%a & %b")
    return "~" + type.str() + "(0)";
  bool isMax = function == "max" || function == "fmaxf" || function == "fmax",
       isMin = function == "min" || function == "fminf" || function == "fmin";
  if (!isMax && !isMin)
    return "";
  if (isReal)
    return isMax ? "-INFINITY" : "INFINITY";
  if (!isSigned)
    return type.starts_with("unsigned") ? (isMax ? "0" : "~" + type.str() + "(0)") : "";
  if (type != "int")
    return "";
  return isMax ? "-2147483647 - 1" : "2147483647";
}

/// How `name = text` combines the value of \p name with a term that does not name it: "%a + %b".
/// Empty where it does not.
static std::string combineOf(StringRef name, StringRef text) {
  auto names = [&](StringRef part) {
    bool does = false;
    collectIdentifiers(part, [&](StringRef word) { does |= word == name; });
    return does;
  };
  StringRef rest = text;
  if (rest.consume_front(name) && rest.size() > 5 && rest[0] == ' ' && rest.ends_with(")") &&
      rest.substr(2).starts_with(" (") && !names(rest)) {
    char op = rest[1];
    if (StringRef("+-*&|^").contains(op))
      return std::string("%a ") + (op == '-' ? '+' : op) + " %b";
  }
  auto [function, arguments] = text.split('(');
  if (llvm::is_contained({"fmaxf", "fminf", "fmax", "fmin", "max", "min"}, function) &&
      arguments.consume_front(name) && arguments.consume_front(", (") &&
      arguments.consume_back("))") && !names(arguments))
    return (function + "(%a, %b)").str();
  return "";
}

/// The kb.let that gives a value carried by a loop its next one, if that is all that \p op does,
/// maybe under a condition.
static kb::LetOp updateIn(Operation *op, const llvm::StringSet<> &outside) {
  auto let = dyn_cast<kb::LetOp>(op);
  if (let)
    return let.getReassigns() && outside.contains(let.getName()) ? let : kb::LetOp();
  auto when = dyn_cast<kb::WhenOp>(op);
  if (!when || !llvm::hasSingleElement(when.getBody().front()))
    return {};
  return updateIn(&when.getBody().front().front(), outside);
}

static bool names(Operation *op, const llvm::StringSet<> &words) {
  bool does = false;
  op->walk([&](Operation *each) {
    if (auto text = each->getAttrOfType<StringAttr>("text"))
      collectIdentifiers(text.getValue(), [&](StringRef word) { does |= words.contains(word); });
    auto look = [&](kb::OperandAttr operand) {
      for (StringAttr symbol : operand.getOffset().getSymbols())
        does |= words.contains(symbol.getValue());
    };
    for (auto operand : operandsOf(each).getAsRange<kb::OperandAttr>())
      look(operand);
    if (auto store = dyn_cast<kb::StoreOp>(each))
      look(store.getTarget());
  });
  return does;
}

/// Whether what \p op computes differs between elements of \p dim.
static bool dependsOnDimension(Operation *op, StringRef dim) {
  bool does = false;
  op->walk([&](Operation *each) {
    if (auto text = each->getAttrOfType<StringAttr>("text"))
      collectIdentifiers(text.getValue(), [&](StringRef word) { does |= word == dim; });
    for (auto operand : operandsOf(each).getAsRange<kb::OperandAttr>())
      does |= dependsOn(operand.getOffset(), dim);
  });
  return does;
}

/// Whether \p condition, once it does not hold, holds no more as \p dim grows.
static bool fallsAlong(kb::DomainAttr condition, StringRef dim) {
  IntegerSet set = condition.getSet();
  for (unsigned i = 0; i < set.getNumConstraints(); ++i) {
    auto map = AffineMap::get(set.getNumDims(), set.getNumSymbols(), set.getConstraint(i));
    auto expr = kb::ExprAttr::get(condition.getContext(), condition.getLoops(),
                                  condition.getSymbols(), map);
    auto direction = directionAlong(expr, dim);
    if (!direction || *direction > 0 || (*direction < 0 && set.isEq(i)))
      return false;
  }
  return condition.getExact();
}

ScanNest::ScanNest(kb::NestOp nest) : rows(nest), nest(nest) { reason = find(); }

bool ScanNest::isExact() const {
  return llvm::all_of(carried, [](const CarriedValue &each) { return isIntegerType(each.type); });
}

std::string ScanNest::find() {
  if (std::string why = whyNoBox(nest); !why.empty())
    return why;
  if (nest.getDomain())
    return "its points are no box";
  top = &nest.getBody().front();
  if (top->empty())
    return "it computes nothing";
  if (auto when = dyn_cast<kb::WhenOp>(top->front());
      when && llvm::hasSingleElement(*top) && when.getText().empty()) {
    guard = *when.getDomain();
    top = &when.getBody().front();
  }
  kb::OverOp loop;
  for (kb::OverOp over : top->getOps<kb::OverOp>()) {
    if (loop)
      return "it has more than one loop";
    loop = over;
  }
  if (!loop || loop.getText() || loop.isUnbounded())
    return "no loop carries a value from one element to the next";
  unsigned loops = 0;
  bool isAtomic = false;
  nest.walk([&](kb::OverOp) { ++loops; });
  nest.walk([&](kb::StoreOp store) { isAtomic |= store.getAtomic().has_value(); });
  if (loops != 1 || isAtomic)
    return isAtomic ? "it has atomics" : "it has loops in loops";
  for (auto find : {&ScanNest::findLoop, &ScanNest::findSum})
    if ((find == &ScanNest::findSum) == (loop.getOrder() == kb::LoopOrder::Reduction))
      if (std::string why = (this->*find)(loop); !why.empty())
        return why;
  if (loop.getOrder() == kb::LoopOrder::Any)
    return "no loop carries a value from one element to the next";
  if (std::string why = findNeeded(); !why.empty())
    return why;
  findSlot();
  return checkMemory();
}

void ScanNest::findSlot() {
  llvm::DenseSet<Attribute> loaded;
  nest.walk([&](Operation *op) {
    for (kb::OperandAttr load : loadsOf(op))
      loaded.insert(load.getBase());
  });
  for (Operation *op : after) // is done before the elements
    if (auto store = dyn_cast<kb::StoreOp>(op);
        store && loaded.contains(store.getTarget().getBase()))
      return;
  for (Operation *op : body)
    if (auto store = dyn_cast<kb::StoreOp>(op);
        store && !guard && carried.size() == 1 &&
        store.getTarget().getType() == carried.front().type &&
        !loaded.contains(store.getTarget().getBase()) &&
        !usesNameOf(store.getTarget().getOffset(), *block))
      slot = store.getTarget();
}

std::string ScanNest::whyNoSlot() const {
  if (slot)
    return "";
  return carried.size() > 1 ? "several values grow along a row"
                            : "no output that is not read can hold the sums of tiles";
}

std::string ScanNest::findLoop(kb::OverOp over) {
  if (guard)
    return "a condition leaves out rows";
  dim = termDim = over.getName();
  extent = over.getExtent();
  block = &over.getBody().front();
  llvm::StringSet<> outside;
  llvm::StringMap<std::string> types;
  bool isAfter = false;
  for (Operation &op : *top) {
    if (&op == over) {
      isAfter = true;
      continue;
    }
    (isAfter ? after : before).push_back(&op);
    if (auto let = dyn_cast<kb::LetOp>(op); let && !isAfter) {
      outside.insert(let.getName());
      if (!let.getReassigns())
        types[let.getName()] = let.getType().str();
    } else if (!isAfter || !isa<kb::LetOp, kb::StoreOp>(op)) {
      return "a row does more than to scan its elements";
    }
  }
  for (Operation &op : *block) {
    body.push_back(&op);
    kb::LetOp update = updateIn(&op, outside);
    if (!update) {
      bool reassigns = false;
      op.walk([&](kb::LetOp let) {
        reassigns |= let.getReassigns() && outside.contains(let.getName());
      });
      if (reassigns)
        return "the value that its loop carries is more than a sum, product or extreme";
      continue;
    }
    std::string name = update.getName().str(), combine = combineOf(name, update.getText()),
                identity = identityOf(combine, types[name]);
    bool isTwice = llvm::any_of(carried, [&](const auto &each) { return each.name == name; });
    if (combine.empty() || identity.empty() || isTwice)
      return "'" + name + "', which its loop carries, is more than a sum, product or extreme";
    carried.push_back({name, types[name], combine, identity});
    grows.insert(&op);
  }
  return carried.empty() ? "no loop carries a value from one element to the next" : "";
}

std::string ScanNest::findSum(kb::OverOp over) {
  // extent = dim, or dim + 1.
  size_t at = 0;
  kb::ExprAttr length = over.getExtent();
  std::optional<int64_t> above;
  for (; at < rows.size() && !above; ++at) {
    auto more = combined(length, -1, dimension(rows.names[at], length), 0).getConstant();
    if (more == 0 || more == 1)
      above = more;
  }
  if (!above)
    return "its sums are not over what comes before an element";
  --at;
  dim = rows.names[at];
  extent = rows.extents[at];
  rows.names.erase(rows.names.begin() + at);
  rows.extents.erase(rows.extents.begin() + at);
  termDim = over.getName();
  block = top;
  if (guard && !fallsAlong(guard, dim))
    return "a condition may leave out elements before others";
  isExclusiveSum = *above == 0;
  for (kb::ReduceOp reduce : over.getBody().front().getOps<kb::ReduceOp>()) {
    if (!llvm::is_contained({"add", "mul", "max", "min", "and", "or", "xor"},
                            reduce.getReduction()))
      return "it looks for the place of an extreme";
    carried.push_back(
        {reduce.getName().str(), "", reduce.getCombine().str(), reduce.getIdentity().str()});
  }
  bool isPlain = llvm::all_of(over.getBody().front(), [&](Operation &op) {
    return isa<kb::LetOp, kb::ReduceOp>(op) && !dependsOnDimension(&op, dim);
  });
  if (carried.empty() || !isPlain)
    return "the terms of its sums differ from element to element";
  llvm::StringSet<> declared;
  for (Operation &op : *block) {
    auto let = dyn_cast<kb::LetOp>(op);
    auto value =
        let ? llvm::find_if(carried, [&](auto &each) { return each.name == let.getName(); })
            : carried.end();
    if (value == carried.end()) {
      if (let)
        declared.insert(let.getName());
      body.push_back(&op);
      if (&op == over)
        grows.insert(&op);
      continue;
    }
    if (let.getReassigns() || names(let, declared) || dependsOnDimension(let, dim))
      return "'" + value->name + "' begins with another value at each element";
    value->type = let.getType().str();
    before.push_back(&op);
  }
  return "";
}

std::string ScanNest::findNeeded() {
  llvm::StringSet<> wanted, tainted;
  for (const CarriedValue &each : carried)
    tainted.insert(each.name);
  for (Operation *op : body) {
    bool isTainted = !grows.contains(op) && names(op, tainted);
    op->walk([&](kb::LetOp let) {
      if (isTainted)
        tainted.insert(let.getName());
    });
  }
  for (const CarriedValue &each : carried)
    tainted.erase(each.name);
  for (Operation *op : llvm::reverse(body)) {
    bool isWanted = grows.contains(op);
    op->walk([&](kb::LetOp let) { isWanted |= wanted.contains(let.getName()); });
    if (!isWanted)
      continue;
    if (names(op, tainted))
      return "a term depends on the value so far";
    needed.insert(op);
    op->walk([&](Operation *each) {
      if (auto text = each->getAttrOfType<StringAttr>("text"))
        collectIdentifiers(text.getValue(), [&](StringRef word) { wanted.insert(word); });
      for (auto operand : operandsOf(each).getAsRange<kb::OperandAttr>())
        for (StringAttr symbol : operand.getOffset().getSymbols())
          wanted.insert(symbol.getValue());
    });
  }
  return "";
}

/// Elements of a row may be computed in any order if each stores to places of its own that no other
/// one reads.
std::string ScanNest::checkMemory() {
  using Places = llvm::SetVector<std::pair<kb::ExprAttr, int>>; // of an element, or of a row
  llvm::MapVector<StringRef, Places> offsets;                   // by base
  std::set<StringRef> stored;
  bool hasNeighbours = false, isFar = false;
  auto note = [&](ArrayRef<Operation *> ops, bool isElement) {
    for (Operation *top : ops)
      top->walk([&](Operation *op) {
        auto look = [&](kb::OperandAttr operand) {
          if (operand.getKind() != kb::OperandKind::Element)
            return;
          offsets[operand.getBase().getName()].insert({operand.getOffset(), isElement});
          auto stride = strideAlong(operand.getOffset(), grows.contains(top) ? termDim : dim);
          hasNeighbours |= isElement && stride && std::abs(*stride) == 1;
          isFar |= isElement && (!stride || std::abs(*stride) > 8);
        };
        for (kb::OperandAttr load : loadsOf(op))
          look(load);
        if (auto store = dyn_cast<kb::StoreOp>(op)) {
          look(store.getTarget());
          stored.insert(store.getTarget().getBase().getName());
        }
      });
  };
  note(before, false);
  note(body, true);
  note(after, false);
  if (!hasNeighbours || isFar)
    return "neighbours along '" + dim.str() + "' do not lie together";
  for (StringRef base : stored) {
    const Places &all = offsets[base];
    bool isOfRow = all.size() == 1 && !all[0].second; // stored after the scan
    auto stride = strideAlong(all[0].first, dim);
    bool isOwn = all.size() == 1 && all[0].second && stride && *stride != 0;
    if (!isOfRow && !isOwn)
      return "elements of a row may share what they store to '" + base.str() + "'";
  }
  return "";
}
