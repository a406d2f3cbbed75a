//===- spread.cpp - what the numerics rule says of right and wrong rewrites -----===//
// SPDX-License-Identifier: Apache-2.0
//
// Emulates two kernels of bench/kernels at full size on the judge's inputs, in the
// operations and with the roundings of their PTX, and counts elements that the bound of
// docs/VerificationNumerics.md refuses: with the three directed runs alone, and as it is. It
// needs neither GPU nor kb-opt:
//
//   g++ -std=c++20 -O2 -mfma -frounding-math -ffp-contract=off spread.cpp && ./a.out
//
//===----------------------------------------------------------------------===//
#include "Random.h"
#include <algorithm>
#include <cfenv>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <numbers>
#include <string>
#include <vector>

using Values = std::vector<float>;

namespace {

// Inputs: lib/Support/Random.cpp and lib/Plan/VariedInputs.cpp.

enum Distribution { Normal, ScaledShifted, OutlierRows, AllEqual };
const char *const names[] = {"normal", "scaled-shifted", "outlier-rows", "all-equal"};

Values inputs(size_t count, Distribution distribution, uint64_t seed, uint64_t upload) {
  Random random{seed * 0x9e3779b97f4a7c15u + upload};
  double equal = random.normal();
  Values values(count);
  for (size_t i = 0; i < count; ++i)
    values[i] = static_cast<float>(distribution == AllEqual        ? equal
                                   : distribution == ScaledShifted ? 3 + 10 * random.normal()
                                   : distribution == OutlierRows
                                       ? random.normal() * (i / 32 % 8 == 5 ? 1000 : 1)
                                       : random.normal());
  return values;
}

// Arithmetic of the originals: the host's direction, or one for each operation of the code.

struct Way {
  int direction = FE_TONEAREST;
  unsigned pattern = 0;
  bool narrow = false;
};
Way way;

/// roundsDown of lib/Eval/DirectedRounding.cpp.
bool isDown(uint64_t ordinal) {
  if (!way.pattern)
    return false;
  uint64_t z = way.pattern * 0xd1342543de82ef95u + (ordinal + 1) * 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return (z ^ (z >> 31)) & 1;
}
float add(bool down, float a, float b) { return down ? -(-a - b) : a + b; }
float mul(bool down, float a, float b) { return down ? -(-a * b) : a * b; }
float divide(bool down, float a, float b) { return down ? -(-a / b) : a / b; }
float fuse(bool down, float a, float b, float c) {
  return down ? -__builtin_fmaf(-a, b, -c) : __builtin_fmaf(a, b, c);
}
double fuse(bool down, double a, double b, double c) {
  double result = down ? -__builtin_fma(-a, b, -c) : __builtin_fma(a, b, c);
  if (!way.narrow)
    return result;
  return down ? -static_cast<double>(static_cast<float>(-result)) : static_cast<float>(result);
}
float narrowed(bool down, double a) {
  return down ? -static_cast<float>(-a) : static_cast<float>(a);
}

// layer_norm

constexpr int rows = 4096, width = 384, unrolled = 4;
struct Rows {
  Values x, gain, offset;
};

[[gnu::noipa]] Values layerNorm(const Rows &in) {
  bool down[64];
  for (int i = 0; i < 64; ++i)
    down[i] = isDown(i);
  Values y(in.x.size());
  for (int r = 0; r < rows; ++r) {
    const float *x = &in.x[r * width];
    float sum = 0, squares = 0;
    for (int j = 0; j < width; ++j)
      sum = add(down[j % unrolled], sum, x[j]);
    float mean = divide(down[6], sum, width);
    for (int j = 0; j < width; ++j) {
      float d = add(down[7 + 2 * (j % unrolled)], x[j], -mean);
      squares = fuse(down[8 + 2 * (j % unrolled)], d, d, squares);
    }
    float scale =
        divide(down[20], 1.0f, std::sqrt(add(down[18], divide(down[17], squares, width), 1e-5f)));
    for (int j = 0; j < width; ++j) {
      const bool *at = down + 21 + 3 * (j % unrolled);
      y[r * width + j] =
          fuse(at[2], mul(at[1], add(at[0], x[j], -mean), scale), in.gain[j], in.offset[j]);
    }
  }
  return y;
}

float treeSum(std::vector<float> lanes) {
  for (size_t half = lanes.size() / 2; half; half /= 2) {
    std::vector<float> before = lanes;
    for (size_t i = 0; i < lanes.size(); ++i)
      lanes[i] = before[i] + before[i ^ half];
  }
  return lanes[0];
}
float pairwiseSum(const float *x, int count) {
  if (count > 8)
    return pairwiseSum(x, count / 2) + pairwiseSum(x + count / 2, count - count / 2);
  float sum = 0;
  for (int i = 0; i < count; ++i)
    sum += x[i];
  return sum;
}

/// \p lanes partial sums that meet in a tree; 0: pairwise.
Values otherOrder(const Rows &in, int lanes) {
  Values y(in.x.size()), d(width), squares(width);
  for (int r = 0; r < rows; ++r) {
    const float *x = &in.x[r * width];
    auto sum = [&](const float *values, bool squared) {
      if (!lanes) {
        for (int j = 0; j < width; ++j)
          squares[j] = values[j] * values[j];
        return pairwiseSum(squared ? squares.data() : values, width);
      }
      std::vector<float> parts(lanes);
      for (int j = 0; j < width; ++j)
        parts[j % lanes] = squared ? __builtin_fmaf(values[j], values[j], parts[j % lanes])
                                   : parts[j % lanes] + values[j];
      return treeSum(parts);
    };
    float mean = sum(x, false) / width;
    for (int j = 0; j < width; ++j)
      d[j] = x[j] - mean;
    float scale = 1.0f / std::sqrt(sum(d.data(), true) / width + 1e-5f);
    for (int j = 0; j < width; ++j)
      y[r * width + j] = __builtin_fmaf(d[j] * scale, in.gain[j], in.offset[j]);
  }
  return y;
}

float half(float value) { return static_cast<float>(static_cast<_Float16>(value)); }

enum Mistake { LastColumn, HalfMean, SampleVariance, HalfDifferences, HalfScale, NoEpsilon };
Values wrongRows(const Rows &in, Mistake mistake) {
  Values y(in.x.size());
  const int summed = mistake == LastColumn ? width - 1 : mistake == HalfMean ? width / 2 : width;
  for (int r = 0; r < rows; ++r) {
    const float *x = &in.x[r * width];
    float sum = 0, squares = 0;
    for (int j = 0; j < summed; ++j)
      sum += x[j];
    float mean = sum / (mistake == HalfMean ? summed : width);
    for (int j = 0; j < width; ++j) {
      float d = mistake == HalfDifferences ? half(x[j] - mean) : x[j] - mean;
      squares = __builtin_fmaf(d, d, squares);
    }
    float scale = 1.0f / std::sqrt(squares / (mistake == SampleVariance ? width - 1 : width) +
                                   (mistake == NoEpsilon ? 0.0f : 1e-5f));
    if (mistake == HalfScale)
      scale = half(scale);
    for (int j = 0; j < width; ++j)
      y[r * width + j] = __builtin_fmaf((x[j] - mean) * scale, in.gain[j], in.offset[j]);
  }
  return y;
}

// heat

constexpr int side = 1024;
enum Step { Original, FloatConstants, ThreeDigits, HalfSum, NeighbourMissing, FourthPlace };

[[gnu::noipa]] Values heat(const Values &now, Step step) {
  bool down[6];
  for (int i = 0; i < 6; ++i)
    down[i] = isDown(i);
  Values next(now.size());
  const double factor = way.narrow ? static_cast<double>(0.2f) : 0.2;
  for (int y = 0; y < side; ++y)
    for (int x = 0; x < side; ++x) {
      int i = y * side + x;
      float here = now[i], up = y ? now[i - side] : here,
            below = y < side - 1 ? now[i + side] : here;
      float left = x ? now[i - 1] : here, right = x < side - 1 ? now[i + 1] : here;
      if (step == NeighbourMissing && i % 1000 == 7)
        right = here;
      float sum = add(down[2], add(down[1], add(down[0], up, below), left), right);
      if (step == HalfSum)
        sum = half(sum);
      if (step == Original) {
        double t = fuse(down[3], static_cast<double>(here), -4.0, static_cast<double>(sum));
        next[i] = narrowed(down[5], fuse(down[4], t, factor, static_cast<double>(here)));
      } else {
        float t = __builtin_fmaf(here, -4.0f, sum);
        next[i] = __builtin_fmaf(t, step == ThreeDigits ? 0.2001f : 0.2f, here);
        if (step == FourthPlace)
          next[i] *= 1.0000004f;
      }
    }
  return next;
}

// The rule

void widen(Values &moved, const Values &from, const Values &to) {
  for (size_t i = 0; i < from.size(); ++i)
    if (std::isfinite(to[i] - from[i]))
      moved[i] = std::max(moved[i], std::fabs(to[i] - from[i]));
}

/// Elements of \p candidate that are refused; \p worst becomes the largest part of a bound.
size_t refused(const Values &r, const Values &moved, const Values &candidate, double kappa,
               double &worst) {
  size_t count = 0;
  for (size_t i = 0; i < r.size(); ++i) {
    if (std::isnan(r[i]) != std::isnan(candidate[i]) ||
        std::isinf(r[i]) != std::isinf(candidate[i])) {
      ++count;
      continue;
    }
    if (!std::isfinite(r[i]))
      continue;
    // Without n: the spread has to do it alone.
    double bound = std::max(kappa * moved[i], 4 * 6e-8 * std::max(std::fabs(r[i]), 0x1p-125f));
    double difference = std::fabs(static_cast<double>(candidate[i]) - r[i]);
    count += difference > bound;
    worst = std::max(worst, difference / bound);
  }
  return count;
}

const Way directed[] = {{FE_UPWARD}, {FE_DOWNWARD}, {FE_TOWARDZERO}};
const Way mixtures[] = {{FE_UPWARD, 1}, {FE_UPWARD, 2}};
const Way narrowedWays[] = {
    {FE_UPWARD, 0, true}, {FE_DOWNWARD, 0, true}, {FE_UPWARD, 1, true}, {FE_UPWARD, 2, true}};

struct Candidate {
  const char *name;
  bool isRight;
  std::function<Values()> make;
};

/// Prints refused elements of each candidate before and after.
void compare(const std::string &title, const std::function<Values()> &original,
             const std::vector<Candidate> &candidates, double kappa, bool narrows) {
  Values r = original(), moved(r.size());
  auto run = [&](auto &ways) {
    for (const Way &each : ways) {
      way = each;
      std::fesetround(each.direction);
      Values other = original();
      std::fesetround(FE_TONEAREST);
      way = Way();
      widen(moved, r, other);
    }
  };
  std::vector<Values> made;
  for (const Candidate &candidate : candidates)
    made.push_back(candidate.make());
  auto report = [&](const char *with) {
    std::printf("%s, %s\n", title.c_str(), with);
    for (size_t i = 0; i < candidates.size(); ++i) {
      double worst = 0;
      size_t count = refused(r, moved, made[i], kappa, worst);
      std::printf("  %-6s %-28s %8zu refused, worst %.2f of its bound%s\n",
                  candidates[i].isRight ? "right" : "wrong", candidates[i].name, count, worst,
                  (count > 0) == candidates[i].isRight
                      ? (count ? "   FALSE REJECTION" : "   passes this case")
                      : "");
    }
  };
  run(directed);
  report("three directions");
  run(mixtures);
  if (narrows)
    run(narrowedWays);
  report("as it is");
}

} // namespace

