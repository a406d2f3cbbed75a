//===- OnlineSplit.h - One iteration of an online loop ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns what is known of scalars while an iteration is run symbolically. Private to the library.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_LIB_RAISE_ONLINESPLIT_H
#define KBOPT_LIB_RAISE_ONLINESPLIT_H

#include "Terms.h"

namespace kbopt::raise {

/// The function and the factor of the maximum in its argument, as Statement::scale has them.
std::string scaleKey(llvm::StringRef function, const Form &factor);

class OnlineSplit {
public:
  using Body = std::vector<Statement>;
  using Names = std::set<std::string>;
  /// \p top may be a running maximum. \p inside are declared in the loop, \p carried changed there,
  /// and of these \p results count afterwards.
  OnlineSplit(const std::map<std::string, std::string> &types, std::string top, const Names &inside,
              const Names &carried, const Names &results);
  /// Whether \p loop is an online loop; then `maxima` and `terms` are the bodies of the two loops.
  bool run(Statement &loop);
  Body maxima, terms;
  /// Whether a maximum that starts at -INFINITY gives NaN in the same cases: a thread's first
  /// element is -INFINITY.
  bool isFaithful = true;
  Names sums() const;
  /// The loop combines pairs of other lanes.
  bool exchanges() const { return !exchanged.empty(); }

private:
  using Environment = std::map<std::string, TermRef>;
  struct Sum {
    unsigned version = 0; ///< of the maximum that it is relative to
    std::string function;
    std::optional<Form> factor;
    bool isPair = false, hasTerm = false;
  };

  bool region(Body &body, Body &first, Body &second);
  bool statement(Statement &each, Body &first, Body &second);
  bool declare(Statement &each, Body &first, Body &second);
  bool assign(Statement &each, Body &first, Body &second);
  bool combine(Statement &each, Body &first, Body &second);
  bool nested(Statement &each, Body &first, Body &second);
  /// \p each does not depend on the maximum: both loops have it.
  bool emitBoth(Statement &each, const TermRef &value, Body &first, Body &second);
  /// `if (x > m) … else …`.
  bool choice(Statement &each, Statement *other, const TermRef &value, Body &first, Body &second);
  bool path(Body &body, Environment &at);
  /// Null where the text is not understood or may not be used.
  TermRef evaluate(const Text &text, const Environment &at);
  TermRef operandLeaf(const Operand &operand);
  TermRef combined(const Statement &each, const TermRef &old, const TermRef &value) const;
  /// Whether \p each or its body names or changes something that depends on the maximum.
  bool involves(Statement &each) const;
  bool depends(const Term &term) const;
  void raiseTop(const TermRef &value, Body &first);
  /// Writes down the terms if \p name is as it should be relative to the present maximum.
  void settle(const std::string &name, Body &second);
  bool settleTerm(const Form::Product &product, Sum &sum) const;
  void emitTerm(const std::string &name, const TermRef &addend, Body &second);
  /// NaN where the original's thread meets -INFINITY first.
  void emitFirst(const std::string &name, const TermRef &addend, Body &second);
  bool isSettled() const;
  void forgetLocals(Body &body);
  std::string topLeaf(unsigned of) const { return "@m" + std::to_string(of); }
  std::string sumLeaf(llvm::StringRef name) const { return "@s" + name.str(); }
  std::string exchangeLeaf(llvm::StringRef name) const { return "@x" + name.str(); }
  Text textWithHoles(const Term &term) const;

  const std::map<std::string, std::string> &types;
  const std::string top;
  const Names &inside, &carried;
  Names results, dependent;
  Environment environment;
  Names unknown; ///< scalars whose value is not followed any more
  std::map<std::string, Sum> all;
  std::vector<Operand> operands;
  std::map<std::string, unsigned> exchanged; ///< operand in which another lane's scalar is read
  unsigned version = 0;
  TermRef firstTop;                         ///< what the maximum is compared with first
  std::vector<Constraint> isFirst;          ///< the first iteration of a thread
  std::map<std::string, unsigned> versions; ///< by the text of a maximum
  Body *maximaHere = nullptr;
};

} // namespace kbopt::raise

#endif // KBOPT_LIB_RAISE_ONLINESPLIT_H
