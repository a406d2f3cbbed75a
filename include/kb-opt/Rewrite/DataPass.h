//===- DataPass.h - A pass without C++ --------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the sites of a pass that is a pass.yaml and a prompt.md: the nodes that
// its matcher binds, or every node of its site kind. It rewrites nothing by
// itself: what is written there is a model's reply (Rewrite/Assisted).
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_REWRITE_DATAPASS_H
#define KBOPT_REWRITE_DATAPASS_H

#include "kb-opt/Rewrite/RewritePass.h"

namespace kbopt {

class DataPass : public RewritePass {
public:
  /// \p info has an assisted form, whose matcher was checked by `checkMatcher`.
  explicit DataPass(const PassInfo &info) : info(&info) {}

  std::vector<Site> sites(const PassContext &context, const KernelView &kernel) const override;
  /// Never applies: "needs a model".
  llvm::Expected<Rewrite> rewrite(const PassContext &context, const Site &site,
                                  const PassOptions &options) const override;

private:
  const PassInfo *info;
};

/// What is wrong with \p matcher in clang-query's words, with the line and column
/// in the text; empty if nothing is. It must bind "site".
std::string checkMatcher(llvm::StringRef matcher);

} // namespace kbopt

#endif // KBOPT_REWRITE_DATAPASS_H
