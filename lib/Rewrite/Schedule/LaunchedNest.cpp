//===- LaunchedNest.cpp - What one or several launches compute --------------===//
// SPDX-License-Identifier: Apache-2.0

#include "LaunchedNest.h"
#include "HostText.h"
#include "LaunchAlgebra.h"
#include "LaunchOrder.h"
#include "NestCopy.h"
#include "kb-opt/Analysis/LaunchArguments.h"

using namespace kbopt;
using llvm::StringRef;

kb::KernelOp LaunchedNest::kernel() const {
  kb::NestOp of = nest;
  return mlir::SymbolTable::lookupNearestSymbolFrom<kb::KernelOp>(of, of.getKernelAttr());
}

LaunchedNest LaunchedNest::clone() const {
  LaunchedNest copy;
  copy.module = mlir::OwningOpRef<mlir::ModuleOp>(
      mlir::cast<mlir::ModuleOp>(mlir::ModuleOp(*module)->clone()));
  copy.module->walk([&](kb::NestOp each) { copy.nest = each; });
  copy.parameters = parameters;
  copy.launches = launches;
  copy.requirements = requirements;
  copy.statements = statements;
  copy.open = open;
  return copy;
}

const PassedParameter *LaunchedNest::find(StringRef name) const {
  auto found = llvm::find_if(
      parameters, [&](const PassedParameter &each) { return each.parameter.getName() == name; });
  return found == parameters.end() ? nullptr : &*found;
}

LaunchText LaunchedNest::launchText() const {
  llvm::StringMap<LaunchText::Meaning> names;
  for (const PassedParameter &each : parameters)
    names[each.parameter.getName()] = each.meaning;
  return launches.back().withMeanings(std::move(names));
}

llvm::Expected<std::string> LaunchedNest::launchOf(const GeneratedKernel &generated,
                                                   bool hasFallback) const {
  if (!generated.then.empty() || generated.memory)
    return llvm::createStringError("its schedule takes several launches");
  LaunchText launch = launchText();
  std::vector<std::string> arguments;
  for (const PassedParameter &each : parameters) {
    if (!each.meaning.repeatable && hasFallback)
      return llvm::createStringError("'" + each.meaning.text + "' has side effects");
    if (each.meaning.text.empty())
      return llvm::createStringError("what is passed for '" + each.parameter.getName().str() +
                                     "' cannot be written");
    arguments.push_back(each.meaning.text);
  }
  for (const auto &[declaration, value] : generated.extraParameters)
    arguments.push_back(value);
  llvm::Expected<std::string> grid = launch.translate(generated.gridX);
  if (!grid)
    return grid.takeError();
  std::string stream = launch.stream().empty() ? "" : ", 0, " + launch.stream().str();
  return launch.spelled(generated.name, false) + "<<<" + *grid + ", " + generated.blockX + stream +
         ">>>(" + llvm::join(arguments, ", ") + ");";
}

std::string kbopt::allOf(llvm::ArrayRef<std::string> conditions) {
  std::vector<std::string> parts;
  for (const std::string &each : conditions)
    parts.push_back(conditions.size() > 1 && StringRef(each).contains("||") ? "(" + each + ")"
                                                                            : each);
  return llvm::join(parts, " && ");
}

std::string kbopt::whereAllHold(llvm::ArrayRef<std::string> open, StringRef fast,
                                StringRef original) {
  return "if (" + allOf(open) + ") {\n" + fast.str() + "\n} else {\n" + original.str() + "}";
}

