//===- FuseNests.cpp - Two nests as one --------------------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "FuseNests.h"
#include "HostText.h"
#include "LaunchAlgebra.h"
#include "NestAccesses.h"
#include "NestJoin.h"
#include "kb-opt/Raise/Legality.h"
#include "mlir/IR/Verifier.h"

using namespace kbopt;
using analysis::Poly;
using llvm::StringRef;

namespace {

/// A first nest whose values are computed where they are needed has no more loads and scalars than
/// this.
constexpr unsigned mostLoads = 4, mostScalars = 8;
/// As often its values are computed for one element of a row at most.
constexpr unsigned mostCopies = 4;

class Fuser {
public:
  Fuser(const PassContext &context, const LaunchedNest &first, const LaunchedNest &second)
      : context(context), first(first), second(second), names(context, first, second),
        builder(kb::NestOp(first.nest).getContext()) {}

  llvm::Expected<LaunchedNest> run() {
    if (std::string why = names.whyNot(); !why.empty())
      return llvm::createStringError(why);
    findLinks();
    if (links.empty())
      return llvm::createStringError("the second launch reads nothing that the first one stores");
    if (llvm::Error error = findMatch())
      return std::move(error);
    if (isInline)
      if (std::string why = whyNotInline(); !why.empty())
        return llvm::createStringError(why);
    build();
    if (!problem.empty())
      return llvm::createStringError(problem);
    if (mlir::failed(mlir::verify(result.nest)))
      return llvm::createStringError("the joined form does not verify (a bug of kb-opt)");
    result.renumber();
    result.requirements = first.requirements;
    for (kb::ExprAttr each : second.requirements)
      result.requirements.push_back(names.ofSecond(each));
    if (std::string why = whyOrderMatters(); !why.empty())
      return llvm::createStringError(why);
    result.launches = first.launches;
    result.launches.insert(result.launches.end(), second.launches.begin(), second.launches.end());
    result.statements = first.statements;
    result.statements.insert(result.statements.end(), second.statements.begin(),
                             second.statements.end());
    result.open = first.open;
    for (const std::string &each : second.open)
      if (!llvm::is_contained(result.open, each))
        result.open.push_back(each);
    if (llvm::Error error = addEqualities())
      return std::move(error);
    result.dropUnused();
    return std::move(result);
  }

private:
  //===-- What the second nest needs of the first --------------------------===//

  void findLinks() {
    kb::NestOp(first.nest).walk([&](kb::StoreOp store) {
      kb::NestOp(second.nest).walk([&](mlir::Operation *op) {
        forEachLoad(op, [&](kb::OperandAttr load) {
          if (names.ofSecond(load.getBase().getName()) == store.getTarget().getBase().getName())
            links.push_back({store, load, op});
        });
      });
    });
  }

  llvm::Error findMatch() {
    std::string reason;
    for (const ElementLink &link : links)
      if (llvm::any_of(oversAround(link.store), [](kb::OverOp over) { return over.getText(); }))
        return llvm::createStringError("data decides how much of '" +
                                       kb::StoreOp(link.store).getTarget().getBase().getName() +
                                       "' the first launch stores");
    if (findIterations())
      return llvm::Error::success();
    for (bool inner : {false, true})
      for (const ElementLink &link : links) {
        llvm::Expected<PointMatch> found = matchPoints(names, first, second, link, inner);
        if (found) {
          match = std::move(*found);
          isInline = inner;
          return llvm::Error::success();
        }
        std::string why = llvm::toString(found.takeError());
        if (reason.empty())
          reason = why;
      }
    return llvm::createStringError(reason);
  }

  bool isInLoop() const {
    return match.form == PointMatch::InLoop || match.form == PointMatch::FlatInLoop;
  }

  /// The match in which the second nest's statements stand in the loops of the first one, after the
  /// store of the element that they need.
  bool findIterations() {
    for (const ElementLink &link : links) {
      if (!isLastInIteration(link.store))
        continue;
      llvm::Expected<PointMatch> found = matchIterations(names, first, second, link);
      if (found) {
        match = std::move(*found);
        return true;
      }
      llvm::consumeError(found.takeError());
    }
    return false;
  }

