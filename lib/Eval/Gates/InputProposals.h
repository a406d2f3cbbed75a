//===- InputProposals.h - Which inputs may lead to a place ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the order in which changes of recorded inputs are tried, in the search for some that lead to
// code which no case executes. Makes no runs.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_LIB_EVAL_GATES_INPUTPROPOSALS_H
#define KBOPT_LIB_EVAL_GATES_INPUTPROPOSALS_H

#include "kb-opt/Plan/ChangedInputs.h"
#include "kb-opt/Support/Random.h"
#include "kbrt/Coverage.h"
#include <deque>
#include <set>

namespace kbopt {

/// Hill climbing on the distance of the nearest branch. What was compared there is put into the
/// uploads in each other's place (C. Aschermann et al., REDQUEEN, NDSS 2019); then follow extreme
/// inputs, moves of one number that grow as long as they help (B. Korel, TSE 1990), and random
/// ones. The same for the same calls.
class InputProposals {
public:
  explicit InputProposals(std::vector<ChangeableUpload> uploads);

  /// From now on changes are added to \p changes, the nearest so far, which came as near as \p
  /// near.
  void startFrom(llvm::ArrayRef<InputChange> changes, const kbrt::NearPlace &near);
  /// Changes that were not proposed yet; nothing if there are no more.
  std::optional<std::vector<InputChange>> next();

private:
  void propose(InputChange change);
  void proposeComparedNumbers(const kbrt::NearPlace &near);
  void proposeExtremes();
  void proposeMoves();
  InputChange randomChange();

  std::vector<ChangeableUpload> uploads;
  std::vector<InputChange> base;
  kbrt::NearPlace nearest;
  std::deque<std::vector<InputChange>> pending;
  std::set<std::string> proposed;
  Random random{1};
  unsigned drawn = 0;
};

/// \p changes so that the values that they set come to every second element, every third and so on:
/// what stands between stays as recorded.
std::vector<std::vector<InputChange>> spread(llvm::ArrayRef<InputChange> changes);

} // namespace kbopt

#endif // KBOPT_LIB_EVAL_GATES_INPUTPROPOSALS_H
