//===- Terms.h - C++ expressions as trees and as sums of products -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the reading of the texts of a thread program as arithmetic, and the form in which two of
// them can be compared as real numbers. Private to the library.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_LIB_RAISE_TERMS_H
#define KBOPT_LIB_RAISE_TERMS_H

#include "ThreadProgram.h"
#include <map>
#include <memory>

namespace kbopt::raise {

struct Term;
using TermRef = std::shared_ptr<const Term>;

/// An expression: a leaf is a name, a number or a hole.
struct Term {
  enum Kind { Leaf, Call, Cast, Unary, Binary, Choice } kind = Leaf;
  std::string text; ///< of a leaf, the callee, the type, the operator
  std::vector<TermRef> parts;
};

TermRef makeTerm(Term::Kind kind, std::string text, std::vector<TermRef> parts = {});
/// Null for what is no arithmetic on names, numbers, holes and calls.
TermRef parseTerm(llvm::StringRef text);
/// As C++, with parentheses where they are needed.
std::string textOf(const Term &term);
/// \p term with every leaf, and then every tree around, replaced by what \p change makes of it;
/// null if that is null anywhere.
TermRef rewriteTerm(const TermRef &term, llvm::function_ref<TermRef(const TermRef &)> change);
bool mentionsLeaf(const Term &term, llvm::function_ref<bool(llvm::StringRef)> isMeant);

/// A sum of products over real numbers. In a product, calls of one exponential function are one
/// call with the sum of their arguments.
class Form {
public:
  struct Product;
  Form() = default;
  explicit Form(double number);
  static Form atom(std::string name);
  /// Casts between floating-point types change nothing.
  static Form of(const Term &term);

  Form operator+(const Form &other) const;
  Form operator*(const Form &other) const;
  Form operator-(const Form &other) const { return *this + other * Form(-1); }
  bool operator==(const Form &other) const { return key() == other.key(); }
  bool isZero() const { return products.empty(); }
  bool mentions(llvm::StringRef atom) const;
  /// The sum of all products with \p atom once as a factor, without it; nothing where it stands
  /// otherwise (in a call, squared).
  std::optional<Form> coefficientOf(llvm::StringRef atom) const;
  Form without(llvm::StringRef atom) const;
  Form substitute(llvm::StringRef atom, const Form &value) const;
  /// The same for equal forms only.
  std::string key() const;
  const std::map<std::string, Product> &all() const { return products; }

private:
  void add(Product product);
  std::map<std::string, Product> products;
};

struct Form::Product {
  double factor = 1;
  std::vector<std::string> atoms;
  std::map<std::string, Form> exponentials; ///< by function
  std::string key() const;
  bool mentions(llvm::StringRef atom) const;
};

} // namespace kbopt::raise

#endif // KBOPT_LIB_RAISE_TERMS_H