  /// Whether nothing after \p store, of the first nest, uses the array, what stands before it in
  /// its loop uses the same element only, and the second nest is a map that shares no other array
  /// which one of them changes.
  bool isLastInIteration(kb::StoreOp store) {
    llvm::SmallVector<kb::OverOp> loops = oversAround(store);
    if (loops.empty() || store.getAtomic() || store->getParentOfType<kb::WhenOp>())
      return false;
    StringRef base = store.getTarget().getBase().getName();
    Poly element = names.polys.polyOf(store.getTarget().getOffset());
    bool isLast = true, reached = false;
    std::set<std::string> stored, used;
    auto use = [&](mlir::Operation *op, kb::OperandAttr operand) {
      used.insert(operand.getBase().getName().str());
      if (op == store.getOperation() || operand.getBase().getName() != base)
        return;
      bool isNear = llvm::is_contained(oversAround(op), loops.front());
      isLast &= !reached && (!isNear || names.polys.polyOf(operand.getOffset()) == element);
    };
    kb::NestOp(first.nest).walk<mlir::WalkOrder::PreOrder>([&](mlir::Operation *op) {
      reached |= op == store.getOperation();
      forEachLoad(op, [&](kb::OperandAttr load) { use(op, load); });
      if (auto each = mlir::dyn_cast<kb::StoreOp>(op)) {
        use(op, each.getTarget());
        stored.insert(each.getTarget().getBase().getName().str());
        isLast &= !each.getAtomic();
      }
    });
    auto isApart = [&](kb::OperandAttr operand, bool stores) {
      std::string name = names.ofSecond(operand.getBase().getName());
      if (name == base)
        return operand.getBytes() == store.getTarget().getBytes();
      return stores ? !used.count(name) : !stored.count(name);
    };
    std::optional<Poly> place;
    kb::NestOp(second.nest).walk([&](mlir::Operation *op) {
      isLast &= !mlir::isa<kb::OverOp, kb::ReduceOp>(op);
      auto check = [&](kb::OperandAttr operand, bool stores) {
        isLast &= isApart(operand, stores);
        if (names.ofSecond(operand.getBase().getName()) != base)
          return;
        Poly offset = names.polys.polyOf(names.ofSecond(operand.getOffset()));
        isLast &= !place || *place == offset;
        place = offset;
      };
      forEachLoad(op, [&](kb::OperandAttr load) { check(load, false); });
      if (auto each = mlir::dyn_cast<kb::StoreOp>(op)) {
        check(each.getTarget(), true);
        isLast &= !each.getAtomic();
      }
    });
    return isLast;
  }

  /// Whether \p op, of the second nest, loads what the first one stored to \p name: the second nest
  /// stores there later only, and elements of other iterations.
  bool isBeforeStores(mlir::Operation *op, StringRef name) const {
    bool reached = false, before = true;
    llvm::SmallVector<kb::OverOp> loops = oversAround(op);
    kb::NestOp(second.nest).walk<mlir::WalkOrder::PreOrder>([&](mlir::Operation *each) {
      reached |= each == op;
      auto store = mlir::dyn_cast<kb::StoreOp>(each);
      if (!store || names.ofSecond(store.getTarget().getBase().getName()) != name)
        return;
      before &= reached;
      for (kb::OverOp loop : oversAround(store))
        before &= loop.getOrder() != kb::LoopOrder::Ascending || !llvm::is_contained(loops, loop);
    });
    return before;
  }

