//===- NestJoin.cpp - Which points of two nests belong together -------------===//
// SPDX-License-Identifier: Apache-2.0

#include "NestJoin.h"
#include "HostText.h"

using namespace kbopt;
using analysis::Poly;
using llvm::StringRef;

//===-- Names --------------------------------------------------------------===//

/// The type without const and __restrict__, for comparison.
static std::string plainType(kb::ParamAttr parameter) {
  std::string type = parameter.getType().str();
  for (StringRef word : {"const ", "__restrict__", "__restrict", " const"})
    for (size_t at = type.find(word); at != std::string::npos; at = type.find(word))
      type.erase(at, word.size());
  llvm::erase(type, ' ');
  return type;
}

/// Whether both are always passed the same.
static bool isSameArgument(const PassContext &context, const PassedParameter &a,
                           const PassedParameter &b, const clang::FunctionDecl *host) {
  if (plainType(a.parameter) != plainType(b.parameter))
    return false;
  if (a.meaning.value && b.meaning.value)
    return *a.meaning.value == *b.meaning.value;
  if (!a.meaning.expr || !b.meaning.expr || a.meaning.narrows != b.meaning.narrows)
    return false;
  const clang::ASTContext &ast = context.parsed().context();
  if (a.parameter.getIsPointer())
    return ast::sameValue(a.meaning.expr->IgnoreParenCasts(), b.meaning.expr->IgnoreParenCasts(),
                          host, ast);
  return ast.hasSameUnqualifiedType(ast::strip(a.meaning.expr)->getType(),
                                    ast::strip(b.meaning.expr)->getType()) &&
         ast::sameValue(a.meaning.expr, b.meaning.expr, host, ast);
}

/// \p expr without conversions that keep the value.
static const clang::Expr *withoutWidening(const clang::Expr *expr, const clang::ASTContext &ast) {
  for (;;) {
    expr = expr->IgnoreParens();
    const auto *cast = llvm::dyn_cast<clang::CastExpr>(expr);
    if (!cast)
      return expr;
    clang::QualType to = cast->getType(), from = cast->getSubExpr()->getType();
    bool isLoad =
        cast->getCastKind() == clang::CK_LValueToRValue || cast->getCastKind() == clang::CK_NoOp;
    bool keeps = isLoad || (to->isIntegerType() && from->isIntegerType() &&
                            ast.getIntWidth(to) >= ast.getIntWidth(from) &&
                            to->isSignedIntegerType() && from->isSignedIntegerType());
    if (!keeps)
      return expr;
    expr = cast->getSubExpr();
  }
}

/// Whether both are integers of the same value, in types that may differ.
static bool isSameNumber(const PassContext &context, const PassedParameter &a,
                         const PassedParameter &b, const clang::FunctionDecl *host) {
  const clang::ASTContext &ast = context.parsed().context();
  auto isInteger = [](const PassedParameter &each) {
    return each.meaning.expr && !each.meaning.narrows && !each.parameter.getIsPointer() &&
           each.meaning.expr->getType()->isSignedIntegerType();
  };
  return isInteger(a) && isInteger(b) &&
         ast::sameValue(withoutWidening(a.meaning.expr, ast), withoutWidening(b.meaning.expr, ast),
                        host, ast);
}

/// What \p launched declares: parameters, dimensions, scalars.
static llvm::StringSet<> declaredNames(const LaunchedNest &launched) {
  llvm::StringSet<> names;
  for (const PassedParameter &each : launched.parameters)
    names.insert(each.parameter.getName());
  kb::NestOp nest = launched.nest;
  for (auto dim : nest.getDims().getAsRange<mlir::StringAttr>())
    names.insert(dim.getValue());
  for (auto symbol : nest.getSymbols().getAsRange<kb::SymbolAttr>())
    names.insert(symbol.getName());
  nest.walk([&](mlir::Operation *op) {
    if (auto let = mlir::dyn_cast<kb::LetOp>(op))
      names.insert(let.getName());
    if (auto over = mlir::dyn_cast<kb::OverOp>(op))
      names.insert(over.getName());
  });
  return names;
}

std::string JoinedNames::whyNot() const {
  return ambiguous.empty() ? "" : "'" + ambiguous + "' means different things in the two kernels";
}

