//===- DefaultArgumentsTest.cpp - What main takes for missing arguments ---===//
#include "kb-opt/Candidate/DefaultArguments.h"
#include "../Source/SourceTestUtils.h"
#include "gtest/gtest.h"

using namespace kbopt;

namespace {

/// The defaults of a program whose main has \p body, as "96 0.5 0w": w, where they are wide.
std::string defaultsOf(const std::string &body,
                       const std::string &head = "int main(int argc, char **argv)") {
  const std::string text = "#include <cstdlib>\n#include <string>\n#define COUNT (1 << 10)\n"
                           "__global__ void use(const float *x) {}\n" +
                           head + " {\n" + body + "\n}\n";
  std::string all;
  for (const DefaultArgument &argument : defaultArguments(*test::parse(text)))
    all += (all.empty() ? "" : " ") + argument.text + (argument.isWide ? "w" : "");
  return all;
}

TEST(DefaultArguments, OfConditionsAndOfAssignments) {
  EXPECT_EQ(defaultsOf("int n = argc > 1 ? atoi(argv[1]) : 96;"
                       "float a = argc < 3 ? 0.5f : (float)atof(argv[2]);"
                       "unsigned long long s = argc > 3 ? strtoull(argv[3], nullptr, 10) : 0;"),
            "96 0.500000000 0w");
  EXPECT_EQ(defaultsOf("int n = COUNT; if (argc > 1) n = std::stoi(argv[1]);"
                       "double a{2}; if (argc >= 3) { a = std::stod(argv[2]); }"),
            "1024 2.000000000");
}

TEST(DefaultArguments, EndWhereTheSourceTellsNoNumber) {
  EXPECT_EQ(defaultsOf("int n = argc > 1 ? atoi(argv[1]) : 96;"
                       "int m = argc > 3 ? atoi(argv[3]) : 7;"),
            "96");
  EXPECT_EQ(defaultsOf("int n = argc > 1 ? atoi(argv[1]) : rand();"), "");
  EXPECT_EQ(defaultsOf("const char *name = argc > 1 ? argv[1] : \"none\";"), "");
  EXPECT_EQ(defaultsOf("", "int main()"), "");
}

} // namespace
