//===- Remark.h - What a pass did, or why it did not -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the plain record of one pass at one site, which Rewrite makes, Pipeline
// collects and Report prints. Writing it as YAML is
// Report's business.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_CORE_REMARK_H
#define KBOPT_CORE_REMARK_H

#include <string>
#include <utility>
#include <vector>

namespace kbopt {

enum class RemarkKind {
  Passed,   ///< the pass rewrote the site
  Missed,   ///< it did not, for `message`'s reason
  Analysis, ///< said beside a rewrite, such as a suppression that was honoured
};

/// One remark. `line` and `column` count from 1 in the text that the pass
/// read, which after an earlier rewrite is not the original text.
struct Remark {
  RemarkKind kind = RemarkKind::Missed;
  std::string pass;
  /// The kernel's name as in the source; empty for the whole program.
  std::string kernel;
  /// Number of the site, from 1, as in `pass{site=2}`; 0 where there is none.
  unsigned site = 0;
  std::string file;
  unsigned line = 0;
  unsigned column = 0;
  /// Lower case, no full stop, names the user's object.
  std::string message;
  /// Values of the options that were used, in the order of Pass.td.
  std::vector<std::pair<std::string, std::string>> options;
};

} // namespace kbopt

#endif // KBOPT_CORE_REMARK_H
