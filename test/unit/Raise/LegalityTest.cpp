//===- LegalityTest.cpp - Which nests may be taken at their word -------------===//
#include "kb-opt/Raise/Legality.h"
#include "mlir/Parser/Parser.h"
#include <gtest/gtest.h>

using namespace mlir;
using namespace kbopt;

namespace {

/// Text of an element of the float array \p base at \p offset.
std::string at(StringRef space, StringRef base, StringRef offset, StringRef split = "") {
  std::string text = ("<element <argument \"" + base + "\" argument 0> : \"float\" bytes 4 at <" +
                      space + " : " + offset + ">")
                         .str();
  if (!split.empty()) {
    text += " split [";
    SmallVector<StringRef> parts;
    split.split(parts, ';');
    for (auto [i, part] : llvm::enumerate(parts))
      text += (Twine(i ? ", " : "") + "#kb.expr<" + space + " : " + part + ">").str();
    text += ("] by [#kb.expr<" + space + " : n>, #kb.expr<" + space + " : 1>]").str();
  }
  return text + ">";
}

struct Legality : testing::Test {
  Legality() { context.loadDialect<kb::KbDialect>(); }

  /// A nest over `p` rows and, in its body, whatever \p body says.
  kb::NestOp parse(const std::string &body) {
    module = parseSourceString<ModuleOp>(
        R"(kb.program "a.cu" { kb.nest @k dims ["p"] extents [#kb.expr<over [p] with [m, n] : m>]
           symbols [#kb.symbol<"m" param argument 1>, #kb.symbol<"n" param argument 2>,
                    #kb.symbol<"j" varying>] {)" +
            body + "} }",
        &context);
    EXPECT_TRUE(module) << body;
    kb::NestOp nest;
    if (module)
      module->walk([&](kb::NestOp each) { nest = each; });
    return nest;
  }
  std::string reason(const std::string &body) {
    kb::NestOp nest = parse(body);
    Answer answer = nest ? isLegalNest(nest) : Answer::no("does not parse");
    return answer.proven() ? "legal" : answer.reason;
  }
  std::string owners(const std::string &body) {
    kb::NestOp nest = parse(body);
    Answer answer = nest ? hasOneOwner(nest) : Answer::no("does not parse");
    return answer.proven() ? "one owner" : answer.reason;
  }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
};

const std::string row = "over [p] with [m, n]", inner = "over [p, i] with [m, n]",
                  stencil = "over [p] with [m, n]";

std::string over(StringRef order, const std::string &body, StringRef name = "i") {
  return ("kb.over \"" + name + "\" " + order + " extent <over [p] with [n] : n> {" + body + "}")
      .str();
}

TEST_F(Legality, TakesAMapAndARowReduction) {
  EXPECT_EQ(reason("kb.store " + at(row, "y", "p") + " \"$0\" [#kb.operand" +
                   at(row, "x", "p + 1") + "]"),
            "legal");
  EXPECT_EQ(reason("kb.let \"s\" : \"float\" \"0\" []" +
                   over("reduction",
                        "kb.reduce \"s\" \"add\" \"%a + %b\" identity \"0\" \"$0\" [#kb.operand" +
                            at(inner, "x", "p * n + i", "p;i") + "]") +
                   "kb.store " + at(row, "y", "p") + " \"s\" []"),
            "legal");
}

TEST_F(Legality, RefusesPointsThatMeet) {
  EXPECT_EQ(reason("kb.store " + at(row, "y", "0") + " \"1\" []"),
            "two points may store to the same element of 'y'");
  EXPECT_EQ(reason("kb.store " + at(row, "y", "p floordiv 2") + " \"1\" []"),
            "two points may store to the same element of 'y'");
  EXPECT_EQ(reason("kb.store " + at(row, "y", "p") + " \"$0\" [#kb.operand" +
                   at(stencil, "y", "p + 1") + "]"),
            "a point may store to an element that another point loads, of 'y'");
  EXPECT_EQ(reason("kb.store " + at("over [p] with [m, n, j]", "y", "j") + " \"1\" []"),
            "two points may store to the same element of 'y'");
}

TEST_F(Legality, TellsDisjointElementsApart) {
  EXPECT_EQ(reason("kb.store " + at(row, "y", "2 * p") + " \"$0\" [#kb.operand" +
                   at(row, "y", "2 * p + 1") + "]"),
            "legal");
  EXPECT_EQ(reason("kb.store " + at(row, "y", "p") + " \"$0\" [#kb.operand" +
                   at(row, "y", "p + m") + "]"),
            "legal");
  EXPECT_EQ(reason("kb.store " + at(row, "y", "p") + " \"$0\" [#kb.operand" +
                   at(row, "y", "p + m - 1") + "]"),
            "a point may store to an element that another point loads, of 'y'");
}

TEST_F(Legality, TellsRowsOfUnknownLengthApart) {
  std::string store = "\"$0\" [#kb.operand" + at(inner, "y", "p * n + i", "p;i") + "]";
  EXPECT_EQ(reason(over("any", "kb.store " + at(inner, "y", "p * n + i", "p;i") + store)), "legal");
  EXPECT_EQ(reason(over("any", "kb.store " + at(inner, "y", "p * n + i") + "\"1\" []")), "legal");
  EXPECT_EQ(reason(over("any", "kb.store " + at(inner, "y", "p * n + i + 1") + "\"1\" []")),
            "two points may store to the same element of 'y'");
  EXPECT_EQ(reason(over("any", "kb.store " + at(inner, "y", "p * m + i") + "\"1\" []")),
            "two points may store to the same element of 'y'");
}

TEST_F(Legality, TellsDigitsOfSeveralKindsApart) {
  std::string whole = "over [p, i, k] with [m, n]";
  auto deep = [&](StringRef offset) {
    return reason(over("any", "kb.over \"k\" any extent <over [p, i] : 3> {kb.store " +
                                  at(whole, "y", offset) + " \"1\" []}"));
  };
  EXPECT_EQ(deep("(p * n + i) * 3 + k"), "legal");
  EXPECT_EQ(deep("(k * m + p) * n + i"), "legal");
  EXPECT_EQ(deep("(p * n + i) * 2 + k"), "two points may store to the same element of 'y'");
}

TEST_F(Legality, HoldsAnyDimensionsToTheirOrder) {
  std::string store = "kb.store " + at(inner, "y", "p") + " \"1\" []";
  EXPECT_EQ(reason(over("any", store)), "iterations of 'i' may touch the same element of 'y'");
  EXPECT_EQ(reason(over("ascending", store)), "legal");
  std::string shift = "kb.store " + at(inner, "y", "p * n + i", "p;i") + " \"$0\" [#kb.operand" +
                      at(inner, "y", "p * n + i - 1", "p;i - 1") + "]";
  EXPECT_EQ(reason(over("any", shift)), "iterations of 'i' may touch the same element of 'y'");
  EXPECT_EQ(reason(over("ascending", shift)), "legal");
}

TEST_F(Legality, LetsOneAtomicMeetItself) {
  std::string add = "kb.store " + at(row, "y", "0") + " atomic \"atomicAdd\" \"1\" []";
  EXPECT_EQ(reason(add), "legal");
  EXPECT_EQ(reason(add + "kb.let \"v\" : \"float\" \"$0\" [#kb.operand" + at(row, "y", "0") + "]"),
            "a point may store to an element that another point loads, of 'y'");
  EXPECT_EQ(reason(add + "kb.store " + at(row, "y", "0") + " atomic \"atomicMax\" \"1\" []"),
            "two points may store to the same element of 'y'");
}

TEST_F(Legality, RefusesScalarsThatIterationsHandOn) {
  std::string let = "kb.let \"s\" : \"float\" \"0\" []";
  std::string reduce = "kb.reduce \"s\" \"add\" \"%a + %b\" identity \"0\" \"1\" []";
  EXPECT_EQ(reason(let + over("any", reduce)),
            "iterations of 'i' combine into 's', but are called independent");
  EXPECT_EQ(reason(let + over("reduction", reduce + "kb.let \"t\" : \"float\" \"s\" []")),
            "iterations of 'i' use the partial value of 's'");
  EXPECT_EQ(reason(let + over("reduction", "kb.let \"s\" : \"float\" \"s + 1\" [] reassigns")),
            "iterations of 'i' change 's' in turn");
  EXPECT_EQ(reason(let + over("ascending", "kb.let \"s\" : \"float\" \"s + 1\" [] reassigns")),
            "legal");
  EXPECT_EQ(reason(over("any", let + "kb.let \"s\" : \"float\" \"s + 1\" [] reassigns")), "legal");
  EXPECT_EQ(reason(let + over("reduction", reduce + reduce)), "legal");
  EXPECT_EQ(reason(let + over("reduction",
                              reduce + "kb.reduce \"s\" \"max\" \"fmaxf(%a, %b)\" identity \"0\" "
                                       "\"1\" []")),
            "iterations of 'i' use the partial value of 's'");
}

TEST_F(Legality, RefusesMemoryThatIsNoParameter) {
  auto global = [](StringRef kind) {
    return ("<element <" + kind + " \"table\"> : \"float\" bytes 4 at <over [p] : p>>").str();
  };
  EXPECT_EQ(reason("kb.store " + global("global") + " \"1\" []"), "legal");
  EXPECT_EQ(
      reason("kb.store " + global("global") + " \"$0\" [#kb.operand" + at(row, "y", "p") + "]"),
      "it stores to the variable 'table', which parameters may refer to as well");
  EXPECT_EQ(
      reason("kb.store " + at(row, "y", "p") + " \"$0\" [#kb.operand" + global("loaded") + "]"),
      "it loads 'table', which is not a parameter, and stores may change that");
}

TEST_F(Legality, FindsElementsThatThreadsOfATeamExchange) {
  auto first = [](StringRef index) {
    return over(
        "any",
        "kb.store " +
            at("over [p, a] with [m, n]", "y", ("p * n + " + index).str(), ("p;" + index).str()) +
            " \"1\" []",
        "a");
  };
  auto second = [](StringRef index) {
    return over(
        "any",
        "kb.let \"v\" : \"float\" \"$0\" [#kb.operand" +
            at("over [p, b] with [m, n]", "y", ("p * n + " + index).str(), ("p;" + index).str()) +
            "]",
        "b");
  };
  EXPECT_EQ(owners(first("a") + second("b")), "one owner");
  EXPECT_EQ(owners(first("a") + second("n - 1 - b")), "threads of a team exchange elements of 'y'");
  EXPECT_EQ(owners(first("a") + "kb.let \"v\" : \"float\" \"$0\" [#kb.operand" +
                   at(row, "y", "p * n", "p;0") + "]"),
            "threads of a team exchange elements of 'y'");
}

} // namespace
