//===- InputProposalsTest.cpp - Which inputs may lead to a place ----------===//
#include "../../../lib/Eval/Gates/InputProposals.h"
#include "gtest/gtest.h"
#include <cmath>

using namespace kbopt;

namespace {

using Kind = InputChange::Kind;

/// Runs until \p difference of the one integer of an upload is zero; how many it took.
unsigned search(double start, std::function<double(double)> difference, unsigned most = 400) {
  InputProposals proposals({{0, kbrt::ElementType::I32, 1, start}});
  auto nearAt = [&](double value) {
    kbrt::NearPlace near;
    near.left = difference(value);
    near.distance = std::fabs(near.left) + 1;
    return near;
  };
  double least = nearAt(start).distance;
  proposals.startFrom({}, nearAt(start));
  for (unsigned runs = 1; runs <= most; ++runs) {
    const auto changes = proposals.next();
    if (!changes)
      break;
    double value = start;
    for (const InputChange &change : *changes)
      if (change.kind == Kind::Add)
        value += change.value;
      else if (change.kind == Kind::Set || change.kind == Kind::CountUp)
        value = change.value;
      else if (change.kind == Kind::Replace && value == change.other)
        value = change.value;
    if (difference(value) == 0)
      return runs;
    if (nearAt(value).distance < least) {
      least = nearAt(value).distance;
      proposals.startFrom(*changes, nearAt(value));
    }
  }
  return most + 1;
}

TEST(InputProposals, PutsWhatWasComparedInTheInputsPlace) {
  InputProposals proposals({{0, kbrt::ElementType::I32, 8, 5}});
  kbrt::NearPlace near;
  near.left = 5;
  near.right = 998;
  proposals.startFrom({}, near);
  const auto first = proposals.next();
  ASSERT_TRUE(first.has_value());
  EXPECT_EQ(describe(*first), "upload 1 with 998 in the place of 5");
}

TEST(InputProposals, ReadsComparedBitsAsNumbers) {
  InputProposals proposals({{0, kbrt::ElementType::F32, 8, 1}});
  kbrt::NearPlace near;
  near.left = 0x3f800000;
  near.right = 0x40490fdb;
  proposals.startFrom({}, near);
  bool isProposed = false;
  for (unsigned i = 0; i < 20; ++i)
    isProposed |= describe(*proposals.next()) == "upload 1 with 3.1415927 in the place of 1";
  EXPECT_TRUE(isProposed);
}

TEST(InputProposals, FollowsLinesAndParabolas) {
  EXPECT_LE(search(5, [](double x) { return x - 1234567; }), 20u);
  EXPECT_LE(search(5, [](double x) { return 3 * x + 7 - 300000001; }), 100u);
  EXPECT_LE(search(5, [](double x) { return 3 * x * x + 2 - (3.0 * 12345 * 12345 + 2); }), 300u);
}

TEST(InputProposals, SpreadsWhatWasFound) {
  const InputChange replaced{0, Kind::Replace, 7, 3}, sorted{1, Kind::Ascend};
  const auto apart = spread({replaced, sorted});
  ASSERT_EQ(apart.size(), 3u);
  EXPECT_EQ(describe(apart[0]), "upload 1 every second 7, upload 2 sorted");
  EXPECT_TRUE(spread(sorted).empty());
}

TEST(InputProposals, ProposesNothingTwice) {
  InputProposals proposals({{0, kbrt::ElementType::U8, 8, 5}, {2, kbrt::ElementType::F32, 8, 1}});
  proposals.startFrom({}, {});
  std::set<std::string> seen;
  while (const auto changes = proposals.next())
    EXPECT_TRUE(seen.insert(describe(*changes)).second);
  EXPECT_GT(seen.size(), 50u);
  EXPECT_FALSE(InputProposals({}).next());
}

} // namespace
