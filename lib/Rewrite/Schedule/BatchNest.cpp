//===- BatchNest.cpp - Launches of a loop as one nest -----------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "BatchNest.h"
#include "HostText.h"
#include "LoopValues.h"
#include "NestCopy.h"
#include "kb-opt/Raise/Legality.h"
#include "mlir/IR/Verifier.h"

using namespace kbopt;
using llvm::StringRef;
using mlir::AffineExpr;

namespace {

class Batcher {
public:
  /// \p withConstants: sizes that are passed as constants are numbers in the nest.
  Batcher(const PassContext &context, const LaunchFact &fact, const LaunchedNest &single,
          llvm::ArrayRef<LaunchLoop> loops, bool withConstants)
      : context(context), loops(loops), single(single), withConstants(withConstants),
        oldNest(single.nest), builder(oldNest.getContext()), symbols(symbolsOf(oldNest)),
        parameters(single.parameters),
        values(context, fact, loops, parameters, symbols, oldNest.getContext()) {
    reserveNames();
  }

  llvm::Expected<LaunchedNest> run() {
    for (const PassedParameter &each : parameters)
      if (!each.parameter.getIsPointer() && each.meaning.expr && values.changes(each.meaning.expr))
        llvm::erase_if(symbols, [&](kb::SymbolAttr symbol) {
          return symbol.getName() == each.parameter.getName();
        });
    if (llvm::Error error = values.findBegins(counts))
      return std::move(error);
    if (llvm::Error error = readParameters())
      return std::move(error);
    if (std::string why = whyAlike(); !why.empty())
      return llvm::createStringError(why);
    if (std::string why = whyShared(); !why.empty())
      return llvm::createStringError(why);
    if (std::string why = whyOrdered(); !why.empty())
      return llvm::createStringError(why);
    for (const std::string &each : single.open)
      if (values.isInside(each))
        return llvm::createStringError("whether '" + each +
                                       "' holds may differ between the launches");
    if (llvm::Error error = build())
      return std::move(error);
    if (std::string why = whyDependent(); !why.empty())
      return llvm::createStringError(why);
    result.dropUnused();
    return std::move(result);
  }

private:
  static std::vector<kb::SymbolAttr> symbolsOf(kb::NestOp nest) {
    std::vector<kb::SymbolAttr> symbols;
    for (auto each : nest.getSymbols().getAsRange<kb::SymbolAttr>())
      symbols.push_back(each);
    return symbols;
  }

  /// No name of the nest gets another meaning.
  void reserveNames() {
    for (const PassedParameter &each : parameters)
      values.reserve(each.parameter.getName());
    oldNest.walk([&](mlir::Operation *op) {
      mlir::AttrTypeWalker walker;
      walker.addWalk([&](mlir::StringAttr text) {
        for (StringRef name : namesIn(text.getValue()))
          values.reserve(name);
      });
      walker.walk(op->getAttrDictionary());
    });
  }

  //===-- What is passed ---------------------------------------------------===//

  /// Splits what changes from launch to launch off the parameters.
  llvm::Error readParameters() {
    for (size_t i = 0; i != single.parameters.size(); ++i) {
      PassedParameter each = parameters[i]; // the list grows
      std::string quoted = "'" + each.parameter.getName().str() + "'";
      if (!each.meaning.expr ||
          !(values.changes(each.meaning.expr) || values.isInside(each.meaning.expr))) {
        if (values.isInside(each.meaning.text))
          return llvm::createStringError("the grid or block of the launch depends on '" +
                                         loops.back().name() + "'");
        if (each.parameter.getIsPointer())
          llvm::consumeError(
              readPointer(i)); // `x + 1` and `x` are one array; what is not split stays as it is
        continue;
      }
      if (each.parameter.getIsPointer()) {
        if (llvm::Error error = readPointer(i))
          return error;
        continue;
      }
      bool isInt = each.parameter.getType() == "int" || each.parameter.getType() == "const int";
      if (!isInt)
        return llvm::createStringError("what is passed for " + quoted +
                                       " differs between the launches, and it is no 'int'");
      llvm::Expected<AffineExpr> value = values.valueOf(each.meaning.expr);
      if (!value)
        return value.takeError();
      scalars[each.parameter.getName().str()] = *value;
    }
    llvm::erase_if(parameters, [&](const PassedParameter &each) {
      return scalars.count(each.parameter.getName().str());
    });
    for (kb::SymbolAttr symbol : symbols)
      if (llvm::any_of(namesIn(symbol.getName()),
                       [&](StringRef name) { return scalars.count(name.str()); }))
        return llvm::createStringError("the kernel computes '" + symbol.getName() +
                                       "' from what differs between the launches");
    return llvm::Error::success();
  }

