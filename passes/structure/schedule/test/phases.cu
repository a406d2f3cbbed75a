// A transposed convolution is a convolution for each phase of its stride: tiles have one phase, and a term that a phase does not have is zero.
// The last step of a phase is no point where the stride does not divide the outputs.
// RUN: kb-opt "-passes=schedule{as='contraction bk=16 bm=64 bn=32 core=simt phases=1 split=1 stages=2 tm=8 tn=4 vector=1'}" --quiet -o %t.cu %s
// RUN: %code %t.cu | FileCheck %s
// RUN: kb-opt --by-passes --judge=%t.cu --promise=reassociates %s | FileCheck --check-prefix=JUDGE %s
// JUDGE: {{^}}correct

// By rules alone it is a contraction, too, and stays one where the passes go on.
// RUN: kb-opt -passes=schedule --emit=kb-nest %s | FileCheck --check-prefix=NEST %s
// RUN: kb-opt -passes=schedule %s 2>&1 | FileCheck --check-prefix=OWN %s
// OWN: spread_tiled{{.*}}contraction
// OWN-SAME: phases=1

// NEST-LABEL: kb.nest @_Z6spread
// NEST-SAME: dims ["yPhase", "xPhase", "image", "channel", "yStep", "xStep"]
// NEST: kb.over "c"
// NEST-NEXT: kb.when "" [] where <{{.*}} : 8 - ((yPhase + 1) floordiv 2) - yStep >= 0, {{.*}} exact>
// NEST-NEXT: kb.over "k" reduction extent <{{.*}} : 2>
// NEST: kb.over "l" reduction extent <{{.*}} : 2>
// NEST: kb.when "" [] where <{{.*}} : 8 - ((yPhase + 1) floordiv 2) - yStep >= 0
// NEST-NEXT: kb.store

// CHECK: {{s}}pread_tiled{{[0-9]*}}(
// CHECK: const int yPhase = blockIdx.x /
// CHECK: unsigned wOutside = 1u << 31;
__global__ void spread(float *__restrict__ out, const float *__restrict__ in, const float *__restrict__ w, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n * 32 * 17 * 13)
    return;
  int image = i / (32 * 17 * 13), channel = i / (17 * 13) % 32, y = i / 13 % 17, x = i % 13;
  float sum = 0.0f;
  for (int c = 0; c < 4; ++c)
    for (int k = 0; k < 3; ++k) {
      int t = y + 1 - k;
      if (t < 0 || t % 2 != 0 || t / 2 >= 9)
        continue;
      for (int l = 0; l < 3; ++l) {
        int u = x + 1 - l;
        if (u < 0 || u % 2 != 0 || u / 2 >= 7)
          continue;
        sum += in[((image * 4 + c) * 9 + t / 2) * 7 + u / 2] * w[((c * 32 + channel) * 3 + k) * 3 + l];
      }
    }
  out[i] = sum;
}

/* kb-workload:
entry: run
sizes: {n: 2}
test-sizes: [{n: 3}]
parameters:
  - {name: out, type: f32, shape: [n, 32, 17, 13], role: out}
  - {name: in, type: f32, shape: [n, 4, 9, 7], role: in, init: normal}
  - {name: w, type: f32, shape: [4, 32, 3, 3], role: in, init: normal}
  - {name: n, value: n}
*/
void run(float *out, const float *in, const float *w, int n) { spread<<<(n * 32 * 17 * 13 + 255) / 256, 256>>>(out, in, w, n); }