/// Every word that \p nest contains.
static void takeWords(kb::NestOp nest, llvm::StringSet<> &taken) {
  auto take = [&](StringRef text) {
    for (StringRef name : namesIn(text))
      taken.insert(name);
  };
  nest.walk([&](mlir::Operation *op) {
    mlir::AttrTypeWalker walker;
    walker.addWalk([&](mlir::StringAttr text) { take(text.getValue()); });
    walker.addWalk([&](kb::OperandAttr operand) { take(operand.getBase().getName()); });
    walker.addWalk([&](kb::SymbolAttr symbol) { take(symbol.getName()); });
    for (mlir::NamedAttribute each : op->getAttrs()) {
      StringRef what = each.getName();
      if (what == "combine") { // its %a and %b are no names
        std::string text = mlir::cast<mlir::StringAttr>(each.getValue()).str();
        for (StringRef part : {"%a", "%b"})
          for (size_t at = text.find(part); at != std::string::npos; at = text.find(part))
            text.replace(at, part.size(), " ");
        take(text);
      } else if (what != "kernel" && what != "reduction") {
        walker.walk(each.getValue());
      }
    }
  });
}

JoinedNames::JoinedNames(const PassContext &context, const LaunchedNest &first,
                         const LaunchedNest &second)
    : parameters(first.parameters), context(context) {
  kb::NestOp nest = first.nest;
  takeWords(nest, taken);
  for (const PassedParameter &each : parameters)
    taken.insert(each.parameter.getName());
  for (auto symbol : nest.getSymbols().getAsRange<kb::SymbolAttr>()) {
    symbols.push_back(mlir::StringAttr::get(nest.getContext(), symbol.getName()));
    symbolAttributes.push_back(symbol);
  }
  llvm::StringSet<> ofFirst = declaredNames(first), ofSecond = declaredNames(second), used;
  takeWords(second.nest, used);
  for (const auto &each : used)
    if (ofFirst.contains(each.first()) && !ofSecond.contains(each.first()))
      ambiguous = each.first().str();
  addSecond(second);
}

void JoinedNames::addSecond(const LaunchedNest &second) {
  kb::NestOp nest = second.nest;
  const clang::FunctionDecl *host = second.launches.back().fact().host;
  llvm::StringSet<> ofFirst = taken;
  takeWords(nest, taken);
  for (const PassedParameter &each : second.parameters)
    taken.insert(each.parameter.getName());
  auto rename = [&](StringRef name) {
    if (ofFirst.contains(name) && !renamed.count(name))
      renamed[name] = fresh(name);
  };
  for (const PassedParameter &each : second.parameters) {
    StringRef name = each.parameter.getName();
    auto same = llvm::find_if(parameters, [&](const PassedParameter &known) {
      return isSameArgument(context, known, each, host);
    });
    if (same != parameters.end()) {
      renamed[name] = same->parameter.getName().str();
      // What one of the kernels stores through is no pointer to const.
      if (same->parameter.getIsPointer() && !each.parameter.getIsConst())
        same->parameter = kb::ParamAttr::get(nest.getContext(), same->parameter.getName(),
                                             each.parameter.getType(), each.parameter.getBytes(),
                                             true, each.parameter.getElementBytes(), false, false);
      continue;
    }
    rename(name);
    // What the host calls it says more than a number.
    const clang::VarDecl *variable =
        each.meaning.expr ? ast::variableOf(each.meaning.expr->IgnoreParenCasts()) : nullptr;
    if (renamed.count(name) && variable && taken.insert(variable->getName()).second)
      renamed[name] = variable->getName().str();
    kb::ParamAttr old = each.parameter;
    PassedParameter added = each;
    added.parameter = kb::ParamAttr::get(nest.getContext(), ofSecond(name), old.getType(),
                                         old.getBytes(), old.getIsPointer(), old.getElementBytes(),
                                         old.getIsConst(), old.getIsRestrict());
    for (const PassedParameter &known : parameters)
      if (isSameNumber(context, known, each, host)) {
        polys.setSame(added.parameter.getName(), known.parameter.getName());
        break;
      }
    parameters.push_back(added);
  }
  for (auto dim : nest.getDims().getAsRange<mlir::StringAttr>())
    rename(dim.getValue());
  nest.walk([&](mlir::Operation *op) {
    if (auto let = mlir::dyn_cast<kb::LetOp>(op))
      rename(let.getName());
    if (auto over = mlir::dyn_cast<kb::OverOp>(op))
      rename(over.getName());
  });
  for (auto symbol : nest.getSymbols().getAsRange<kb::SymbolAttr>()) {
    std::string name = ofSecond(symbol.getName());
    auto attribute = mlir::StringAttr::get(nest.getContext(), name);
    if (llvm::is_contained(symbols, attribute))
      continue;
    symbols.push_back(attribute);
    symbolAttributes.push_back(kb::SymbolAttr::get(nest.getContext(), name, symbol.getOrigin(),
                                                   symbol.getArgument(), symbol.getByteOffset(),
                                                   symbol.getBits(), symbol.getIsSigned()));
  }
  for (const PassedParameter &each : parameters)
    if (each.meaning.value && !each.parameter.getIsPointer())
      polys.setConstant(each.parameter.getName(), *each.meaning.value);
  knowProducts(host);
}

