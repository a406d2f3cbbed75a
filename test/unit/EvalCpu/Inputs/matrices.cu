// Matrix units: wmma in its types, mma.sync, ldmatrix.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <mma.h>
using namespace nvcuda;

template <typename T, typename Memory, typename Acc, int M, int N, int K, typename LayoutB>
__device__ void multiply(const Memory *a, const Memory *b, Acc *c) {
  wmma::fragment<wmma::matrix_a, M, N, K, T, wmma::row_major> fa;
  wmma::fragment<wmma::matrix_b, M, N, K, T, LayoutB> fb;
  wmma::fragment<wmma::accumulator, M, N, K, Acc> fc;
  wmma::fill_fragment(fc, Acc(1));
  wmma::load_matrix_sync(fa, a, K);
  wmma::load_matrix_sync(fb, b, std::is_same<LayoutB, wmma::row_major>::value ? N : K);
  wmma::mma_sync(fc, fa, fb, fc);
  for (int i = 0; i < fc.num_elements; ++i)
    fc.x[i] = fc.x[i] * Acc(2);
  wmma::store_matrix_sync(c, fc, N, wmma::mem_row_major);
}
extern "C" __global__ void halfs(const __half *a, const __half *b, float *c) {
  multiply<__half, __half, float, 16, 16, 16, wmma::col_major>(a, b, c);
}
extern "C" __global__ void halfsWide(const __half *a, const __half *b, float *c) {
  multiply<__half, __half, float, 8, 32, 16, wmma::row_major>(a, b, c);
}
extern "C" __global__ void brains(const __nv_bfloat16 *a, const __nv_bfloat16 *b, float *c) {
  multiply<__nv_bfloat16, __nv_bfloat16, float, 16, 16, 16, wmma::row_major>(a, b, c);
}
extern "C" __global__ void bytes(const signed char *a, const signed char *b, int *c) {
  multiply<signed char, signed char, int, 16, 16, 16, wmma::col_major>(a, b, c);
}
extern "C" __global__ void bytesTall(const signed char *a, const signed char *b, int *c) {
  multiply<signed char, signed char, int, 32, 8, 16, wmma::row_major>(a, b, c);
}
extern "C" __global__ void unsignedBytes(const unsigned char *a, const unsigned char *b, int *c) {
  multiply<unsigned char, unsigned char, int, 16, 16, 16, wmma::row_major>(a, b, c);
}
extern "C" __global__ void unsignedBytesWide(const unsigned char *a, const unsigned char *b, int *c) {
  multiply<unsigned char, unsigned char, int, 8, 32, 16, wmma::col_major>(a, b, c);
}
extern "C" __global__ void tensorFloats(const float *a, const float *b, float *c) {
  multiply<wmma::precision::tf32, float, float, 16, 16, 8, wmma::row_major>(a, b, c);
}
extern "C" __global__ void tensorFloatsColumns(const float *a, const float *b, float *c) {
  multiply<wmma::precision::tf32, float, float, 16, 16, 8, wmma::col_major>(a, b, c);
}
extern "C" __global__ void doubles(const double *a, const double *b, double *c) {
  multiply<double, double, double, 8, 8, 4, wmma::row_major>(a, b, c);
}
extern "C" __global__ void doublesColumns(const double *a, const double *b, double *c) {
  multiply<double, double, double, 8, 8, 4, wmma::col_major>(a, b, c);
}

// One m16n8k16 product straight from shared memory.
extern "C" __global__ void assembly(const __half *a, const __half *b, float *c) {
  __shared__ __align__(16) __half sa[16 * 16], sb[16 * 8];
  int lane = threadIdx.x;
  for (int i = lane; i < 256; i += 32)
    sa[i] = a[i];
  for (int i = lane; i < 128; i += 32)
    sb[i] = b[i];
  __syncwarp();
  unsigned ra[4], rb[2];
  unsigned pa = __cvta_generic_to_shared(sa + (lane % 16) * 16 + (lane / 16) * 8);
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(ra[0]), "=r"(ra[1]), "=r"(ra[2]), "=r"(ra[3]) : "r"(pa));
  unsigned pb = __cvta_generic_to_shared(sb + (lane % 16) * 8);
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0,%1}, [%2];"
               : "=r"(rb[0]), "=r"(rb[1]) : "r"(pb));
  float d[4];
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, "
               "{%8,%9}, {%10,%11,%12,%13};"
               : "=f"(d[0]), "=f"(d[1]), "=f"(d[2]), "=f"(d[3])
               : "r"(ra[0]), "r"(ra[1]), "r"(ra[2]), "r"(ra[3]), "r"(rb[0]), "r"(rb[1]), "f"(0.f),
                 "f"(0.f), "f"(0.f), "f"(0.f));
  int row = lane / 4, column = lane % 4 * 2;
  c[row * 8 + column] = d[0];
  c[row * 8 + column + 1] = d[1];
  c[(row + 8) * 8 + column] = d[2];
  c[(row + 8) * 8 + column + 1] = d[3];
}
