//===- IndexBounds.cpp - How large the integers of a kernel get ------------===//
// SPDX-License-Identifier: Apache-2.0

#include "kb-opt/Rewrite/IndexBounds.h"
#include "kb-opt/Rewrite/Dispatch.h"
#include <cmath>

using namespace kbopt;
using namespace clang;
using llvm::StringRef;

/// The largest int.
static constexpr double mostInt = 2147483647.0;

//===-- Bounds ------------------------------------------------------------===//

LaunchBound LaunchBound::constant(double value) {
  LaunchBound bound;
  if (value != 0)
    bound.terms[{}] = value;
  return bound;
}

LaunchBound LaunchBound::value(StringRef text) {
  LaunchBound bound;
  bound.terms[{text.str()}] = 1;
  return bound;
}

LaunchBound LaunchBound::operator+(const LaunchBound &other) const {
  LaunchBound sum = *this;
  for (const auto &[factors, coefficient] : other.terms)
    sum.terms[factors] += coefficient;
  return sum;
}

LaunchBound LaunchBound::operator*(const LaunchBound &other) const {
  LaunchBound product;
  for (const auto &[left, a] : terms)
    for (const auto &[right, b] : other.terms) {
      std::vector<std::string> factors = left;
      factors.insert(factors.end(), right.begin(), right.end());
      llvm::sort(factors);
      product.terms[factors] += a * b;
    }
  return product;
}

LaunchBound LaunchBound::dividedBy(const LaunchBound &divisor) const {
  if (divisor.terms.size() != 1 || divisor.terms.begin()->second < 1)
    return *this;
  const auto &[divided, by] = *divisor.terms.begin();
  LaunchBound quotient;
  for (const auto &[factors, coefficient] : terms) {
    // A product without the divisor's factors gets no larger.
    std::vector<std::string> rest;
    if (std::includes(factors.begin(), factors.end(), divided.begin(), divided.end()))
      std::set_difference(factors.begin(), factors.end(), divided.begin(), divided.end(),
                          std::back_inserter(rest));
    else
      rest = factors;
    bool isDivided = rest.size() + divided.size() == factors.size();
    quotient.terms[rest] += isDivided ? std::ceil(coefficient / by) : coefficient;
  }
  return quotient;
}

std::optional<double> LaunchBound::number() const {
  if (terms.empty())
    return 0.0;
  if (terms.size() == 1 && terms.begin()->first.empty())
    return terms.begin()->second;
  return std::nullopt;
}

bool LaunchBound::isWithin(const LaunchBound &other) const {
  // Each product goes into one of the other's that has its factors, as far as there is room.
  std::map<std::vector<std::string>, double> room = other.terms;
  for (const auto &[factors, coefficient] : terms) {
    double left = coefficient;
    for (auto &[larger, space] : room)
      if (std::includes(larger.begin(), larger.end(), factors.begin(), factors.end())) {
        double taken = std::min(left, space);
        left -= taken;
        space -= taken;
      }
    if (left > 0)
      return false;
  }
  return true;
}

std::string LaunchBound::text() const {
  std::string sum;
  // Products first, the number last.
  for (auto term = terms.rbegin(); term != terms.rend(); ++term) {
    const auto &[factors, coefficient] = *term;
    std::string product;
    if (coefficient != 1 || factors.empty())
      product = std::to_string(int64_t(coefficient)) + ".0";
    for (const std::string &factor : factors)
      product += product.empty() ? "(double)" + factor : " * " + factor;
    sum += (sum.empty() ? "" : " + ") + product;
  }
  return sum.empty() ? "0.0" : sum;
}

//===-- Expressions -------------------------------------------------------===//

IndexBounds::IndexBounds(const PassContext &context, const KernelView &kernel,
                         const LaunchFact &launch)
    : context(&context), kernel(&kernel), launch(&launch), guarded(guardedElements(kernel)) {
  for (const auto *loop : ast::findAll<ForStmt>(kernel.function()->getBody()))
    if (std::optional<ast::CountedLoop> counted = ast::countedLoop(loop))
      counters.emplace(counted->variable, *counted);
}

std::optional<LaunchBound> IndexBounds::fail(const Expr *expr) {
  if (why.empty()) {
    StringRef text = context->text(expr->getSourceRange());
    why = "'" + (text.empty() ? std::string("an index") : text.str()) +
          "' is not known to be bounded and not negative";
  }
  return std::nullopt;
}

std::optional<LaunchBound> IndexBounds::extent(bool block, unsigned dimension) {
  std::string text = extentText(*context, *launch, block, dimension);
  int64_t number = 0;
  if (text.empty()) {
    if (why.empty())
      why = "the launch at " + ast::lineText(*context, launch->call->getBeginLoc()) +
            " is not written where it can be seen";
    return std::nullopt;
  }
  if (!StringRef(text).getAsInteger(10, number))
    return LaunchBound::constant(double(number));
  bool known = false;
  const Expr *written =
      ast::launchComponent(block ? launch->block : launch->grid, dimension, launch->host, known);
  if (known && written && launch->instances <= 1)
    if (std::optional<int64_t> value =
            ast::constantOf(ast::resolve(written, launch->host), context->parsed().context()))
      return LaunchBound::constant(double(*value));
  return LaunchBound::value(text);
}

