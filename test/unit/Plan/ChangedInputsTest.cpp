//===- ChangedInputsTest.cpp - Recorded inputs with single changes --------===//
#include "kb-opt/Plan/ChangedInputs.h"
#include "gtest/gtest.h"
#include <cmath>
#include <cstring>

using namespace kbopt;
using namespace kbrt;

namespace {

using Kind = InputChange::Kind;

/// Four bytes from 1, and four floats from 1.5.
Plan uploads() {
  Plan plan;
  plan.buffers.push_back({4, BufferKind::Device, 0x600000001000, ElementType::U8, ""});
  plan.buffers.push_back({16, BufferKind::Device, 0x600000002000, ElementType::F32, ""});
  plan.steps.push_back(UploadStep{Region::linear({0, 0}, 4), 0, 0});
  plan.steps.push_back(UploadStep{Region::linear({1, 0}, 16), 4, 0});
  return plan;
}

std::string recorded() {
  std::string data(20, '\0');
  for (unsigned i = 0; i < 4; ++i) {
    data[i] = static_cast<char>(i + 1);
    const float number = static_cast<float>(i) + 1.5f;
    std::memcpy(&data[4 + 4 * i], &number, 4);
  }
  return data;
}

struct Changed {
  std::vector<int> bytes;
  std::vector<float> numbers = std::vector<float>(4);
  unsigned uploadsVaried = 0;
};

Changed change(llvm::ArrayRef<InputChange> changes) {
  const std::string data = recorded();
  std::string out(data.size(), '\0');
  auto varied =
      changeInputs(uploads(), data, {reinterpret_cast<uint8_t *>(out.data()), out.size()}, changes);
  EXPECT_TRUE(bool(varied));
  Changed changed;
  changed.uploadsVaried = varied ? varied->uploadsVaried : 0;
  for (unsigned i = 0; i < 4; ++i)
    changed.bytes.push_back(static_cast<uint8_t>(out[i]));
  std::memcpy(changed.numbers.data(), out.data() + 4, 16);
  return changed;
}

TEST(ChangedInputs, ChangesTheElementsThatAreNamed) {
  EXPECT_EQ(change({{0, Kind::Set, 255}}).bytes, (std::vector<int>{255, 255, 255, 255}));
  EXPECT_EQ(change({{0, Kind::Set, 9, 0, 2}}).bytes, (std::vector<int>{9, 2, 9, 4}));
  EXPECT_EQ(change({{0, Kind::Set, 9, 0, 0}}).bytes, (std::vector<int>{9, 2, 3, 4}));
  EXPECT_EQ(change({{0, Kind::Replace, 7, 3}}).bytes, (std::vector<int>{1, 2, 7, 4}));
  EXPECT_EQ(change({{0, Kind::CountUp, 10, 5}}).bytes, (std::vector<int>{10, 15, 20, 25}));
  EXPECT_EQ(change({{0, Kind::CountUp, 10, 5, 1, 3}}).bytes, (std::vector<int>{10, 15, 20, 10}));
  EXPECT_EQ(change({{0, Kind::Descend}}).bytes, (std::vector<int>{4, 3, 2, 1}));
  EXPECT_EQ(change({{0, Kind::Descend}, {0, Kind::Add, -2}}).bytes,
            (std::vector<int>{2, 1, 0, 255}));
  EXPECT_EQ(change({{1, Kind::Replace, 8, 2.5}}).numbers,
            (std::vector<float>{1.5f, 8, 3.5f, 4.5f}));
}

TEST(ChangedInputs, LeavesWhatIsNotNamed) {
  EXPECT_EQ(change({}).uploadsVaried, 0u);
  EXPECT_EQ(change({{7, Kind::Set, 1}}).uploadsVaried, 0u);
  EXPECT_EQ(change({{0, Kind::Replace, 7, 258}}).uploadsVaried, 0u); // no byte is that
  EXPECT_EQ(change({{0, Kind::Ascend}}).uploadsVaried, 0u);
  EXPECT_EQ(change({{1, Kind::Set, 1}}).uploadsVaried, 1u);
}

TEST(ChangedInputs, SaysWhatCanBeChanged) {
  auto all = changeableUploads(uploads(), recorded());
  ASSERT_TRUE(bool(all));
  ASSERT_EQ(all->size(), 2u);
  EXPECT_EQ((*all)[1].number, 1u);
  EXPECT_EQ((*all)[1].count, 4u);
  EXPECT_EQ((*all)[1].first, 1.5);
  EXPECT_EQ(rangeOf(ElementType::I8), std::pair(-128.0, 127.0));
  EXPECT_EQ(nextNumber(3, ElementType::F32, true), std::nextafter(3.0f, 4.0f));
}

TEST(ChangedInputs, HasWordsForChanges) {
  EXPECT_EQ(describe({{0, Kind::Set, 255}, {1, Kind::Replace, std::nextafter(3.0f, 4.0f), 0.1f}}),
            "upload 1 all 255, upload 2 with 3.0000002 in the place of 0.1");
  EXPECT_EQ(describe({{2, Kind::CountUp, -8, 1}}), "upload 3 -8 and on by 1");
}

} // namespace
