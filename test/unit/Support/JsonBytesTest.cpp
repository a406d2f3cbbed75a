//===- JsonBytesTest.cpp - Any bytes in JSON --------------------------------===//

#include "kb-opt/Support/JsonBytes.h"
#include "llvm/Support/FormatVariadic.h"
#include "gtest/gtest.h"

using namespace kbopt;
namespace json = llvm::json;

namespace {

std::string roundTrip(llvm::StringRef bytes) {
  std::string text = llvm::formatv("{0}", jsonOfBytes(std::string(bytes))).str();
  json::Value read = llvm::cantFail(json::parse(text));
  return bytesOfJson(&read).value_or("lost");
}

TEST(JsonBytes, ComeBackAsTheyWere) {
  for (llvm::StringRef bytes : {"", "plain", "caf\xc3\xa9", "caf\xe9 \xff\x80", "{\"base64\": 1}"})
    EXPECT_EQ(roundTrip(bytes), bytes);
  EXPECT_EQ(roundTrip(llvm::StringRef("a\0\xe9", 3)), llvm::StringRef("a\0\xe9", 3));
}

TEST(JsonBytes, DamageIsNothing) {
  EXPECT_EQ(bytesOfJson(nullptr), std::nullopt);
  json::Value number(3), damaged(json::Object{{"base64", "?"}}), other(json::Object{{"text", "a"}});
  EXPECT_EQ(bytesOfJson(&number), std::nullopt);
  EXPECT_EQ(bytesOfJson(&damaged), std::nullopt);
  EXPECT_EQ(bytesOfJson(&other), std::nullopt);
}

TEST(JsonBytes, ShownTextIsUtf8) {
  EXPECT_EQ(shownJson("plain").getAsString(), "plain");
  EXPECT_EQ(shownJson("caf\xe9").getAsString(), "caf\xef\xbf\xbd");
}

} // namespace