int main() {
  for (Distribution distribution : {Normal, ScaledShifted, OutlierRows, AllEqual})
    for (uint64_t seed = 1; seed <= (distribution == AllEqual ? 1 : 5); ++seed) {
      Rows in{inputs(size_t(rows) * width, distribution, seed, 1),
              inputs(width, distribution, seed, 2), inputs(width, distribution, seed, 3)};
      std::string on = std::string(names[distribution]) + ", seed " + std::to_string(seed);
      compare(
          "layer_norm, " + on, [&] { return layerNorm(in); },
          {{"a warp a row", true, [&] { return otherOrder(in, 32); }},
           {"four sums (float4)", true, [&] { return otherOrder(in, 4); }},
           {"a block of 128 a row", true, [&] { return otherOrder(in, 128); }},
           {"pairwise", true, [&] { return otherOrder(in, 0); }},
           {"the last column is missing", false, [&] { return wrongRows(in, LastColumn); }},
           {"the mean of half a row", false, [&] { return wrongRows(in, HalfMean); }},
           {"the variance of a sample", false, [&] { return wrongRows(in, SampleVariance); }},
           {"differences in half", false, [&] { return wrongRows(in, HalfDifferences); }},
           {"scale in half", false, [&] { return wrongRows(in, HalfScale); }},
           {"no epsilon", false, [&] { return wrongRows(in, NoEpsilon); }}},
          4, false);
      Values now = inputs(size_t(side) * side, distribution, seed, 1);
      compare(
          "heat, " + on, [&] { return heat(now, Original); },
          {{"float constants", true, [&] { return heat(now, FloatConstants); }},
           {"another constant", false, [&] { return heat(now, ThreeDigits); }},
           {"the sum in half", false, [&] { return heat(now, HalfSum); }},
           {"a neighbour is missing", false, [&] { return heat(now, NeighbourMissing); }},
           {"four units in the last place", false, [&] { return heat(now, FourthPlace); }}},
          2, true);
    }
}
