//===- DriverText.h - The fixed part of a generated main --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the helpers that every generated driver carries: filling by a portable
// generator, error checks, digests. C++14, because that is the least that users
// compile CUDA with.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_LIB_PLAN_DRIVERTEXT_H
#define KBOPT_LIB_PLAN_DRIVERTEXT_H

namespace kbopt {

inline constexpr const char driverHelpers[] = R"cxx(
namespace kb_driver {

// SplitMix64; the same numbers on every machine, so no library function is used.
struct Generator {
  unsigned long long state;
  unsigned long long next() {
    unsigned long long z = (state += 0x9e3779b97f4a7c15ull);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
  }
  double uniform() { return static_cast<double>(next() >> 11) * (1.0 / 9007199254740992.0); }
  // Sum of twelve uniform numbers: deviation 1, and exact arithmetic.
  double normal() {
    double sum = -6;
    for (int i = 0; i < 12; ++i)
      sum += uniform();
    return sum;
  }
};

struct Half { unsigned short bits; };
struct Bfloat { unsigned short bits; };

inline unsigned bitsOf(float value) {
  unsigned bits;
  std::memcpy(&bits, &value, 4);
  return bits;
}

template <typename T> T convert(double value) { return static_cast<T>(value); }
template <> inline Bfloat convert<Bfloat>(double value) {
  unsigned bits = bitsOf(static_cast<float>(value));
  return {static_cast<unsigned short>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16)};
}
template <> inline Half convert<Half>(double value) {
  unsigned bits = bitsOf(static_cast<float>(value)), sign = (bits >> 16) & 0x8000u;
  int exponent = static_cast<int>((bits >> 23) & 0xffu) - 127 + 15;
  unsigned mantissa = bits & 0x7fffffu;
  if (exponent >= 31)
    return {static_cast<unsigned short>(sign | 0x7c00u)};
  if (exponent < -10)
    return {static_cast<unsigned short>(sign)};
  unsigned shift = 13;
  if (exponent <= 0) {
    mantissa |= 0x800000u;
    shift = static_cast<unsigned>(14 - exponent);
    exponent = 0;
  }
  unsigned result = (static_cast<unsigned>(exponent) << 10) + (mantissa >> shift);
  unsigned rest = mantissa & ((1u << shift) - 1u), middle = 1u << (shift - 1u);
  if (rest > middle || (rest == middle && (result & 1u)))
    ++result;
  return {static_cast<unsigned short>(sign | result)};
}

// Becomes whatever pointer the callee takes.
struct AnyPointer {
  void *p;
  template <typename T> operator T *() const { return static_cast<T *>(p); }
};

inline void check(cudaError_t error, const char *what) {
  if (error == cudaSuccess)
    return;
  std::fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(error));
  std::exit(1);
}

template <typename T> std::vector<T> uniform(std::size_t n, unsigned long long seed, double low, double high, bool whole) {
  std::vector<T> values(n);
  Generator generator{seed};
  for (T &value : values) {
    double x = (high - low) * generator.uniform();
    value = convert<T>(low + (whole ? static_cast<double>(static_cast<long long>(x)) : x));
  }
  return values;
}
template <typename T> std::vector<T> normal(std::size_t n, unsigned long long seed, double mean, double deviation) {
  std::vector<T> values(n);
  Generator generator{seed};
  for (T &value : values)
    value = convert<T>(mean + deviation * generator.normal());
  return values;
}
template <typename T> std::vector<T> constant(std::size_t n, double number) {
  return std::vector<T>(n, convert<T>(number));
}
template <typename T> std::vector<T> iota(std::size_t n) {
  std::vector<T> values(n);
  for (std::size_t i = 0; i < n; ++i)
    values[i] = convert<T>(static_cast<double>(i));
  return values;
}
template <typename T> std::vector<T> permutation(std::size_t n, unsigned long long seed) {
  std::vector<T> values = iota<T>(n);
  Generator generator{seed};
  for (std::size_t i = n; i > 1; --i) {
    std::size_t other = static_cast<std::size_t>(generator.next() % i);
    T kept = values[i - 1];
    values[i - 1] = values[other];
    values[other] = kept;
  }
  return values;
}
// Offsets of rows, from 0 to `total`, none below the one before.
template <typename T> std::vector<T> offsets(std::size_t n, unsigned long long seed, double total) {
  std::vector<double> places(n);
  Generator generator{seed};
  for (double &place : places)
    place = static_cast<double>(static_cast<long long>((total + 1) * generator.uniform()));
  std::sort(places.begin(), places.end());
  std::vector<T> values(n);
  for (std::size_t i = 0; i < n; ++i)
    values[i] = convert<T>(i == 0 ? 0 : i + 1 == n ? total : places[i]);
  return values;
}
// Rows of `row` numbers below `end`, each with as many of them as it happens to have, and -1 behind them.
template <typename T> std::vector<T> padded(std::size_t n, unsigned long long seed, double row, double end) {
  std::vector<T> values(n);
  Generator generator{seed};
  const std::size_t width = row < 1 ? 1 : static_cast<std::size_t>(row);
  std::size_t filled = 0;
  for (std::size_t i = 0; i < n; ++i) {
    if (i % width == 0)
      filled = static_cast<std::size_t>(static_cast<double>(width + 1) * generator.uniform());
    const double number = static_cast<double>(static_cast<long long>(end * generator.uniform()));
    values[i] = convert<T>(i % width < filled ? number : -1);
  }
  return values;
}

