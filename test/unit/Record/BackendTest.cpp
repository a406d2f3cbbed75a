//===- BackendTest.cpp - The recorder over a device that is a fake ----------===//
#include "AddressSpace.h"
#include "Allocations.h"

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <gtest/gtest.h>
#include <iterator>
#include <list>
#include <sys/stat.h>
#include <unistd.h>

using namespace kbrt;

namespace {

/// Device memory that the host cannot read: every byte is kept inverted.
class FakeBackend : public Backend {
public:
  const DeviceKernel *findKernel(const std::string &) override { return nullptr; }
  std::vector<DeviceVariable> variables() override { return {}; }
  void *allocate(uint64_t bytes, bool isHostVisible) override {
    if (bytes > 1 << 20)
      return nullptr;
    hostVisible += isHostVisible;
    pieces.emplace_back(bytes, char(0));
    return pieces.back().data();
  }
  void free(void *) override { ++freed; }
  MemoryAmount memory() override { return {}; }
  void write(Rows to, Rows from, uint64_t width, uint64_t height) override {
    move(to, from, width, height);
  }
  void read(Rows to, Rows from, uint64_t width, uint64_t height) override {
    move(to, from, width, height);
  }
  void copy(Rows, Rows, uint64_t, uint64_t) override {}
  void fill(Rows, uint8_t, uint64_t, uint64_t) override {}
  void noteHostWrite(const void *, uint64_t bytes) override { noted += bytes; }
  cuda::Error launch(const KernelLaunch &) override { return cuda::success; }
  void multiply(const MatmulStep &, const MatmulPlaces &) override {}

  std::list<std::vector<char>> pieces;
  unsigned freed = 0, hostVisible = 0;
  uint64_t noted = 0;

private:
  static void move(Rows to, Rows from, uint64_t width, uint64_t height) {
    for (uint64_t y = 0; y < height; ++y)
      for (uint64_t x = 0; x < width; ++x)
        to.at[y * to.pitch + x] = static_cast<char>(~from.at[y * from.pitch + x]);
  }
};

class Recording : public testing::Test {
protected:
  void SetUp() override {
    const char *temporary = std::getenv("TMPDIR");
    std::string name =
        std::string(temporary && *temporary ? temporary : "/tmp") + "/kb-record-XXXXXX";
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    sequence.mode = Mode::Record;
    folder = name;
    std::string error;
    auto kept = FolderKeeper::create(folder, true, "", error);
    ASSERT_TRUE(kept) << error;
    keeper = kept.get();
    sequence.keeper = std::move(kept);
    sequence.fetch = [this](Rows to, Rows from, uint64_t width, uint64_t height) {
      backend.read(to, from, width, height);
    };
    sequence.open();
  }
  void TearDown() override {
    for (const char *name : {dataFileName, observablesFileName, planFileName, piecesFileName})
      unlink((folder + "/" + name).c_str());
    rmdir(folder.c_str());
  }
  std::string content(const char *name) {
    keeper->flush();
    std::ifstream file(folder + "/" + name, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(file), {});
  }
  void upload(std::string &bytes, uint32_t buffer) {
    sequence.upload(Region::linear({buffer, 0}, bytes.size()), {bytes.data(), bytes.size()}, 1, 0);
  }
  uint64_t placeOf(size_t step) { return std::get<UploadStep>(sequence.plan.steps.at(step)).data; }