  /// Why the first nest's values cannot be computed where the second one needs them.
  std::string whyNotInline() {
    unsigned loads = 0, scalars = 0, stores = 0;
    std::string reason;
    kb::NestOp(first.nest).walk([&](mlir::Operation *op) {
      if (mlir::isa<kb::OverOp, kb::ReduceOp, kb::WhenOp>(op))
        reason = "what the first launch stores is not computed anew for each use: it has loops or "
                 "conditions";
      scalars += mlir::isa<kb::LetOp>(op);
      stores += mlir::isa<kb::StoreOp>(op);
      forEachLoad(op, [&](kb::OperandAttr) { ++loads; });
    });
    kb::StoreOp store = match.link.store;
    StringRef name = store.getTarget().getBase().getName();
    if (reason.empty() && (stores != 1 || store.getAtomic()))
      reason = "the first launch stores more than the elements of '" + name.str() + "'";
    if (reason.empty() && (loads > mostLoads || scalars > mostScalars))
      reason = "what the first launch stores takes too much to compute it anew for each use";
    for (auto symbol : kb::NestOp(first.nest).getSymbols().getAsRange<kb::SymbolAttr>())
      if (symbol.getOrigin() == kb::SymbolOrigin::Varying)
        reason = "the first launch loads '" + symbol.getName().str() + "' and uses it as an index";
    isInPlace = loadedNames(first.nest).count(name.str());
    for (const std::string &each : loadedNames(first.nest)) {
      bool isStored = each != name && llvm::any_of(secondStores(), [&](const std::string &stored) {
                        return stored == each;
                      });
      if (isStored)
        reason = "'" + each +
                 "' changes before the second launch needs what the first one computes from it";
    }
    // Each use computes the value anew: nothing is to be computed for elements that several points
    // use.
    auto isReused = [&](const ElementLink &link) {
      Poly offset = names.polys.polyOf(names.ofSecond(link.load.getOffset()));
      auto extents = kb::NestOp(second.nest).getExtents().getAsRange<kb::ExprAttr>();
      return llvm::any_of(llvm::zip_equal(dimsOf(second.nest), extents), [&](auto dim) {
        auto [name, extent] = dim;
        return !(names.polys.polyOf(names.ofSecond(extent)) == Poly::constant(1)) &&
               !offset.contains(names.polys.id(names.ofSecond(name.getValue())));
      });
    };
    bool isCopy = scalars == 0 && loads == 1 && store.getText() == "$0";
    if (reason.empty() && !isCopy && llvm::any_of(links, isReused))
      reason = "each element of '" + name.str() + "' is needed by many points of the second launch";
    if (links.size() > mostCopies && !isInPlace)
      reason = "the second launch loads '" + name.str() + "' in too many places";
    for (const ElementLink &link :
         isInPlace ? llvm::ArrayRef(links).take_front() : llvm::ArrayRef(links))
      if (!isBeforeStores(link.op, name))
        reason = "the second launch stores to '" + name.str() + "' and loads it again";
    if (reason.empty() && isInPlace && !changesInOnePlace())
      reason = "'" + name.str() +
               "' would change more than once before the second launch has read all of it";
    return reason;
  }

  /// Whether the first load in the second nest comes to each element once, and before all others:
  /// there the first nest can change the element, which the others load from memory.
  bool changesInOnePlace() {
    kb::StoreOp store = match.link.store;
    bool isSame = true;
    kb::NestOp(first.nest).walk([&](mlir::Operation *op) {
      forEachLoad(op, [&](kb::OperandAttr load) {
        if (load.getBase().getName() == store.getTarget().getBase().getName())
          isSame &= names.polys.polyOf(load.getOffset()) ==
                    names.polys.polyOf(store.getTarget().getOffset());
      });
    });
    mlir::Block &body = kb::NestOp(second.nest).getBody().front();
    const ElementLink &place = links.front();
    mlir::Operation *top = body.findAncestorOpInBlock(*place.op);
    return isSame && visitsOnce(place) && llvm::all_of(links, [&](const ElementLink &link) {
             bool isPlace = link.op == place.op && link.load == place.load;
             return isPlace || top->isBeforeInBlock(body.findAncestorOpInBlock(*link.op));
           });
  }

  std::set<std::string> secondStores() {
    std::set<std::string> stored;
    kb::NestOp(second.nest).walk([&](kb::StoreOp store) {
      stored.insert(names.ofSecond(store.getTarget().getBase().getName()));
    });
    return stored;
  }

  //===-- The joined nest ---------------------------------------------------===//

  static std::vector<mlir::StringAttr> dimsOf(kb::NestOp nest) {
    auto dims = nest.getDims().getAsRange<mlir::StringAttr>();
    return std::vector<mlir::StringAttr>(dims.begin(), dims.end());
  }

