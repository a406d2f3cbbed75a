// Half, bf16, approximations and inline PTX.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

extern "C" __global__ void halves(const float *x, float *out) {
  __half a = __float2half(x[0]), b = __float2half(x[1]), c = __float2half(x[2]);
  out[0] = __half2float(__hadd(a, b));
  out[1] = __half2float(__hfma(a, b, c));
  out[2] = __half2float(__hdiv(a, b));
  out[3] = __hgt(a, b) + 2 * __hle(a, b);
  out[4] = __half2float(hsqrt(b));
  out[5] = __half2float(hexp(c));
  __half2 p = __halves2half2(a, b), q = __half2half2(c);
  __half2 r = __hfma2(p, q, p);
  out[6] = __low2float(r);
  out[7] = __high2float(r);
  out[8] = __half2int_rn(a);
  out[9] = __half2float(__hmax(a, b));
  out[10] = __half2float(__hmul_sat(a, b));
  out[11] = __half2float(a * b - c);
  out[12] = __half2float(__ushort2half_rn(3)) + __half2float(__int2half_rz(-7));
  out[13] = __half2float(hrcp(b)) + __half2float(__habs(__hneg(a)));
}

extern "C" __global__ void brains(const float *x, float *out) {
  __nv_bfloat16 a = __float2bfloat16(x[0]), b = __float2bfloat16(x[1]), c = __float2bfloat16(x[2]);
  out[0] = __bfloat162float(__hadd(a, b));
  out[1] = __bfloat162float(__hfma(a, b, c));
  out[2] = __bfloat162float(a);
  __nv_bfloat162 p = __halves2bfloat162(a, b);
  p = __hmul2(p, p);
  out[3] = __low2float(p);
  out[4] = __high2float(p);
  out[5] = __hlt(a, b) ? 1.f : 2.f;
  out[6] = __bfloat162float(__hmax(a, c));
  out[7] = float(c) + float(a * b);
  out[8] = __hfma(__float2bfloat16(x[3]), __float2bfloat16(x[4]), __float2bfloat16(x[5]));
  out[9] = a * b + c;
  out[10] = __hadd(__hmul_rn(a, b), c);
}

extern "C" __global__ void approximations(const float *x, float *out) {
  out[0] = __expf(x[0]);
  out[1] = __logf(x[0]);
  out[2] = __sinf(x[0]);
  out[3] = __powf(x[0], 2.f);
  out[4] = __fdividef(x[0], 3.f);
  out[5] = rsqrtf(x[0]);
  out[6] = tanhf(x[0]);
  out[7] = expf(x[0]);
  out[8] = sinf(x[0] * 1000000.f);
  out[9] = erff(x[0]);
  out[10] = float(exp(double(x[0])));
  out[11] = powf(x[0], 1.7f);
  float t;
  asm("tanh.approx.f32 %0, %1;" : "=f"(t) : "f"(x[0]));
  out[12] = t;
}

extern "C" __global__ void assembly(const int *in, int *out) {
  int r;
  asm("add.s32 %0, %1, %2;" : "=r"(r) : "r"(in[0]), "r"(in[1]));
  out[0] = r;
  asm("{\n .reg .pred p;\n .reg .b32 t<2>;\n setp.lt.s32 p, %1, %2;\n mov.b32 t0, 5;\n"
      " @p add.s32 t0, t0, 10;\n @!p sub.s32 t0, t0, 1;\n selp.b32 t1, 100, 200, p;\n"
      " add.s32 %0, t0, t1; }"
      : "=r"(r)
      : "r"(in[0]), "r"(in[1]));
  out[1] = r;
  asm("ld.global.nc.v2.s32 {%0, %1}, [%2+8];" : "=r"(r), "=r"(out[9]) : "l"(in));
  out[2] = r;
  asm volatile("st.global.cs.s32 [%0], %1;" ::"l"(out + 3), "r"(in[1]) : "memory");
  asm("bfe.u32 %0, %1, 4, 8;" : "=r"(r) : "r"(0x12345));
  out[4] = r;
  asm("lop3.b32 %0, %1, %2, %3, 0x96;" : "=r"(r) : "r"(1), "r"(3), "r"(7));
  out[5] = r;
  asm("shl.b32 %0, %1, 40;" : "=r"(r) : "r"(1));
  out[6] = r;
  unsigned low, high;
  asm("add.cc.u32 %0, %2, %3;\n addc.u32 %1, 0, 0;" : "=r"(low), "=r"(high) : "r"(~0u), "r"(2));
  out[7] = low + 10 * high;
  asm("atom.global.add.s32 %0, [%1], %2;" : "=r"(r) : "l"(out + 3), "r"(1) : "memory");
  out[8] = r;
  asm("{.reg .b16 l, h; mov.b32 {l, h}, %1; mov.b32 %0, {h, l};}" : "=r"(r) : "r"(0x00020001));
  out[10] = r;
  __shared__ int box[4];
  box[2] = 44;
  unsigned address = static_cast<unsigned>(__cvta_generic_to_shared(box));
  asm volatile("ld.shared.s32 %0, [%1+8];" : "=r"(r) : "r"(address));
  out[11] = r;
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(address), "l"(in) : "memory");
  asm volatile("cp.async.wait_all;" ::: "memory");
  out[12] = box[0];
}

// Shifts by the width or more, which C++ leaves undefined.
extern "C" __global__ void shifts(const int *by, const int *x, unsigned *out, unsigned long long *wide) {
  int i = threadIdx.x;
  out[3 * i] = unsigned(x[i]) << by[i];
  out[3 * i + 1] = unsigned(x[i]) >> by[i];
  out[3 * i + 2] = x[i] >> by[i];
  wide[i] = 1ull << by[i];
}

extern "C" __global__ void products(float *f, double *d) {
  f[2] = f[0] * f[1];
  d[2] = d[0] * d[1];
}

extern "C" __global__ void extremes(const float *x, float *out) {
  const float *own = x + 4 * threadIdx.x;
  float most = 0.0f, least = 8.0f;
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    most = fmaxf(most, own[k]);
    least = fminf(least, own[k]);
  }
  out[2 * threadIdx.x] = most;
  out[2 * threadIdx.x + 1] = least;
}

extern "C" __global__ void quotients(const float *x, const float *y, float *out) {
  int i = threadIdx.x;
  out[2 * i] = __fdividef(x[i], y[i]);
  out[2 * i + 1] = x[i] / y[i];
}