/// The product that \p expr is, where it stands or as the value of a variable that does not change;
/// null if it is none.
static const clang::BinaryOperator *
productOf(const clang::Expr *expr, const clang::FunctionDecl *host, const clang::ASTContext &ast) {
  expr = withoutWidening(expr, ast);
  const clang::FunctionDecl *definition = nullptr;
  const clang::VarDecl *variable = ast::variableOf(expr);
  if (variable && variable->isLocalVarDecl() && !variable->isStaticLocal() && variable->hasInit() &&
      host && host->hasBody(definition) && variable->getType()->isSignedIntegerType() &&
      !mayModify(definition->getBody(), variable))
    expr = withoutWidening(variable->getInit(), ast);
  const auto *binary = llvm::dyn_cast<clang::BinaryOperator>(expr);
  return binary && binary->getOpcode() == clang::BO_Mul && binary->getType()->isSignedIntegerType()
             ? binary
             : nullptr;
}

/// What is passed as `height * width` is the product of the parameters that are passed the factors.
void JoinedNames::knowProducts(const clang::FunctionDecl *host) {
  const clang::ASTContext &ast = context.parsed().context();
  auto isNumber = [](const PassedParameter &each) {
    return each.meaning.expr && !each.meaning.narrows && !each.parameter.getIsPointer() &&
           each.meaning.expr->getType()->isSignedIntegerType();
  };
  std::function<Poly(const clang::Expr *)> valueOf = [&](const clang::Expr *expr) -> Poly {
    if (auto constant = ast::constantOf(expr, ast))
      return Poly::constant(*constant);
    for (const PassedParameter &each : parameters)
      if (isNumber(each) && !each.meaning.value && !productOf(each.meaning.expr, host, ast) &&
          ast::sameValue(withoutWidening(each.meaning.expr, ast), withoutWidening(expr, ast), host,
                         ast))
        return Poly::variable(polys.id(each.parameter.getName()));
    const clang::BinaryOperator *product = productOf(expr, host, ast);
    return product ? valueOf(product->getLHS()) * valueOf(product->getRHS())
                   : Poly::constant(INT64_MAX) * Poly::constant(2);
  };
  for (const PassedParameter &each : parameters)
    if (isNumber(each) && !each.meaning.value && productOf(each.meaning.expr, host, ast))
      if (Poly value = valueOf(each.meaning.expr); value.isValid()) {
        std::vector<std::string> names;
        for (mlir::StringAttr symbol : symbols)
          names.push_back(symbol.getValue().str());
        names = polys.namesIn(value, names);
        Poly product = Poly::constant(1);
        for (const std::string &name : names)
          product = product * Poly::variable(polys.id(name));
        if (product == value)
          factors[each.parameter.getName()] = names;
        polys.setValue(each.parameter.getName(), value);
      }
}

std::string JoinedNames::ofSecond(StringRef text) const {
  return replaceNames(text, [&](StringRef name) -> std::optional<std::string> {
    auto found = renamed.find(name);
    return found == renamed.end() ? std::nullopt : std::optional<std::string>(found->second);
  });
}

