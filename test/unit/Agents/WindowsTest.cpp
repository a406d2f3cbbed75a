//===- WindowsTest.cpp - What roles are shown of a search -----------------===//

#include "AssistantFixture.h"

using namespace kbopt;
using namespace kbopt::test;
using testing::HasSubstr;

namespace {

using Windows = AssistantTest;

TEST_F(Windows, TheTimeIsSplit) {
  open(smallProgram, {"invent"});
  request.timeUs = 7.05;
  request.originalUs = 8;
  request.split = {2, 6.14, 0.90, 0};
  say(ModelRole::Planner, {planFor("none")});
  propose();
  EXPECT_THAT(told(ModelRole::Planner),
              HasSubstr("The program takes 7.05 us (8.00 us at first): 6.14 us to launch (2 "
                        "launches), 0.90 us in kernels. Kernel 'k' runs 0.90 us of that."));
  request.split = {1, 3, 2, 2.05};
  request.share = 0.5;
  propose();
  EXPECT_THAT(told(ModelRole::Planner),
              HasSubstr("3.00 us to launch (1 launch), 2.00 us in kernels, 2.05 us in copies and "
                        "waiting for the host. Kernel 'k' runs 1.00 us of that."));
}

TEST_F(Windows, WithoutASplitTheShareIsTold) {
  open(smallProgram, {"invent"});
  request.timeUs = request.originalUs = 8;
  request.share = 0.25;
  say(ModelRole::Planner, {planFor("none")});
  propose();
  EXPECT_THAT(told(ModelRole::Planner), HasSubstr("us at first), and kernel 'k' 25 % of that."));
}

} // namespace
