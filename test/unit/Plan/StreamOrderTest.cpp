//===- StreamOrderTest.cpp - what waits for what --------------------------===//
#include "kbrt/StreamOrder.h"
#include <gtest/gtest.h>

using namespace kbrt;

namespace {

/// Streams 1 and 2 wait for nobody, 3 and 4 and the default stream for each other.
struct StreamOrder : testing::Test {
  StreamOrder() {
    clocks.addNonBlocking(1);
    clocks.addNonBlocking(2);
  }
  StreamClocks clocks;
};

FillStep fill(uint32_t stream) { return {Region::linear({0, 0}, 4), 0, stream}; }

} // namespace

TEST_F(StreamOrder, StreamsAreInOrderAndBesideEachOther) {
  const Moment a = clocks.enqueue(1), b = clocks.enqueue(1), other = clocks.enqueue(2);
  EXPECT_TRUE(b.isAfter(a));
  EXPECT_FALSE(other.isAfter(a));
  EXPECT_EQ(b.number, 2u);
}

TEST_F(StreamOrder, EventsCoverWhatCameBefore) {
  const Moment before = clocks.enqueue(1);
  clocks.record(5, 1);
  const Moment behind = clocks.enqueue(1);
  clocks.wait(5, 2);
  const Moment next = clocks.enqueue(2);
  EXPECT_TRUE(next.isAfter(before));
  EXPECT_FALSE(next.isAfter(behind));
}

TEST_F(StreamOrder, AnEventThatNobodyRecordedCoversNothing) {
  const Moment before = clocks.enqueue(1);
  clocks.wait(5, 2);
  clocks.record(5, 1);
  EXPECT_FALSE(clocks.enqueue(2).isAfter(before));
  clocks.hostWaitsForEvent(6);
  EXPECT_FALSE(clocks.hostMoment().isAfter(before));
}

TEST_F(StreamOrder, OrderGoesOnThroughOtherStreams) {
  const Moment first = clocks.enqueue(1);
  clocks.record(5, 1);
  clocks.wait(5, 3);
  const Moment second = clocks.enqueue(3);
  EXPECT_TRUE(second.isAfter(first));
  EXPECT_TRUE(clocks.enqueue(0).isAfter(first)) << "the default stream waits for stream 3";
  EXPECT_TRUE(clocks.enqueue(4).isAfter(first)) << "and stream 4 for the default stream";
  EXPECT_FALSE(clocks.enqueue(2).isAfter(first));
}

TEST_F(StreamOrder, TheHostKnowsWhatItWaitedFor) {
  const Moment one = clocks.enqueue(1), two = clocks.enqueue(2);
  clocks.hostWaits(1);
  EXPECT_TRUE(clocks.hostMoment().isAfter(one));
  EXPECT_FALSE(clocks.hostMoment().isAfter(two));
  EXPECT_TRUE(clocks.enqueue(2).isAfter(one)) << "what is enqueued later comes later";
  clocks.hostWaits(std::nullopt);
  EXPECT_TRUE(clocks.hostMoment().isAfter(two));
}

TEST_F(StreamOrder, AFunctionKnowsWhatItsStreamKnows) {
  const Moment one = clocks.enqueue(1), two = clocks.enqueue(2);
  EXPECT_TRUE(clocks.functionMoment(1).isAfter(one));
  EXPECT_FALSE(clocks.functionMoment(1).isAfter(two));
  EXPECT_FALSE(clocks.hostMoment().isAfter(one));
}

TEST(UnorderedOperations, AreThoseWithAnotherBesideThem) {
  Plan plan;
  plan.streams = {{1, true, 0}, {2, true, 0}};
  plan.steps = {fill(1), fill(1), EventStep{1, 1}, WaitStep{1, 2},
                fill(1), fill(2), SyncStep{},      fill(1)};
  EXPECT_EQ(unorderedOperations(plan),
            (std::vector<bool>{false, false, false, false, true, true, false, false}));
}

TEST(UnorderedOperations, TheHostLooksBesideThem) {
  Plan plan;
  plan.streams = {{1, true, 0}};
  ReadStep look{Region::linear({0, 0}, 4), 0, 0, /*implicit=*/true};
  plan.steps = {fill(1), EventStep{1, 1}, fill(1), SyncStep{std::nullopt, 1}, look};
  EXPECT_EQ(unorderedOperations(plan), (std::vector<bool>{false, false, true, false, false}));
  plan.steps[3] = SyncStep{1, std::nullopt};
  EXPECT_EQ(unorderedOperations(plan), std::vector<bool>(5, false));
}

TEST(UnorderedOperations, CopiesWaitAsTheirMemoryTells) {
  Plan plan;
  plan.streams = {{1, true, 0}, {2, true, 0}};
  ReadStep read{Region::linear({0, 0}, 4), 0, 1};
  plan.steps = {read, fill(2)};
  EXPECT_EQ(unorderedOperations(plan), std::vector<bool>(2, false)) << "pageable memory";
  read.asynchronous = true;
  plan.steps[0] = read;
  EXPECT_EQ(unorderedOperations(plan), std::vector<bool>(2, true));
}
