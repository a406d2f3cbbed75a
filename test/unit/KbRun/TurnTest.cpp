//===- TurnTest.cpp - Whose turn it is to use a device --------------------===//
#include "kbrt/Turn.h"
#include "gtest/gtest.h"
#include <atomic>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <string>
#include <sys/file.h>
#include <thread>
#include <unistd.h>

namespace {

using kbrt::cuda::Turn;

class TurnTest : public testing::Test {
protected:
  void SetUp() override {
    std::string name = (std::filesystem::temp_directory_path() / "turn-XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder = name;
    setenv("XDG_RUNTIME_DIR", folder.c_str(), 1);
  }
  void TearDown() override { std::filesystem::remove_all(folder); }

  /// Returns once somebody is first in the queue.
  void waitForQueue() const {
    const std::string path = folder / "kb-run-turns" / "gpu.queue.lock";
    for (;;) {
      int file = open(path.c_str(), O_RDWR | O_CLOEXEC);
      bool isHeld = file >= 0 && flock(file, LOCK_EX | LOCK_NB) != 0;
      if (file >= 0)
        close(file);
      if (isHeld)
        return;
      std::this_thread::yield();
    }
  }

  std::filesystem::path folder;
};

TEST_F(TurnTest, SeveralShareADevice) {
  Turn a("gpu"), b("gpu");
  a.shared();
  b.shared();
  Turn other("another gpu");
  other.alone();
}

TEST_F(TurnTest, WhoComesLaterWaitsForWhoWantsTheDeviceAlone) {
  Turn first("gpu"), second("gpu");
  first.shared();
  std::atomic<int> order = 0, alone = 0, late = 0;
  std::thread measures([&] {
    second.alone();
    alone = ++order;
    second.leave();
  });
  waitForQueue();
  // It would share the device with the first for ever if the lock alone decided.
  std::thread runs([&] {
    Turn turn("gpu");
    turn.shared();
    late = ++order;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  first.leave();
  measures.join();
  runs.join();
  EXPECT_EQ(alone, 1);
  EXPECT_EQ(late, 2);
}

TEST_F(TurnTest, LaunchesThatFollowEachOtherKeepTheirTurnForAWhile) {
  Turn many("gpu"), other("gpu");
  many.sharedOn();
  std::atomic<bool> isAlone = false;
  std::thread measures([&] {
    other.alone();
    isAlone = true;
    other.leave();
  });
  waitForQueue();
  many.sharedOn(); // it would wait behind the other one
  many.rest();     // too young to be given up
  EXPECT_FALSE(isAlone);
  std::this_thread::sleep_for(2 * Turn::longest);
  many.sharedOn(); // lines up behind it
  EXPECT_TRUE(isAlone);
  measures.join();
  std::this_thread::sleep_for(2 * Turn::longest);
  many.rest();
  other.alone();
}

TEST_F(TurnTest, WhoAsksForAnotherTurnWaitsBehindThoseWhoCameInBetween) {
  Turn first("gpu"), second("gpu");
  first.alone();
  std::atomic<int> order = 0, block = 0;
  std::thread other([&] {
    second.alone();
    block = ++order;
    second.leave();
  });
  waitForQueue();
  first.alone();
  EXPECT_EQ(++order, 2);
  other.join();
  EXPECT_EQ(block, 1);
}

TEST_F(TurnTest, WhoOnlyKnowsTheDeviceKeepsNobodyAway) {
  Turn idle("gpu"), other("gpu");
  other.alone();
}

TEST_F(TurnTest, WhoLeavesMayComeBack) {
  Turn turn("gpu");
  turn.shared();
  turn.leave();
  {
    Turn other("gpu");
    other.alone();
  }
  turn.shared();
}

} // namespace
