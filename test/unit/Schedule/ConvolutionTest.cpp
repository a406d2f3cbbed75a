//===- ConvolutionTest.cpp - Sums with conditions on their terms -----------===//
#include "Nests.h"

using namespace kbopt;

namespace {

/// y[n, oc, p] = sum over c and k of x[n, c, p * stride - pad + k] * w[oc, c, k] where that place
/// lies in [0, L).
struct Convolution : Nests {
  const Sketch &sketch = *findSketch("contraction");

  struct Parts {
    std::string term = "$0 * $1", combine = "%a + %b",
                guard = "p * stride + k - pad >= 0, L + pad - p * stride - k - 1 >= 0",
                place = "p * stride + k - pad", dims = "[\"n\", \"oc\", \"p\"]", type = "float";
  };

  static std::string element(llvm::StringRef name, int argument, llvm::StringRef over,
                             llvm::StringRef at) {
    return ("<element <argument \"" + name + "\" argument " + llvm::Twine(argument) +
            "> : \"float\" bytes 4 at <over [" + over +
            "] with [N, C, L, OC, K, stride, pad, OL] : " + at + ">>")
        .str();
  }

  static std::string nest(const Parts &parts) {
    std::string names, symbols, params;
    int number = 0;
    for (llvm::StringRef name : {"N", "C", "L", "OC", "K", "stride", "pad", "OL"}) {
      params += ("#kb.param<\"" + name + "\" : \"int\" bytes 4>, ").str();
      symbols += ((number ? ", " : "") + llvm::Twine("#kb.symbol<\"") + name +
                  "\" param argument " + llvm::Twine(number) + ">")
                     .str();
      ++number;
    }
    params += R"(#kb.param<"x" : "const float *" bytes 8 pointer true element 4 const true>,
          #kb.param<"w" : "const float *" bytes 8 pointer true element 4 const true>,
          #kb.param<"y" : "float *" bytes 8 pointer true element 4>)";
    std::string space = "over [n, oc, p] with [N, C, L, OC, K, stride, pad, OL] : ",
                deep = "over [n, oc, p, c] with [N, C, L, OC, K, stride, pad, OL] : ",
                inner = "over [n, oc, p, c, k] with [N, C, L, OC, K, stride, pad, OL] : ";
    return program(
        params,
        "kb.nest @k dims " + parts.dims + " extents [#kb.expr<" + space + "N>, #kb.expr<" + space +
            "OC>, #kb.expr<" + space + "OL>] symbols [" + symbols + "] {\nkb.let \"sum\" : \"" +
            parts.type + "\" \"0.0f\" []\nkb.over \"c\" reduction extent <" + space +
            "C> {\nkb.over \"k\" reduction extent <" + deep + "K> {\nkb.when \"\" [] where <" +
            inner + parts.guard + " exact> {\nkb.reduce \"sum\" \"add\" \"" + parts.combine +
            "\" identity \"0\" \"" + parts.term + "\" [#kb.operand" +
            element("x", 8, "n, oc, p, c, k", "n * (C * L) + c * L + " + parts.place) +
            ", #kb.operand" + element("w", 9, "n, oc, p, c, k", "oc * (C * K) + c * K + k") +
            "]\n}\n}\n}\nkb.store " + element("y", 10, "n, oc, p", "n * (OC * OL) + oc * OL + p") +
            " \"sum\" []\n}");
  }

  static Schedule tile() {
    return Schedule("contraction")
        .set("bm", 64)
        .set("bn", 128)
        .set("bk", 16)
        .set("tm", 8)
        .set("tn", 8)
        .set("stages", 2)
        .set("vector", 1);
  }

