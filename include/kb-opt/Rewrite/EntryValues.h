//===- EntryValues.h - What a workload passes to a function -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the integers that a workload hands to the function that it calls, and what expressions of
// the host are then, without a run. Estimates may rest on them, legality never.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_REWRITE_ENTRYVALUES_H
#define KBOPT_REWRITE_ENTRYVALUES_H

#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace clang {
class Expr;
class FunctionDecl;
} // namespace clang

namespace kbopt {

class PassContext;

struct EntryValues {
  std::string function; ///< as it is called: "run" or "ns::run"; empty: nothing is known
  std::map<std::string, int64_t> parameters;
};

/// The integer that \p expr, of the function \p host, is in the workload's call; none where that
/// rests on more than constants and parameters, of \p host or of the functions that call it.
std::optional<int64_t> valueAtEntry(const PassContext &context, const clang::Expr *expr,
                                    const clang::FunctionDecl *host);

} // namespace kbopt

#endif // KBOPT_REWRITE_ENTRYVALUES_H
