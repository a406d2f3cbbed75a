// Kernels that are handed accessors compute the same on another schedule, which the host tests by the accessors' own methods.
// RUN: kb-opt --quiet -passes='schedule{kernel=scale as="map block=64"},schedule{kernel=sums as="rows team=32"},schedule{kernel=gather as="map block=64"}' -o %t.cu %s
// RUN: %code %t.cu | FileCheck %s
// RUN: kb-opt --judge=%t.cu --promise=reassociates %s | FileCheck --check-prefix=JUDGED %s
// JUDGED: {{^}}correct
// CHECK: scale_{{.*}}<<<
// CHECK: sums_{{.*}}<<<
// CHECK: gather_{{.*}}<<<
#include <cstdio>
#include <vector>

template <typename T, int N> class View {
public:
  __host__ __device__ View(T *data, const int *strides) : data_(data), strides_(strides) {}
  __host__ __device__ View<T, N - 1> operator[](int i) const { return View<T, N - 1>(data_ + strides_[0] * i, strides_ + 1); }

protected:
  T *data_;
  const int *strides_;
};
template <typename T> class View<T, 1> {
public:
  __host__ __device__ View(T *data, const int *strides) : data_(data), strides_(strides) {}
  __host__ __device__ T &operator[](int i) const { return data_[strides_[0] * i]; }

protected:
  T *data_;
  const int *strides_;
};
template <typename T, int N> class Packed {
public:
  Packed(T *data, const std::vector<int> &sizes) : data_(data) {
    int stride = 1;
    for (int i = N; i-- > 0; stride *= sizes[i]) {
      sizes_[i] = sizes[i];
      strides_[i] = stride;
    }
  }
  __host__ __device__ int stride(int i) const { return strides_[i]; }
  __host__ __device__ int size(int i) const { return sizes_[i]; }
  __host__ __device__ T *data() const { return data_; }
  __device__ View<T, N - 1> operator[](int i) {
    const int *strides = strides_ + 1;
    return View<T, N - 1>(data_ + strides_[0] * i, strides);
  }

protected:
  T *data_;
  int sizes_[N], strides_[N];
};

__global__ void scale(Packed<float, 2> y, Packed<float, 2> x) {
  const int i = blockIdx.y * blockDim.y + threadIdx.y, j = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < y.size(0) && j < y.size(1))
    y[i][j] = 2.0f * x[i][j];
}

__global__ void sums(Packed<float, 2> y, Packed<float, 3> x) {
  int b = blockIdx.x;
  const auto rows = x[b];
  for (int i = threadIdx.x; i < x.size(1); i += blockDim.x) {
    float s = 0;
    for (int k = 0; k < x.size(2); ++k)
      s += rows[i][k];
    y[b][i] = s;
  }
}

__global__ void gather(Packed<float, 2> y, const int *at, const float *x) {
  int i = blockIdx.x, j = threadIdx.x;
  y[at[i]][j] = x[i * blockDim.x + j];
}

int main() {
  const int n = 40, m = 96;
  std::vector<float> host(n * m);
  std::vector<int> places(n);
  for (int i = 0; i < n * m; ++i)
    host[i] = (i * 7 % 31) - 15;
  for (int i = 0; i < n; ++i)
    places[i] = i * 7 % n;
  float *x, *y, *z, *w;
  int *at;
  cudaMalloc(&x, n * m * sizeof(float));
  cudaMalloc(&y, n * m * sizeof(float));
  cudaMalloc(&z, n * 8 * sizeof(float));
  cudaMalloc(&w, n * m * sizeof(float));
  cudaMalloc(&at, n * sizeof(int));
  cudaMemcpy(x, host.data(), n * m * sizeof(float), cudaMemcpyHostToDevice);
  cudaMemcpy(at, places.data(), n * sizeof(int), cudaMemcpyHostToDevice);
  scale<<<dim3((m + 31) / 32, (n + 7) / 8), dim3(32, 8)>>>(Packed<float, 2>(y, {n, m}), Packed<float, 2>(x, {n, m}));
  sums<<<n, 32>>>(Packed<float, 2>(z, {n, 8}), Packed<float, 3>(y, {n, 8, m / 8}));
  gather<<<n, m>>>(Packed<float, 2>(w, {n, m}), at, x);
  double total = 0;
  for (auto [from, count] : {std::pair(y, n * m), std::pair(z, n * 8), std::pair(w, n * m)}) {
    cudaMemcpy(host.data(), from, count * sizeof(float), cudaMemcpyDeviceToHost);
    for (int i = 0; i < count; ++i)
      total += host[i] * (i % 5);
  }
  printf("%f\n", total);
}
