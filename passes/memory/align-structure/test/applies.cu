// One structure for each form of declaration and of use; of two kernels one makes the change.
// RUN: kb-opt -passes=align-structure --quiet --remarks-file=%t.yaml -o %t %s
// RUN: FileCheck %s < %t
// RUN: FileCheck --check-prefix=REMARKS %s < %t.yaml

// CHECK: struct alignas(8) Complex {
struct Complex {
  float re, im;
};
// CHECK: typedef struct alignas(16) {
typedef struct {
  int key[2];
  float weight, bias;
  double sum, square;
} Entry;
// CHECK: struct Same {
struct Same {
  double only;
};

// REMARKS: !Passed
// REMARKS: aligned ''Complex'' to 8 bytes
__global__ void squares(const Complex *a, float *out) {
  int i = threadIdx.x;
  out[i] = a[i].re * a[i].re + a[i].im * a[i].im;
}
__global__ void conjugates(Complex *a) {
  Complex own = a[threadIdx.x];
  own.im = -own.im;
  a[threadIdx.x] = own;
}
// REMARKS: aligned ''Entry'' to 16 bytes
__global__ void sums(Entry *entries, const Same *same) {
  Entry &mine = entries[threadIdx.x];
  mine.sum += mine.weight * mine.key[0] + same->only;
  mine.square += mine.sum * mine.sum;
}
int main() {
  Complex *a;
  Entry *entries = nullptr;
  float *out;
  cudaMalloc((void **)&a, 256 * sizeof(Complex));
  cudaMalloc(&entries, 256 * sizeof(Entry));
  cudaMalloc(&out, 1024);
  Entry *host = (Entry *)malloc(256 * sizeof(Entry));
  squares<<<1, 256>>>(a, out);
  conjugates<<<1, 256>>>(a);
  sums<<<1, 256>>>(entries, nullptr);
  free(host);
}
