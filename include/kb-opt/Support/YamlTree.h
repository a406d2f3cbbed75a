//===- YamlTree.h - YAML as values with places ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the reading of a YAML document into a tree whose every value knows its
// line and column, so that errors found later still name their place.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_SUPPORT_YAMLTREE_H
#define KBOPT_SUPPORT_YAMLTREE_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <string>
#include <vector>

namespace kbopt {

struct YamlField;

struct YamlValue {
  enum Kind { Null, Scalar, Sequence, Mapping };
  Kind kind = Null;
  std::string place;             ///< "file:line:column"
  std::string scalar;            ///< Scalar
  std::vector<YamlValue> items;  ///< Sequence
  std::vector<YamlField> fields; ///< Mapping, keys are scalars

  const YamlValue *find(llvm::StringRef key) const;
  /// A `UsageError` (exit status 1): "<place>: <what>".
  llvm::Error error(const llvm::Twine &what, llvm::StringRef note = "") const;
};

struct YamlField {
  YamlValue key, value;
};

/// The one document in \p text. \p firstLine is the line of the text's first
/// line in \p file.
llvm::Expected<YamlValue> parseYaml(llvm::StringRef text, llvm::StringRef file, unsigned firstLine);

} // namespace kbopt

#endif // KBOPT_SUPPORT_YAMLTREE_H
