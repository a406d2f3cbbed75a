//===- Strings.cpp - names of the enumerations ----------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "Machine.h"

namespace kbrt {

const char *toString(ImageMode mode) {
  switch (mode) {
  case ImageMode::Plain:
    return "plain";
  case ImageMode::Check:
    return "check";
  case ImageMode::Count:
    return "count";
  case ImageMode::Oracle:
    return "oracle";
  case ImageMode::Search:
    return "search";
  }
  return "?";
}

const char *toString(AccessKind kind) {
  switch (kind) {
  case AccessKind::Load:
    return "load";
  case AccessKind::Store:
    return "store";
  case AccessKind::Atomic:
    return "atomic";
  case AccessKind::Barrier:
    return "barrier";
  case AccessKind::WarpOp:
    return "warp operation";
  case AccessKind::LocalArray:
    return "local array";
  case AccessKind::Spin:
    return "wait loop";
  case AccessKind::Trap:
    return "trap";
  }
  return "?";
}

const char *toString(MemorySpace space) {
  switch (space) {
  case MemorySpace::Generic:
    return "generic";
  case MemorySpace::Global:
    return "global";
  case MemorySpace::Shared:
    return "shared";
  case MemorySpace::Constant:
    return "constant";
  case MemorySpace::Local:
    return "local";
  case MemorySpace::Param:
    return "param";
  }
  return "?";
}

const char *toString(FindingKind kind) {
  switch (kind) {
  case FindingKind::OutOfBounds:
    return "out-of-bounds";
  case FindingKind::Misaligned:
    return "misaligned";
  case FindingKind::RaceGlobal:
    return "race-global";
  case FindingKind::RaceShared:
    return "race-shared";
  case FindingKind::RaceWithAtomic:
    return "race-atomic";
  case FindingKind::UninitialisedGlobal:
    return "uninitialised-global";
  case FindingKind::UninitialisedShared:
    return "uninitialised-shared";
  case FindingKind::UninitialisedLocal:
    return "uninitialised-local";
  case FindingKind::WriteToConstant:
    return "write-to-constant";
  case FindingKind::GuardZoneChanged:
    return "guard-zone-changed";
  case FindingKind::ConstInputChanged:
    return "const-input-changed";
  case FindingKind::WeakOrder:
    return "weak-order";
  case FindingKind::Unordered:
    return "unordered";
  }
  return "?";
}

const char *toString(Severity severity) {
  return severity == Severity::Benign ? "benign" : "error";
}

static std::string placeText(const AccessPlace &place) {
  if (!place.line)
    return "unknown place";
  return place.file + ":" + std::to_string(place.line);
}

std::string toText(const Finding &finding) {
  if (finding.kind == FindingKind::Unordered) // of two launches or copies, in no kernel
    return std::string(toString(finding.kind)) + ": " + finding.message;
  std::string text = std::string(toString(finding.kind)) + " in " + finding.kernel;
  if (finding.place.line)
    text += " at " + placeText(finding.place);
  if (!finding.array.empty())
    text += ", array " + finding.array;
  text += ": " + finding.message;
  // Found after the launch: the thread is unknown.
  if (finding.kind == FindingKind::GuardZoneChanged ||
      finding.kind == FindingKind::ConstInputChanged)
    return text;
  text += " (block " + toText(finding.place.block) + ", thread " + toText(finding.place.thread);
  if (finding.other)
    text += "; the other is block " + toText(finding.other->block) + ", thread " +
            toText(finding.other->thread) + " at " + placeText(*finding.other);
  text += ")";
  if (finding.count > 1)
    text += ", " + std::to_string(finding.count) + " times";
  return text;
}

} // namespace kbrt