  FakeBackend backend;
  std::string folder;
  FolderKeeper *keeper = nullptr;
  Sequence sequence;
  Allocations allocations{sequence, backend};
};

TEST_F(Recording, ReadsComeThroughTheBackend) {
  Allocation *allocation = allocations.allocate(8, BufferKind::Device);
  std::memcpy(allocation->data(), "\xff\xfe\xfd\xfc\xfb\xfa\xf9\xf8", 8);
  char rows[2][4] = {};
  sequence.read({{allocation->buffer, 0}, 2, 2, 4}, allocation->data(), rows, 4, 0, false);
  EXPECT_EQ(std::memcmp(rows, "\0\1\0\0\4\5\0\0", 8), 0);
  EXPECT_EQ(content(observablesFileName), std::string("\0\1\4\5", 4));
}

TEST_F(Recording, MemoryIsTheBackends) {
  Allocation *managed = allocations.allocate(64, BufferKind::Managed);
  EXPECT_EQ(backend.hostVisible, 1u);
  EXPECT_EQ(allocations.allocate(2 << 20, BufferKind::Device), nullptr);
  managed->data()[5] = 1; // by the host, without a call
  allocations.flushHostWrites();
  EXPECT_EQ(backend.noted, 16u) << "the piece around it";
  EXPECT_EQ(std::get<UploadStep>(sequence.plan.steps.at(1)).to, Region::linear({0, 0}, 16));
  EXPECT_FALSE(allocations.release(managed->data() + 1, false));
  EXPECT_TRUE(allocations.release(managed->data(), false));
  EXPECT_EQ(backend.freed, 1u);
}

TEST_F(Recording, VariablesMayLieAnywhere) {
  constexpr uint64_t low = 0x7f0000000000, high = 0x7f0000010000;
  EXPECT_FALSE(allocations.mayContain(low));
  allocations.addSymbol({"_ZN2ns5tableE", high, 16, false, ""});
  allocations.addSymbol({"hidden", low, 32, false, ""});
  EXPECT_TRUE(allocations.mayContain(low) && allocations.mayContain(high + 16));
  EXPECT_FALSE(allocations.mayContain(low - 1) || allocations.mayContain(high + 17));
  EXPECT_TRUE(allocations.mayContain(arenaBase));
  EXPECT_EQ(allocations.symbol("_ZL6hidden")->address, low);
  EXPECT_EQ(allocations.symbol("_ZL6hidden")->symbol, "_ZL6hidden") << "the host's name";
  auto region = allocations.region(reinterpret_cast<void *>(high + 8), 8, 1, 8);
  ASSERT_TRUE(region);
  EXPECT_EQ(region->at.offset, 8u);
  EXPECT_EQ(sequence.plan.buffers.at(region->at.buffer).symbol, "_ZN2ns5tableE");
  EXPECT_FALSE(allocations.region(reinterpret_cast<void *>(high + 8), 9, 1, 9));
}

TEST_F(Recording, EqualPayloadsAreStoredOnce) {
  std::string one(5000, 'x'), other, zeros(5000, 0), small = "short";
  for (int i = 0; i < 5000; ++i)
    one[i] = static_cast<char>(i * 7);
  other = one;
  other[4999] ^= 1;
  for (std::string *bytes : {&one, &other, &one, &zeros, &zeros, &small, &small})
    upload(*bytes, 0);
  EXPECT_EQ(placeOf(0), 0u);
  EXPECT_EQ(placeOf(1), 5000u) << "a byte differs";
  EXPECT_EQ(placeOf(2), 0u);
  EXPECT_NE(placeOf(3), placeOf(4)) << "what is all the same may be of any type";
  EXPECT_NE(placeOf(5), placeOf(6)) << "not worth it";
  EXPECT_EQ(content(dataFileName), one + other + zeros + zeros + small + small);
}

TEST_F(Recording, EqualResultsAreStoredOnceAndAnsweredEachTime) {
  std::string one(5000, 'x'), other(5000, 'y'), small = "short", all;
  Plan plan;
  plan.buffers.resize(1);
  plan.buffers[0].bytes = 5000;
  plan.steps.push_back(AllocStep{0});
  for (const std::string *bytes : {&one, &small, &one, &one, &other, &small}) {
    ASSERT_TRUE(keeper->append(Payload::Observables, bytes->data(), bytes->size()));
    plan.steps.push_back(ReadStep{Region::linear({0, 0}, bytes->size()), all.size()});
    all += *bytes;
  }
  ASSERT_TRUE(keeper->finish(planToJson(plan)));
  EXPECT_EQ(content(observablesFileName), one + small + other + small);
  std::string error;
  EXPECT_EQ(readObservables(folder, error), all) << error;

  // A candidate may read in other pieces.
  const std::string fed = folder + "/fed";
  ASSERT_EQ(mkdir(fed.c_str(), 0700), 0);
  auto answers = FolderKeeper::create(fed, false, folder, error);
  ASSERT_TRUE(answers) << error;
  EXPECT_EQ(answers->oracle().bytes, all.size());
  std::string taken;
  for (size_t count : {size_t(3), size_t(9999), all.size() - 10002}) {
    std::string piece(count, 0);
    ASSERT_TRUE(answers->answer(piece.data(), count));
    taken += piece;
  }
  EXPECT_EQ(taken, all);
  char more;
  EXPECT_FALSE(answers->answer(&more, 1));
  unlink((fed + "/" + dataFileName).c_str());
  rmdir(fed.c_str());
}

TEST_F(Recording, ABrokenListOfPiecesIsSaid) {
  std::string one(5000, 'x');
  for (int i = 0; i < 2; ++i)
    ASSERT_TRUE(keeper->append(Payload::Observables, one.data(), one.size()));
  ASSERT_TRUE(keeper->finish(planToJson({})));
  for (const char *list : {"0 5001\n", "0 5000\nx\n", "5000 1\n"}) {
    std::ofstream(folder + "/" + piecesFileName) << list;
    std::string error;
    EXPECT_FALSE(readObservables(folder, error)) << list;
    EXPECT_EQ(error, folder + "/observables.txt: is no list of places in observables.bin");
  }
}

TEST_F(Recording, RowsOfTheHostBecomeOnePayload) {
  char rows[] = "ab--cd--ef";
  sequence.upload(Region::linear({0, 0}, 6), {rows, 4}, 3, 0);
  EXPECT_EQ(content(dataFileName), "abcdef");
}

TEST(AddressSpace, GivesFreshAddressesFirst) {
  AddressSpace space(100, 200);
  EXPECT_EQ(space.take(40), 100u);
  space.give(100, 40);
  EXPECT_EQ(space.take(40), 140u);
  EXPECT_EQ(space.take(40), 100u) << "20 are left at the end";
  EXPECT_EQ(space.take(40), 0u);
  EXPECT_EQ(space.take(20), 180u);
}

TEST(AddressSpace, JoinsNeighbours) {
  AddressSpace space(100, 160);
  uint64_t a = space.take(20), b = space.take(20), c = space.take(20);
  space.give(a, 20);
  space.give(c, 20);
  EXPECT_EQ(space.take(40), 0u);
  space.give(b, 20);
  EXPECT_EQ(space.take(50), a);
  EXPECT_EQ(space.take(10), a + 50);
}

} // namespace