std::optional<LaunchBound> IndexBounds::threads(unsigned dimension) {
  std::optional<LaunchBound> block = extent(true, dimension), grid = extent(false, dimension);
  if (!block || !grid)
    return std::nullopt;
  // A count divided by the block and rounded up is shorter by less than a block.
  const ASTContext &ast = context->parsed().context();
  bool known = false, knownBlock = false;
  const Expr *blocks = ast::launchComponent(launch->grid, dimension, launch->host, known);
  const Expr *size = ast::launchComponent(launch->block, dimension, launch->host, knownBlock);
  if (known && knownBlock && blocks && size && !ast::variableOf(blocks))
    if (auto division = ast::ceilDivision(blocks, launch->host, ast);
        division && ast::sameValue(division->size, size, launch->host, ast))
      if (std::optional<LaunchBound> count = hostBound(division->count))
        return *count + *block;
  return *block * *grid;
}

std::optional<LaunchBound> IndexBounds::hostBound(const Expr *expr) {
  const ASTContext &ast = context->parsed().context();
  const Expr *inner = ast::strip(expr);
  if (std::optional<int64_t> value = ast::constantOf(inner, ast))
    return *value >= 0 && launch->instances <= 1
               ? std::optional(LaunchBound::constant(double(*value)))
               : std::nullopt;
  if (const auto *binary = dyn_cast<BinaryOperator>(inner);
      binary && (binary->getOpcode() == BO_Add || binary->getOpcode() == BO_Mul)) {
    std::optional<LaunchBound> left = hostBound(binary->getLHS()),
                               right = hostBound(binary->getRHS());
    if (left && right)
      return binary->getOpcode() == BO_Add ? *left + *right : *left * *right;
    return std::nullopt;
  }
  std::string text = operandText(*context, inner);
  if (text.empty())
    return std::nullopt;
  note(text, inner->getType());
  return LaunchBound::value(text);
}

bool IndexBounds::isGuarded(const Expr *expr) const {
  if (!guarded)
    return false;
  const SourceManager &sources = context->parsed().sources();
  return llvm::any_of(guarded->body, [&](const Stmt *each) {
    return !sources.isBeforeInTranslationUnit(expr->getBeginLoc(), each->getBeginLoc()) &&
           !sources.isBeforeInTranslationUnit(each->getEndLoc(), expr->getBeginLoc());
  });
}

bool IndexBounds::isExact(const Expr *expr) const {
  expr = ast::resolve(expr, kernel->function());
  if (expr->isTypeDependent())
    return false;
  if (ast::constantOf(expr, context->parsed().context()))
    return true;
  if (const VarDecl *variable = ast::variableOf(expr))
    return isa<ParmVarDecl>(variable) && !mayModify(kernel->function()->getBody(), variable);
  if (const auto *cast = dyn_cast<ExplicitCastExpr>(expr))
    return cast->getType()->isIntegerType() && isExact(cast->getSubExpr());
  const auto *binary = dyn_cast<BinaryOperator>(expr);
  return binary && (binary->getOpcode() == BO_Add || binary->getOpcode() == BO_Mul) &&
         isExact(binary->getLHS()) && isExact(binary->getRHS());
}

std::optional<LaunchBound> IndexBounds::variableBound(const Expr *expr, const VarDecl *variable) {
  if (isa<ParmVarDecl>(variable)) {
    std::string text = hostText(*context, *kernel, *launch, expr);
    int64_t number = 0;
    if (text.empty())
      return fail(expr);
    if (!StringRef(text).getAsInteger(10, number))
      return LaunchBound::constant(double(number));
    const Expr *argument = launch->arguments[cast<ParmVarDecl>(variable)->getFunctionScopeIndex()];
    if (context->parsed().context().hasSameUnqualifiedType(ast::strip(argument)->getType(),
                                                           variable->getType()))
      if (std::optional<LaunchBound> bound = hostBound(argument))
        return bound;
    note(text, variable->getType());
    return LaunchBound::value(text);
  }
  if (auto found = counters.find(variable); found != counters.end()) {
    // In the loop it is below the end; the last step may lead beyond it.
    const ast::CountedLoop &loop = found->second;
    std::optional<LaunchBound> begin = boundOf(loop.begin), end = boundOf(loop.end);
    std::optional<LaunchBound> step = loop.step ? boundOf(loop.step) : LaunchBound::constant(1);
    if (!begin || !end || !step)
      return std::nullopt;
    demand(*begin + *end + *step);
    return end;
  }
  if (guarded && variable == guarded->index && isGuarded(expr)) {
    std::optional<LaunchBound> before = boundOf(variable->getInit()),
                               count = boundOf(guarded->count);
    if (!before || !count)
      return std::nullopt;
    demand(*before);
    return count;
  }
  // A short variable may hold less than what it is set to.
  if (!variable->isLocalVarDecl() || !variable->hasInit() ||
      variable->getType()->isDependentType() ||
      context->parsed().context().getTypeSize(variable->getType()) < 32 ||
      mayModify(kernel->function()->getBody(), variable))
    return fail(expr);
  return boundOf(variable->getInit());
}

