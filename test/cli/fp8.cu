// Conversions to and from 8-bit floats are instructions from sm_89 on: the CPU device has them, and they give what the header
// computes on the host, bit by bit.
// RUN: kb-opt --profile %s -- -arch=sm_90 | FileCheck %s
// CHECK: narrow:
// CHECK: widen:
#include <cstdio>
#include <cstring>
#include <cuda_fp8.h>

struct Narrow {
  unsigned short of[4];
};
struct Wide {
  __half2_raw of[2];
};

/// To both formats, from float and half, with both signs.
__host__ __device__ Narrow narrowed(float x) {
  float2 both = make_float2(x, -x);
  __half2_raw halves = __half2_raw(__float22half2_rn(both));
  return {{__nv_cvt_float2_to_fp8x2(both, __NV_SATFINITE, __NV_E4M3),
           __nv_cvt_float2_to_fp8x2(both, __NV_SATFINITE, __NV_E5M2),
           __nv_cvt_halfraw2_to_fp8x2(halves, __NV_SATFINITE, __NV_E4M3),
           __nv_cvt_halfraw2_to_fp8x2(halves, __NV_SATFINITE, __NV_E5M2)}};
}
__host__ __device__ Wide widened(int code) {
  unsigned short both = code | (255 - code) << 8;
  return {{__nv_cvt_fp8x2_to_halfraw2(both, __NV_E4M3), __nv_cvt_fp8x2_to_halfraw2(both, __NV_E5M2)}};
}

__global__ void narrow(Narrow *out, const float *in) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = narrowed(in[i]);
}
__global__ void widen(Wide *out) { out[threadIdx.x] = widened(threadIdx.x); }

bool isNan(unsigned short half) { return (half & 0x7fff) > 0x7c00; }

int main() {
  // Every exponent with the leading bits of its mantissa, beside what a tie needs.
  constexpr int count = 1 << 15;
  static float numbers[count];
  static Narrow narrowHere[count];
  for (unsigned i = 0; i < count; ++i) {
    unsigned bits = i / 4 << 18 | (i % 4 == 0 ? 0 : i % 4 == 1 ? 1 : i % 4 == 2 ? 0x20000 : 0x3ffff);
    memcpy(&numbers[i], &bits, sizeof bits);
  }
  float *in;
  Narrow *narrowThere;
  cudaMalloc(&in, sizeof numbers);
  cudaMalloc(&narrowThere, sizeof narrowHere);
  cudaMemcpy(in, numbers, sizeof numbers, cudaMemcpyHostToDevice);
  narrow<<<count / 128, 128>>>(narrowThere, in);
  cudaMemcpy(narrowHere, narrowThere, sizeof narrowHere, cudaMemcpyDeviceToHost);
  int different = 0;
  for (int i = 0; i < count; ++i) {
    Narrow wanted = narrowed(numbers[i]);
    different += memcmp(&wanted, &narrowHere[i], sizeof wanted) != 0;
  }

  Wide *wideThere, wideHere[256];
  cudaMalloc(&wideThere, sizeof wideHere);
  widen<<<1, 256>>>(wideThere);
  cudaMemcpy(wideHere, wideThere, sizeof wideHere, cudaMemcpyDeviceToHost);
  for (int i = 0; i < 256; ++i)
    for (int format = 0; format < 2; ++format) {
      __half2_raw wanted = widened(i).of[format], found = wideHere[i].of[format];
      different += wanted.x != found.x && !(isNan(wanted.x) && isNan(found.x));
      different += wanted.y != found.y && !(isNan(wanted.y) && isNan(found.y));
    }
  if (different)
    printf("%d are different\n", different);
  return different != 0;
}
