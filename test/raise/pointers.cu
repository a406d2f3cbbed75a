// RUN: kb-opt --emit=kb-nest %s | FileCheck %s
// RUN: kb-opt -passes=schedule --quiet -o %t.cu %s
// RUN: %if long %{ kb-opt --by-passes --judge=%t.cu --promise=reassociates %s | FileCheck --check-prefix=JUDGE %s %}
// REQUIRES: sandbox
// What follows a branch that gives a pointer its value is read once for each side.

#include <cstdio>
#include <vector>

// JUDGE: CPU device checks passed
// JUDGE: correct

// CHECK-LABEL: kb.nest @_Z6concat{{.*}} dims ["row", "column"]
// CHECK: kb.when "" [] where <{{.*}} : wa - column - 1 >= 0 exact>
// CHECK-NEXT: kb.store {{.*}} "$0" [{{.*}}"a" argument 0{{.*}} : column + row * wa>>]
// CHECK: kb.when "" [] where <{{.*}} : column - wa >= 0 exact>
// CHECK-NEXT: kb.store {{.*}} "$0" [{{.*}}"b" argument 1{{.*}} : column + row * wb - wa>>]
__global__ void concat(const float *a, const float *b, float *out, int rows, int wa, int wb) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= rows * (wa + wb))
    return;
  int row = i / (wa + wb), column = i % (wa + wb), width;
  const float *from;
  if (column < wa) {
    from = a;
    width = wa;
  } else {
    column -= wa;
    from = b;
    width = wb;
  }
  from += row * width;
  out[i] = from[column];
}

// CHECK-LABEL: kb.nest @_Z4pick{{.*}}
// CHECK: kb.when "" [] where <{{.*}} : y == 0 exact>
// CHECK: "2.0f * $0" [{{.*}}"a"
// CHECK: kb.when "" [] where <{{.*}} : y - 1 >= 0 exact>
// CHECK: "2.0f * $0" [{{.*}}"b"
__global__ void pick(const float *a, const float *b, float *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  const float *from = blockIdx.y == 0 ? a : b;
  if (i < n)
    out[blockIdx.y * n + i] = 2.0f * from[i];
}

// Its only return is read twice.
__device__ float either(const float *a, const float *b, int i, int m) {
  const float *from = a;
  if (i < m)
    from = b;
  return from[i];
}
// CHECK-LABEL: kb.nest @_Z5mixed
// CHECK: kb.let "either_result" : "float" "" []
// CHECK: kb.let "either_result" : "float" "$0" [{{.*}}"b"{{.*}} reassigns
// CHECK: kb.let "either_result" : "float" "$0" [{{.*}}"a"{{.*}} reassigns
// CHECK: kb.store {{.*}} "either_result + 1.0f"
__global__ void mixed(const float *a, const float *b, float *out, int n, int m) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    out[i] = either(a, b, i, m) + 1.0f;
}

// Either copy of what follows starts with what the variable was.
// CHECK-LABEL: kb.nest @_Z5moved
// CHECK: kb.store {{.*}} : i + 1>> "$0" [{{.*}} : i + 1>>]
// CHECK-NOT: i + 2
__global__ void moved(float *out, const float *in, int n, int m) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  int j = i;
  if (in[i] > 0.0f) {
    if (i < m)
      return;
  }
  j = j + 1;
  out[j] = in[j];
}

// CHECK: kb.unraised @_Z6walked{{.*}} "what 'from' points to is not understood"
__global__ void walked(const float *a, const float *b, float *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  const float *from = a;
  float sum = 0.0f;
  if (i < n) {
    for (int k = 0; k < 4; ++k) {
      sum += from[i];
      if (k == 1)
        from = b;
    }
    out[i] = sum;
  }
}

