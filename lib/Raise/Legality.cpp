//===- Legality.cpp - What may be assumed of a raised kernel ----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the questions about memory: which executions of which accesses of a nest can
// touch the same element.
//
//===----------------------------------------------------------------------===//
#include "kb-opt/Raise/Legality.h"

#include "NestScalars.h"
#include "NestSystem.h"

using namespace mlir;

namespace kbopt {

using raise::NestSystem;
using raise::Polynomial;

namespace {

/// An element that a raised statement loads or stores.
struct Access {
  Operation *op = nullptr;
  kb::OperandAttr element;
  bool stores = false;
  StringAttr atomic;
  SmallVector<kb::OverOp> overs; ///< around it, outermost first

  kb::BaseAttr base() const { return element.getBase(); }
  std::string name() const { return "'" + base().getName().str() + "'"; }
};

class Question {
public:
  Question(kb::NestOp nest, double seconds)
      : nest(nest), dims(nest.getDims().size()), deadline(raise::threadSeconds() + seconds) {
    nest.walk([&](Operation *op) { collect(op); });
  }

  Answer isLegal(bool isApart);
  Answer hasOneOwner();
  std::optional<SmallVector<std::string>> basesThatMayMeet();
  bool isApartAlong(unsigned position);

private:
  void collect(Operation *op);
  /// Whether what is stored to could also be reached in a way that is not tested.
  std::string hiddenOverlap();
  bool isConstantMemory(kb::BaseAttr base);

  /// A system of an execution of \p a and one of \p b that touch a common element.
  NestSystem meeting(const Access &a, const Access &b) const;
  /// Every nest dimension is the same in both.
  void addSamePoint(NestSystem &system) const;
  /// Whether \p system has no solution in which dimension \p position differs.
  bool isEmptyWhereDiffers(const NestSystem &system, unsigned position, bool isSymmetric);
  /// The loaded integers that are the same for points that differ along \p position alone.
  SmallVector<StringAttr> valuesWithout(unsigned position);
  bool isVarying(StringAttr name) {
    return llvm::any_of(nest.getSymbols().getAsRange<kb::SymbolAttr>(), [&](kb::SymbolAttr known) {
      return known.getName() == name && known.getOrigin() == kb::SymbolOrigin::Varying;
    });
  }
  /// Visits each pair of a store and an access to the same base of which not both are the same
  /// atomic. Stops at the first reason.
  std::string
  forEachPair(llvm::function_ref<std::string(const Access &, const Access &)> visit) const;
  Answer answer(std::string reason) const;
  bool isRacefree(const Access &access) const;
  /// Whether different points touch different elements by \p store and \p other, of which \p system
  /// is the meeting.
  bool areApart(const NestSystem &system, const Access &store, const Access &other);

