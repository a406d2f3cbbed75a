// A skeleton of a workload for a function by name. Methods need an object, and hidden ones cannot be named: neither is proposed.
// REQUIRES: nvcc
// RUN: kb-opt --emit=workload %s > %t 2> %t.err && FileCheck --check-prefix=FIRST --input-file=%t %s
// RUN: FileCheck --check-prefix=OTHERS --input-file=%t.err --implicit-check-not=step --implicit-check-not=hidden %s
// RUN: kb-opt --emit=workload --entry=ops::twice %s 2>&1 | FileCheck --check-prefix=TWICE %s
// RUN: %status 1 kb-opt --emit=workload --entry=ops::Solver::step %s 2>&1 | FileCheck --check-prefix=METHOD %s
// RUN: %status 2 kb-opt -passes=auto --entry=ops::scale %s 2>&1 | FileCheck --check-prefix=USAGE %s
namespace ops {
__global__ void scaleKernel(float *x, float a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    x[i] *= a;
}
class Solver {
public:
  void step(float *x, int n) { scaleKernel<<<(n + 255) / 256, 256>>>(x, 2.0f, n); }
  // FIRST: entry: ops::Solver::once
  static void once(float *x, int n) { scaleKernel<<<(n + 255) / 256, 256>>>(x, 3.0f, n); }

private:
  static void hidden(float *x, int n) { scaleKernel<<<(n + 255) / 256, 256>>>(x, 3.0f, n); }
};
// OTHERS: 'ops::scale' can be called too ({{.*}}:[[#@LINE+2]]:6): --entry=ops::scale
// OTHERS: 'ops::scaleKernel' can be called too
void scale(float *x, float a, int n) { scaleKernel<<<(n + 255) / 256, 256>>>(x, a, n); }
// TWICE: entry: ops::twice
void twice(float *x, float a, int n) {
  scale(x, a, n);
  scale(x, a, n);
}
} // namespace ops
// METHOD: error: no function 'ops::Solver::step' in '{{.*}}' that a workload can call
// METHOD: note: those that launch kernels, and kernels, are ops::Solver::once, ops::scale, ops::scaleKernel
// USAGE: error: '--entry' is of '--emit=workload'
