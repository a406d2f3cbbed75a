//===- CardsTest.cpp - How several GPUs are named --------------------------===//
#include "kb-opt/Eval/Cards.h"
#include "kb-opt/Support/Error.h"
#include "gtest/gtest.h"

using namespace kbopt;

namespace {

std::vector<std::string> names(llvm::StringRef list, unsigned count, llvm::StringRef visible = "") {
  std::vector<std::string> result;
  for (const Card &card : llvm::cantFail(cardsOf(list, count, visible)))
    result.push_back(std::to_string(card.index) + " " + card.name);
  return result;
}

TEST(Cards, ListsAreAllOrDifferentNumbers) {
  for (llvm::StringRef list : {"all", "0", "0,2", "10,3"})
    EXPECT_TRUE(isListOfCards(list)) << list.str();
  for (llvm::StringRef list : {"", "a", "0,", ",0", "0,0", "-1", "0 ,1", "all,0"})
    EXPECT_FALSE(isListOfCards(list)) << list.str();
}

TEST(Cards, NumbersCountWhatIsVisible) {
  EXPECT_EQ(names("all", 2), (std::vector<std::string>{"0 0", "1 1"}));
  EXPECT_EQ(names("2,0", 3), (std::vector<std::string>{"2 2", "0 0"}));
  EXPECT_EQ(names("all", 2, "GPU-a, 5"), (std::vector<std::string>{"0 GPU-a", "1 5"}));
  EXPECT_EQ(names("1", 2, "4,7"), std::vector<std::string>{"1 7"});
}

TEST(Cards, ANumberThatIsTooLargeIsNamed) {
  auto cards = cardsOf("0,3", 2, "");
  ASSERT_FALSE(bool(cards));
  EXPECT_EQ(llvm::toString(cards.takeError()), "no GPU 3: the driver shows 2, and counts from 0");
}

} // namespace
