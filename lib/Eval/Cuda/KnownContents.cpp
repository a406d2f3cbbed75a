//===- KnownContents.cpp --------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "kb-opt/Eval/KnownContents.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include <random>

using namespace llvm;
using namespace kbopt;

KnownContents::KnownContents() {
  std::random_device draw;
  for (unsigned i = 0; i < 4; ++i)
    salt += formatv("{0:x-8}", draw()).str();
}

KnownContents::Held KnownContents::hold() {
  Held held;
  std::lock_guard<std::mutex> lock(mutex);
  for (auto each = known.begin(); each != known.end();)
    if (auto bytes = each->second.lock())
      held.emplace((each++)->first, *bytes);
    else
      each = known.erase(each);
  return held;
}

json::Object KnownContents::field(const Held &held) const {
  json::Array digests;
  for (const auto &[digest, bytes] : held)
    digests.push_back(digest);
  return json::Object{{"salt", salt}, {"known", std::move(digests)}};
}

Expected<std::vector<SharedBytes>> KnownContents::take(const json::Array &digests, const Held &held,
                                                       const Held &come) {
  std::vector<SharedBytes> all;
  std::lock_guard<std::mutex> lock(mutex);
  for (const json::Value &value : digests) {
    const std::string digest = value.getAsString().value_or("").str();
    auto found = come.find(digest);
    if (found == come.end() && (found = held.find(digest)) == held.end())
      return make_error<ToolError>("kb-run gave no bytes for the read '" + digest + "'",
                                   std::vector<std::string>{"kb-run"}, 0, "",
                                   "kb-run and kb-opt must come from one build");
    all.push_back(found->second);
    known[digest] = found->second;
  }
  return all;
}