  llvm::Error readPointer(size_t index) {
    PassedParameter each = parameters[index];
    std::string name = each.parameter.getName().str();
    llvm::Expected<HostPointer> pointer = values.pointerOf(each.meaning.expr);
    if (!pointer)
      return pointer.takeError();
    const clang::ASTContext &ast = context.parsed().context();
    clang::QualType element = pointer->base->getType()->getPointeeType();
    int64_t bytes = element->isIncompleteType() ? 0 : ast.getTypeSizeInChars(element).getQuantity();
    if (bytes != each.parameter.getElementBytes() &&
        pointer->offset != builder.getAffineConstantExpr(0))
      return llvm::createStringError("the host counts '" + name +
                                     "' in other elements than the kernel");
    PassedParameter &kept = parameters[index]; // the list may have grown
    kept.meaning.expr = pointer->base;
    kept.meaning.text = writtenText(context, pointer->base->getSourceRange()).str();
    kept.meaning.repeatable = isRepeatable(pointer->base);
    offsets[name] = {pointer->offset, bytes};
    return llvm::Error::success();
  }

  /// Why a loop launches the same again and again; empty if none does.
  std::string whyAlike() const {
    for (auto [position, loop] : llvm::enumerate(loops)) {
      unsigned dim = kb::firstLoopDim + position;
      bool isUsed = llvm::any_of(scalars,
                                 [&](const auto &each) {
                                   return AffineExpr(each.second).isFunctionOfDim(dim);
                                 }) ||
                    llvm::any_of(offsets, [&](const auto &each) {
                      return AffineExpr(each.second.first).isFunctionOfDim(dim);
                    });
      if (!isUsed)
        return "every launch of the loop over '" + loop.name().str() + "' is passed the same";
    }
    return "";
  }

  /// Why two parameters lead to memory of the same array, of which one is stored to; empty if none
  /// do.
  std::string whyShared() {
    std::set<std::string> stored;
    oldNest.walk(
        [&](kb::StoreOp store) { stored.insert(store.getTarget().getBase().getName().str()); });
    for (const PassedParameter &a : parameters)
      for (const PassedParameter &b : parameters) {
        std::string first = a.parameter.getName().str(), second = b.parameter.getName().str();
        if (first != second && stored.count(first) && offsets.count(first) &&
            offsets.count(second) &&
            ast::sameValue(a.meaning.expr, b.meaning.expr, single.launches.back().fact().host,
                           context.parsed().context()))
          return "'" + first + "' and '" + second + "' both lead to '" + a.meaning.text +
                 "', where a launch may store what a later one uses";
      }
    return "";
  }

  /// Why the order of atomic operations shows in the end; empty if it does not.
  std::string whyOrdered() {
    static const std::set<StringRef> inAnyOrder = {
        "atomicAdd", "atomicSub", "atomicMin", "atomicMax", "atomicAnd", "atomicOr", "atomicXor"};
    std::string why;
    oldNest.walk([&](kb::StoreOp store) {
      if (store.getAtomic() && !inAnyOrder.count(*store.getAtomic()))
        why = "the last launch that calls '" + store.getAtomic()->str() + "' decides what '" +
              store.getTarget().getBase().getName().str() + "' is";
    });
    return why;
  }