// The counter's value before, an integer that is loaded, and one of few bits.
// CHECK-LABEL: kb.nest @_Z4ring
// CHECK: kb.over "j" ascending
// CHECK: kb.let "before" : "" "$0" [{{.*}} : j>>] reassigns
__global__ void ring(const float *in, float *out, int n, int m) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    float sum = 0.0f;
    int before = m - 1;
    for (int j = 0; j < m; before = j++)
      sum += in[i + j] * in[i + before];
    out[i] = sum;
  }
}
// CHECK: kb.unraised @_Z7skipped{{.*}} "what follows 'continue' is not understood: 'for (int j = 0; j < m; before = j++) {{.*}}"
__global__ void skipped(const float *in, float *out, int n, int m) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    float sum = 0.0f;
    int before = m - 1;
    for (int j = 0; j < m; before = j++) {
      if (in[j] > 1.0f)
        continue;
      sum += in[i + j] * in[i + before];
    }
    out[i] = sum;
  }
}

// CHECK-LABEL: kb.nest @_Z6sparse
// CHECK: kb.over "k" reduction extent <over [i] with [end, begin] : end - begin>
// CHECK: kb.let "table_index" : "unsigned char" "$0" [{{.*}} : i>>]
// CHECK: "{{.*}} + $0" [{{.*}} with [table_index] : table_index>>]
__global__ void sparse(size_t n, const size_t *starts, const size_t *columns, const float *in, const unsigned char *table,
                       const float *shift, float *out) {
  size_t i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    float sum = 0.0f;
    size_t begin = starts[i], end = starts[i + 1];
    for (size_t k = begin; k < end; ++k)
      sum += in[columns[k]];
    out[i] = sum + shift[table[i]];
  }
}

int main() {
  const int n = 200, m = 33;
  std::vector<float> in(2 * n), result(2 * n);
  std::vector<size_t> starts(n + 1), columns(n * 3);
  std::vector<unsigned char> table(n);
  for (int i = 0; i < 2 * n; ++i)
    in[i] = i % 17 * 0.25f - 2.0f;
  for (int i = 0; i <= n; ++i)
    starts[i] = i ? starts[i - 1] + i % 4 : 0;
  for (size_t i = 0; i < columns.size(); ++i)
    columns[i] = i * 7 % n;
  for (int i = 0; i < n; ++i)
    table[i] = i % 200;
  float *a, *out;
  size_t *s, *c;
  unsigned char *t;
  cudaMalloc(&a, in.size() * 4), cudaMalloc(&out, in.size() * 4), cudaMalloc(&s, (n + 1) * 8), cudaMalloc(&c, n * 24);
  cudaMalloc(&t, n);
  cudaMemcpy(a, in.data(), in.size() * 4, cudaMemcpyHostToDevice);
  cudaMemcpy(s, starts.data(), (n + 1) * 8, cudaMemcpyHostToDevice);
  cudaMemcpy(c, columns.data(), n * 24, cudaMemcpyHostToDevice);
  cudaMemcpy(t, table.data(), n, cudaMemcpyHostToDevice);
  cudaMemset(out, 0, in.size() * 4);
  double sum = 0;
  auto add = [&] {
    cudaMemcpy(result.data(), out, result.size() * 4, cudaMemcpyDeviceToHost);
    for (float value : result)
      sum += value;
  };
  dim3 grid((n + 63) / 64);
  concat<<<grid, 64>>>(a, a + n, out, 10, 12, 8);
  add();
  pick<<<dim3(grid.x, 2), 64>>>(a, a + n, out, n);
  add();
  mixed<<<grid, 64>>>(a, a + n, out, n, 50);
  add();
  moved<<<grid, 64>>>(out, a, n, 50);
  add();
  walked<<<grid, 64>>>(a, a + n, out, n);
  add();
  ring<<<grid, 64>>>(a, out, n, m);
  add();
  skipped<<<grid, 64>>>(a, out, n, m);
  add();
  sparse<<<grid, 64>>>(n, s, c, a, t, a, out);
  add();
  printf("%g\n", sum);
}
