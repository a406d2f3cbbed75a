//===- Terms.cpp - C++ expressions as trees and as sums of products ---------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns a small parser for arithmetic, and its normal form.
//
//===----------------------------------------------------------------------===//
#include "Terms.h"

#include "NestScalars.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"

namespace kbopt::raise {

TermRef makeTerm(Term::Kind kind, std::string text, std::vector<TermRef> parts) {
  return std::make_shared<const Term>(Term{kind, std::move(text), std::move(parts)});
}

namespace {

class Parser {
public:
  explicit Parser(llvm::StringRef text) : rest(text) {}

  TermRef whole() {
    TermRef result = choice();
    return rest.trim().empty() ? result : nullptr;
  }

private:
  llvm::StringRef rest;

  bool take(llvm::StringRef token) {
    rest = rest.ltrim();
    return rest.consume_front(token);
  }

  TermRef choice() {
    TermRef condition = binary(0);
    if (!condition || !take("?"))
      return condition;
    TermRef taken = choice();
    if (!taken || !take(":"))
      return nullptr;
    TermRef other = choice();
    return other ? makeTerm(Term::Choice, "?", {condition, taken, other}) : nullptr;
  }

  std::string operatorOf(unsigned level) {
    static const std::vector<std::vector<llvm::StringRef>> levels = {
        {"||"}, {"&&"}, {"==", "!="}, {"<=", ">=", "<", ">"}, {"+", "-"}, {"*", "/"}};
    for (llvm::StringRef each : levels[level])
      if (take(each))
        return each.str();
    return "";
  }

  TermRef binary(unsigned level) {
    if (level == 6)
      return unary();
    TermRef left = binary(level + 1);
    while (left) {
      std::string op = operatorOf(level);
      if (op.empty())
        return left;
      TermRef right = binary(level + 1);
      left = right ? makeTerm(Term::Binary, op, {left, right}) : nullptr;
    }
    return left;
  }

  TermRef unary() {
    for (llvm::StringRef op : {"-", "!", "+"})
      if (take(op)) {
        TermRef part = unary();
        return !part || op == "+" ? part : makeTerm(Term::Unary, op.str(), {part});
      }
    if (!take("("))
      return primary();
    for (llvm::StringRef type : {"float", "double"}) {
      llvm::StringRef before = rest;
      if (take(type) && take(")")) {
        TermRef part = unary();
        return part ? makeTerm(Term::Cast, type.str(), {part}) : nullptr;
      }
      rest = before;
    }
    TermRef inner = choice();
    return inner && take(")") ? inner : nullptr;
  }