  //===-- The nest ---------------------------------------------------------===//

  llvm::Error build() {
    std::vector<mlir::StringAttr> dims, names;
    for (const LaunchLoop &each : loops)
      dims.push_back(builder.getStringAttr(values.freshName(each.name())));
    for (auto dim : oldNest.getDims().getAsRange<mlir::StringAttr>())
      dims.push_back(dim);
    llvm::SmallVector<mlir::Attribute> symbolAttributes;
    for (kb::SymbolAttr each : symbols) {
      names.push_back(builder.getStringAttr(each.getName()));
      symbolAttributes.push_back(each);
    }
    result = LaunchedNest::create(oldNest.getContext(), parameters,
                                  llvm::SmallVector<mlir::Attribute>(dims.begin(), dims.end()));
    result.nest.setSymbolsAttr(builder.getArrayAttr(symbolAttributes));
    builder.setInsertionPointToEnd(&result.nest.getBody().front());
    NestCopier copier(builder, dims, names);
    for (mlir::StringAttr dim : llvm::drop_begin(dims, loops.size()))
      copier.dimensions[dim.getValue()] = copier.dimNamed(dim.getValue());
    copier.symbol = [&](StringRef name) {
      if (auto found = scalars.find(name.str()); found != scalars.end())
        return found->second;
      const PassedParameter *passed = withConstants ? single.find(name) : nullptr;
      return passed && passed->meaning.value ? builder.getAffineConstantExpr(*passed->meaning.value)
                                             : AffineExpr();
    };
    llvm::SmallVector<mlir::Attribute> extents;
    for (AffineExpr count : counts)
      extents.push_back(copier.expression(count));
    for (auto extent : oldNest.getExtents().getAsRange<kb::ExprAttr>())
      extents.push_back(copier.expression(extent));
    for (unsigned dim = 0; dim != loops.size(); ++dim)
      for (mlir::Attribute extent : extents)
        if (mlir::cast<kb::ExprAttr>(extent).getExpr().isFunctionOfDim(kb::firstLoopDim + dim))
          return llvm::createStringError("how much a launch computes depends on '" +
                                         loops[dim].name() + "'");
    result.nest.setExtentsAttr(builder.getArrayAttr(extents));
    declareScalars(copier);
    copier.copy(oldNest.getBody().front());
    if (llvm::Error error = moveArrays(copier))
      return error;
    llvm::SmallVector<mlir::Attribute> requirements;
    for (kb::ExprAttr each : single.requirements) {
      kb::ExprAttr copy = copier.expression(each);
      if (llvm::none_of(llvm::seq<unsigned>(0, loops.size()), [&](unsigned dim) {
            return copy.getExpr().isFunctionOfDim(kb::firstLoopDim + dim);
          }))
        requirements.push_back(copy);
    }
    result.nest.setRequirementsAttr(builder.getArrayAttr(requirements));
    if (mlir::failed(mlir::verify(result.nest)))
      return llvm::createStringError(
          "the form of all launches together does not verify (a bug of kb-opt)");
    result.renumber();
    result.launches = single.launches;
    result.statements = single.statements;
    result.open = single.open;
    return llvm::Error::success();
  }

  /// Scalars that the user's expressions name: computed from the loops' variables.
  void declareScalars(NestCopier &copier) {
    std::set<std::string> named;
    oldNest.walk([&](mlir::Operation *op) {
      for (StringRef key : {"text", "combine", "identity"})
        if (auto text = op->getAttrOfType<mlir::StringAttr>(key))
          for (StringRef name : namesIn(text.getValue()))
            named.insert(name.str());
    });
    for (const auto &[name, value] : scalars) {
      if (!named.count(name))
        continue;
      auto none = kb::BaseAttr::get(builder.getContext(), kb::BaseKind::Unknown, "", 0, 0);
      auto index = kb::OperandAttr::get(builder.getContext(), kb::OperandKind::Index, none, "int",
                                        4, copier.expression(value), {}, {});
      kb::LetOp::create(builder, builder.getUnknownLoc(), StringRef(name), "int", "$0",
                        builder.getArrayAttr({index}));
    }
  }