LaunchedNest LaunchedNest::create(mlir::MLIRContext *context,
                                  std::vector<PassedParameter> parameters,
                                  llvm::ArrayRef<mlir::Attribute> dims) {
  LaunchedNest result;
  mlir::OpBuilder builder(context);
  mlir::Location place = builder.getUnknownLoc();
  result.module = mlir::ModuleOp::create(place);
  builder.setInsertionPointToEnd(result.module->getBody());
  auto program = kb::ProgramOp::create(builder, place, "");
  if (program.getBody().empty())
    program.getBody().emplaceBlock();
  builder.setInsertionPointToEnd(&program.getBody().front());
  llvm::SmallVector<mlir::Attribute> attributes;
  for (const PassedParameter &each : parameters)
    attributes.push_back(each.parameter);
  auto kernel = kb::KernelOp::create(builder, place, "kernel", "kernel",
                                     builder.getArrayAttr(attributes), builder.getArrayAttr({}),
                                     mlir::ArrayAttr(), mlir::IntegerAttr(), mlir::IntegerAttr());
  kernel.getBody().emplaceBlock();
  result.nest = kb::NestOp::create(builder, place, "kernel", builder.getArrayAttr(dims),
                                   builder.getArrayAttr({}), builder.getArrayAttr({}),
                                   mlir::ArrayAttr(), kb::DomainAttr(), mlir::StringAttr(),
                                   mlir::DictionaryAttr(), mlir::ArrayAttr(), mlir::ArrayAttr());
  result.nest.getBody().emplaceBlock();
  result.parameters = std::move(parameters);
  return result;
}

/// Calls \p change for each array element that \p nest loads or stores, and keeps what it returns.
static void changeElements(kb::NestOp nest,
                           llvm::function_ref<kb::OperandAttr(kb::OperandAttr)> change) {
  auto changed = [&](kb::OperandAttr operand) {
    return operand.getKind() == kb::OperandKind::Element ? change(operand) : operand;
  };
  nest.walk([&](mlir::Operation *op) {
    if (auto operands = op->getAttrOfType<mlir::ArrayAttr>("operands")) {
      llvm::SmallVector<mlir::Attribute> all;
      for (auto operand : operands.getAsRange<kb::OperandAttr>())
        all.push_back(changed(operand));
      op->setAttr("operands", mlir::ArrayAttr::get(op->getContext(), all));
    }
    if (auto store = mlir::dyn_cast<kb::StoreOp>(op))
      store.setTargetAttr(changed(store.getTarget()));
  });
}

/// Every name in a text or an expression of \p nest.
static std::set<std::string> namesUsed(kb::NestOp nest) {
  std::set<std::string> names;
  auto take = [&](StringRef text) {
    for (StringRef name : namesIn(text))
      names.insert(name.str());
  };
  auto takeExpression = [&](kb::ExprAttr expr) {
    for (auto [index, name] : llvm::enumerate(expr.getSymbols()))
      if (expr.getExpr().isFunctionOfSymbol(kb::firstNamedSymbol + index))
        take(name.getValue());
  };
  mlir::AttrTypeWalker walker;
  walker.addWalk([&](mlir::StringAttr text) { take(text.getValue()); });
  walker.addWalk([&](kb::ExprAttr expr) {
    takeExpression(expr);
    return mlir::WalkResult::skip();
  });
  walker.addWalk([&](kb::DomainAttr domain) {
    for (mlir::StringAttr name : domain.getSymbols())
      take(name.getValue());
    return mlir::WalkResult::skip();
  });
  walker.addWalk([&](kb::OperandAttr operand) { take(operand.getBase().getName()); });
  nest.walk([&](mlir::Operation *op) {
    for (mlir::NamedAttribute each : op->getAttrs())
      if (op != nest.getOperation() || each.getName() == "extents")
        walker.walk<mlir::WalkOrder::PreOrder>(each.getValue());
  });
  return names;
}

void LaunchedNest::renameVariable(const clang::VarDecl *variable, StringRef saved) {
  auto rename = [&](std::string &text) {
    text = replaceNames(text, [&](StringRef name) {
      return name == variable->getName() ? std::optional<std::string>(saved) : std::nullopt;
    });
  };
  for (std::string &each : open)
    rename(each);
  for (std::string &each : statements)
    rename(each);
  for (PassedParameter &each : parameters)
    if (restsOn(each.meaning.expr, {variable})) {
      rename(each.meaning.text);
      each.meaning.expr = nullptr;
    }
}