  void build() {
    bool usesFirst = !isInline && match.form != PointMatch::FlatFirst;
    std::vector<mlir::StringAttr> dims = dimsOf(usesFirst ? first.nest : second.nest);
    if (!usesFirst)
      for (mlir::StringAttr &dim : dims)
        dim = builder.getStringAttr(names.ofSecond(dim.getValue()));
    result = LaunchedNest::create(builder.getContext(), names.parameters,
                                  llvm::SmallVector<mlir::Attribute>(dims.begin(), dims.end()));
    result.nest.setSymbolsAttr(builder.getArrayAttr(names.symbolAttributes));
    builder.setInsertionPointToEnd(&result.nest.getBody().front());
    NestCopier ofFirst(builder, dims, names.symbols), ofSecond(builder, dims, names.symbols);
    ofSecond.rename = [&](StringRef name) -> std::optional<std::string> {
      std::string renamed = names.ofSecond(name);
      return renamed == name ? std::nullopt : std::optional<std::string>(renamed);
    };
    ofSecond.scalarFor = [&](kb::OperandAttr operand, mlir::Operation *op) {
      return scalarFor(operand, op);
    };
    ofSecond.symbol = [&](StringRef name) {
      mlir::AffineExpr product;
      for (const std::string &factor : names.factorsOf(names.ofSecond(name)))
        product = product ? product * ofSecond.symbolNamed(factor) : ofSecond.symbolNamed(factor);
      return product;
    };
    if (usesFirst) {
      for (mlir::StringAttr dim : dims)
        ofFirst.dimensions[dim.getValue()] = ofFirst.dimNamed(dim.getValue());
    } else {
      for (mlir::StringAttr dim : dimsOf(second.nest))
        ofSecond.dimensions[dim.getValue()] = ofSecond.dimNamed(names.ofSecond(dim.getValue()));
    }
    if (isInline) {
      copyWithFirstInside(ofFirst, ofSecond);
    } else {
      if (match.form == PointMatch::FlatFirst)
        ofFirst.dimensions[dimsOf(first.nest).front().getValue()] =
            ofSecond.expression(match.link.load.getOffset()).getExpr();
      if (isInLoop())
        ofFirst.after = [&](mlir::Operation *op) {
          if (op == match.link.store.getOperation())
            copyIntoLoop(ofFirst, ofSecond);
        };
      copyFirst(ofFirst);
      if (!isInLoop())
        copySecond(ofFirst, ofSecond);
    }
    llvm::SmallVector<mlir::Attribute> extents;
    NestCopier &outer = usesFirst ? ofFirst : ofSecond;
    kb::NestOp from = usesFirst ? first.nest : second.nest;
    for (auto extent : from.getExtents().getAsRange<kb::ExprAttr>())
      extents.push_back(outer.expression(extent));
    result.nest.setExtentsAttr(builder.getArrayAttr(extents));
  }

  /// The scalar of \p store's nest that is stored as it is and does not change any more; empty if
  /// there is none.
  static std::string storedScalar(kb::StoreOp store) {
    std::string scalar;
    store->getBlock()->walk([&](mlir::Operation *op) {
      auto let = mlir::dyn_cast<kb::LetOp>(op);
      auto reduce = mlir::dyn_cast<kb::ReduceOp>(op);
      if (let && !let.getReassigns() && let->getBlock() == store->getBlock() &&
          let.getName() == store.getText() && let.getType() == store.getTarget().getType())
        scalar = let.getName().str();
      bool isLater = op->getBlock() != store->getBlock() || !op->isBeforeInBlock(store);
      bool isInEarlierLoop = store->getBlock()->findAncestorOpInBlock(*op)->isBeforeInBlock(store);
      if (isLater && !isInEarlierLoop &&
          ((let && let.getReassigns() && let.getName() == scalar) ||
           (reduce && reduce.getName() == scalar)))
        scalar.clear();
    });
    return scalar;
  }

  /// Copies \p store, whose value a scalar keeps.
  void copyStore(NestCopier &copier, kb::StoreOp store, bool keepsStore) {
    if (std::string scalar = storedScalar(store); !scalar.empty()) {
      copier.copy(store);
      auto copied = mlir::cast<kb::StoreOp>(builder.getInsertionBlock()->back());
      values[copier.words(scalar)] = copied.getTarget();
      if (!keepsStore)
        copied.erase();
      return;
    }
    copier.copy(store);
    auto copied = mlir::cast<kb::StoreOp>(builder.getInsertionBlock()->back());
    keepInScalar(copied);
    if (!keepsStore)
      copied.erase();
  }

  /// Gives what \p copied, the last statement so far, stores a name.
  void keepInScalar(kb::StoreOp copied) {
    std::string scalar = names.fresh((copied.getTarget().getBase().getName() + "_value").str());
    mlir::OpBuilder::InsertPoint end = builder.saveInsertionPoint();
    builder.setInsertionPoint(copied);
    kb::LetOp::create(builder, copied.getLoc(), scalar, copied.getTarget().getType(),
                      copied.getText(), copied.getOperands(), false);
    builder.restoreInsertionPoint(end);
    copied.setText(scalar);
    copied.setOperandsAttr(builder.getArrayAttr({}));
    values[scalar] = copied.getTarget();
  }

