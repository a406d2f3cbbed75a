//===- sums.cpp - what the forward bound says of right and wrong sums -------===//
// SPDX-License-Identifier: Apache-2.0
//
// Forms sums of 10 to 10^7 terms in the orders in which programs form them, and counts
// which of them the bound of the float64 oracle refuses (docs/VerificationNumerics.md, "The
// float64 oracle"). The bound is that of runtime/cpu/OracleSum.cpp:
//
//   g++ -std=c++20 -O2 -I../../runtime/include -I../../runtime/cpu sums.cpp
//     ../../runtime/cpu/OracleSum.cpp && ./a.out
//
// It then does the same with sums that lack one term in 10^5, have one twice, or lack half
// of a block's: on ordinary data, where the bound cannot tell all of them, and on whole
// numbers and subnormal ones, where every order is exact.
//
//===----------------------------------------------------------------------===//
#include "OracleSum.h"
#include "Random.h"
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <numbers>
#include <numeric>
#include <string>
#include <vector>

using kbrt::FloatFormat;
using kbrt::OracleSum;

namespace {

// Data. Values are of the type in which they are summed.

struct Data {
  const char *name;
  FloatFormat format;
  std::function<double(Random &, size_t)> term;
  bool isEqual = false; ///< as the judge knows of its case all-equal
};

const Data ordinary[] = {
    {"normal", FloatFormat::F32, [](Random &r, size_t) { return r.normal(); }},
    {"positive", FloatFormat::F32, [](Random &r, size_t) { return r.uniform(); }},
    {"offset", FloatFormat::F32, [](Random &r, size_t) { return 300 + 0.1 * r.normal(); }},
    {"large magnitudes", FloatFormat::F32,
     [](Random &r, size_t) { return r.normal() * std::exp2(60 * r.uniform()); }},
    {"cancelling pairs", FloatFormat::F32,
     [](Random &r, size_t i) { return (i % 2 ? -1 : 1) * (1000 + 1e-3 * r.normal()); }},
    {"all equal", FloatFormat::F32, [](Random &, size_t) { return 0.1; }, true},
    {"halves", FloatFormat::F16, [](Random &r, size_t) { return r.normal(); }},
    {"positive halves", FloatFormat::F16, [](Random &r, size_t) { return r.uniform(); }},
};
const Data exact[] = {
    {"whole numbers", FloatFormat::F32,
     [](Random &r, size_t) { return std::floor(9 * r.uniform()) - 4; }},
    {"subnormal", FloatFormat::F32,
     [](Random &r, size_t) { return std::floor(0x1p13 * (r.uniform() - 0.5)) * 0x1p-149; }},
};

template <typename T> std::vector<T> termsOf(const Data &data, size_t count, uint64_t seed) {
  Random random{seed};
  std::vector<T> terms(count);
  for (size_t i = 0; i < count; ++i)
    terms[i] = static_cast<T>(data.term(random, i));
  return terms;
}

// Orders.

template <typename T> T sequential(const std::vector<T> &x) {
  T sum = 0;
  for (T term : x)
    sum = sum + term;
  return sum;
}

template <typename T> T backwards(std::vector<T> x) {
  std::reverse(x.begin(), x.end());
  return sequential(x);
}

template <typename T> T pairwise(std::vector<T> x) {
  for (size_t count = x.size(); count > 1; count = (count + 1) / 2)
    for (size_t i = 0; i < count / 2; ++i)
      x[i] = i + (count + 1) / 2 < count ? x[i] + x[i + (count + 1) / 2] : x[i];
  return x.empty() ? T(0) : x[0];
}

/// A block of \p threads threads, each with every so many-th term.
template <typename T> T strided(const std::vector<T> &x, size_t threads) {
  std::vector<T> partial(threads, 0);
  for (size_t i = 0; i < x.size(); ++i)
    partial[i % threads] = partial[i % threads] + x[i];
  return pairwise(partial);
}

/// Blocks of \p size terms, whose sums are added one after the other.
template <typename T> T blocked(const std::vector<T> &x, size_t size) {
  std::vector<T> sums;
  for (size_t begin = 0; begin < x.size(); begin += size)
    sums.push_back(
        pairwise(std::vector<T>(x.begin() + begin, x.begin() + std::min(x.size(), begin + size))));
  return sequential(sums);
}

/// Atomic additions, in any order.
template <typename T> T atomics(std::vector<T> x, uint64_t seed) {
  Random random{seed};
  for (size_t i = x.size(); i > 1; --i)
    std::swap(x[i - 1], x[random.next() % i]);
  return sequential(x);
}

constexpr size_t orders = 7;
const char *const orderNames[orders] = {"sequential",  "backwards", "pairwise", "32 threads",
                                        "256 threads", "blocks",    "atomics"};
template <typename T> T sumOf(const std::vector<T> &x, size_t order) {
  switch (order) {
  case 0:
    return sequential(x);
  case 1:
    return backwards(x);
  case 2:
    return pairwise(x);
  case 3:
    return strided(x, 32);
  case 4:
    return strided(x, 256);
  case 5:
    return blocked(x, 1024);
  default:
    return atomics(x, 7);
  }
}

// The rule.

template <typename T> OracleSum shadowOf(const std::vector<T> &x) {
  OracleSum sum = kbrt::oracle::exactly(0);
  for (T term : x)
    sum = kbrt::oracle::add(sum, kbrt::oracle::exactly(static_cast<double>(term)));
  return sum;
}

double boundOf(const OracleSum &shadow, FloatFormat format, double original) {
  const double u = format == FloatFormat::F16 ? 0x1p-11 : 0x1p-24;
  const kbrt::OracleElement element = kbrt::oracle::elementOf(shadow, format);
  return std::max(element.error + element.inherited + 4 * u * std::fabs(element.value),
                  2 * std::fabs(original - element.value));
}

struct Tally {
  unsigned refused = 0, all = 0;
  double worst = 0;
  void add(double distance, double bound) {
    ++all;
    refused += !(distance <= bound);
    if (distance > 0)
      worst = std::max(worst, distance / bound);
  }
};

/// Every order as the original's, every other one as the rewrite's.
template <typename T> void judgeRight(const Data &data, const std::vector<T> &x, Tally &all) {
  const OracleSum shadow = shadowOf(x);
  kbrt::oracle::assumeIndependentErrors(!data.isEqual);
  double results[orders];
  for (size_t order = 0; order < orders; ++order)
    results[order] = static_cast<double>(sumOf(x, order));
  Tally here;
  for (size_t original = 0; original < orders; ++original)
    for (size_t order = 0; order < orders; ++order)
      if (order != original) {
        const double distance = std::fabs(results[order] - shadow.value),
                     bound = boundOf(shadow, data.format, results[original]);
        here.add(distance, bound);
        if (!(distance <= bound))
          std::printf("    refused: %s as %s\n", orderNames[original], orderNames[order]);
      }
  std::printf("%-18s %9zu terms: %u of %u refused, worst %.3f of the bound\n", data.name, x.size(),
              here.refused, here.all, here.worst);
  all.refused += here.refused;
  all.all += here.all;
  all.worst = std::max(all.worst, here.worst);
}

/// \p x with one term in 10^5 missing, with one twice, and without half of 256 terms.
template <typename T> std::vector<std::vector<T>> mistakes(const std::vector<T> &x) {
  std::vector<std::vector<T>> wrong(3, x);
  auto isZero = [&](size_t i) { return x[i] == T(0); };
  const size_t rate = 100000;
  for (size_t begin = 0; begin < x.size(); begin += rate) {
    size_t at = begin + std::min(rate, x.size() - begin) / 3;
    while (at + 1 < x.size() && isZero(at))
      ++at;
    wrong[0][at] = T(0);
    if (begin == 0)
      wrong[1].push_back(x[at]);
  }
  for (size_t i = 0; i < std::min<size_t>(128, x.size() / 2); ++i)
    wrong[2][i] = T(0);
  return wrong;
}

template <typename T> void judgeWrong(const Data &data, const std::vector<T> &x, Tally *all) {
  const OracleSum shadow = shadowOf(x);
  const std::vector<std::vector<T>> wrong = mistakes(x);
  for (size_t mistake = 0; mistake < wrong.size(); ++mistake)
    for (size_t order : {2, 4, 6}) // as rewrites do
      all[mistake].add(std::fabs(static_cast<double>(sumOf(wrong[mistake], order)) - shadow.value),
                       boundOf(shadow, data.format, static_cast<double>(sequential(x))));
}

template <typename T> void judge(const Data &data, size_t count, Tally &right, Tally *wrong) {
  const std::vector<T> x = termsOf<T>(data, count, count);
  judgeRight(data, x, right);
  judgeWrong(data, x, wrong);
}

void print(const char *data, const Tally *wrong) {
  const char *const names[] = {"one term in 100000 missing", "one term twice", "128 terms missing"};
  for (size_t i = 0; i < 3; ++i)
    std::printf("%s, %s: %u of %u refused\n", data, names[i], wrong[i].refused, wrong[i].all);
}

} // namespace

int main() {
  Tally right, wrong[3], exactRight, exactWrong[3];
  unsigned sums = 0, exactSums = 0;
  for (const Data &data : ordinary)
    for (size_t count : {10, 100, 1000, 10000, 100000, 1000000, 10000000}) {
      // A sum of halves in halves goes beyond their range, or stands still.
      if (data.format == FloatFormat::F16 && count > 10000)
        continue;
      ++sums;
      data.format == FloatFormat::F16 ? judge<_Float16>(data, count, right, wrong)
                                      : judge<float>(data, count, right, wrong);
    }
  for (const Data &data : exact)
    for (size_t count : {10, 1000, 10000, 100000, 1000000}) {
      // Longer sums of subnormal numbers leave their range.
      if (std::string(data.name) == "subnormal" && count > 10000)
        continue;
      ++exactSums;
      judge<float>(data, count, exactRight, exactWrong);
    }
  std::printf("\n%u sums in %u pairs of orders: %u refused, worst %.3f of the bound\n", sums,
              right.all, right.refused, right.worst);
  print("ordinary data", wrong);
  std::printf("%u exact sums in %u pairs of orders: %u refused\n", exactSums, exactRight.all,
              exactRight.refused);
  print("exact sums", exactWrong);
  return 0;
}
