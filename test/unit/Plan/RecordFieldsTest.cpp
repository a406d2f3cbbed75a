//===- RecordFieldsTest.cpp - Uploads of records, field by field ----------===//
#include "kb-opt/Plan/RecordFields.h"
#include "gtest/gtest.h"
#include <cstring>

using namespace kbopt;
using namespace kbrt;

namespace {

struct Item {
  float x;
  int16_t id;
  double weight; // behind padding
};
const RecordLayout layout = {sizeof(Item),
                             {{0, ElementType::F32}, {4, ElementType::I16}, {8, ElementType::F64}}};

Plan planOf(uint64_t bytes) {
  Plan plan;
  plan.buffers.push_back({bytes, BufferKind::Device, 0x600000001000, ElementType::Unknown, ""});
  plan.steps = {AllocStep{0}, UploadStep{Region::linear({0, 0}, bytes), 0, 0}, FreeStep{0}};
  return plan;
}

TEST(RecordFields, AreUploadsOfTheirOwnAndComeTogetherAgain) {
  const Item items[] = {{1, 2, 3}, {4, 5, 6}};
  const llvm::StringRef data(reinterpret_cast<const char *>(items), sizeof items);
  auto split = splitRecords(planOf(sizeof items), data, layout);
  ASSERT_TRUE(split.has_value());
  ASSERT_EQ(split->plan.steps.size(), 5u);
  const auto &ids = std::get<UploadStep>(split->plan.steps[2]);
  EXPECT_EQ(split->plan.buffers[ids.to.at.buffer].element, ElementType::I16);
  EXPECT_EQ(ids.to.bytes(), 4u);
  std::string varied = split->data;
  const int16_t others[] = {7, 8};
  std::memcpy(varied.data() + ids.data, others, sizeof others);
  Item out[2];
  split->join({reinterpret_cast<const uint8_t *>(varied.data()), varied.size()},
              {reinterpret_cast<uint8_t *>(out), sizeof out});
  EXPECT_EQ(out[0].id, 7);
  EXPECT_EQ(out[1].id, 8);
  EXPECT_EQ(out[1].x, 4);
  EXPECT_EQ(out[1].weight, 6);
}

TEST(RecordFields, StayTogetherWhereUploadsAreOfParts) {
  const std::string data(sizeof(Item) + 4, '\1');
  EXPECT_FALSE(splitRecords(planOf(data.size()), data, layout));
  EXPECT_FALSE(splitRecords(planOf(sizeof(Item)), data, RecordLayout()));
  Plan plan = planOf(sizeof(Item));
  std::get<UploadStep>(plan.steps[1]).pointers.push_back({});
  EXPECT_FALSE(splitRecords(plan, data, layout));
}

} // namespace