// At least one element, so that an empty buffer has an address; the buffer begins `skip`
// elements behind the allocation's start.
template <typename T> T *deviceUnset(std::size_t n, const char *name, std::size_t skip) {
  T *p = nullptr;
  check(cudaMalloc(reinterpret_cast<void **>(&p), ((n ? n : 1) + skip) * sizeof(T)), name);
  return p + skip;
}
// Memory of the host that nothing has touched.
template <typename T> T *hostUnset(std::size_t n) {
  return static_cast<T *>(std::calloc(n ? n : 1, sizeof(T)));
}
template <typename T> T *device(const std::vector<T> &values, const char *name, std::size_t skip) {
  T *p = deviceUnset<T>(values.size(), name, skip);
  if (!values.empty())
    check(cudaMemcpy(p, values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice), name);
  return p;
}
// A later call finds its inputs where the one before found its own.
template <typename T> void refill(T *p, const std::vector<T> &values, const char *name) {
  if (!values.empty())
    check(cudaMemcpy(p, values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice), name);
}
template <typename T> void refillHost(T *p, const std::vector<T> &values, const char *) {
  if (!values.empty())
    std::memcpy(p, values.data(), values.size() * sizeof(T));
}
template <typename T> void readBack(const T *p, std::size_t n, const char *name) {
  std::vector<T> values(n);
  if (n)
    check(cudaMemcpy(values.data(), p, n * sizeof(T), cudaMemcpyDeviceToHost), name);
}
// Through the stream of the call, so that work that went elsewhere is not waited for.
template <typename T> void readBack(const T *p, std::size_t n, const char *name, cudaStream_t stream) {
  std::vector<T> values(n);
  if (n)
    check(cudaMemcpyAsync(values.data(), p, n * sizeof(T), cudaMemcpyDeviceToHost, stream), name);
  check(cudaStreamSynchronize(stream), name);
}
inline void printValue(Half) {}
inline void printValue(Bfloat) {}
template <typename T> void printValue(T value) { std::printf(" %.17g", static_cast<double>(value)); }
// FNV-1a over the bytes, and up to 1024 elements.
template <typename T> void print(const T *values, std::size_t n, const char *name) {
  unsigned long long hash = 0xcbf29ce484222325ull;
  const unsigned char *bytes = reinterpret_cast<const unsigned char *>(values);
  for (std::size_t i = 0; i < n * sizeof(T); ++i)
    hash = (hash ^ bytes[i]) * 0x100000001b3ull;
  std::printf("kb-result %s %016llx", name, hash);
  for (std::size_t i = 0, step = n / 1024 + 1; i < n; i += step)
    printValue(values[i]);
  std::printf("\n");
}
// Numbers and enumerations; of other types the bytes may be anything.
template <bool> struct ReturnPrinter {
  template <typename T> static void print(const T &value) {
    const double number = static_cast<double>(value);
    kb_driver::print(&number, 1, "return");
  }
};
template <> struct ReturnPrinter<false> {
  template <typename T> static void print(const T &) {}
};
template <typename T> void printReturn(const T &value) {
  ReturnPrinter<std::is_arithmetic<T>::value || std::is_enum<T>::value>::print(value);
}

} // namespace kb_driver
)cxx";

} // namespace kbopt

#endif // KBOPT_LIB_PLAN_DRIVERTEXT_H
