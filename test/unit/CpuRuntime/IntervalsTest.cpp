//===- IntervalsTest.cpp - sets of bytes, and who touched them last -------===//
#include "Intervals.h"
#include <gtest/gtest.h>
#include <random>

using namespace kbrt;

namespace {

IntervalSet setOf(std::initializer_list<Interval> intervals) {
  IntervalSet set;
  for (const Interval &interval : intervals)
    set.add(interval.begin, interval.end);
  return set;
}

} // namespace

TEST(Intervals, JoinsWhatMeetsOrOverlaps) {
  IntervalSet set = setOf({{10, 20}, {30, 40}, {50, 60}});
  EXPECT_EQ(set.get().size(), 3u);
  set.add(20, 30); // meets both
  EXPECT_EQ(set.get(), (std::vector<Interval>{{10, 40}, {50, 60}}));
  set.add(5, 55);
  EXPECT_EQ(set.get(), (std::vector<Interval>{{5, 60}}));
  set.add(7, 7); // nothing
  set.add(70, 71);
  set.add(0, 1);
  EXPECT_EQ(set.get(), (std::vector<Interval>{{0, 1}, {5, 60}, {70, 71}}));
}

TEST(Intervals, AppendsInOrder) {
  IntervalSet set;
  set.append(0, 4);
  set.append(4, 8);
  set.append(6, 7);
  set.append(9, 9);
  set.append(9, 10);
  EXPECT_EQ(set.get(), (std::vector<Interval>{{0, 8}, {9, 10}}));
}

TEST(Intervals, TheLastTouchCounts) {
  LastTouches touches;
  touches.touch(setOf({{0, 100}}), 1, 11);
  touches.touch(setOf({{20, 30}, {40, 50}}), 2, 12);
  EXPECT_EQ(touches.latest(), 2u);
  EXPECT_FALSE(touches.firstAfter(setOf({{0, 100}}), 2));
  auto later = touches.firstAfter(setOf({{0, 25}}), 1);
  ASSERT_TRUE(later);
  EXPECT_EQ(later->step, 12u);
  EXPECT_EQ(later->begin, 20u);
  EXPECT_EQ(later->end, 25u);
  EXPECT_FALSE(touches.firstAfter(setOf({{0, 20}, {30, 40}, {50, 200}}), 1));
  auto first = touches.firstAfter(setOf({{99, 101}}), 0);
  ASSERT_TRUE(first);
  EXPECT_EQ(first->step, 11u);
  EXPECT_FALSE(touches.firstAfter(setOf({{100, 101}}), 0));
}

TEST(Intervals, FreedBytesAreForgotten) {
  LastTouches touches;
  touches.touch(setOf({{0, 100}}), 1, 11);
  touches.forget(40, 60);
  EXPECT_FALSE(touches.firstAfter(setOf({{40, 60}}), 0));
  EXPECT_TRUE(touches.firstAfter(setOf({{39, 41}}), 0));
  EXPECT_TRUE(touches.firstAfter(setOf({{50, 61}}), 0));
  EXPECT_EQ(touches.size(), 2u);
  touches.clear();
  EXPECT_EQ(touches.size(), 0u);
  EXPECT_EQ(touches.latest(), 0u);
}

TEST(Intervals, AgreesWithOneNumberAByte) {
  constexpr unsigned bytes = 64;
  std::mt19937 random(5);
  auto below = [&](unsigned n) { return random() % n; };
  for (unsigned round = 0; round < 300; ++round) {
    LastTouches touches;
    unsigned last[bytes] = {};
    for (unsigned number = 1; number < 12; ++number) {
      IntervalSet set;
      for (unsigned k = below(4) + 1; k > 0; --k) {
        const unsigned begin = below(bytes), end = begin + below(bytes - begin + 1);
        set.add(begin, end);
        for (unsigned i = begin; i < end; ++i)
          last[i] = number;
      }
      touches.touch(set, number, number + 100);
      IntervalSet asked;
      std::vector<bool> isAsked(bytes, false);
      for (unsigned k = below(4) + 1; k > 0; --k) {
        const unsigned begin = below(bytes), end = begin + below(bytes - begin + 1);
        asked.add(begin, end);
        std::fill(isAsked.begin() + begin, isAsked.begin() + end, true);
      }
      const unsigned known = below(number + 1);
      unsigned expected = 0;
      while (expected < bytes && !(isAsked[expected] && last[expected] > known))
        ++expected;
      auto found = touches.firstAfter(asked, known);
      ASSERT_EQ(found.has_value(), expected < bytes);
      if (found) {
        EXPECT_EQ(found->begin, expected);
        EXPECT_EQ(found->number, last[expected]);
        EXPECT_EQ(found->step, last[expected] + 100);
      }
    }
  }
}
