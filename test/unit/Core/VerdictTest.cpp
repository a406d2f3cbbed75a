//===- VerdictTest.cpp - Names of verdicts --------------------------------===//

#include "kb-opt/Core/Verdict.h"
#include "gtest/gtest.h"
#include <set>
#include <string>

using namespace kbopt;

namespace {

/// Every enumerator up to \p last has a name of its own, which leads back to it.
template <typename Enum, typename Parse> void expectRoundTrips(Enum last, Parse parse) {
  std::set<std::string> names;
  for (int i = 0; i <= static_cast<int>(last); ++i) {
    Enum value = static_cast<Enum>(i);
    names.insert(toString(value).str());
    EXPECT_EQ(parse(toString(value)), value) << toString(value).str();
  }
  EXPECT_EQ(names.size(), static_cast<size_t>(last) + 1);
}

TEST(Verdict, NamesLeadBack) {
  expectRoundTrips(VerdictKind::NotApplied, parseVerdictKind);
  expectRoundTrips(FailureClass::Unavailable, parseFailureClass);
  expectRoundTrips(GateId::G15, parseGateId);
}

TEST(Verdict, KeepsTheNamesOfFilesThatAreThere) {
  EXPECT_EQ(toString(VerdictKind::NotApplied), "not-applied");
  EXPECT_EQ(toString(FailureClass::None), "");
  EXPECT_EQ(toString(FailureClass::SoftVerification), "soft-verification");
  EXPECT_EQ(toString(FailureClass::ToolLimit), "tool-limit");
  EXPECT_EQ(toString(std::optional<GateId>()), "");
  EXPECT_EQ(toString(std::optional(GateId::G11)), "G11");
  EXPECT_EQ(gateTitle(GateId::G15), "unseen shapes");
}

TEST(Verdict, KnowsNoOtherNames) {
  EXPECT_EQ(parseVerdictKind("right"), std::nullopt);
  EXPECT_EQ(parseFailureClass("Compile"), std::nullopt);
  EXPECT_EQ(parseGateId("G16"), std::nullopt);
  EXPECT_EQ(parseGateId(""), std::nullopt);
}

} // namespace