  std::string whyNot(const Parts &parts) { return sketch.whyNot(parse(nest(parts))); }
};

TEST_F(Convolution, JoinsPixelsAndFillsTilesWithZeros) {
  auto kernel = cantFail(sketch.print(parse(nest({}), tile()), "fast", chip));
  for (llvm::StringRef part :
       {"const int points = N * OL;", "const int xN = xPoint / OL, xP = xPoint % OL;",
        "if (!((unsigned)(xP * stride + k - pad) < (unsigned)L))\n      xOutside |= 1u << k;",
        "xBits[slot][threadIdx.x] = depth < length ? 1u << k : 1u << 31;",
        "? __ldg(xFrom + xPlace[slot][xTerm + chunk * xApart]) : 0.0f;",
        "sums[i][j] += xRegs[slot][j] * wRegs[slot][i];", "again[i] |= 1u << j;"})
    EXPECT_NE(kernel.definition.find(part), std::string::npos) << part.str() << "\n"
                                                               << kernel.definition;
  EXPECT_FALSE(kernel.reassociates);
}

/// Every weight is read by some output, the points of both dimensions and all terms fit an int.
TEST_F(Convolution, TestsTheSizesAtTheLaunch) {
  auto kernel = cantFail(sketch.print(parse(nest({}), tile()), "fast", chip));
  std::string all;
  for (const LaunchCondition &condition : kernel.conditions)
    all += condition.text + "\n";
  for (llvm::StringRef part :
       {"(size_t)N * OL <= 0x7fff0000", "(size_t)C * K <= 0x7fff0000", "C >= 0", "K > 0", "N > 0",
        "OL > 0", "stride >= 0", "L - stride >= 0", "L + pad - K >= 0", "(size_t)K <= 31"})
    EXPECT_NE(all.find(part), std::string::npos) << part.str() << "\n" << all;
}

TEST_F(Convolution, NeedsASecondLookOnlyForNumbersWithFractions) {
  Parts parts;
  parts.type = "int";
  auto kernel = cantFail(sketch.print(parse(nest(parts), tile()), "fast", chip));
  EXPECT_EQ(kernel.definition.find("again"), std::string::npos) << kernel.definition;
}

TEST_F(Convolution, TakesConvertedElements) {
  for (llvm::StringRef term : {"$1 * $0", "($1) * (float)($0)", "__half2float($0) * $1",
                               "$1 * static_cast<float>($0)", "2.0f * ($0 * $1)"}) {
    Parts parts;
    parts.term = term.str();
    EXPECT_EQ(whyNot(parts), "") << term.str();
  }
}

TEST_F(Convolution, SaysWhyNot) {
  auto reason = [&](void (*change)(Parts &)) {
    Parts parts;
    change(parts);
    return whyNot(parts);
  };
  std::string notZero =
      "a condition around the sum over c leaves out terms that zeros do not stand for";
  for (llvm::StringRef term :
       {"$0 + $1", "fabsf($0 - $1)", "$1 * $1", "$1 * ($0 + 1.0f)", "$1 * expf($0)", "$0 - $1",
        "$1 * ($0 > 0 ? $0 : 1.0f)", "-$0 * $1", "($0) + ($1)"}) {
    Parts parts;
    parts.term = term.str();
    EXPECT_EQ(whyNot(parts), notZero) << term.str();
  }
  EXPECT_EQ(reason([](Parts &parts) { parts.combine = "fmaxf(%a, %b)"; }), notZero);
  EXPECT_EQ(reason([](Parts &parts) { parts.term = "$0 * (1.0f / $1)"; }),
            "a condition around the sum keeps it from dividing");
  EXPECT_EQ(reason([](Parts &parts) { parts.guard = "p * stride + k - pad == 0"; }),
            "the terms of its sum satisfy an equation");
  // A condition on two dimensions of a pixel at once, and two that no pixel passes.
  EXPECT_EQ(reason([](Parts &parts) { parts.guard = "p + n - k >= 0"; }),
            "not every element of w is known to be read by some output");
  EXPECT_EQ(reason([](Parts &parts) { parts.guard = "p - k - 3 >= 0, k + 2 - p >= 0"; }),
            "not every element of w is known to be read by some output");
  EXPECT_EQ(reason([](Parts &parts) {
              parts.guard = "p - k >= 0, p - k - 3 >= 0, k + 7 - p >= 0, k + 2 - p >= 0";
            }),
            "not every element of w is known to be read by some output");
  // The last pixel passes two of one direction.
  EXPECT_EQ(reason([](Parts &parts) { parts.guard = "p - k >= 0, p * 2 - k - 3 >= 0"; }), "");
  // Both sides.
  EXPECT_EQ(reason([](Parts &parts) { parts.guard = "p + oc - k >= 0"; }),
            "not every element of x is known to be read by some output");
}

/// Few channels and many pixels where no size is known, and small tiles where they are few.
TEST_F(Convolution, PrefersTilesOfFewChannels) {
  kb::NestOp given = parse(nest({}));
  EXPECT_LE(sketch.schedules(given, chip, {}, {}).front().integer("bm"), 64);
  LaunchSizes sizes;
  for (auto [name, value] : {std::pair("N", 16), std::pair("C", 256), std::pair("OC", 512),
                             std::pair("L", 4096), std::pair("OL", 4096), std::pair("K", 3)})
    sizes[name] = value;
  EXPECT_GE(sketch.schedules(given, chip, sizes, {}).front().integer("bm"), 128);
}

TEST_F(Convolution, TakesMatrixUnitsForHalves) {
  Parts parts;
  parts.term = "__half2float($0) * __half2float($1)";
  std::string text = nest(parts);
  for (auto [from, to] : {std::pair(": \"float\" bytes 4 at", ": \"half\" bytes 2 at"),
                          std::pair("\"const float *\" bytes 8 pointer true element 4",
                                    "\"const half *\" bytes 8 pointer true element 2")})
    for (size_t at = 0; (at = text.find(from)) != std::string::npos;)
      text.replace(at, llvm::StringRef(from).size(), to);
  kb::NestOp given = parse(text);
  const Freedom freedom{true, false};
  EXPECT_EQ(sketch.schedules(given, chip, {}, freedom).front().string("core"), "half");
  LaunchSizes sizes;
  for (auto [name, value] : {std::pair("N", 32), std::pair("C", 64), std::pair("OC", 128),
                             std::pair("L", 4096), std::pair("OL", 4096), std::pair("K", 3)})
    sizes[name] = value;
  EXPECT_EQ(sketch.schedules(given, chip, sizes, freedom).front().integer("bm"), 128);
  Schedule singles = sketch.schedules(given, chip, sizes, freedom).front().set("vector", 1);
  auto kernel = cantFail(sketch.print(parse(text, singles), "fast", chip));
  EXPECT_TRUE(kernel.reassociates);
  for (llvm::StringRef part : {"? __ldg(xFrom + xPlaces[e]) : half();",
                               "? __ldg(wFrom[chunk] + e) : half();", "keep(used, step - 1);"})
    EXPECT_NE(kernel.definition.find(part), std::string::npos) << part.str() << "\n"
                                                               << kernel.definition;
}

} // namespace
