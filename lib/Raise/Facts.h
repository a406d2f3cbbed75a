//===- Facts.h - What holds where a statement is reached --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns conclusions from conditions and ranges of variables. Products become free variables, so that
// a conclusion is a proof and its absence says nothing. Private to the library.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_LIB_RAISE_FACTS_H
#define KBOPT_LIB_RAISE_FACTS_H

#include "ThreadProgram.h"

namespace kbopt::raise {

using Constraints = std::vector<Constraint>;

class Facts {
public:
  Facts(const Space &space, llvm::ArrayRef<Constraint> known)
      : space(space), known(known.begin(), known.end()) {}

  Facts with(llvm::ArrayRef<Constraint> more) const;

  bool implies(const Constraint &constraint) const;
  bool implies(llvm::ArrayRef<Constraint> all) const {
    return llvm::all_of(all, [&](const Constraint &each) { return implies(each); });
  }
  bool isNonNegative(const Poly &poly) const { return implies({poly, false}); }
  /// Whether 0 <= \p poly < \p count.
  bool isDigit(const Poly &poly, const Poly &count) const {
    return isNonNegative(poly) && isNonNegative(count - poly - Poly::constant(1));
  }
  bool excludes(const Constraint &constraint) const;
  /// Whether all constraints of one of \p conjunctions hold wherever the facts do.
  bool impliesOneOf(llvm::ArrayRef<Constraints> conjunctions) const;
  /// Whether \p a and \p b have one value, also by equations among the facts.
  bool areEqual(const Poly &a, const Poly &b) const;
  /// What is 0 by the equations among the facts.
  std::vector<Poly> equations() const;
  /// The constraints of \p all that do not follow.
  Constraints open(llvm::ArrayRef<Constraint> all) const;

private:
  /// Whether no values of the variables fulfil the facts, for certain.
  bool isEmpty() const;

  const Space &space;
  Constraints known;
};

} // namespace kbopt::raise

#endif // KBOPT_LIB_RAISE_FACTS_H