  TermRef primary() {
    rest = rest.ltrim();
    bool isNumber = !rest.empty() && (llvm::isDigit(rest[0]) || rest[0] == '.');
    llvm::StringRef word =
        isNumber ? rest.take_while([](char c) { return llvm::isAlnum(c) || c == '.'; })
                 : rest.take_while([](char c) {
                     return llvm::isAlnum(c) || c == '_' || c == '$' || c == ':' || c == '.';
                   });
    rest = rest.drop_front(word.size());
    // 1e-5f
    if (isNumber && (word.ends_with("e") || word.ends_with("E")) && !word.starts_with("0x") &&
        (rest.starts_with("-") || rest.starts_with("+"))) {
      llvm::StringRef more = rest.drop_front(1).take_while(llvm::isAlnum);
      word = llvm::StringRef(word.data(), word.size() + 1 + more.size());
      rest = rest.drop_front(1 + more.size());
    }
    if (word.empty() || word.ends_with(":"))
      return nullptr;
    std::string name = word.str();
    if (isNumber || !take("("))
      return makeTerm(Term::Leaf, name);
    std::vector<TermRef> arguments;
    if (take(")"))
      return makeTerm(Term::Call, name);
    do {
      arguments.push_back(choice());
      if (!arguments.back())
        return nullptr;
    } while (take(","));
    return take(")") ? makeTerm(Term::Call, name, arguments) : nullptr;
  }
};

unsigned strength(const Term &term) {
  if (term.kind == Term::Choice)
    return 0;
  if (term.kind != Term::Binary)
    return 8;
  return llvm::StringSwitch<unsigned>(term.text)
      .Case("||", 1)
      .Case("&&", 2)
      .Cases({"==", "!="}, 3)
      .Cases({"<=", ">=", "<", ">"}, 4)
      .Cases({"+", "-"}, 5)
      .Default(6);
}

llvm::StringRef plainName(llvm::StringRef name) {
  name.consume_front("::");
  name.consume_front("std::");
  return name;
}

std::optional<double> numberOf(const Term &term) {
  double value = 0;
  llvm::StringRef text = term.text;
  if (term.kind != Term::Leaf || text.empty() || text.starts_with("0x") ||
      (!llvm::isDigit(text[0]) && text[0] != '.') || text.rtrim("fFlL").getAsDouble(value))
    return std::nullopt;
  return value;
}

} // namespace

TermRef parseTerm(llvm::StringRef text) { return Parser(text).whole(); }

std::string textOf(const Term &term) {
  auto part = [&](unsigned i, unsigned atLeast) {
    std::string text = textOf(*term.parts[i]);
    return strength(*term.parts[i]) < atLeast ? "(" + text + ")" : text;
  };
  switch (term.kind) {
  case Term::Leaf:
    return term.text;
  case Term::Cast:
    return "(" + term.text + ")" + part(0, 8);
  case Term::Unary:
    return term.text +
           (term.parts[0]->kind == Term::Unary ? "(" + textOf(*term.parts[0]) + ")" : part(0, 8));
  case Term::Binary:
    return part(0, strength(term)) + " " + term.text + " " + part(1, strength(term) + 1);
  case Term::Choice:
    return part(0, 1) + " ? " + part(1, 1) + " : " + part(2, 0);
  case Term::Call:
    break;
  }
  std::string result = term.text + "(";
  for (unsigned i = 0; i < term.parts.size(); ++i)
    result += (i ? ", " : "") + textOf(*term.parts[i]);
  return result + ")";
}

TermRef rewriteTerm(const TermRef &term, llvm::function_ref<TermRef(const TermRef &)> change) {
  std::vector<TermRef> parts;
  for (const TermRef &part : term->parts) {
    parts.push_back(rewriteTerm(part, change));
    if (!parts.back())
      return nullptr;
  }
  return change(parts == term->parts ? term : makeTerm(term->kind, term->text, parts));
}

bool mentionsLeaf(const Term &term, llvm::function_ref<bool(llvm::StringRef)> isMeant) {
  return (term.kind == Term::Leaf && isMeant(term.text)) ||
         llvm::any_of(term.parts,
                      [&](const TermRef &part) { return mentionsLeaf(*part, isMeant); });
}

Form::Form(double number) {
  Product product;
  product.factor = number;
  add(product);
}

Form Form::atom(std::string name) {
  Form result;
  Product product;
  product.atoms.push_back(std::move(name));
  result.add(product);
  return result;
}

void Form::add(Product product) {
  std::string key = product.key();
  auto [at, isNew] = products.try_emplace(key, product);
  if (!isNew)
    at->second.factor += product.factor;
  if (at->second.factor == 0)
    products.erase(at);
}

Form Form::operator+(const Form &other) const {
  Form result = *this;
  for (const auto &[key, product] : other.products)
    result.add(product);
  return result;
}

Form Form::operator*(const Form &other) const {
  Form result;
  for (const auto &[leftKey, left] : products)
    for (const auto &[rightKey, right] : other.products) {
      Product product = left;
      product.factor *= right.factor;
      product.atoms.insert(product.atoms.end(), right.atoms.begin(), right.atoms.end());
      llvm::sort(product.atoms);
      for (const auto &[function, argument] : right.exponentials) {
        Form &sum = product.exponentials[function];
        sum = sum + argument;
        if (sum.isZero())
          product.exponentials.erase(function);
      }
      result.add(product);
    }
  return result;
}

std::string Form::Product::key() const {
  std::string result;
  for (const std::string &atom : atoms)
    result += atom + "*";
  for (const auto &[function, argument] : exponentials)
    result += function + "{" + argument.key() + "}*";
  return result;
}

std::string Form::key() const {
  std::string result;
  for (const auto &[key, product] : products)
    result += std::to_string(product.factor) + "*" + key + "+";
  return result;
}

bool Form::Product::mentions(llvm::StringRef atom) const {
  return llvm::any_of(atoms,
                      [&](const std::string &each) { return raise::mentions(each, atom); }) ||
         llvm::any_of(exponentials, [&](const auto &each) { return each.second.mentions(atom); });
}

bool Form::mentions(llvm::StringRef atom) const {
  return llvm::any_of(products, [&](const auto &each) { return each.second.mentions(atom); });
}

std::optional<Form> Form::coefficientOf(llvm::StringRef atom) const {
  Form result;
  for (const auto &[key, product] : products) {
    if (!product.mentions(atom))
      continue;
    Product rest = product;
    auto at = llvm::find(rest.atoms, atom);
    if (at == rest.atoms.end())
      return std::nullopt;
    rest.atoms.erase(at);
    if (rest.mentions(atom))
      return std::nullopt;
    result.add(rest);
  }
  return result;
}

Form Form::without(llvm::StringRef atom) const {
  Form result;
  for (const auto &[key, product] : products)
    if (!product.mentions(atom))
      result.add(product);
  return result;
}

Form Form::substitute(llvm::StringRef atom, const Form &value) const {
  Form result;
  for (const auto &[key, product] : products) {
    Form part(product.factor);
    for (const std::string &each : product.atoms)
      part = part * (each == atom ? value : Form::atom(each));
    for (const auto &[function, argument] : product.exponentials) {
      Form changed = argument.substitute(atom, value);
      Product exponential;
      if (!changed.isZero())
        exponential.exponentials[function] = changed;
      Form single;
      single.add(exponential);
      part = part * single;
    }
    result = result + part;
  }
  return result;
}

Form Form::of(const Term &term) {
  auto part = [&](unsigned i) { return of(*term.parts[i]); };
  if (auto number = numberOf(term))
    return Form(*number);
  if (term.kind == Term::Cast)
    return part(0);
  if (term.kind == Term::Unary && term.text == "-")
    return part(0) * Form(-1);
  if (term.kind == Term::Binary && term.text == "+")
    return part(0) + part(1);
  if (term.kind == Term::Binary && term.text == "-")
    return part(0) - part(1);
  if (term.kind == Term::Binary && term.text == "*")
    return part(0) * part(1);
  if (term.kind == Term::Binary && term.text == "/") {
    if (auto number = numberOf(*term.parts[1]); number && *number != 0)
      return part(0) * Form(1 / *number);
    return part(0) * Form::atom("1/(" + part(1).key() + ")");
  }
  if (term.kind != Term::Call)
    return Form::atom(term.parts.empty() ? term.text : textOf(term));
  llvm::StringRef name = plainName(term.text);
  bool isExponential =
      name == "expf" || name == "exp" || name == "__expf" || name == "exp2f" || name == "exp2";
  if (isExponential && term.parts.size() == 1) {
    Product product;
    if (Form argument = part(0); !argument.isZero())
      product.exponentials[name.starts_with("exp2") ? "exp2" : "exp"] = argument;
    Form result;
    result.add(product);
    return result;
  }
  bool isFused = name == "fmaf" || name == "fma" || name == "__fmaf_rn" || name == "__fma_rn";
  if (isFused && term.parts.size() == 3)
    return part(0) * part(1) + part(2);
  std::string key = name.str() + "(";
  for (unsigned i = 0; i < term.parts.size(); ++i)
    key += part(i).key() + ",";
  return Form::atom(key + ")");
}

} // namespace kbopt::raise
