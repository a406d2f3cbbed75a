// Plain CUDA C++ without warp operations.
#include <cstdio>

__constant__ float scales[4] = {1.f, 2.f, 3.f, 4.f};
__device__ int total = 7;
__device__ int *totalPointer = &total;
static const __device__ int table[5] = {10, 20, 30, 40, 50};

extern "C" __global__ void saxpy(int n, float a, const float *__restrict__ x, float *y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    y[i] = a * x[i] + y[i] * scales[i & 3];
}

extern "C" __global__ void whereAmI(unsigned *out) {
  unsigned thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
  unsigned block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
  unsigned threads = blockDim.x * blockDim.y * blockDim.z;
  out[block * threads + thread] = thread + 1000 * block + 100000 * (thread % 32);
  unsigned lane;
  asm("mov.u32 %0, %%laneid;" : "=r"(lane));
  if (lane != thread % 32 || warpSize != 32)
    out[0] = ~0u;
}

extern "C" __global__ void reverse(int *data) {
  __shared__ int first[64];
  extern __shared__ int second[];
  int i = threadIdx.x, n = blockDim.x;
  int *own = data + blockIdx.x * n;
  first[i] = own[i];
  __syncthreads();
  second[i] = first[n - 1 - i];
  __syncthreads();
  own[i] = second[i] + __syncthreads_count(own[i] & 1) * 1000;
}

template <typename T> __device__ void atomicsOf(T *p, T v) {
  atomicAdd(p, v);
  atomicExch(p + 1, v);
}
extern "C" __global__ void atomics(int *i, unsigned *u, unsigned long long *l, float *f, double *d) {
  atomicsOf(i, 2);
  atomicsOf(u, 3u);
  atomicsOf(l, 4ull);
  atomicsOf(f, 0.5f);
  atomicAdd(d, 0.25);
  atomicMax(i + 2, int(threadIdx.x));
  atomicMin(i + 3, -int(threadIdx.x));
  atomicInc(u + 2, 9u);
  atomicDec(u + 3, 9u);
  atomicAnd(u + 4, ~(1u << threadIdx.x));
  atomicOr(u + 5, 1u << threadIdx.x);
  atomicXor(u + 6, 1u);
  atomicCAS(u + 7, threadIdx.x, threadIdx.x + 1);
  atomicAdd_block(i + 4, 1);
  atomicAdd_system(i + 5, 1);
  atomicAdd(&total, 1);
}

struct Shape {
  virtual __device__ int area() const { return 1; }
  int side = 3;
};
struct Square : Shape {
  __device__ int area() const override { return side * side; }
};
struct Arguments {
  int *out;
  short tags[3];
  double weight;
};
__device__ __noinline__ int factorial(int n) { return n < 2 ? 1 : n * factorial(n - 1); }
__device__ int twice(int x) { return 2 * x; }
__device__ int thrice(int x) { return 3 * x; }
__device__ int (*functions[2])(int) = {twice, thrice};

extern "C" __global__ void objects(Arguments arguments, int select) {
  Square square;
  Shape plain;
  Shape *shape = select ? (Shape *)&square : &plain;
  int *out = arguments.out;
  out[0] = shape->area();
  out[1] = factorial(6);
  out[2] = functions[select](21);
  out[3] = *totalPointer;
  out[4] = table[select + 2];
  out[5] = arguments.tags[select + 1] + int(arguments.weight);
  int local[8];
  for (int i = 0; i < 8; ++i)
    local[i] = i * i;
  out[6] = local[(select * 5) & 7];
  int *heap = (int *)malloc(4);
  *heap = 77;
  out[7] = *heap;
  free(heap);
  printf("%d %s %.2f\n", out[1], "text", 2.5);
}

extern "C" __global__ void corners(const float *x, int zero, int *out, float *f) {
  out[0] = int(x[0]);             // NaN
  out[1] = int(x[1]);             // 1e20
  out[2] = int(unsigned(x[2]));   // -5
  out[3] = 7 / zero;
  out[4] = unsigned(7) / unsigned(zero);
  f[0] = __fdiv_rn(x[3], x[4]);
  f[1] = sqrtf(x[4]);
  f[2] = __fadd_rz(x[3], x[5]);
  f[3] = __fadd_ru(x[3], x[5]);
  f[4] = fmaf(x[3], x[4], x[5]);
  f[5] = x[3] * x[4] + x[5];
  f[6] = fminf(x[0], 2.f);
  f[7] = __saturatef(x[4]);
  out[5] = __float2int_rn(2.5f * x[3] / x[3]);
  out[6] = __clz(zero) + __popc(255) + __ffs(8) + __brev(1) / (1 << 30);
  out[7] = __byte_perm(0x11223344, 0x55667788, 0x7531);
  out[8] = __mulhi(1 << 30, 1 << 10);
  out[9] = __double2hiint(1.0);
  out[10] = __dp4a(0x01020304, 0x01010101, 100);
}

extern "C" __global__ void stop(int kind) {
  if (kind == 1)
    __trap();
  if (kind == 2)
    asm volatile("exit;");
  if (kind == 3)
    asm volatile("fantasy.u32 %%r1, %0;" ::"r"(kind));
}

// A ticket lock and a flag: threads wait for each other.
extern "C" __global__ void handOver(int *flag, int *out) {
  volatile int *turn = flag;
  int me = blockDim.x - 1 - threadIdx.x;
  while (*turn != me)
    ;
  out[me] = *turn + 10;
  *turn = me + 1;
}
