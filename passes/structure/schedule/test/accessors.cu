// Accessors of several dimensions: a[i] is an object of its own, of which nothing is in memory. Fields that are not public are named by the methods
// that give them, also by the host, which tests the sizes.
// RUN: kb-opt --emit=kb-nest %s | FileCheck --check-prefix=NEST %s
// RUN: kb-opt --quiet -passes='schedule{kernel=scale as="map block=64"},schedule{kernel=sums as="rows team=32"},schedule{kernel=gather as="map block=64"}' -o %t.cu %s
// RUN: %code %t.cu | FileCheck %s
// RUN: kb-opt --judge=%t.cu --promise=reassociates %s | FileCheck --check-prefix=JUDGED %s
// JUDGED: {{^}}correct
// CHECK: scale_{{.*}}<<<
// CHECK: sums_{{.*}}<<<
// CHECK: gather_{{.*}}<<<
#include <cstdio>
#include <vector>

template <typename T, int N, typename I> class ViewBase {
public:
  __host__ __device__ ViewBase(T *__restrict__ data, const I *sizes, const I *strides) : data_(data), sizes_(sizes), strides_(strides) {}
  __host__ __device__ I size(I i) const { return sizes_[i]; }

protected:
  T *__restrict__ data_;
  const I *sizes_;
  const I *strides_;
};
template <typename T, int N, typename I> class View : public ViewBase<T, N, I> {
public:
  __host__ __device__ View(T *__restrict__ data, const I *sizes, const I *strides) : ViewBase<T, N, I>(data, sizes, strides) {}
  __host__ __device__ View<T, N - 1, I> operator[](I i) {
    return View<T, N - 1, I>(this->data_ + this->strides_[0] * i, this->sizes_ + 1, this->strides_ + 1);
  }
  __host__ __device__ const View<T, N - 1, I> operator[](I i) const {
    return View<T, N - 1, I>(this->data_ + this->strides_[0] * i, this->sizes_ + 1, this->strides_ + 1);
  }
};
template <typename T, typename I> class View<T, 1, I> : public ViewBase<T, 1, I> {
public:
  __host__ __device__ View(T *__restrict__ data, const I *sizes, const I *strides) : ViewBase<T, 1, I>(data, sizes, strides) {}
  __host__ __device__ T &operator[](I i) { return this->data_[this->strides_[0] * i]; }
  __host__ __device__ const T &operator[](I i) const { return this->data_[this->strides_[0] * i]; }
};
template <typename T, int N, typename I> class PackedBase {
public:
  PackedBase(T *data, const std::vector<I> &sizes) : data_(data) {
    I stride = 1;
    for (int i = N; i-- > 0; stride *= sizes[i]) {
      sizes_[i] = sizes[i];
      strides_[i] = stride;
    }
  }
  __host__ __device__ I stride(I i) const { return strides_[i]; }
  __host__ __device__ I size(I i) const { return sizes_[i]; }
  __host__ __device__ T *data() const { return data_; }

protected:
  T *__restrict__ data_;
  I sizes_[N];
  I strides_[N];
};
template <typename T, int N, typename I = int> class Packed : public PackedBase<T, N, I> {
public:
  Packed(T *data, const std::vector<I> &sizes) : PackedBase<T, N, I>(data, sizes) {}
  __device__ View<T, N - 1, I> operator[](I i) {
    I *sizes = this->sizes_ + 1;
    I *strides = this->strides_ + 1;
    return View<T, N - 1, I>(this->data_ + this->strides_[0] * i, sizes, strides);
  }
  __device__ const View<T, N - 1, I> operator[](I i) const {
    const I *sizes = this->sizes_ + 1;
    const I *strides = this->strides_ + 1;
    return View<T, N - 1, I>(this->data_ + this->strides_[0] * i, sizes, strides);
  }
};

// NEST: kb.nest @_Z5scale{{.*}} dims ["i", "j"] extents [#kb.expr<over [i, j] with [y.size(0)] : y.size(0)>, #kb.expr<over [i, j] with [y.size(1)] : y.size(1)>]
// NEST-SAME: #kb.symbol<"y.size(0)" param argument 0 offset 8>
// NEST: kb.store <element <argument "y.data()" argument 0> {{.*}} : j * y.stride(1) + i * y.stride(0)>> "2.0f * $0" [{{.*}}<argument "x.data()" argument 1> {{.*}} : j * x.stride(1) + i * x.stride(0)>>]
__global__ void scale(Packed<float, 2> y, const Packed<float, 2> x) {
  const int i = blockIdx.y * blockDim.y + threadIdx.y, j = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < y.size(0) && j < y.size(1))
    y[i][j] = 2.0f * x[i][j];
}

// A row that a variable holds, and its own size.
// NEST: kb.nest @_Z4sums{{.*}} dims ["b", "i"]
// NEST: kb.over "k" reduction extent <{{.*}} : x.size(2)>
// NEST-NEXT: kb.reduce {{.*}}<argument "x.data()" argument 1> {{.*}} : k * x.stride(2) + i * x.stride(1) + b * x.stride(0)>>]
__global__ void sums(Packed<float, 2> y, Packed<float, 3> x) {
  int b = blockIdx.x;
  const auto rows = x[b];
  for (int i = threadIdx.x; i < x.size(1); i += blockDim.x) {
    float s = 0;
    for (int k = 0; k < rows.size(1); ++k)
      s += rows[i][k];
    y[b][i] = s;
  }
}

// Which row it is depends on a loaded value.
// NEST: kb.nest @_Z6gather{{.*}} #kb.symbol<"at_data_index" varying>{{.*}} racefree
// NEST: kb.store {{.*}}"y.data()"
__global__ void gather(Packed<float, 2> y, const Packed<int, 1> at, const float *x) {
  int i = blockIdx.x, j = threadIdx.x;
  y[at.data()[i]][j] = x[i * blockDim.x + j];
}

// Nothing gives the data outside of the class.
template <typename T> class Closed {
public:
  __device__ T &operator[](int i) { return data[i * step]; }

private:
  T *data;
  int step;
};
// NEST: kb.unraised @_Z6closed
__global__ void closed(Closed<float> y) { y[blockIdx.x * blockDim.x + threadIdx.x] = 1.0f; }

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
  gather<<<n, m>>>(Packed<float, 2>(w, {n, m}), Packed<int, 1>(at, {n}), x);
  double total = 0;
  for (auto [from, count] : {std::pair(y, n * m), std::pair(z, n * 8), std::pair(w, n * m)}) {
    cudaMemcpy(host.data(), from, count * sizeof(float), cudaMemcpyDeviceToHost);
    for (int i = 0; i < count; ++i)
      total += host[i] * (i % 5);
  }
  printf("%f\n", total);
}
