//===- HostWays.cpp -------------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "HostWays.h"

using namespace kbopt;

llvm::Expected<const NotedHost &> HostWays::noted(const std::string &text) {
  return hosts.get(digestOf(text), [&]() -> llvm::Expected<NotedHost> {
    const bool isOriginal = text == original;
    if (isOriginal && !isProgram)
      return NotedHost{text, {}, {}, {}};
    auto parsed = tools.parser.parse(tools.input.command, text);
    if (!parsed)
      return parsed.takeError();
    return isOriginal ? noteSeeds(**parsed) : noteBranches(**parsed, original);
  });
}

void HostWays::take(const std::string &text, llvm::ArrayRef<uint32_t> numbers, HostRunKind kind) {
  std::lock_guard<std::mutex> lock(mutex);
  Taken &own = taken[digestOf(text)];
  (kind == HostRunKind::Whole ? own.run : own.called).insert(numbers.begin(), numbers.end());
}

llvm::Expected<std::vector<std::string>> HostWays::notTaken(const std::string &text,
                                                            bool isClosed) {
  auto host = noted(text);
  if (!host)
    return host.takeError();
  std::lock_guard<std::mutex> lock(mutex);
  const Taken &own = taken[digestOf(text)];
  std::vector<std::string> all = sidesNotSeen(*host, own.run, own.called, isClosed);
  for (const std::string &hidden : host->hidden)
    all.push_back(hidden + " hides a branch");
  return all;
}