kb::ExprAttr JoinedNames::ofSecond(kb::ExprAttr expr) const {
  auto names = [&](llvm::ArrayRef<mlir::StringAttr> old) {
    llvm::SmallVector<mlir::StringAttr> all;
    for (mlir::StringAttr each : old)
      all.push_back(mlir::StringAttr::get(each.getContext(), ofSecond(each.getValue())));
    return all;
  };
  return kb::ExprAttr::get(expr.getContext(), names(expr.getLoops()), names(expr.getSymbols()),
                           expr.getMap());
}

std::string JoinedNames::fresh(StringRef wanted) {
  std::string name = wanted.str();
  for (unsigned number = 2; !taken.insert(name).second; ++number)
    name = wanted.str() + std::to_string(number);
  return name;
}

//===-- Points -------------------------------------------------------------===//

llvm::SmallVector<kb::OverOp> kbopt::oversAround(mlir::Operation *op) {
  llvm::SmallVector<kb::OverOp> loops;
  for (mlir::Operation *up = op->getParentOp(); up; up = up->getParentOp())
    if (auto over = mlir::dyn_cast<kb::OverOp>(up))
      loops.insert(loops.begin(), over);
  return loops;
}

namespace {

/// A dimension or inner dimension that an offset depends on.
struct Variable {
  std::string name;
  kb::ExprAttr extent; ///< in joined names
  bool isInner = false;
  Poly stride;
};

/// An offset taken apart.
struct Address {
  std::vector<Variable> variables; ///< that it depends on
  Poly rest;
};

class Matcher {
public:
  Matcher(JoinedNames &names, const LaunchedNest &first, const LaunchedNest &second,
          const ElementLink &link)
      : names(names), polys(names.polys),
        element("'" + kb::StoreOp(link.store).getTarget().getBase().getName().str() + "'") {
    match.link = link;
    kb::StoreOp stored = link.store;
    addVariables(first.nest, stored, false, ofFirst);
    addVariables(second.nest, link.op, true, ofSecond);
    for (auto dim : kb::NestOp(first.nest).getDims().getAsRange<mlir::StringAttr>())
      firstDims.push_back(dim.getValue().str());
    store = addressOf(polys.polyOf(stored.getTarget().getOffset()), ofFirst);
    load = addressOf(polys.polyOf(names.ofSecond(link.load.getOffset())), ofSecond);
  }

  llvm::Expected<PointMatch> run(bool inner) {
    if (!store || !load)
      return refuse("the index of " + element + " is not a sum of products");
    if (!(store->rest == load->rest))
      return refuse("the second launch needs other elements of " + element +
                    " than the first one stores at a point");
    bool isStoreOfPoints =
        llvm::none_of(store->variables, [](const Variable &each) { return each.isInner; });
    bool isLoadOfPoints =
        llvm::none_of(load->variables, [](const Variable &each) { return each.isInner; });
    bool coversFirst = store->variables.size() == firstDims.size() && isStoreOfPoints;
    auto isLine = [](const Address &address) {
      return address.variables.size() == 1 && address.variables.front().stride == Poly::constant(1);
    };
    if (coversFirst && isLine(*load) && isLoadOfPoints && store->variables.size() > 1 &&
        ofSecondPoints() == 1)
      return flat(PointMatch::FlatSecond, store->variables, load->variables);
    if (coversFirst && isLine(*store) && load->variables.size() > 1 &&
        (inner || (isLoadOfPoints && ofSecondPoints() == load->variables.size())))
      return flat(PointMatch::FlatFirst, load->variables, store->variables);
    if (coversFirst && !inner && isLoadOfPoints && load->variables.size() == ofSecondPoints() &&
        load->variables.size() < store->variables.size())
      if (std::optional<PointMatch> found = grouped())
        return *found;
    return paired(inner);
  }