  /// The statements of the second nest after the first one's store, which has just been copied.
  void copyIntoLoop(const NestCopier &ofFirst, const NestCopier &ofSecond) {
    auto copied = mlir::cast<kb::StoreOp>(builder.getInsertionBlock()->back());
    if (std::string scalar = storedScalar(match.link.store); !scalar.empty())
      values[scalar] = copied.getTarget();
    else
      keepInScalar(copied);
    NestCopier copier = ofFirst; // in the loops around the store
    copier.after = ofSecond.after;
    copier.rename = ofSecond.rename;
    copier.symbol = ofSecond.symbol;
    copier.scalarFor = ofSecond.scalarFor;
    copier.dimensions.clear();
    for (mlir::StringAttr dim : dimsOf(second.nest)) {
      std::string name = names.ofSecond(dim.getValue());
      auto pair = llvm::find_if(match.pairs, [&](const auto &each) { return each.second == name; });
      copier.dimensions[dim.getValue()] = pair == match.pairs.end()
                                              ? copied.getTarget().getOffset().getExpr()
                                              : copier.dimNamed(pair->first);
    }
    copier.copy(kb::NestOp(second.nest).getBody().front());
  }

  void copyFirst(NestCopier &copier) {
    kb::NestOp nest = first.nest;
    for (mlir::Operation &op : nest.getBody().front()) {
      auto store = mlir::dyn_cast<kb::StoreOp>(op);
      bool isNeeded =
          store && !store.getAtomic() &&
          storesOf(first.nest, store.getTarget().getBase().getName()).size() == 1 &&
          llvm::any_of(links, [&](const ElementLink &link) { return link.store == store; });
      if (isNeeded)
        copyStore(copier, store, /*keepsStore=*/true);
      else
        copier.copy(&op);
    }
    auto &block = result.nest.getBody().front();
    lastOfFirst = block.empty() || isInLoop() ? nullptr : &block.back();
  }

  void copySecond(NestCopier &ofFirst, NestCopier &ofSecond) {
    kb::NestOp nest = second.nest;
    unsigned entered = 0;
    if (match.form == PointMatch::FlatSecond)
      ofSecond.dimensions[dimsOf(nest).front().getValue()] =
          ofFirst.expression(match.link.store.getTarget().getOffset()).getExpr();
    if (match.form == PointMatch::Grouped)
      for (mlir::StringAttr dim : dimsOf(nest)) {
        mlir::AffineExpr line = mlir::getAffineConstantExpr(0, builder.getContext());
        for (const auto &[name, factors] : match.groups[names.ofSecond(dim.getValue())]) {
          mlir::AffineExpr term = ofFirst.dimNamed(name);
          for (kb::ExprAttr each : factors)
            term = term * ofFirst.expression(each).getExpr();
          line = line + term;
        }
        ofSecond.dimensions[dim.getValue()] = line;
      }
    if (match.form == PointMatch::Paired)
      for (auto [dim, extent] : llvm::zip(nest.getDims().getAsRange<mlir::StringAttr>(),
                                          nest.getExtents().getAsRange<kb::ExprAttr>())) {
        std::string name = names.ofSecond(dim.getValue());
        auto pair =
            llvm::find_if(match.pairs, [&](const auto &each) { return each.second == name; });
        if (pair != match.pairs.end()) {
          ofSecond.dimensions[dim.getValue()] = ofSecond.dimNamed(pair->first);
          continue;
        }
        // Its points are iterations of one point of the first nest.
        ofSecond.enter(name, ofSecond.expression(extent), kb::LoopOrder::Any, false,
                       dim.getValue());
        ++entered;
      }
    ofSecond.copy(nest.getBody().front());
    while (entered-- > 0)
      ofSecond.leave();
  }

  /// The scalar that holds \p operand, as \p op of the second nest needs it.
  std::optional<std::string> scalarFor(kb::OperandAttr operand, mlir::Operation *op) {
    if (!isElement(operand))
      return std::nullopt;
    for (const auto &[scalar, target] : values)
      if (target.getBase().getName() == operand.getBase().getName() &&
          target.getType() == operand.getType() && target.getBytes() == operand.getBytes() &&
          names.polys.polyOf(target.getOffset()) == names.polys.polyOf(operand.getOffset()) &&
          (isInline || isBeforeStores(op, operand.getBase().getName())))
        return scalar;
    return std::nullopt;
  }

