//===- Verdict.cpp - Names of verdicts ------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "kb-opt/Core/Verdict.h"

using namespace llvm;

namespace kbopt {

// In the order of the enumerators.
static constexpr StringLiteral kindNames[] = {"correct", "incorrect", "inconclusive", "not-applied",
                                              "screened"};
static constexpr StringLiteral failureNames[] = {"",
                                                 "compile",
                                                 "runtime",
                                                 "correctness",
                                                 "timeout",
                                                 "constraints",
                                                 "soft-verification",
                                                 "idle",
                                                 "library",
                                                 "refused",
                                                 "malformed",
                                                 "truncated",
                                                 "tool-limit",
                                                 "declined",
                                                 "budget",
                                                 "unavailable"};
static constexpr StringLiteral gateNames[] = {"G0", "G1", "G2",  "G3",  "G4",  "G5",  "G6",  "G7",
                                              "G8", "G9", "G10", "G11", "G12", "G13", "G14", "G15"};
static constexpr StringLiteral gateTitles[] = {
    "provenance",     "compile",         "deny-list",     "precision census", "CPU device checks",
    "case admission", "numerics",        "breadth",       "memory",           "sanitizer",
    "determinism",    "execution audit", "timed outputs", "physics",          "whole program",
    "unseen shapes"};

template <typename Enum, size_t N>
static std::optional<Enum> parseName(const StringLiteral (&names)[N], StringRef text) {
  for (size_t i = 0; i < N; ++i)
    if (text == names[i])
      return static_cast<Enum>(i);
  return std::nullopt;
}

StringRef toString(VerdictKind kind) { return kindNames[static_cast<int>(kind)]; }
StringRef toString(FailureClass failure) { return failureNames[static_cast<int>(failure)]; }
StringRef toString(GateId gate) { return gateNames[static_cast<int>(gate)]; }
StringRef toString(std::optional<GateId> gate) { return gate ? toString(*gate) : ""; }
StringRef gateTitle(GateId gate) { return gateTitles[static_cast<int>(gate)]; }

std::optional<VerdictKind> parseVerdictKind(StringRef text) {
  return parseName<VerdictKind>(kindNames, text);
}
std::optional<FailureClass> parseFailureClass(StringRef text) {
  return parseName<FailureClass>(failureNames, text);
}
std::optional<GateId> parseGateId(StringRef text) { return parseName<GateId>(gateNames, text); }

} // namespace kbopt