  llvm::Expected<PointMatch> iterations() {
    if (!store || !load || !(store->rest == load->rest))
      return refuse("the second launch needs other elements of " + element +
                    " than the first one stores at a point");
    bool isLoadOfPoints =
        llvm::none_of(load->variables, [](const Variable &each) { return each.isInner; });
    if (store->variables.size() != ofFirst.size() || !isLoadOfPoints ||
        load->variables.size() != ofSecondPoints())
      return refuse("the points of the second launch are not those at which the first one stores " +
                    element);
    if (load->variables.size() == 1)
      return flat(PointMatch::FlatInLoop, store->variables, load->variables);
    match.form = PointMatch::InLoop;
    for (const Variable &stored : store->variables) {
      auto partner = llvm::find_if(
          load->variables, [&](const Variable &each) { return each.stride == stored.stride; });
      bool isAlone = llvm::count_if(store->variables, [&](const Variable &each) {
                       return each.stride == stored.stride;
                     }) == 1;
      if (partner == load->variables.end() || !isAlone)
        return refuse("a point of the second launch does not need one element of " + element +
                      " for each '" + stored.name + "'");
      match.pairs[stored.name] = partner->name;
      require(polys.polyOf(stored.extent), {stored.extent}, polys.polyOf(partner->extent),
              {partner->extent}, false);
    }
    if (match.pairs.size() != load->variables.size())
      return refuse("the points of the second launch are not those at which the first one stores " +
                    element);
    if (!reason.empty())
      return refuse(reason);
    return match;
  }

private:
  llvm::Error refuse(const llvm::Twine &why) { return llvm::createStringError(why); }
  size_t ofSecondPoints() const {
    return llvm::count_if(ofSecond, [](const Variable &each) { return !each.isInner; });
  }

  void addVariables(kb::NestOp nest, mlir::Operation *op, bool isSecond,
                    std::vector<Variable> &to) {
    auto add = [&](StringRef name, kb::ExprAttr extent, bool isInner) {
      Variable variable;
      variable.name = isSecond ? names.ofSecond(name) : name.str();
      variable.extent = isSecond ? names.ofSecond(extent) : extent;
      variable.isInner = isInner;
      to.push_back(variable);
    };
    for (auto [dim, extent] : llvm::zip(nest.getDims().getAsRange<mlir::StringAttr>(),
                                        nest.getExtents().getAsRange<kb::ExprAttr>()))
      add(dim.getValue(), extent, false);
    for (kb::OverOp over : oversAround(op))
      add(over.getName(), over.getExtent(), true);
  }

  std::optional<Address> addressOf(Poly poly, const std::vector<Variable> &variables) {
    Address address;
    std::vector<std::string> all;
    for (const Variable &each : variables)
      all.push_back(each.name);
    if (!poly.isValid() || polys.dividesAny(poly, all))
      return std::nullopt;
    for (Variable each : variables) {
      analysis::VarId id = polys.id(each.name);
      if (!poly.contains(id))
        continue;
      each.stride = poly.coefficientOf(id);
      if (!each.stride.isValid() || !polys.namesIn(each.stride, all).empty())
        return std::nullopt;
      address.variables.push_back(each);
    }
    for (const Variable &each : address.variables)
      poly = poly.without(polys.id(each.name));
    address.rest = poly;
    return address;
  }

  /// \p box, with its strides, numbers its points from 0 on without a gap, as \p line's variable
  /// does.
  llvm::Expected<PointMatch> flat(PointMatch::Form form, llvm::ArrayRef<Variable> box,
                                  llvm::ArrayRef<Variable> line) {
    if (!(store->rest == Poly()) || !(line.front().stride == Poly::constant(1)))
      return refuse("the elements of " + element + " are not numbered from 0 on");
    std::vector<bool> used(box.size());
    Poly size = Poly::constant(1);
    std::vector<kb::ExprAttr> extents;
    for (size_t count = 0; count < box.size(); ++count) {
      size_t at = 0;
      while (at < box.size() && (used[at] || !(box[at].stride == size)))
        ++at;
      if (at == box.size())
        return refuse("the elements of " + element + " do not lie one after another");
      used[at] = true;
      size = size * polys.polyOf(box[at].extent);
      extents.push_back(box[at].extent);
    }
    match.form = form;
    require(size, extents, polys.polyOf(line.front().extent), {line.front().extent},
            form == PointMatch::FlatFirst);
    if (!reason.empty())
      return refuse(reason);
    return match;
  }