  /// The second nest, in which the first one's scalars and value stand before each statement that
  /// needs it.
  void copyWithFirstInside(NestCopier &ofFirst, NestCopier &ofSecond) {
    bool isStored = false;
    ofSecond.before = [&](mlir::Operation *op) {
      values.clear();
      for (const ElementLink &link : links) {
        if (link.op != op || (isInPlace && copies > 0) ||
            scalarFor(ofSecond.operand(link.load), op))
          continue;
        llvm::Expected<PointMatch> here = matchPoints(names, first, second, link, /*inner=*/true);
        if (!here) {
          problem = llvm::toString(here.takeError());
          return;
        }
        match.equal.insert(match.equal.end(), here->equal.begin(), here->equal.end());
        bool isPlace = !isStored && storesHere(link);
        addFirst(ofFirst, ofSecond, *here, /*keepsStore=*/isPlace);
        isStored |= isPlace;
      }
    };
    ofSecond.copy(kb::NestOp(second.nest).getBody().front());
    if (!isStored && !isTemporary())
      problem =
          "no place in the second launch comes to each element once that the first one stores";
  }

  /// Whether what the first nest stores at \p link's load is stored once: under no condition, and
  /// each point and iteration there has an element of its own.
  bool storesHere(const ElementLink &link) {
    return visitsOnce(link) && ((isInPlace && links.size() > 1) || !isTemporary());
  }

  bool visitsOnce(const ElementLink &link) {
    if (link.op->getParentOfType<kb::WhenOp>() || mlir::isa<kb::WhenOp>(link.op))
      return false;
    Poly offset = names.polys.polyOf(names.ofSecond(link.load.getOffset()));
    auto dependsOn = [&](StringRef name) {
      return offset.contains(names.polys.id(names.ofSecond(name)));
    };
    return llvm::all_of(dimsOf(second.nest),
                        [&](mlir::StringAttr dim) { return dependsOn(dim.getValue()); }) &&
           llvm::all_of(oversAround(link.op),
                        [&](kb::OverOp over) { return dependsOn(over.getName()); });
  }

  /// Whether nothing but the two launches uses what the first one stores.
  bool isTemporary() {
    kb::StoreOp store = match.link.store;
    std::vector<LaunchText> launches = first.launches;
    launches.insert(launches.end(), second.launches.begin(), second.launches.end());
    return isUsedOnlyBy(context, launches, names.parameters, store.getTarget().getBase().getName());
  }

  void addFirst(NestCopier &ofFirst, NestCopier &ofSecond, const PointMatch &here,
                bool keepsStore) {
    NestCopier copier = ofSecond; // in the dimensions around the statement
    copier.dimensions.clear();
    copier.before = [](mlir::Operation *) {};
    copier.scalarFor = ofFirst.scalarFor;
    copier.symbol = ofFirst.symbol;
    kb::NestOp nest = first.nest;
    if (here.form == PointMatch::FlatFirst)
      copier.dimensions[dimsOf(nest).front().getValue()] =
          ofSecond.expression(here.link.load.getOffset()).getExpr();
    for (const auto &[dim, other] : here.pairs)
      copier.dimensions[dim] = copier.dimNamed(other);
    llvm::StringMap<std::string> scalars;
    nest.walk([&](kb::LetOp let) {
      if (!let.getReassigns())
        scalars[let.getName()] = copies == 0 ? let.getName().str() : names.fresh(let.getName());
    });
    copier.rename = [&](StringRef name) -> std::optional<std::string> {
      auto found = scalars.find(name);
      return found == scalars.end() ? std::nullopt : std::optional<std::string>(found->second);
    };
    for (mlir::Operation &op : nest.getBody().front())
      if (auto store = mlir::dyn_cast<kb::StoreOp>(op))
        copyStore(copier, store, keepsStore);
      else
        copier.copy(&op);
    ++copies;
  }

  //===-- Legality ----------------------------------------------------------===//

