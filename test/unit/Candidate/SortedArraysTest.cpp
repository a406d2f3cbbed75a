//===- SortedArraysTest.cpp - What a host sorts before uploading ----------===//
#include "kb-opt/Candidate/SortedArrays.h"
#include "../Source/SourceTestUtils.h"
#include "gtest/gtest.h"

using namespace kbopt;

namespace {

/// Names and element types of the arrays that `void run(float *device)` with \p body sorts and
/// uploads; \p before stands before it.
std::string sortedIn(const std::string &body, const std::string &before = "") {
  const std::string text =
      "#include <algorithm>\n#include <cstdlib>\n#include <numeric>\n#include <vector>\n"
      "__global__ void use(const float *x) {}\n" +
      before + "\nvoid run(float *device) {\n" + body + "\n}\n";
  std::string all;
  for (const SortedArray &array : sortedArrays(*test::parse(text)))
    all += (all.empty() ? "" : " ") + array.name + ":" + kbrt::elementTypeName(array.element);
  return all;
}

constexpr const char *copy = "cudaMemcpy(device, edge, 32, cudaMemcpyHostToDevice);";

TEST(SortedArrays, ArraysThatAreSortedAndUploaded) {
  EXPECT_EQ(sortedIn(std::string("float edge[8]; std::sort(edge, edge + 8);") + copy), "edge:f32");
  EXPECT_EQ(sortedIn(std::string("int edge[8]; qsort(edge, 8, 4, nullptr);") + copy), "edge:i32");
  EXPECT_EQ(sortedIn(std::string("int of[8], edge[8]; std::partial_sum(of, of + 8, edge);") + copy),
            "edge:i32");
}

TEST(SortedArrays, OthersAreNot) {
  EXPECT_EQ(sortedIn(std::string("float edge[8], own[8]; std::sort(own, own + 8);") + copy), "");
  EXPECT_EQ(sortedIn("float edge[8]; std::sort(edge, edge + 8);"), "");
  EXPECT_EQ(
      sortedIn(std::string("int edge[8], to[8]; std::partial_sum(edge, edge + 8, to);") + copy),
      "");
  EXPECT_EQ(sortedIn(std::string("float edge[8]; sort(edge, edge + 8);") + copy,
                     "void sort(float *, float *) {}"),
            "");
  EXPECT_EQ(sortedIn(std::string("float edge[8]; /* std::sort(edge, edge + 8); */") + copy), "");
}

TEST(SortedArrays, OtherNamesStandForTheSameArray) {
  const std::string vector = "std::vector<double> edge(8); ",
                    sort = "std::sort(edge.begin(), edge.end());",
                    copyVector = "cudaMemcpy(device, edge.data(), 64, cudaMemcpyHostToDevice);";
  EXPECT_EQ(sortedIn(vector + sort + copyVector), "edge:f64");
  EXPECT_EQ(sortedIn(vector + "arrange(edge);" + copyVector,
                     "void arrange(std::vector<double> &all) { std::sort(all.begin(), all.end()); "
                     "}"),
            "all:f64");
  EXPECT_EQ(sortedIn("std::vector<double> edge = arranged();" + copyVector,
                     "std::vector<double> arranged() { std::vector<double> all(8); "
                     "std::sort(all.begin(), all.end()); return all; }"),
            "all:f64");
  EXPECT_EQ(sortedIn("static float all[8]; float *edge = all; std::sort(all, all + 8);" +
                     std::string(copy)),
            "all:f32");
  EXPECT_EQ(sortedIn(vector + sort + "put(device, edge.data(), 8);",
                     "template <typename T> void put(float *to, const T *from, int n) { "
                     "cudaMemcpy(to, from, n * sizeof(T), cudaMemcpyHostToDevice); }"),
            "edge:f64");
}

} // namespace