  /// Each dimension of the second nest numbers dimensions of the first, without a gap, and has as
  /// many points as they have. Of one that has a number of its own (`count / (channels * pixels)`),
  /// the launch tests that.
  std::optional<PointMatch> grouped() {
    match.form = PointMatch::Grouped;
    std::set<std::string> used;
    struct Open {
      const Variable &line;
      Poly points;
      std::vector<kb::ExprAttr> factors;
    };
    std::vector<Open> open;
    for (const Variable &line : load->variables) {
      Poly stride = line.stride, points = Poly::constant(1), all = polys.polyOf(line.extent);
      std::vector<kb::ExprAttr> factors;
      auto &group = match.groups[line.name];
      while (group.empty() || !(points == all)) {
        auto next = llvm::find_if(store->variables, [&](const Variable &each) {
          return each.stride == stride && !used.count(each.name);
        });
        if (next == store->variables.end() && !group.empty()) {
          open.push_back({line, points, factors});
          break;
        }
        if (next == store->variables.end() || !stride.isValid())
          return std::nullopt;
        used.insert(next->name);
        group.emplace_back(next->name, factors);
        factors.push_back(next->extent);
        points = points * polys.polyOf(next->extent);
        stride = stride * polys.polyOf(next->extent);
      }
    }
    for (const Open &each : open)
      require(each.points, each.factors, polys.polyOf(each.line.extent), {each.line.extent}, false);
    return used.size() == store->variables.size() && reason.empty() ? std::optional(match)
                                                                    : std::nullopt;
  }

  llvm::Expected<PointMatch> paired(bool inner) {
    match.form = PointMatch::Paired;
    for (const std::string &dim : firstDims) {
      auto stored =
          llvm::find_if(store->variables, [&](const Variable &each) { return each.name == dim; });
      if (stored == store->variables.end())
        return refuse("the index of " + element + " does not depend on '" + dim + "'");
      const Variable *partner = nullptr;
      for (const Variable &each : load->variables)
        if (each.stride == stored->stride && (inner || !each.isInner))
          partner = partner ? &ambiguous : &each;
      bool isAlone = llvm::count_if(store->variables, [&](const Variable &each) {
                       return each.stride == stored->stride;
                     }) == 1;
      if (!partner || partner == &ambiguous || !isAlone)
        return refuse("a point of the second launch does not need one element of " + element +
                      " for each '" + dim + "'");
      match.pairs[dim] = partner->name;
      require(polys.polyOf(stored->extent), {stored->extent}, polys.polyOf(partner->extent),
              {partner->extent}, false);
    }
    if (inner && load->variables.size() != match.pairs.size())
      return refuse("a point of the second launch needs several elements of " + element);
    if (!reason.empty())
      return refuse(reason);
    return match;
  }

  static bool isPartOf(const Poly &part, const Poly &whole) {
    if (part.monomials().size() != 1 || whole.monomials().size() != 1)
      return false;
    const auto &few = part.monomials().begin()->first, &many = whole.monomials().begin()->first;
    return few.size() < many.size() &&
           std::includes(many.begin(), many.end(), few.begin(), few.end());
  }

  /// That the extents have equal products, at the launch where that is not certain; \p swapped: \p
  /// a is of the second nest.
  void require(const Poly &a, std::vector<kb::ExprAttr> ofA, const Poly &b,
               std::vector<kb::ExprAttr> ofB, bool swapped) {
    if (a.isValid() && a == b)
      return;
    auto isVarying = [&](const Variable &each) {
      return a.contains(polys.id(each.name)) || b.contains(polys.id(each.name));
    };
    if (llvm::any_of(ofFirst, isVarying) || llvm::any_of(ofSecond, isVarying) ||
        (a - b).isConstant() || isPartOf(a, b) || isPartOf(b, a))
      reason = "the launches differ in how many elements of " + element + " they go over";
    if (swapped)
      std::swap(ofA, ofB);
    match.equal.emplace_back(std::move(ofA), std::move(ofB));
  }

  JoinedNames &names;
  NamedPolys &polys;
  std::string element, reason;
  PointMatch match;
  std::vector<Variable> ofFirst, ofSecond;
  std::vector<std::string> firstDims;
  std::optional<Address> store, load;
  Variable ambiguous;
};

} // namespace

llvm::Expected<PointMatch> kbopt::matchPoints(JoinedNames &names, const LaunchedNest &first,
                                              const LaunchedNest &second, const ElementLink &link,
                                              bool inner) {
  return Matcher(names, first, second, link).run(inner);
}

llvm::Expected<PointMatch> kbopt::matchIterations(JoinedNames &names, const LaunchedNest &first,
                                                  const LaunchedNest &second,
                                                  const ElementLink &link) {
  return Matcher(names, first, second, link).iterations();
}
