//===- ReadDivisions.cpp - Equations that a divisor leaves no rest ---------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the reading of `t % n == 0` where t may be negative, and of `t / n` where that holds: which
// iterations of a loop a transposed convolution adds. C++ rounds towards 0, but a rest of 0 and a
// quotient without a rest do not depend on that.
//
//===----------------------------------------------------------------------===//
#include "Points.h"
#include "ThreadReader.h"

using namespace clang;

namespace kbopt::raise {

/// Whether \p each says that \p divisor leaves no rest of \p dividend.
static bool saysMultiple(const Space &space, const Constraint &each, const Poly &dividend,
                         const Poly &divisor) {
  const auto &terms = each.poly.monomials();
  if (!each.isEquality || terms.size() != 1 || terms.begin()->first.size() != 1 ||
      terms.begin()->second != 1)
    return false;
  const Space::Variable &rest = space[terms.begin()->first[0]];
  return rest.kind == Space::Mod && rest.divisor == divisor &&
         exactQuotient(dividend - rest.dividend, divisor);
}

bool ThreadReader::isKnownMultiple(const Poly &dividend, const Poly &divisor) const {
  return llvm::any_of(
      given, [&](const Constraint &each) { return saysMultiple(space, each, dividend, divisor); });
}

bool ThreadReader::readMultiple(const Poly &dividend, const Poly &divisor, Statement &condition) {
  for (const Frame &frame : frames) {
    Poly slope = dividend.coefficientOf(frame.variable), whole = dividend.without(frame.variable);
    if (frame.progress != Statement::Add || !slope.isValid() || !slope.isConstant() ||
        slope == Poly() || space.dependsOn(whole, frame.variable) || !isNonNegative(whole, true) ||
        !isPositive(divisor))
      continue;
    if (Poly rest = space.mod(dividend, divisor); !(rest == Poly()))
      condition.constraints.push_back({rest, true});
    return true;
  }
  return false;
}

bool ThreadReader::readRest(const Expr *expr, Statement &condition) {
  const auto *binary = llvm::dyn_cast<BinaryOperator>(strip(expr));
  bool isMask = binary && binary->getOpcode() == BO_And;
  if (!binary || (!isMask && binary->getOpcode() != BO_Rem))
    return false;
  std::optional<Integer> dividend = evaluate(binary->getLHS()),
                         divisor = evaluate(binary->getRHS());
  if (!dividend || !divisor || !dividend->isSigned || !demand(*dividend, binary) ||
      !demand(*divisor, binary))
    return false;
  if (isMask) { // t & 3 is the rest of a division by 4 that rounds down
    if (!divisor->poly.isConstant() || !llvm::isPowerOf2_64(divisor->poly.constantTerm() + 1))
      return false;
    divisor->poly = divisor->poly + Poly::constant(1);
  }
  return readMultiple(dividend->poly, divisor->poly, condition);
}

bool ThreadReader::readQuotient(const Poly &difference, Statement &condition) {
  for (const auto &[quotient, division] : quotients) {
    Poly rest = Poly::variable(quotient) * division.second - division.first;
    if (difference == rest || difference == Poly() - rest)
      return readMultiple(division.first, division.second, condition);
  }
  return false;
}

void ThreadReader::noteQuotient(const VarDecl *variable) {
  auto at = values.find(variable);
  const auto *binary =
      variable->getInit() ? llvm::dyn_cast<BinaryOperator>(strip(variable->getInit())) : nullptr;
  if (!binary || binary->getOpcode() != BO_Div || at == values.end() ||
      at->second.kind != Value::Number || frames.empty())
    return;
  const auto &terms = at->second.number.poly.monomials();
  std::optional<Integer> dividend = evaluate(binary->getLHS()),
                         divisor = evaluate(binary->getRHS());
  if (dividend && divisor && dividend->isExact && divisor->isExact && dividend->isSigned &&
      terms.size() == 1)
    quotients[terms.begin()->first[0]] = {dividend->poly, divisor->poly};
}

/// Whether anything but its declaration uses the scalar of \p let.
static bool isUsed(ThreadProgram &program, const Statement &let) {
  bool found = false;
  auto names = [&](const std::string &text) {
    for (size_t at = text.find(let.name); at != std::string::npos; at = text.find(let.name, at + 1))
      found |= (at == 0 || !(llvm::isAlnum(text[at - 1]) || text[at - 1] == '_')) &&
               !(llvm::isAlnum(text[at + let.name.size()]) || text[at + let.name.size()] == '_');
  };
  rewritePolys(program.body, [&](const Poly &poly) {
    found |= program.space.dependsOn(poly, *let.symbol);
    return poly;
  });
  walk(program.body, [&](Statement &each) {
    names(each.value.text);
    return true;
  });
  return found;
}

void ThreadReader::settleQuotients(Body &body) {
  for (Statement &each : body) {
    if (each.kind == Statement::If)
      for (const auto &[quotient, division] : quotients)
        if (llvm::any_of(each.constraints, [&](const Constraint &constraint) {
              return saysMultiple(space, constraint, division.first, division.second);
            })) {
          Poly exact = space.floorDiv(division.first, division.second);
          auto change = [&, id = quotient](const Poly &poly) {
            return space.substitute(poly, id, exact);
          };
          for (Constraint &constraint : each.constraints)
            constraint.poly = change(constraint.poly);
          rewritePolys(each.body, change);
        }
    settleQuotients(each.body);
  }
  llvm::erase_if(body, [&](const Statement &each) {
    return each.kind == Statement::Let && each.symbol && quotients.count(*each.symbol) &&
           !isUsed(program, each);
  });
}

} // namespace kbopt::raise
