//===- Catalogue.h - Seed knowledge ----------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns what is known before anything was tried: which states an optimization
// answers, priors, edges, and pipelines by shape of kernel. Files under
// knowledge/seed/; evidence overrules all of it.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_KNOWLEDGE_CATALOGUE_H
#define KBOPT_KNOWLEDGE_CATALOGUE_H

#include "kb-opt/Knowledge/MetricExpression.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <map>
#include <set>
#include <string>
#include <vector>

namespace kbopt {

/// What an optimization may do to one state.
struct StateAnswer {
  std::string state;
  /// Share of the state's blame that it is expected to remove, in [0, 1].
  double removes = 0;
};

struct Optimization {
  unsigned number = 0; ///< in the catalogue
  std::string name;    ///< the pass's name
  std::vector<std::string> aliases;
  std::string summary;
  std::vector<StateAnswer> answers; ///< in the catalogue's order
  std::string form;                 ///< full, pattern, tuning, model
  bool changesNumerics = false;     ///< needs a declared tolerance class
  unsigned minimumArch = 0;         ///< 80 for sm_80; 0: any
  std::string hint;
  /// What the counters must say for it to gain anything, over the figures of the state rules;
  /// empty: nothing.
  MetricExpression when;

  const StateAnswer *answerTo(llvm::StringRef state) const;
};

enum class EdgeKind { Enables, Excludes, Retune };

/// What a pass's folder says of another pass (cmake/GeneratePasses.py), which need not be an
/// optimization of the catalogue.
struct SeedEdge {
  EdgeKind kind;
  std::string before, after;
  double bonus = 0; ///< logarithmic gain added to `after` behind `before`
  std::string source;
};

class Catalogue {
public:
  static const Catalogue &builtin();
  /// \p optimizations, \p edges, \p pipelines: the three files' texts. A
  /// `StoreError` names the file and the entry (an edge to an unknown name too).
  static llvm::Expected<Catalogue> parse(llvm::StringRef optimizations, llvm::StringRef edges,
                                         llvm::StringRef pipelines);

  const std::vector<Optimization> &optimizations() const { return entries; }
  /// By name or alias; null if unknown.
  const Optimization *find(llvm::StringRef name) const;
  const std::vector<SeedEdge> &edges() const { return seedEdges; }
  bool excludes(llvm::StringRef a, llvm::StringRef b) const;
  /// Largest bonus of \p after in a pipeline that has \p passes before it.
  double bonus(const std::vector<std::string> &passes, llvm::StringRef after) const;
  /// Whether one of \p passes calls for tuning \p after once more.
  bool retunes(llvm::ArrayRef<std::string> passes, llvm::StringRef after) const;
  /// Share of a prediction that is left for a \p pass that was there before.
  double repeatDiscount(llvm::StringRef pass) const;
  /// Passes in the order that suits \p shape; empty for an unknown shape.
  const std::vector<std::string> &pipeline(llvm::StringRef shape) const;
  std::vector<std::string> shapes() const;

private:
  std::vector<Optimization> entries;
  std::vector<SeedEdge> seedEdges;
  std::map<std::string, double> repeats;
  std::map<std::string, std::vector<std::string>> pipelines;
};

} // namespace kbopt

#endif // KBOPT_KNOWLEDGE_CATALOGUE_H