  kb::NestOp nest;
  unsigned dims;
  double deadline;
  bool isLate = false;
  std::vector<Access> accesses;
};

void Question::collect(Operation *op) {
  Access access;
  access.op = op;
  for (Operation *up = op->getParentOp(); up && up != nest.getOperation(); up = up->getParentOp())
    if (auto over = dyn_cast<kb::OverOp>(up))
      access.overs.insert(access.overs.begin(), over);
  if (auto operands = op->getAttrOfType<ArrayAttr>("operands"))
    for (auto operand : operands.getAsRange<kb::OperandAttr>())
      if (operand.getKind() == kb::OperandKind::Element) {
        access.element = operand;
        accesses.push_back(access);
      }
  if (auto store = dyn_cast<kb::StoreOp>(op)) {
    access.element = store.getTarget();
    access.stores = true;
    access.atomic = store.getAtomicAttr();
    accesses.push_back(access);
  }
}

bool Question::isConstantMemory(kb::BaseAttr base) {
  bool isConstant = false, isOther = false;
  auto kernel = SymbolTable::lookupNearestSymbolFrom<kb::KernelOp>(nest, nest.getKernelAttr());
  if (kernel)
    kernel.walk([&](kb::AccessOp access) {
      if (access.getBase() == base)
        (access.getSpace() == kb::MemorySpace::Constant ? isConstant : isOther) = true;
    });
  return isConstant && !isOther;
}

std::string Question::hiddenOverlap() {
  bool storesToArgument = false;
  bool hasPointers = llvm::any_of(accesses, [](const Access &access) {
    return access.base().getKind() == kb::BaseKind::Argument;
  });
  for (const Access &access : accesses) {
    if (!access.stores)
      continue;
    if (access.base().getKind() == kb::BaseKind::Argument)
      storesToArgument = true;
    else if (access.base().getKind() == kb::BaseKind::Global && !hasPointers)
      continue;
    else if (access.base().getKind() == kb::BaseKind::Global)
      return "it stores to the variable " + access.name() +
             ", which parameters may refer to as well";
    else
      return "it stores to memory that is not one of its parameters";
  }
  for (const Access &access : accesses)
    if (!access.stores && storesToArgument && access.base().getKind() != kb::BaseKind::Argument &&
        !isConstantMemory(access.base()))
      return access.base().getName().empty()
                 ? "it loads memory that is not one of its parameters, and stores may change that"
                 : "it loads " + access.name() +
                       ", which is not a parameter, and stores may change that";
  return "";
}

NestSystem Question::meeting(const Access &a, const Access &b) const {
  NestSystem system(nest);
  system.deadline = deadline;
  system.addInstance(a.op, 0);
  system.addInstance(b.op, 1);
  auto import = [&](kb::ExprAttr expr, unsigned instance) { return system.import(expr, instance); };
  int64_t bytesA = a.element.getBytes(), bytesB = b.element.getBytes();
  ArrayRef<kb::ExprAttr> stridesA = a.element.getStrides(), stridesB = b.element.getStrides();
  bool sameStrides = !stridesA.empty() && stridesA.size() == stridesB.size() && bytesA == bytesB;
  for (size_t i = 0; sameStrides && i < stridesA.size(); ++i)
    sameStrides = import(stridesA[i], 0).valid &&
                  import(stridesA[i], 0).terms == import(stridesB[i], 1).terms;
  if (sameStrides) {
    for (auto [indexA, indexB] : llvm::zip(a.element.getIndices(), b.element.getIndices()))
      system.addEqual(import(indexA, 0), import(indexB, 1));
    return system;
  }
  Polynomial offsetA = import(a.element.getOffset(), 0), offsetB = import(b.element.getOffset(), 1);
  if (bytesA == bytesB) {
    system.addEqualByDigits(offsetA, offsetB);
    return system;
  }
  Polynomial startA = offsetA * Polynomial::constant(bytesA),
             startB = offsetB * Polynomial::constant(bytesB);
  system.add(startB + Polynomial::constant(bytesB - 1) - startA);
  system.add(startA + Polynomial::constant(bytesA - 1) - startB);
  return system;
}

void Question::addSamePoint(NestSystem &system) const {
  for (unsigned i = 0; i < dims; ++i)
    system.addEqual(system.dim(i, 0), system.dim(i, 1));
}

bool Question::isEmptyWhereDiffers(const NestSystem &system, unsigned position, bool isSymmetric) {
  for (bool swapped : {false, true}) {
    if (swapped && isSymmetric)
      break;
    if (isLate || raise::threadSeconds() > deadline) {
      isLate = true;
      return false;
    }
    NestSystem ordered = system;
    ordered.add(ordered.dim(position, swapped) - ordered.dim(position, !swapped) -
                Polynomial::constant(1));
    if (!ordered.isEmpty()) {
      isLate = raise::threadSeconds() > deadline; // it may have given up
      return false;
    }
  }
  return true;
}

std::string
Question::forEachPair(llvm::function_ref<std::string(const Access &, const Access &)> visit) const {
  for (size_t i = 0; i < accesses.size(); ++i) {
    const Access &store = accesses[i];
    if (!store.stores)
      continue;
    for (size_t j = 0; j < accesses.size(); ++j) {
      const Access &other = accesses[j];
      if (other.base() != store.base() || (other.stores && j < i) ||
          (store.atomic && store.atomic == other.atomic))
        continue;
      if (std::string reason = visit(store, other); !reason.empty())
        return reason;
    }
  }
  return "";
}

Answer Question::answer(std::string reason) const {
  if (isLate)
    return Answer::dontKnow(tooLongToCompare);
  return reason.empty() ? Answer::yes() : Answer::dontKnow(std::move(reason));
}

bool Question::isRacefree(const Access &access) const {
  auto racefree = kb::NestOp(nest).getRacefreeAttr();
  return racefree && llvm::any_of(racefree.getAsRange<StringAttr>(),
                                  [&](StringAttr name) { return name == access.base().getName(); });
}

bool Question::areApart(const NestSystem &system, const Access &store, const Access &other) {
  for (unsigned i = 0; i < dims && !isRacefree(store); ++i)
    if (!isEmptyWhereDiffers(system, i, &store == &other))
      return false;
  return true;
}

bool Question::isApartAlong(unsigned position) {
  std::string reason = forEachPair([&](const Access &store, const Access &other) -> std::string {
    NestSystem system = meeting(store, other);
    for (unsigned i = 0; i < dims; ++i)
      if (i != position)
        system.addEqual(system.dim(i, 0), system.dim(i, 1));
    for (StringAttr symbol : valuesWithout(position))
      system.addEqual(system.varying(symbol, 0), system.varying(symbol, 1));
    return isEmptyWhereDiffers(system, position, &store == &other) ? "" : "they may meet";
  });
  return reason.empty();
}

SmallVector<StringAttr> Question::valuesWithout(unsigned position) {
  SmallVector<StringAttr> names;
  for (auto let : nest.getOps<kb::LetOp>()) {
    auto isFixed = [&](kb::OperandAttr operand) {
      auto offset = operand.getOffset();
      bool isStored = llvm::any_of(accesses, [&](const Access &each) {
        return each.stores && each.base() == operand.getBase();
      });
      return !isStored && offset.getMap().getNumResults() == 1 &&
             !offset.getExpr().isFunctionOfDim(kb::firstLoopDim + position) &&
             llvm::all_of(offset.getSymbols(), [&](StringAttr name) {
               return llvm::is_contained(names, name) || !isVarying(name);
             });
    };
    if (let.getText() == "$0" && !let.getReassigns() && isVarying(let.getNameAttr()) &&
        llvm::all_of(let.getOperands().getAsRange<kb::OperandAttr>(), isFixed))
      names.push_back(let.getNameAttr());
  }
  return names;
}

/// Whether loaded values decide if \p access happens.
static bool isDecidedByData(const Access &access) {
  bool decides = llvm::any_of(access.overs, [](kb::OverOp over) { return over.getText(); });
  for (auto when = access.op->getParentOfType<kb::WhenOp>(); when;
       when = when->getParentOfType<kb::WhenOp>())
    decides |= !when.getText().empty();
  return decides;
}

std::optional<SmallVector<std::string>> Question::basesThatMayMeet() {
  SmallVector<std::string> names;
  bool doMeet = false;
  auto add = [&](const Access &store) {
    std::string name = store.base().getName().str();
    if (!llvm::is_contained(names, name))
      names.push_back(name);
  };
  forEachPair([&](const Access &store, const Access &other) -> std::string {
    if (isLate) { // the others may meet as well
      add(store);
      return "";
    }
    NestSystem system = meeting(store, other);
    if (areApart(system, store, other))
      return "";
    add(store);
    bool isData = isDecidedByData(store) || isDecidedByData(other);
    for (unsigned i = 0; i < dims && !isData; ++i) {
      NestSystem ordered = system;
      ordered.add(ordered.dim(i, 0) - ordered.dim(i, 1) - Polynomial::constant(1));
      doMeet |= ordered.isMetWhateverTheSizes();
    }
    return doMeet ? "they meet" : "";
  });
  return doMeet ? std::nullopt : std::optional(std::move(names));
}

Answer Question::isLegal(bool isApart) {
  if (std::string reason = hiddenOverlap(); !reason.empty())
    return Answer::dontKnow(reason);
  if (std::string reason = raise::carriedScalar(nest); !reason.empty())
    return Answer::dontKnow(reason);
  if (isApart)
    return Answer::yes();
  return answer(forEachPair([&](const Access &store, const Access &other) -> std::string {
    bool isSame = &store == &other;
    bool sharesLoop =
        !store.overs.empty() && !other.overs.empty() && store.overs.front() == other.overs.front();
    if (isRacefree(store) && !sharesLoop)
      return "";
    NestSystem system = meeting(store, other);
    if (!areApart(system, store, other))
      return (isSame || other.stores
                  ? "two points may store to the same element of "
                  : "a point may store to an element that another point loads, of ") +
             store.name();
    addSamePoint(system);
    for (size_t level = 0; level < store.overs.size(); ++level) {
      kb::OverOp over = store.overs[level];
      if (level >= other.overs.size() || other.overs[level] != over)
        break;
      if (over.getOrder() != kb::LoopOrder::Ascending &&
          !isEmptyWhereDiffers(system, dims + level, isSame))
        return "iterations of '" + over.getName().str() + "' may touch the same element of " +
               store.name();
      system.addEqual(system.dim(dims + level, 0), system.dim(dims + level, 1));
    }
    return "";
  }));
}

Answer Question::hasOneOwner() {
  return answer(forEachPair([&](const Access &store, const Access &other) -> std::string {
    if (store.overs.empty() && other.overs.empty())
      return "";
    NestSystem system = meeting(store, other);
    addSamePoint(system);
    bool isOwned = store.overs.empty() || other.overs.empty()
                       ? system.isEmpty()
                       : isEmptyWhereDiffers(system, dims, &store == &other);
    return isOwned ? "" : "threads of a team exchange elements of " + store.name();
  }));
}

} // namespace

Answer isLegalNest(kb::NestOp nest, double seconds, bool isApart) {
  return Question(nest, seconds).isLegal(isApart);
}

std::optional<SmallVector<std::string>> basesThatMayMeet(kb::NestOp nest, double seconds) {
  return Question(nest, seconds).basesThatMayMeet();
}

bool isApartAlong(kb::NestOp nest, unsigned position, double seconds) {
  return Question(nest, seconds).isApartAlong(position);
}

Answer hasOneOwner(kb::NestOp nest, double seconds) {
  return Question(nest, seconds).hasOneOwner();
}

} // namespace kbopt
