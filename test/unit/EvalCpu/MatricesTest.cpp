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
template <typename T, typename Encode>
void check(CudaProgram &program, const char *kernel, int m, int n, int k, bool bRows, int start,
           int factor, Encode encode) {
  std::vector<T> a(m * k), b(k * n);
  auto left = [](int r, int c) { return (r * 3 + c * 5) % 7 - 3; };
  auto right = [](int r, int c) { return (r * 2 + c * 7) % 5 - 2; };
  for (int r = 0; r < m; ++r)
    for (int c = 0; c < k; ++c)
      a[r * k + c] = encode(left(r, c));
  for (int r = 0; r < k; ++r)
    for (int c = 0; c < n; ++c)
      b[bRows ? r * n + c : c * k + r] = encode(right(r, c));
  bool isInteger = std::is_same_v<T, signed char>;
  float *out = program.allocate<float>(m * n);
  program.expectRun(kernel, {1}, {32}, program.upload(a), program.upload(b), out);
  for (int r = 0; r < m; ++r)
    for (int c = 0; c < n; ++c) {
      int sum = start;
      for (int i = 0; i < k; ++i)
        sum += left(r, i) * right(i, c);
      int got = isInteger ? reinterpret_cast<int *>(out)[r * n + c] : int(out[r * n + c]);
      ASSERT_EQ(got, sum * factor) << kernel << " at " << r << ", " << c;
    }
}

struct Matrices : testing::TestWithParam<kbrt::ImageMode> {};

TEST_P(Matrices, Multiply) {
  CudaProgram program("matrices.cu", GetParam());
  ASSERT_TRUE(program.built.unsupported.empty()) << program.built.unsupported[0].describe();
  check<uint16_t>(program, "halfs", 16, 16, 16, false, 1, 2, halfBits);
  check<uint16_t>(program, "halfsWide", 8, 32, 16, true, 1, 2, halfBits);
  check<uint16_t>(program, "brains", 16, 16, 16, true, 1, 2, brainBits);
  check<signed char>(program, "bytes", 16, 16, 16, false, 1, 2, [](int x) { return x; });
  check<uint16_t>(program, "assembly", 16, 8, 16, true, 0, 1, halfBits);
}

INSTANTIATE_TEST_SUITE_P(Modes, Matrices,
                         testing::Values(kbrt::ImageMode::Plain, kbrt::ImageMode::Check));

} // namespace