  /// Why a point must not run before another one: empty if every array that one launch stores to
  /// and the other uses is used at the same element by each point.
  std::string whyOrderMatters() {
    struct Use {
      bool ofFirst, stores;
      kb::OperandAttr operand;
      bool isInner;
    };
    std::map<std::string, std::vector<Use>> uses;
    bool ofFirst = lastOfFirst != nullptr;
    for (mlir::Operation &top : result.nest.getBody().front()) {
      top.walk([&](mlir::Operation *op) {
        bool isInner = !oversAround(op).empty();
        forEachLoad(op, [&](kb::OperandAttr load) {
          uses[load.getBase().getName().str()].push_back({ofFirst, false, load, isInner});
        });
        if (auto store = mlir::dyn_cast<kb::StoreOp>(op))
          uses[store.getTarget().getBase().getName().str()].push_back(
              {ofFirst, true, store.getTarget(), isInner});
      });
      ofFirst &= &top != lastOfFirst;
    }
    bool isCertain = true;
    for (const auto &[name, all] : uses) {
      bool crosses = false, isSame = true;
      for (const Use &a : all)
        for (const Use &b : all)
          crosses |= a.stores && (a.ofFirst != b.ofFirst || (isInline && &a != &b));
      for (const Use &each : all)
        isSame &= !each.isInner && each.operand.getBytes() == all.front().operand.getBytes() &&
                  names.polys.polyOf(each.operand.getOffset()) ==
                      names.polys.polyOf(all.front().operand.getOffset());
      isCertain &= !crosses || isSame;
    }
    if (isCertain)
      return "";
    addRequirements();
    Answer legal = isLegalNest(result.nest);
    result.nest.removeRequirementsAttr();
    return legal.proven()
               ? ""
               : "one after the other, the launches cannot run point by point: " + legal.reason;
  }

  /// What the launches are tested for, without what is about their grids.
  void addRequirements() {
    llvm::SmallVector<mlir::Attribute> all;
    NestCopier copier(builder, dimsOf(result.nest), names.symbols);
    for (kb::ExprAttr each : result.requirements)
      all.push_back(copier.expression(each));
    if (!all.empty())
      result.nest.setRequirementsAttr(builder.getArrayAttr(all));
  }

  //===-- Sizes -------------------------------------------------------------===//

  static std::string product(llvm::ArrayRef<kb::ExprAttr> extents, kb::NestOp nest, bool &known) {
    std::string text;
    for (kb::ExprAttr each : extents) {
      std::optional<std::string> size = hostText(each, nest);
      known &= size.has_value();
      if (size)
        text += text.empty() ? (extents.size() > 1 ? "(long long)" + asOperand(*size) : *size)
                             : " * " + asOperand(*size);
    }
    return text;
  }

  /// Adds that products of extents are equal.
  llvm::Error addEqualities() {
    LaunchText launch = result.launchText();
    LaunchAlgebra algebra(context, launch);
    NestCopier copier(builder, dimsOf(result.nest), names.symbols);
    for (const auto &[ofA, ofB] : match.equal) {
      mlir::AffineExpr a = mlir::getAffineConstantExpr(1, builder.getContext()), b = a;
      for (kb::ExprAttr each : ofA)
        a = a * copier.expression(each).getExpr();
      for (kb::ExprAttr each : ofB)
        b = b * copier.expression(each).getExpr();
      if (algebra.holds(copier.expression(a - b)) == true &&
          algebra.holds(copier.expression(b - a)) == true)
        continue;
      bool known = true;
      HostCondition condition;
      condition.text = product(ofA, result.nest, known) + " == " + product(ofB, result.nest, known);
      if (!known)
        return llvm::createStringError(
            "the host does not know how many elements the launches go over");
      if (llvm::Error error =
              addOpenConditions(context, launch, result.parameters, {condition}, result.open))
        return error;
    }
    return llvm::Error::success();
  }

  const PassContext &context;
  const LaunchedNest &first, &second;
  JoinedNames names;
  mlir::OpBuilder builder;
  std::vector<ElementLink> links;
  PointMatch match;
  bool isInline = false;
  bool isInPlace = false; ///< the first nest changes the elements that the second one loads
  LaunchedNest result;
  std::map<std::string, kb::OperandAttr>
      values; ///< scalars and the elements that they were stored to
  mlir::Operation *lastOfFirst = nullptr;
  unsigned copies = 0;
  std::string problem;
};

} // namespace

llvm::Expected<LaunchedNest> kbopt::fuse(const PassContext &context, const LaunchedNest &first,
                                         const LaunchedNest &second) {
  return Fuser(context, first, second).run();
}