std::optional<LaunchBound> IndexBounds::boundOf(const Expr *expr) {
  struct Deeper {
    unsigned &depth;
    ~Deeper() { --depth; }
  } deeper{++depth};
  expr = ast::strip(expr);
  // These are properties, whose type is that of their getter.
  if (std::optional<ast::GridRef> ref = ast::gridRefOf(expr))
    return extent(ref->builtin == GridBuiltin::ThreadIdx || ref->builtin == GridBuiltin::BlockDim,
                  ref->dimension);
  if (depth > 24 || expr->isTypeDependent() || !expr->getType()->isIntegerType())
    return fail(expr);
  if (std::optional<int64_t> value = ast::constantOf(expr, context->parsed().context()))
    return *value >= 0 ? LaunchBound::constant(double(*value)) : fail(expr);
  for (unsigned dimension = 0; dimension < 3; ++dimension)
    if (ast::isGlobalThreadIndex(expr, dimension) || ast::isGridSpan(expr, dimension))
      return threads(dimension);
  if (const VarDecl *variable = ast::variableOf(expr))
    return variableBound(expr, variable);
  if (const auto *cast = dyn_cast<ExplicitCastExpr>(expr)) {
    // Of a cast to fewer bits nothing is known.
    if (context->parsed().context().getIntWidth(cast->getType()) < 32)
      return fail(expr);
    return boundOf(cast->getSubExpr());
  }
  if (const auto *choice = dyn_cast<ConditionalOperator>(expr)) {
    std::optional<LaunchBound> left = boundOf(choice->getTrueExpr()),
                               right = boundOf(choice->getFalseExpr());
    return left && right ? std::optional(*left + *right) : std::nullopt;
  }
  const auto *binary = dyn_cast<BinaryOperator>(expr);
  // A parameter is at least 1.
  if (binary && binary->getOpcode() == BO_Sub &&
      isa_and_nonnull<ParmVarDecl>(ast::variableOf(binary->getLHS())) &&
      ast::constantOf(binary->getRHS(), context->parsed().context()) == std::optional<int64_t>(1))
    return boundOf(binary->getLHS());
  if (!binary || !(binary->isAdditiveOp() || binary->isMultiplicativeOp() || binary->isShiftOp()) ||
      binary->getOpcode() == BO_Sub)
    return fail(expr);
  std::optional<LaunchBound> left = boundOf(binary->getLHS()), right = boundOf(binary->getRHS());
  if (!left || !right)
    return std::nullopt;
  switch (binary->getOpcode()) {
  case BO_Add:
    return *left + *right;
  case BO_Mul:
    return *left * *right;
  case BO_Div:
    demand(*left);
    demand(*right);
    return isExact(binary->getRHS()) ? left->dividedBy(*right) : *left;
  case BO_Shr:
    demand(*left);
    return left;
  case BO_Rem:
    demand(*left);
    demand(*right);
    return right;
  case BO_Shl:
    if (std::optional<double> bits = right->number(); bits && *bits < 31)
      return *left * LaunchBound::constant(double(int64_t(1) << int64_t(*bits)));
    return fail(expr);
  default:
    return fail(expr);
  }
}

//===-- Demands -----------------------------------------------------------===//

void IndexBounds::note(StringRef text, QualType type) {
  bool isInt = type->isSpecificBuiltinType(BuiltinType::Int);
  auto [place, isNew] = values.emplace(text.str(), isInt);
  place->second &= isInt;
}

void IndexBounds::demand(const LaunchBound &bound) {
  if (std::optional<double> number = bound.number(); number && *number > mostInt && why.empty())
    why =
        "an index reaches " + std::to_string(int64_t(*number)) + ", which needs more than 31 bits";
  for (const LaunchBound &each : demands)
    if (bound.isWithin(each))
      return;
  llvm::erase_if(demands, [&](const LaunchBound &each) { return each.isWithin(bound); });
  demands.push_back(bound);
}

bool IndexBounds::require(const Expr *expr) {
  std::optional<LaunchBound> bound = boundOf(expr);
  if (bound)
    demand(*bound);
  return bound.has_value();
}

void IndexBounds::requireValue(StringRef text, QualType type) {
  note(text, type);
  demand(LaunchBound::value(text));
}

std::string IndexBounds::condition() const {
  std::vector<std::string> parts;
  for (const auto &[text, isInt] : values)
    parts.push_back(text + " > 0");
  for (const LaunchBound &bound : demands) {
    bool fits = bound.number().has_value();
    for (const auto &[text, isInt] : values)
      fits |= isInt && bound == LaunchBound::value(text);
    if (!fits)
      parts.push_back(bound.text() + " <= 2147483647.0");
  }
  return llvm::join(parts, " && ");
}
