//===- SiteRecord.h - Where a pass may rewrite a program --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the record of one pass at one kernel of a program, and its codec.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_CANDIDATE_SITERECORD_H
#define KBOPT_CANDIDATE_SITERECORD_H

#include "kb-opt/Core/NestFacts.h"
#include "llvm/Support/JSON.h"
#include <map>
#include <string>
#include <vector>

namespace kbopt {

struct SiteRecord {
  std::string pass;
  std::string kernel;
  bool assisted = false;                     ///< a model must be asked first
  std::map<std::string, std::string> values; ///< of options, that the pass begins with
  std::vector<std::string> choices;          ///< RewritePass::choices
  NestFacts facts = {};                      ///< that go with them
};

llvm::json::Value toJSON(const SiteRecord &record);
bool fromJSON(const llvm::json::Value &value, SiteRecord &record, llvm::json::Path path);

} // namespace kbopt

#endif // KBOPT_CANDIDATE_SITERECORD_H
