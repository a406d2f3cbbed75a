//===- MatricesTest.cpp - wmma, mma.sync, ldmatrix ------------------------===//
#include "CudaProgram.h"

using namespace kbopt;
using namespace kbopt::test;

namespace {

uint16_t halfBits(float x) {
  _Float16 h = _Float16(x);
  uint16_t bits;
  memcpy(&bits, &h, 2);
  return bits;
}
uint16_t brainBits(float x) {
  uint32_t bits;
  memcpy(&bits, &x, 4);
  return bits >> 16;
}

/// Small integers, exact in every type.
template <typename T, typename Result = float, typename Encode = T (*)(int)>
void check(
    CudaProgram &program, const char *kernel, int m, int n, int k, bool bRows, int start,
    int factor, Encode encode = [](int x) { return T(x); }) {
  std::vector<T> a(m * k), b(k * n);
  // Unsigned elements reach beyond what a signed byte holds.
  int lowA = std::is_unsigned_v<T> && sizeof(T) == 1 ? -240 : 3, lowB = lowA < 0 ? -190 : 2;
  auto left = [&](int r, int c) { return (r * 3 + c * 5) % 7 - lowA; };
  auto right = [&](int r, int c) { return (r * 2 + c * 7) % 5 - lowB; };
  for (int r = 0; r < m; ++r)
    for (int c = 0; c < k; ++c)
      a[r * k + c] = encode(left(r, c));
  for (int r = 0; r < k; ++r)
    for (int c = 0; c < n; ++c)
      b[bRows ? r * n + c : c * k + r] = encode(right(r, c));
  auto *out = program.allocate<Result>(m * n);
  program.expectRun(kernel, {1}, {32}, program.upload(a), program.upload(b), out);
  for (int r = 0; r < m; ++r)
    for (int c = 0; c < n; ++c) {
      int sum = start;
      for (int i = 0; i < k; ++i)
        sum += left(r, i) * right(i, c);
      ASSERT_EQ(out[r * n + c], Result(sum * factor)) << kernel << " at " << r << ", " << c;
    }
}

struct Matrices : testing::TestWithParam<kbrt::ImageMode> {};

TEST_P(Matrices, Multiply) {
  CudaProgram program("matrices.cu", GetParam());
  ASSERT_TRUE(program.built.unsupported.empty()) << program.built.unsupported[0].describe();
  check<uint16_t>(program, "halfs", 16, 16, 16, false, 1, 2, halfBits);
  check<uint16_t>(program, "halfsWide", 8, 32, 16, true, 1, 2, halfBits);
  check<uint16_t>(program, "brains", 16, 16, 16, true, 1, 2, brainBits);
  check<signed char, int>(program, "bytes", 16, 16, 16, false, 1, 2);
  check<signed char, int>(program, "bytesTall", 32, 8, 16, true, 1, 2);
  check<unsigned char, int>(program, "unsignedBytes", 16, 16, 16, true, 1, 2);
  check<unsigned char, int>(program, "unsignedBytesWide", 8, 32, 16, false, 1, 2);
  check<float>(program, "tensorFloats", 16, 16, 8, true, 1, 2);
  check<float>(program, "tensorFloatsColumns", 16, 16, 8, false, 1, 2);
  check<double, double>(program, "doubles", 8, 8, 4, true, 1, 2);
  check<double, double>(program, "doublesColumns", 8, 8, 4, false, 1, 2);
  check<uint16_t>(program, "assembly", 16, 8, 16, true, 0, 1, halfBits);
}

INSTANTIATE_TEST_SUITE_P(Modes, Matrices,
                         testing::Values(kbrt::ImageMode::Plain, kbrt::ImageMode::Check));

} // namespace
