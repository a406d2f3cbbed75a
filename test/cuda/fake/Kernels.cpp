//===- Kernels.cpp - kernels of the fake driver ---------------------------===//
#include "Kernels.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <unistd.h>

using namespace fake;

namespace {

Ending nothing(const Launch &) { return Ending::Done; }

Ending saxpy(const Launch &launch) {
  auto n = launch.get<int>(0);
  auto a = launch.get<float>(1);
  auto *x = launch.get<const float *>(2);
  auto *y = launch.get<float *>(3);
  for (int i = 0; i < n; ++i)
    y[i] = a * x[i] + y[i];
  return Ending::Done;
}

Ending sumBlocks(const Launch &launch) {
  auto n = launch.get<int>(0);
  auto *x = launch.get<const int *>(1);
  auto *sums = launch.get<int *>(2);
  for (unsigned block = 0; block < launch.blocks; ++block) {
    sums[block] = 0;
    for (int i = static_cast<int>(256 * block); i < static_cast<int>(256 * block + 256) && i < n;
         ++i)
      sums[block] += x[i];
  }
  return Ending::Done;
}

/// y[i] = i + Added for i below n + More.
template <int More, int Added> Ending count(const Launch &launch) {
  auto *y = launch.get<int *>(1);
  for (int i = 0; i < launch.get<int>(0) + More; ++i)
    y[i] = i + Added;
  return Ending::Done;
}

Ending writeInput(const Launch &launch) {
  auto *x = launch.get<int *>(1), *y = launch.get<int *>(2);
  for (int i = 0; i < launch.get<int>(0); ++i)
    y[i] = x[i];
  x[7] = 1;
  return Ending::Done;
}

/// Copies n bytes of the first or the second of two buffers.
template <int Which> Ending copyBytes(const Launch &launch) {
  std::memcpy(launch.get<char *>(3), launch.get<const char *>(1 + Which),
              static_cast<size_t>(launch.get<int>(0)));
  return Ending::Done;
}

Ending writeBefore(const Launch &launch) {
  auto *y = launch.get<char *>(2);
  *reinterpret_cast<volatile int *>(y - launch.get<long long>(1)) = launch.get<int>(0);
  return Ending::Done;
}

/// Not even the process goes on.
Ending hang(const Launch &) {
  for (;;)
    pause();
}

template <Ending ending> Ending endWith(const Launch &) { return ending; }

/// kb_hash4 and kb_hash1.
template <typename Word> Ending hash(const Launch &launch) {
  auto *words = launch.get<const Word *>(0);
  auto count = launch.get<uint64_t>(1), salt = launch.get<uint64_t>(2);
  uint64_t sum = 0;
  for (uint64_t i = 0; i < count; ++i) {
    uint64_t x = ((i + salt) * 0x9e3779b97f4a7c15) ^ words[i];
    x = (x ^ (x >> 29)) * 0xbf58476d1ce4e5b9;
    sum += x ^ (x >> 32);
  }
  *launch.get<uint64_t *>(3) += sum;
  return Ending::Done;
}

// What runtime/cuda/ComparePtx.h says of kb_compare and kb_squares.

struct Half {
  uint16_t bits;
  double value() const {
    const int exponent = bits >> 10 & 31, fraction = bits & 1023, sign = bits >> 15 ? -1 : 1;
    if (exponent == 31)
      return fraction ? NAN : sign * INFINITY;
    return sign *
           (exponent ? std::ldexp(1024 + fraction, exponent - 25) : std::ldexp(fraction, -24));
  }
};
struct Brain {
  uint16_t bits;
  double value() const {
    uint32_t wide = uint32_t(bits) << 16;
    float result;
    std::memcpy(&result, &wide, sizeof result);
    return result;
  }
};
template <typename Float> struct Plain {
  Float number;
  double value() const { return number; }
};

template <typename T> Ending squares(const Launch &launch) {
  auto *reference = launch.get<const T *>(0);
  auto *counts = launch.get<uint64_t *>(2);
  auto *sums = launch.get<double *>(2);
  for (uint64_t i = 0; i < launch.get<uint64_t>(1); ++i) {
    const double r = reference[i].value();
    if (!std::isfinite(r))
      continue;
    ++counts[0];
    sums[1] += r * r;
  }
  return Ending::Done;
}

template <typename T> Ending compareFloats(const Launch &launch) {
  auto *reference = launch.get<const T *>(0), *candidate = launch.get<const T *>(1);
  auto *counts = launch.get<uint64_t *>(4);
  auto *sums = launch.get<double *>(4);
  for (uint64_t i = 0; i < launch.get<uint64_t>(2); ++i) {
    const double r = reference[i].value(), c = candidate[i].value();
    if (std::memcmp(reference + i, candidate + i, sizeof(T)) == 0 ||
        (std::isnan(r) && std::isnan(c)))
      continue;
    ++counts[0];
    if (!std::isfinite(r) || !std::isfinite(c)) {
      ++counts[1];
      sums[3] += std::isfinite(r) ? r * r : 0;
      continue;
    }
    sums[2] += (c - r) * (c - r);
    sums[4] = std::fmax(sums[4], std::fabs(c - r) / std::max(std::fabs(r), launch.get<double>(3)));
  }
  return Ending::Done;
}

template <typename Word> Ending compareWords(const Launch &launch) {
  auto *reference = launch.get<const Word *>(0), *candidate = launch.get<const Word *>(1);
  for (uint64_t i = 0; i < launch.get<uint64_t>(2); ++i)
    *launch.get<uint64_t *>(4) += reference[i] != candidate[i];
  return Ending::Done;
}

/// 20 us at 1500 MHz.
Ending clock(const Launch &launch) {
  const uint64_t readings[] = {0, 0, 30'000, 20'000};
  std::memcpy(launch.get<void *>(0), readings, sizeof readings);
  return Ending::Done;
}

constexpr Kernel kernels[] = {
    {"_Z5saxpyifPKfPf", 20, saxpy},
    {"_Z12saxpyStridedifPKfPf", 80, saxpy},
    {"_Z9sumBlocksiPKiPi", 20, sumBlocks},
    {"_Z12writeOutsideiPi", 20, count<1, 0>},
    {"_Z10forgetTailiPi", 20, count<-5, 0>},
    {"_Z8offByOneiPi", 20, count<0, 1>},
    {"_Z4slowiPi", 100'000, count<0, 1>},
    {"_Z10writeInputiPKiPi", 20, writeInput},
    {"_Z14illegalAddressiPi", 20, endWith<Ending::Illegal>},
    {"_Z10trapAlwaysiPi", 20, endWith<Ending::Trap>},
    {"_Z12assertAlwaysiPi", 20, endWith<Ending::Assert>},
    {"_Z7endlessiPVi", 20, endWith<Ending::Endless>},
    {"kb_hold", 0, nothing},
    {"kb_empty", 1, nothing},
    {"kb_flush", 0, nothing},
    {"kb_hash4", 0, hash<uint32_t>},
    {"kb_hash1", 0, hash<uint8_t>},
    {"kb_clock", 0, clock},
    {"_Z9copyFirstiPKcS0_Pc", 40, copyBytes<0>},
    {"_Z10copySecondiPKcS0_Pc", 20, copyBytes<1>},
    {"_Z11writeBeforeixPi", 20, writeBefore},
    {"_Z7hangingiPi", 20, hang},
    {"kb_compare_f64", 0, compareFloats<Plain<double>>},
    {"kb_compare_f32", 0, compareFloats<Plain<float>>},
    {"kb_compare_f16", 0, compareFloats<Half>},
    {"kb_compare_bf16", 0, compareFloats<Brain>},
    {"kb_compare_b8", 0, compareWords<uint64_t>},
    {"kb_compare_b4", 0, compareWords<uint32_t>},
    {"kb_compare_b2", 0, compareWords<uint16_t>},
    {"kb_compare_b1", 0, compareWords<uint8_t>},
    {"kb_squares_f64", 0, squares<Plain<double>>},
    {"kb_squares_f32", 0, squares<Plain<float>>},
    {"kb_squares_f16", 0, squares<Half>},
    {"kb_squares_bf16", 0, squares<Brain>},
};

} // namespace

const Kernel *fake::findKernel(const std::string &name) {
  for (const Kernel &kernel : kernels)
    if (name == kernel.name)
      return &kernel;
  return nullptr;
}
