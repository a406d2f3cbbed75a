//===- Findings.cpp - collecting defects ----------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "Findings.h"
#include <algorithm>
#include <unordered_map>

namespace kbrt::findings {

namespace {
std::vector<Finding> list;
std::unordered_map<uint64_t, size_t> byKey;
uint64_t dropped = 0;
constexpr size_t tooMany = ~size_t(0);

uint64_t keyOf(FindingKind kind, uint32_t site, uint32_t other) {
  return uint64_t(kind) << 56 ^ uint64_t(site) << 28 ^ other;
}
} // namespace

void begin() {
  list.clear();
  byKey.clear();
  dropped = 0;
}

bool isNew(FindingKind kind, uint32_t site, uint32_t otherSite, Severity severity) {
  auto [it, isInserted] = byKey.try_emplace(keyOf(kind, site, otherSite), tooMany);
  if (!isInserted) {
    if (it->second != tooMany) {
      Finding &finding = list[it->second];
      ++finding.count;
      if (severity == Severity::Error)
        finding.severity = Severity::Error;
    }
    return false;
  }
  if (list.size() < machine.options->maxFindings)
    return true;
  if (dropped++ == 0)
    note("more than " + std::to_string(machine.options->maxFindings) +
         " distinct findings; the rest is left out");
  return false;
}

void add(Finding finding) {
  byKey[keyOf(finding.kind, finding.place.site, finding.other ? finding.other->site : ~0u)] =
      list.size();
  list.push_back(std::move(finding));
}

Finding make(FindingKind kind, uint32_t site) { return make(kind, site, machine.current()); }

Finding make(FindingKind kind, uint32_t site, const Thread &thread) {
  Finding finding;
  finding.kind = kind;
  finding.kernel = machine.kernel->displayName;
  finding.place = placeOf(site, toDim3(machine.block.ctaid), toDim3(thread.tid));
  if (site < machine.info->siteCount)
    finding.array = variableName(machine.info->sites[site].array);
  return finding;
}

std::vector<Finding> take() { return std::move(list); }

void note(const std::string &text) {
  auto &notes = machine.result->notes;
  if (std::find(notes.begin(), notes.end(), text) == notes.end())
    notes.push_back(text);
}

} // namespace kbrt::findings