void LaunchedNest::dropUnused() {
  std::set<std::string> used = namesUsed(nest);
  llvm::erase_if(parameters, [&](const PassedParameter &each) {
    return !used.count(each.parameter.getName().str());
  });
  renumber();
}

void LaunchedNest::renumber() {
  llvm::SmallVector<mlir::Attribute> attributes;
  llvm::StringMap<unsigned> numbers;
  for (const PassedParameter &each : parameters) {
    numbers[each.parameter.getName()] = attributes.size();
    attributes.push_back(each.parameter);
  }
  mlir::MLIRContext *context = nest.getContext();
  kernel().setParamsAttr(mlir::ArrayAttr::get(context, attributes));
  changeElements(nest, [&](kb::OperandAttr operand) {
    kb::BaseAttr base = operand.getBase();
    auto found = numbers.find(base.getName());
    if (base.getKind() != kb::BaseKind::Argument || found == numbers.end())
      return operand;
    return kb::OperandAttr::get(context, operand.getKind(),
                                kb::BaseAttr::get(context, base.getKind(), base.getName(),
                                                  found->second, base.getByteOffset()),
                                operand.getType(), operand.getBytes(), operand.getOffset(),
                                operand.getIndices(), operand.getStrides());
  });
  llvm::SmallVector<mlir::Attribute> symbols;
  for (auto symbol : nest.getSymbols().getAsRange<kb::SymbolAttr>()) {
    auto found = numbers.find(
        namesIn(symbol.getName()).empty() ? StringRef() : namesIn(symbol.getName()).front());
    symbols.push_back(symbol.getOrigin() == kb::SymbolOrigin::Varying || found == numbers.end()
                          ? symbol
                          : kb::SymbolAttr::get(context, symbol.getName(), symbol.getOrigin(),
                                                found->second, symbol.getByteOffset(),
                                                symbol.getBits(), symbol.getIsSigned()));
  }
  nest.setSymbolsAttr(mlir::ArrayAttr::get(context, symbols));
}

//===-- One launch ---------------------------------------------------------===//

namespace {

/// Makes values of the launch configuration that a nest uses into parameters.
class ConfigurationNames {
public:
  ConfigurationNames(kb::KernelOp kernel, kb::NestOp nest, const LaunchText &launch)
      : nest(nest), launch(launch) {
    for (auto each : kernel.getParams().getAsRange<kb::ParamAttr>())
      taken.insert(each.getName());
    nest.walk([&](mlir::Operation *op) {
      mlir::AttrTypeWalker walker;
      walker.addWalk([&](mlir::StringAttr text) {
        for (StringRef name : namesIn(text.getValue()))
          taken.insert(name);
      });
      walker.walk(op->getAttrDictionary());
    });
  }

  /// The parameter for "gdim.x"; named after the dimension of that extent, if there is one.
  std::string nameOf(unsigned position) {
    if (auto found = names.find(position); found != names.end())
      return found->second;
    std::string base =
        (position < kb::gdimSymbol ? "block_" : "grid_") + std::string(1, "xyz"[position % 3]);
    for (auto [dim, extent] : llvm::zip(nest.getDims().getAsRange<mlir::StringAttr>(),
                                        nest.getExtents().getAsRange<kb::ExprAttr>()))
      if (extent.getExpr() == mlir::getAffineSymbolExpr(position, nest.getContext()))
        base = dim.getValue().str() + "_count";
    std::string name = base;
    for (unsigned number = 2; !taken.insert(name).second; ++number)
      name = base + std::to_string(number);
    return names[position] = name;
  }

