//===- ScheduleTest.cpp - Schedules as attributes --------------------------===//
#include "Nests.h"

using namespace kbopt;

namespace {

using ScheduleText = Nests;

TEST_F(ScheduleText, KeepsNumbersAndWordsThroughTheAttribute) {
  Schedule schedule("rows");
  schedule.set("team", 32).set("cache", "registers");
  Schedule again(schedule.attribute(&context));
  EXPECT_EQ(again, schedule);
  EXPECT_EQ(again.integer("team"), 32);
  EXPECT_EQ(again.string("cache"), "registers");
  EXPECT_EQ(again.integer("cache", 7), 7);
  EXPECT_FALSE(again.has("rows"));
}

} // namespace