  /// Adds to the elements of each array what the host adds to its pointer.
  llvm::Error moveArrays(NestCopier &copier) {
    std::string problem;
    auto moved = [&](kb::OperandAttr operand) {
      kb::BaseAttr base = operand.getBase();
      auto found = offsets.find(base.getName().str());
      if (operand.getKind() != kb::OperandKind::Element ||
          base.getKind() != kb::BaseKind::Argument || found == offsets.end())
        return operand;
      auto [offset, bytes] = found->second;
      if (offset == builder.getAffineConstantExpr(0))
        return operand;
      if (operand.getBytes() == 0 || bytes % operand.getBytes()) {
        problem = "the kernel reads '" + base.getName().str() + "' several elements at a time";
        return operand;
      }
      AffineExpr by = offset * (bytes / operand.getBytes());
      kb::ExprAttr old = operand.getOffset();
      auto map = mlir::AffineMap::get(old.getMap().getNumDims(), old.getMap().getNumSymbols(),
                                      old.getExpr() + by);
      return kb::OperandAttr::get(
          builder.getContext(), operand.getKind(), base, operand.getType(), operand.getBytes(),
          kb::ExprAttr::get(builder.getContext(), old.getLoops(), old.getSymbols(), map), {}, {});
    };
    result.nest.walk([&](mlir::Operation *op) {
      if (auto operands = op->getAttrOfType<mlir::ArrayAttr>("operands")) {
        llvm::SmallVector<mlir::Attribute> all;
        for (auto operand : operands.getAsRange<kb::OperandAttr>())
          all.push_back(moved(operand));
        op->setAttr("operands", builder.getArrayAttr(all));
      }
      if (auto store = mlir::dyn_cast<kb::StoreOp>(op))
        store.setTargetAttr(moved(store.getTarget()));
    });
    return problem.empty() ? llvm::Error::success() : llvm::createStringError(problem);
  }

  /// Why a launch may need what an earlier one computes; empty if none does.
  std::string whyDependent() {
    Answer legal = isLegalNest(result.nest);
    result.requirements.clear();
    if (auto requirements = result.nest.getRequirements())
      for (auto each : requirements->getAsRange<kb::ExprAttr>())
        result.requirements.push_back(each);
    result.nest.removeRequirementsAttr();
    if (legal.proven())
      return "";
    std::string names;
    for (const LaunchLoop &each : loops)
      names += (names.empty() ? "'" : "' and '") + each.name().str();
    return "the launches of the loop over " + names + "' may depend on each other: " + legal.reason;
  }

  const PassContext &context;
  llvm::ArrayRef<LaunchLoop> loops;
  const LaunchedNest &single;
  const bool withConstants;
  kb::NestOp oldNest;
  mlir::OpBuilder builder;
  std::vector<kb::SymbolAttr> symbols;
  std::vector<PassedParameter> parameters;
  LoopValues values;
  std::vector<AffineExpr> counts;
  std::map<std::string, AffineExpr> scalars; ///< parameters that differ between the launches
  /// What the host adds to a pointer, and the bytes of what it counts.
  std::map<std::string, std::pair<AffineExpr, int64_t>> offsets;
  LaunchedNest result;
};

} // namespace

llvm::Expected<LaunchedNest> kbopt::batchNest(const PassContext &context, const LaunchFact &fact,
                                              const LaunchedNest &single,
                                              llvm::ArrayRef<LaunchLoop> loops) {
  llvm::Expected<LaunchedNest> batched =
      Batcher(context, fact, single, loops, /*withConstants=*/false).run();
  if (batched)
    return batched;
  llvm::Expected<LaunchedNest> special =
      Batcher(context, fact, single, loops, /*withConstants=*/true).run();
  if (!special) {
    llvm::consumeError(special.takeError());
    return batched;
  }
  llvm::consumeError(batched.takeError());
  return special;
}