  const LaunchText::Meaning *meaning(unsigned position) const {
    return launch.meaning((position < kb::gdimSymbol ? "blockDim." : "gridDim.") +
                          std::string(1, "xyz"[position % 3]));
  }
  std::map<unsigned, std::string> names;

private:
  kb::NestOp nest;
  const LaunchText &launch;
  llvm::StringSet<> taken;
};

/// The position of "bdim.x" and its relatives among the symbols; none for another name.
std::optional<unsigned> configurationSymbol(StringRef name) {
  for (unsigned i = 0; i < kb::firstNamedSymbol; ++i)
    if (kb::symbolName(i, {}) == name)
      return i;
  return std::nullopt;
}

} // namespace

/// The instance of \p kernel that \p fact launches; null if there are several.
static kb::KernelOp instanceOf(const KernelView &kernel, const LaunchFact &fact) {
  if (fact.mangledNames.size() != 1)
    return {};
  for (kb::KernelOp op : kernel.ops)
    if (op.getSymName() == fact.mangledNames.front())
      return op;
  return {};
}

llvm::Expected<LaunchedNest> LaunchedNest::create(const PassContext &context,
                                                  const KernelView &kernel, const LaunchFact &fact,
                                                  bool mustBeInList) {
  std::string quoted = "'" + kernel.name().str() + "'";
  RaisedKernel raised = context.raised(kernel);
  if (!raised.nest)
    return llvm::createStringError(quoted + ": " + raised.reason);
  if (raised.last)
    return llvm::createStringError("the last block of " + quoted + " goes on alone");
  if (raised.nest.getDomain())
    return llvm::createStringError("the points of " + quoted + " are no box");
  kb::KernelOp instance = instanceOf(kernel, fact);
  if (!instance)
    return llvm::createStringError("the launch at " +
                                   ast::lineText(context, fact.call->getBeginLoc()) +
                                   " is of several instances of " + quoted);
  bool hasHeader = raised.nest.getHeader() && !raised.nest.getHeader()->empty();
  if (instance != raised.instance && !hasHeader)
    return llvm::createStringError("the launch at " +
                                   ast::lineText(context, fact.call->getBeginLoc()) +
                                   " is of another instance of " + quoted);
  const clang::FunctionDecl *function = context.imported().declOf(instance);
  llvm::Expected<LaunchText> launch = LaunchText::create(context, fact, function);
  if (!launch)
    return launch.takeError();
  if (mustBeInList && !launch->isInList())
    return llvm::createStringError("the launch at " +
                                   ast::lineText(context, fact.call->getBeginLoc()) +
                                   " stands without braces");

  std::vector<PassedParameter> parameters;
  for (auto each : instance.getParams().getAsRange<kb::ParamAttr>()) {
    const LaunchText::Meaning *meaning = launch->meaning(each.getName());
    if (each.getName().empty() || !meaning)
      return llvm::createStringError("a parameter of " + quoted + " has no name");
    parameters.push_back({each, *meaning});
  }
  kb::NestOp nest = raised.nest;
  mlir::MLIRContext *mlirContext = nest.getContext();
  mlir::OpBuilder builder(mlirContext);
  llvm::StringMap<std::string> arguments = templateArguments(function, context.parsed().context());
  ConfigurationNames configuration(instance, nest, *launch);
  // Which values of the configuration are used is known after a copy.
  std::vector<mlir::StringAttr> dims, symbols;
  for (auto dim : nest.getDims().getAsRange<mlir::StringAttr>())
    dims.push_back(dim);
  llvm::SmallVector<mlir::Attribute> symbolAttributes(nest.getSymbols().begin(),
                                                      nest.getSymbols().end());
  for (auto symbol : nest.getSymbols().getAsRange<kb::SymbolAttr>())
    symbols.push_back(builder.getStringAttr(symbol.getName()));
  std::string problem;
  for (unsigned i = 0; i < kb::firstNamedSymbol; ++i) {
    const LaunchText::Meaning *meaning = configuration.meaning(i);
    if (meaning->value)
      continue;
    std::string name = configuration.nameOf(i);
    symbols.push_back(builder.getStringAttr(name));
    symbolAttributes.push_back(
        kb::SymbolAttr::get(mlirContext, name, kb::SymbolOrigin::Param, 0, 0, 32, true));
    parameters.push_back(
        {kb::ParamAttr::get(mlirContext, name, "int", 4, false, 0, false, false), *meaning});
  }
  LaunchedNest result = create(mlirContext, std::move(parameters), nest.getDims().getValue());
  result.nest.setSymbolsAttr(builder.getArrayAttr(symbolAttributes));
  builder.setInsertionPointToEnd(&result.nest.getBody().front());
  NestCopier copier(builder, dims, symbols);
  for (mlir::StringAttr dim : dims)
    copier.dimensions[dim.getValue()] = copier.dimNamed(dim.getValue());
  copier.symbol = [&](StringRef name) -> mlir::AffineExpr {
    std::optional<unsigned> position = configurationSymbol(name);
    if (!position)
      return {};
    const LaunchText::Meaning *meaning = configuration.meaning(*position);
    if (meaning->value)
      return mlir::getAffineConstantExpr(*meaning->value, mlirContext);
    return copier.symbolNamed(configuration.nameOf(*position));
  };
  copier.rename = [&](StringRef name) -> std::optional<std::string> {
    auto found = arguments.find(name);
    return found == arguments.end() ? std::nullopt : std::optional<std::string>(found->second);
  };
  llvm::SmallVector<mlir::Attribute> extents;
  for (auto extent : nest.getExtents().getAsRange<kb::ExprAttr>())
    extents.push_back(copier.expression(extent));
  result.nest.setExtentsAttr(builder.getArrayAttr(extents));
  copier.copy(nest.getBody().front());
  if (auto requirements = nest.getRequirements())
    for (auto requirement : requirements->getAsRange<kb::ExprAttr>())
      result.requirements.push_back(copier.expression(requirement));
  result.launches.push_back(*launch);
  result.statements.push_back(
      context.parsed().text().slice(launch->anchor().begin, launch->anchor().end).str());
  result.dropUnused();

  llvm::Expected<std::vector<HostCondition>> conditions =
      conditionsOf(instance, nest, GeneratedKernel());
  if (!conditions)
    return conditions.takeError();
  if (llvm::Error error = addOpenConditions(context, *launch, {}, *conditions, result.open))
    return std::move(error);
  return result;
}

