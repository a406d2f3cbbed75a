//===- OnlineSplit.cpp - One iteration of an online loop --------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the symbolic run of an iteration, in which `@m3` is the maximum after its third change,
// `@sx` the sum x before the iteration, and `@xm` the scalar m of another lane.
//
//===----------------------------------------------------------------------===//
#include "OnlineSplit.h"

#include "NestScalars.h"
#include "TeamText.h"
#include "llvm/ADT/StringExtras.h"

namespace kbopt::raise {

std::string scaleKey(llvm::StringRef function, const Form &factor) {
  return (function + "{" + factor.key() + "}").str();
}

static TermRef leaf(std::string text) { return makeTerm(Term::Leaf, std::move(text)); }
static bool isLeaf(const TermRef &term, llvm::StringRef text) {
  return term && term->kind == Term::Leaf && term->text == text;
}

/// The summands of \p term that are not \p name's.
static void collectAddends(const TermRef &term, llvm::StringRef name, bool isNegative,
                           std::vector<TermRef> &out) {
  if (term->kind == Term::Binary && (term->text == "+" || term->text == "-")) {
    collectAddends(term->parts[0], name, isNegative, out);
    return collectAddends(term->parts[1], name, isNegative != (term->text == "-"), out);
  }
  llvm::StringRef function = term->text;
  if (term->kind == Term::Call && term->parts.size() == 3 && (function.contains("fma"))) {
    collectAddends(makeTerm(Term::Binary, "*", {term->parts[0], term->parts[1]}), name, isNegative,
                   out);
    return collectAddends(term->parts[2], name, isNegative, out);
  }
  if (mentionsLeaf(*term, [&](llvm::StringRef text) { return text == name; }))
    return;
  out.push_back(isNegative ? makeTerm(Term::Unary, "-", {term}) : term);
}

OnlineSplit::OnlineSplit(const std::map<std::string, std::string> &types, std::string top,
                         const Names &inside, const Names &carried, const Names &results)
    : types(types), top(std::move(top)), inside(inside), carried(carried), results(results) {}

OnlineSplit::Names OnlineSplit::sums() const {
  Names names;
  for (const auto &[name, sum] : all)
    names.insert(name);
  return names;
}

bool OnlineSplit::depends(const Term &term) const {
  return mentionsLeaf(term, [](llvm::StringRef text) { return text.starts_with("@"); });
}

bool OnlineSplit::involves(Statement &each) const {
  bool found = dependent.count(each.name);
  forEachText(each, [&](Text &text) {
    found |=
        llvm::any_of(dependent, [&](const std::string &name) { return mentions(text.text, name); });
  });
  return found || llvm::any_of(each.body, [&](Statement &inner) { return involves(inner); });
}

bool OnlineSplit::run(Statement &loop) {
  dependent = {top};
  for (size_t before = 0; before != dependent.size();) {
    before = dependent.size();
    auto mark = [&](auto &self, Body &body, bool isConditional) -> void {
      for (Statement &each : body) {
        Statement header = each;
        header.body.clear();
        header.name.clear();
        bool depends = isConditional || involves(header);
        bool isChange = each.kind == Statement::Let || each.kind == Statement::Assign ||
                        each.kind == Statement::Combine;
        if (depends && isChange)
          dependent.insert(each.name);
        self(self, each.body, depends && each.kind == Statement::If);
      }
    };
    mark(mark, loop.body, false);
  }
  environment[top] = leaf(topLeaf(0));
  for (const std::string &name : carried)
    if (name != top && dependent.count(name)) {
      if (!results.count(name)) {
        unknown.insert(name);
        continue;
      }
      auto type = types.find(name);
      if (type == types.end() || (type->second != "float" && type->second != "double"))
        return false;
      all[name] = Sum();
      environment[name] = leaf(sumLeaf(name));
    }
  isFirst.push_back({Poly::variable(loop.variable) - loop.begin, true});
  if (all.empty() || !region(loop.body, maxima, terms) || !isSettled() || version == 0)
    return false;
  bool arePairs = exchanges();
  for (const auto &[name, sum] : all)
    if (sum.function.empty() || sum.isPair != arePairs)
      return false;
  return !arePairs || exchanged.count(top);
}

bool OnlineSplit::isSettled() const {
  if (!isLeaf(environment.at(top), topLeaf(version)))
    return false;
  for (const auto &[name, sum] : all)
    if (sum.version != version || !isLeaf(environment.at(name), sumLeaf(name)))
      return false;
  return true;
}

bool OnlineSplit::region(Body &body, Body &first, Body &second) {
  Body *outer = std::exchange(maximaHere, &first);
  bool fits = true;
  for (size_t i = 0; i < body.size() && fits; ++i) {
    Statement &each = body[i];
    if (each.kind == Statement::If && each.constraints.empty() && !each.value.text.empty()) {
      TermRef condition = evaluate(each.value, environment);
      if (!condition)
        fits = !involves(each);
      if (condition && depends(*condition)) {
        Statement *other = nullptr;
        if (i + 1 < body.size() && body[i + 1].kind == Statement::If &&
            body[i + 1].constraints.empty())
          if (TermRef next = evaluate(body[i + 1].value, environment);
              next && next->kind == Term::Unary && next->text == "!" &&
              textOf(*next->parts[0]) == textOf(*condition))
            other = &body[++i];
        fits = choice(each, other, condition, first, second);
        continue;
      }
    }
    fits = fits && statement(each, first, second);
  }
  maximaHere = outer;
  return fits;
}

bool OnlineSplit::statement(Statement &each, Body &first, Body &second) {
  switch (each.kind) {
  case Statement::Let:
    return declare(each, first, second);
  case Statement::Assign:
    return assign(each, first, second);
  case Statement::Combine:
    return combine(each, first, second);
  case Statement::For:
  case Statement::If:
    return nested(each, first, second);
  case Statement::Barrier:
    return each.function == "__syncwarp";
  case Statement::Store:
  case Statement::Atomic:
  case Statement::Opaque:
    break;
  }
  return false;
}

bool OnlineSplit::declare(Statement &each, Body &first, Body &second) {
  if (each.value.text.empty()) {
    unknown.insert(each.name);
    return true;
  }
  TermRef value = evaluate(each.value, environment);
  if (!value && involves(each))
    return false;
  unknown.erase(each.name);
  environment.erase(each.name);
  if (value && depends(*value)) {
    environment[each.name] = value;
    return !each.symbol;
  }
  return emitBoth(each, value, first, second);
}

bool OnlineSplit::emitBoth(Statement &each, const TermRef &value, Body &first, Body &second) {
  // Scalars that are followed are not written down under their names.
  bool usesFollowed =
      llvm::any_of(environment,
                   [&](const auto &known) { return mentions(each.value.text, known.first); }) ||
      llvm::any_of(unknown,
                   [&](const std::string &name) { return mentions(each.value.text, name); });
  if (usesFollowed && !value)
    return false;
  first.push_back(each);
  if (usesFollowed)
    first.back().value = textWithHoles(*value);
  second.push_back(first.back());
  return true;
}

bool OnlineSplit::assign(Statement &each, Body &first, Body &second) {
  TermRef value = evaluate(each.value, environment);
  if (!value)
    return false;
  if (each.name == top && !isLeaf(value, topLeaf(version)))
    return false;
  bool isInside = inside.count(each.name) && !dependent.count(each.name);
  if (isInside)
    return emitBoth(each, value, first, second);
  if (!dependent.count(each.name) && results.count(each.name))
    return false;
  unknown.erase(each.name);
  environment[each.name] = value;
  if (all.count(each.name))
    settle(each.name, second);
  return true;
}

TermRef OnlineSplit::combined(const Statement &each, const TermRef &old,
                              const TermRef &value) const {
  llvm::StringRef op = each.reduction == "add" ? "+" : each.reduction == "mul" ? "*" : "";
  return op.empty() ? nullptr : makeTerm(Term::Binary, op.str(), {old, value});
}

bool OnlineSplit::combine(Statement &each, Body &first, Body &second) {
  TermRef value = evaluate(each.value, environment);
  if (!dependent.count(each.name))
    return emitBoth(each, value, first, second);
  if (!value || unknown.count(each.name) || !environment.count(each.name))
    return false;
  if (each.name == top) {
    bool isOther = isLeaf(value, exchangeLeaf(top));
    if (each.reduction != "max" || !isLeaf(environment[top], topLeaf(version)) ||
        (depends(*value) && !isOther))
      return false;
    raiseTop(value, first);
    first.back().combine = each.combine;
    first.back().identity = each.identity;
    environment[top] = leaf(topLeaf(version));
    return true;
  }
  TermRef next = combined(each, environment[each.name], value);
  if (!next)
    return false;
  environment[each.name] = next;
  if (all.count(each.name))
    settle(each.name, second);
  return true;
}

void OnlineSplit::forgetLocals(Body &body) {
  for (auto &[name, value] : environment)
    if (name != top && !all.count(name))
      unknown.insert(name);
  walk(body, [&](Statement &each) {
    bool isChange = each.kind == Statement::Assign || each.kind == Statement::Combine;
    if (isChange && each.name != top && !all.count(each.name) &&
        (dependent.count(each.name) || environment.count(each.name)))
      unknown.insert(each.name);
    return true;
  });
}

bool OnlineSplit::nested(Statement &each, Body &first, Body &second) {
  if (!involves(each)) {
    for (auto &[name, value] : environment)
      if (!depends(*value) && mentions(each.value.text, name))
        return false; // its value is not written down
    bool usesFollowed = false;
    walk(each.body, [&](Statement &inner) {
      forEachText(inner, [&](Text &text) {
        for (auto &[name, value] : environment)
          usesFollowed |= mentions(text.text, name);
      });
      return true;
    });
    first.push_back(each);
    second.push_back(each);
    return !usesFollowed;
  }
  if (!isSettled())
    return false;
  for (auto &[name, value] : environment)
    if (mentions(each.value.text, name))
      return false;
  forgetLocals(each.body);
  if (each.progress == Statement::Until)
    return false;
  Statement header = each;
  header.body.clear();
  Statement one = header, two = header;
  isFaithful &= each.value.text.empty();
  if (each.kind == Statement::For)
    isFirst.push_back({Poly::variable(each.variable) - each.begin, true});
  if (!region(each.body, one.body, two.body) || !isSettled())
    return false;
  if (each.kind == Statement::For)
    isFirst.pop_back();
  forgetLocals(each.body);
  first.push_back(std::move(one));
  second.push_back(std::move(two));
  return true;
}

bool OnlineSplit::path(Body &body, Environment &at) {
  for (Statement &each : body) {
    TermRef value = each.value.text.empty() ? nullptr : evaluate(each.value, at);
    if (!value || each.symbol)
      return false;
    if (each.kind == Statement::Combine) {
      if (!at.count(each.name))
        return false;
      value = combined(each, at[each.name], value);
    } else if (each.kind != Statement::Let && each.kind != Statement::Assign) {
      return false;
    }
    if (!value)
      return false;
    at[each.name] = value;
  }
  return true;
}

/// v where \p condition says v > top.
static TermRef greaterThan(const TermRef &condition, llvm::StringRef top) {
  if (condition->kind != Term::Binary)
    return nullptr;
  llvm::StringRef op = condition->text;
  if ((op == ">" || op == ">=") && isLeaf(condition->parts[1], top))
    return condition->parts[0];
  if ((op == "<" || op == "<=") && isLeaf(condition->parts[0], top))
    return condition->parts[1];
  return nullptr;
}

bool OnlineSplit::choice(Statement &each, Statement *other, const TermRef &condition, Body &first,
                         Body &second) {
  std::string old = topLeaf(version);
  TermRef value = greaterThan(condition, old);
  if (!value || (depends(*value) && !isLeaf(value, exchangeLeaf(top))))
    return false;
  // What is pending, as in `if (other > m) …; s += t;`, has to wait until both ways are known.
  if (!isLeaf(environment[top], old))
    return false;
  for (const auto &[name, sum] : all)
    if (sum.version != version || !isLeaf(environment[name], sumLeaf(name)))
      return false;
  Environment taken = environment, skipped = environment;
  if (!path(each.body, taken) || (other && !path(other->body, skipped)) ||
      !isLeaf(skipped[top], old) || !(Form::of(*taken[top]) == Form::of(*value)))
    return false;
  // `+ 1` in place of exp(x - x) is another value where x is infinite.
  for (const auto &[name, sum] : all) {
    std::vector<TermRef> addends;
    collectAddends(taken[name], sumLeaf(name), false, addends);
    for (const TermRef &addend : addends)
      if (textOf(*addend).find("exp") == std::string::npos)
        return false;
  }
  raiseTop(value, first);
  std::string now = topLeaf(version);
  environment[top] = leaf(now);
  Form is = Form::of(*value);
  auto becomesNow = [&](const TermRef &term) {
    return rewriteTerm(term,
                       [&](const TermRef &part) { return isLeaf(part, old) ? leaf(now) : part; });
  };
  for (auto &[name, before] : taken) {
    TermRef without = skipped.count(name) ? skipped[name] : nullptr;
    if (name == top || (without && textOf(*without) == textOf(*before) && environment.count(name)))
      continue;
    // The value after the choice must be one expression of the new maximum. Where the maximum
    // stays, it is the other side's with the old one.
    Sum *sum = all.count(name) ? &all[name] : nullptr;
    unknown.insert(name);
    if (!without)
      continue;
    Form then = Form::of(*before), otherwise = Form::of(*without);
    auto agrees = [&](const TermRef &guess) {
      Form form = Form::of(*guess);
      return form.substitute(now, is) == then && form.substitute(now, Form::atom(old)) == otherwise;
    };
    TermRef guess = becomesNow(without);
    if (sum || isLeaf(environment.count(name) ? environment[name] : nullptr, exchangeLeaf(name))) {
      // s becomes s * exp(c * (old - now)), with c as in the side on which it changes.
      std::optional<Form> factor = then.coefficientOf(sum ? sumLeaf(name) : exchangeLeaf(name));
      if (sum && factor && factor->all().size() == 1 &&
          factor->all().begin()->second.exponentials.size() == 1) {
        TermRef scaled;
        auto find = [&](auto &self, const TermRef &term) -> void {
          if (term->kind == Term::Call && term->parts.size() == 1 && Form::of(*term) == *factor)
            scaled = term;
          for (const TermRef &part : term->parts)
            self(self, part);
        };
        find(find, before);
        if (scaled) {
          TermRef rescale = rewriteTerm(scaled, [&](const TermRef &part) {
            return Form::of(*part) == is && part->kind == value->kind ? leaf(now) : part;
          });
          guess = rewriteTerm(guess, [&](const TermRef &part) {
            return isLeaf(part, sumLeaf(name)) ? makeTerm(Term::Binary, "*", {part, rescale})
                                               : part;
          });
        }
      }
    }
    if (!agrees(guess))
      continue;
    unknown.erase(name);
    environment[name] = guess;
  }
  for (auto &[name, sum] : all) {
    if (unknown.count(name))
      return false;
    settle(name, second);
  }
  return true;
}

TermRef OnlineSplit::operandLeaf(const Operand &operand) {
  if (operand.kind == Operand::Collective) {
    if (!llvm::StringRef(operand.function).contains("shfl") || version != 0)
      return nullptr;
    // The value is the argument that is a scalar of the thread.
    std::string name;
    for (const Text &argument : operand.arguments)
      if (argument.isPlain() &&
          (bare(argument.text) == top || all.count(bare(argument.text).str())))
        name = bare(argument.text).str();
    if (name.empty() || !isLeaf(environment[name], name == top ? topLeaf(0) : sumLeaf(name)) ||
        (name != top && all[name].version != 0))
      return nullptr;
    operands.push_back(operand);
    if (!exchanged.try_emplace(name, operands.size() - 1).second)
      return nullptr;
    return leaf(exchangeLeaf(name));
  }
  auto isSame = [&](const Operand &each) {
    return each.kind == operand.kind && each.base == operand.base && each.type == operand.type &&
           each.bytes == operand.bytes && each.offset == operand.offset;
  };
  auto at = llvm::find_if(operands, isSame);
  if (at == operands.end())
    at = operands.insert(operands.end(), operand);
  return leaf("$" + std::to_string(at - operands.begin()));
}

TermRef OnlineSplit::evaluate(const Text &text, const Environment &at) {
  TermRef parsed = parseTerm(text.text);
  if (!parsed)
    return nullptr;
  bool isMain = &at == &environment;
  return rewriteTerm(parsed, [&](const TermRef &term) -> TermRef {
    if (term->kind == Term::Leaf) {
      unsigned hole = 0;
      llvm::StringRef name = term->text;
      if (name.consume_front("$"))
        return !name.getAsInteger(10, hole) && hole < text.operands.size()
                   ? operandLeaf(text.operands[hole])
                   : nullptr;
      auto known = at.find(term->text);
      bool isSet =
          isMain || !environment.count(term->text) || known->second != environment.at(term->text);
      if (unknown.count(term->text) && (isMain || known == at.end() || !isSet))
        return nullptr;
      return known == at.end() ? term : known->second;
    }
    TermRef left, right;
    std::string combine = "%b > %a ? %b : %a";
    if (term->kind == Term::Call && term->parts.size() == 2) {
      llvm::StringRef function = term->text;
      function.consume_front("::");
      function.consume_front("std::");
      if (function != "fmaxf" && function != "fmax" && function != "max")
        return term;
      left = term->parts[0], right = term->parts[1];
      combine = term->text + "(%a, %b)";
    } else if (term->kind == Term::Choice && term->parts[0]->kind == Term::Binary) {
      const Term &test = *term->parts[0];
      bool isGreater = test.text == ">" || test.text == ">=",
           isLess = test.text == "<" || test.text == "<=";
      if (!isGreater && !isLess)
        return term;
      left = test.parts[isGreater ? 0 : 1], right = test.parts[isGreater ? 1 : 0];
      if (textOf(*term->parts[1]) != textOf(*left) || textOf(*term->parts[2]) != textOf(*right))
        return term;
    } else {
      return term;
    }
    if (!isMain || !maximaHere)
      return term;
    std::string texts[] = {textOf(*left), textOf(*right)};
    std::string key = std::min(texts[0], texts[1]) + "," + std::max(texts[0], texts[1]);
    if (auto known = versions.find(key); known != versions.end())
      return known->second == version ? leaf(topLeaf(version)) : nullptr;
    if (isLeaf(right, topLeaf(version)))
      std::swap(left, right);
    if (!isLeaf(left, topLeaf(version)) || (depends(*right) && !isLeaf(right, exchangeLeaf(top))))
      return term;
    raiseTop(right, *maximaHere);
    maximaHere->back().combine = combine;
    versions[key] = version;
    return leaf(topLeaf(version));
  });
}

Text OnlineSplit::textWithHoles(const Term &term) const {
  Text result;
  std::map<std::string, std::string> holes;
  TermRef written =
      rewriteTerm(std::make_shared<const Term>(term), [&](const TermRef &part) -> TermRef {
        unsigned hole = 0;
        llvm::StringRef text = part->text;
        if (part->kind != Term::Leaf)
          return part;
        if (text.consume_front("@x"))
          hole = exchanged.at(text.str());
        else if (!text.consume_front("$") || text.getAsInteger(10, hole))
          return part;
        std::string &name = holes[part->text];
        if (name.empty()) {
          name = "$" + std::to_string(result.operands.size());
          result.operands.push_back(operands[hole]);
        }
        return leaf(name);
      });
  result.text = textOf(*written);
  return result;
}

void OnlineSplit::raiseTop(const TermRef &value, Body &first) {
  if (version++ == 0)
    firstTop = value;
  Statement step;
  step.kind = Statement::Combine;
  step.name = top;
  step.type = types.at(top);
  step.reduction = "max";
  step.combine = "%b > %a ? %b : %a";
  step.identity = "-INFINITY";
  step.value = textWithHoles(*value);
  first.push_back(std::move(step));
}

void OnlineSplit::settle(const std::string &name, Body &second) {
  Sum next = all[name];
  std::string self = sumLeaf(name);
  TermRef value = environment[name];
  Form form = Form::of(*value), rest = form.without(self);
  std::optional<Form> factor = form.coefficientOf(self);
  if (!factor || factor->all().size() != 1)
    return;
  const Form::Product &own = factor->all().begin()->second;
  if (own.factor != 1 || !own.atoms.empty() || own.exponentials.size() > 1)
    return;
  if (own.exponentials.empty() != (next.version == version))
    return;
  for (const auto &[function, argument] : own.exponentials) {
    std::string from = topLeaf(next.version), to = topLeaf(version);
    std::optional<Form> c = argument.coefficientOf(from);
    if (!c || !(argument == *c * Form::atom(from) - *c * Form::atom(to)))
      return;
    if (!next.function.empty() && scaleKey(function, *c) != scaleKey(next.function, *next.factor))
      return;
    if (c->key().find('@') != std::string::npos)
      return;
    next.function = function;
    next.factor = *c;
  }
  for (const auto &[key, product] : rest.all())
    if (!settleTerm(product, next))
      return;
  std::vector<TermRef> addends;
  collectAddends(value, self, false, addends);
  Form sum;
  for (const TermRef &addend : addends)
    sum = sum + Form::of(*addend);
  if (!(sum == rest))
    return;
  next.version = version;
  all[name] = next;
  environment[name] = leaf(self);
  for (const TermRef &addend : addends) {
    emitTerm(name, addend, second);
    if (!std::exchange(all[name].hasTerm, true) && !next.isPair)
      emitFirst(name, addend, second);
  }
}

void OnlineSplit::emitFirst(const std::string &name, const TermRef &addend, Body &second) {
  const Sum &sum = all[name];
  Form expected = *sum.factor * (Form::of(*firstTop) - Form::atom(topLeaf(version))),
       form = Form::of(*addend);
  for (const auto &[key, product] : form.all()) {
    auto at = product.exponentials.find(sum.function);
    isFaithful &= at != product.exponentials.end() && at->second == expected;
  }
  Statement guard, step = second.back();
  step.value = textWithHoles(*makeTerm(Term::Binary, "-", {firstTop, firstTop}));
  guard.kind = Statement::If;
  guard.constraints = isFirst;
  guard.body.push_back(std::move(step));
  second.push_back(std::move(guard));
}

bool OnlineSplit::settleTerm(const Form::Product &product, Sum &sum) const {
  std::string now = topLeaf(version);
  bool found = false, isPair = false;
  for (const std::string &atom : product.atoms)
    if (llvm::StringRef(atom).contains('@')) {
      if (!llvm::StringRef(atom).starts_with("@x") || isPair || product.atoms.size() != 1 ||
          product.factor != 1)
        return false;
      isPair = true;
    }
  for (const auto &[function, argument] : product.exponentials) {
    if (argument.key().find('@') == std::string::npos)
      continue;
    std::optional<Form> c = argument.coefficientOf(now);
    if (!c || found || c->isZero())
      return false;
    found = true;
    Form scale = *c * Form(-1), rest = argument.without(now);
    if (isPair)
      rest = rest - scale * Form::atom(exchangeLeaf(top));
    if ((isPair && !rest.isZero()) || rest.key().find('@') != std::string::npos ||
        scale.key().find('@') != std::string::npos)
      return false;
    if (!sum.function.empty() && scaleKey(function, scale) != scaleKey(sum.function, *sum.factor))
      return false;
    sum.function = function;
    sum.factor = scale;
  }
  sum.isPair |= isPair;
  return found;
}

void OnlineSplit::emitTerm(const std::string &name, const TermRef &addend, Body &second) {
  const Sum &sum = all[name];
  const std::string &type = types.at(name);
  Statement step;
  step.kind = Statement::Combine;
  step.name = name;
  step.type = type;
  step.reduction = "add";
  step.combine = "%a + %b";
  step.identity = type == "double" ? "0.0" : "0.0f";
  step.basis = top;
  step.scale = scaleKey(sum.function, *sum.factor);
  step.isPair = sum.isPair;
  TermRef written =
      sum.isPair ? leaf(exchangeLeaf(name)) : rewriteTerm(addend, [&](const TermRef &part) {
        return isLeaf(part, topLeaf(version)) ? leaf(top) : part;
      });
  step.value = textWithHoles(*written);
  second.push_back(std::move(step));
}

} // namespace kbopt::raise
