//===- MemoryTest.cpp - the arena -----------------------------------------===//
#include "TestImage.h"

using namespace kbrt;
using namespace kbrt::test;

TEST(DeviceMemory, AllocatesInTheArenaOnPageBoundaries) {
  DeviceArray<char> a(100, "x");
  auto address = reinterpret_cast<uint64_t>(a.data);
  EXPECT_TRUE(isDeviceAddress(address));
  EXPECT_EQ(address % 4096, 0u);
  const MemoryBuffer *buffer = DeviceMemory::get().find(a.data + 99);
  ASSERT_TRUE(buffer);
  EXPECT_EQ(buffer->name, "x");
  EXPECT_EQ(DeviceMemory::get().find(a.data + 100), nullptr);
  EXPECT_EQ(DeviceMemory::get().findGuard(address + 100), buffer);
  EXPECT_EQ(DeviceMemory::get().findGuard(address - 1), buffer);
}

TEST(DeviceMemory, PoisonsFreshMemory) {
  DeviceMemory::get().setPoison(0x5A);
  DeviceArray<unsigned char> a(10);
  EXPECT_EQ(a.data[9], 0x5A);
  DeviceMemory::get().setPoison(0xCB);
}

TEST(DeviceMemory, NoticesAChangedGuardZone) {
  DeviceArray<char> a(10);
  const MemoryBuffer *buffer = DeviceMemory::get().find(a.data);
  EXPECT_TRUE(DeviceMemory::get().guardsIntact(*buffer));
  a.data[12] = 0;
  uint64_t bad = 0;
  EXPECT_FALSE(DeviceMemory::get().guardsIntact(*buffer, &bad));
  EXPECT_EQ(bad, buffer->address + 12);
  DeviceMemory::get().repairGuards(*buffer);
  EXPECT_TRUE(DeviceMemory::get().guardsIntact(*buffer));
}

TEST(DeviceMemory, PlacesABufferAtAnAddressOnce) {
  void *where = reinterpret_cast<void *>(arenaBase + (uint64_t(20) << 30));
  DeviceMemory &memory = DeviceMemory::get();
  ASSERT_EQ(memory.allocateAt(reinterpret_cast<uint64_t>(where), 5000), where);
  EXPECT_EQ(memory.allocateAt(reinterpret_cast<uint64_t>(where) + 4096, 10), nullptr);
  EXPECT_EQ(memory.lastError(), "two buffers of the plan overlap");
  EXPECT_TRUE(memory.free(where));
  ASSERT_EQ(memory.allocateAt(reinterpret_cast<uint64_t>(where), 5000), where)
      << memory.lastError();
  EXPECT_TRUE(memory.free(where));
  EXPECT_EQ(memory.allocateAt(reinterpret_cast<uint64_t>(where) + 1, 10), nullptr);
  EXPECT_EQ(memory.allocateAt(4096, 10), nullptr);
}

TEST(DeviceMemory, RefusesMoreThanTheLimit) {
  DeviceMemory &memory = DeviceMemory::get();
  uint64_t limit = memory.getLimitBytes();
  memory.setLimitBytes(memory.getLiveBytes() + 1000);
  EXPECT_EQ(memory.allocate(1001), nullptr);
  EXPECT_NE(memory.lastError().find("allocates too much"), std::string::npos);
  EXPECT_EQ(memory.allocate(~uint64_t(0)), nullptr);
  memory.setLimitBytes(limit);
}

TEST(DeviceMemory, FreesOnlyWhatBeginsThere) {
  DeviceMemory &memory = DeviceMemory::get();
  auto *p = static_cast<char *>(memory.allocate(64));
  EXPECT_FALSE(memory.free(p + 1));
  EXPECT_TRUE(memory.free(p));
  EXPECT_FALSE(memory.free(p));
  EXPECT_EQ(memory.find(p), nullptr);
}

TEST(DeviceMemory, PutsAVariableWhereItsNameSays) {
  DeviceMemory &memory = DeviceMemory::get();
  void *a = memory.allocateSymbol("counter", 4, MemoryKind::Symbol);
  void *other = memory.allocateSymbol("table", 400, MemoryKind::Constant);
  memory.free(a);
  memory.free(other);
  other = memory.allocateSymbol("table", 400, MemoryKind::Constant);
  EXPECT_EQ(memory.allocateSymbol("counter", 4, MemoryKind::Symbol), a);
  memory.free(a);
  memory.free(other);
}