llvm::Error kbopt::addOpenConditions(const PassContext &context, const LaunchText &launch,
                                     llvm::ArrayRef<PassedParameter> parameters,
                                     llvm::ArrayRef<HostCondition> conditions,
                                     std::vector<std::string> &open) {
  LaunchAlgebra algebra(context, launch);
  std::string place = ast::lineText(context, launch.fact().call->getBeginLoc());
  for (const HostCondition &condition : conditions) {
    std::optional<bool> known;
    if (condition.arguments.size() == 2) {
      Answer overlap = hostPointersMayOverlap(context.parsed(), launch.fact(),
                                              parameters[condition.arguments[0]].meaning.expr,
                                              parameters[condition.arguments[1]].meaning.expr);
      if (overlap.refuted())
        known = true;
    }
    if (!known && condition.requirement)
      known = algebra.holds(condition.requirement);
    if (!known && condition.testsAllocations) // the function for it stands beside schedules alone
      return llvm::createStringError(condition.reason);
    if (!known && condition.text.empty())
      return llvm::createStringError(condition.reason);
    if (!known)
      if (auto value = evaluate(condition.text, [&](StringRef name) { return launch.value(name); }))
        known = *value != 0;
    if (known && !*known)
      return llvm::createStringError("'" + condition.text + "' does not hold for the launch at " +
                                     place);
    if (known)
      continue;
    llvm::Expected<std::string> text = launch.translate(condition.text);
    if (!text)
      return text.takeError();
    if (!llvm::is_contained(open, *text))
      open.push_back(std::move(*text));
  }
  return llvm::Error::success();
}
