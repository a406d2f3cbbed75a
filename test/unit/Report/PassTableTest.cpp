//===- PassTableTest.cpp - The text of --list-passes ------------------------===//

#include "kb-opt/Report/PassTable.h"
#include "gtest/gtest.h"

using namespace kbopt;

TEST(PassTable, ShowsPassesWithOptions) {
  const llvm::StringRef aliases[] = {"b2"}, tried[] = {"1", "2"};
  const OptionInfo options[] = {{"width", OptionType::Integer, "4", "how wide", tried, 1, 8}};
  PassInfo plain{
      "a-long-name",    "memory", {}, "Do a thing", "", {}, {}, {}, {}, {}, SiteKind::Kernel,
      Promise::Bitwise, {},       0};
  PassInfo rich{"b",
                "compute",
                aliases,
                "Do another",
                "",
                options,
                {},
                {},
                {},
                {},
                SiteKind::Loop,
                Promise::LowerPrecision,
                {},
                0};
  std::string text;
  llvm::raw_string_ostream os(text);
  writePassTable(os, {&plain, &rich});
  EXPECT_EQ(
      text,
      "a-long-name  Do a thing\n"
      "             promises bitwise results; family memory; one site per kernel\n"
      "b            Do another\n"
      "             promises lower-precision results; family compute; one site per loop; also "
      "called b2\n"
      "             {width=4}  integer: how wide (tried: 1, 2)\n");
}
