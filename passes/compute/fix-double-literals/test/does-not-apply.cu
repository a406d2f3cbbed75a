// RUN: kb-opt -passes=fix-double-literals --quiet --remarks-file=%t.yaml -o %t %s
// RUN: diff %s %t
// RUN: FileCheck %s < %t.yaml
// CHECK-NOT: !Passed

// CHECK: Function: alreadyFloat
// CHECK: String: no float expression has a double literal
__global__ void alreadyFloat(const float *x, float *y) { y[threadIdx.x] = x[threadIdx.x] * 2.0f; }

// CHECK: Function: staysDouble
// CHECK: String: no float expression has a double literal
__global__ void staysDouble(const float *x, double *y) { y[threadIdx.x] = x[threadIdx.x] * 2.0; }

// CHECK: Function: doubleOperand
// CHECK: String: '''scale'' is a double itself'
__global__ void doubleOperand(const float *x, float *y, double scale) {
  y[threadIdx.x] = x[threadIdx.x] * scale * 2.0;
}

// The user asks for double.
// CHECK: Function: explicitCast
// CHECK: String: '''(double)x[threadIdx.x]'' is a double itself'
__global__ void explicitCast(const float *x, float *y) {
  y[threadIdx.x] = (double)x[threadIdx.x] * 2.0;
}

// CHECK: Function: ownFunction
// CHECK: is a double itself'
__device__ double half(double x) { return x / 2; }
__global__ void ownFunction(const float *x, float *y) {
  y[threadIdx.x] = half(x[threadIdx.x]) * 2.0;
}

// CHECK: Function: tooLarge
// CHECK: String: '''1e300'' is outside the range of float'
__global__ void tooLarge(const float *x, float *y) { y[threadIdx.x] = x[threadIdx.x] * 1e300; }

// CHECK: Function: suppressed
// CHECK: String: suppressed by the NOKBOPT comment for line {{[0-9]+}}
__global__ void suppressed(const float *x, float *y) {
  y[threadIdx.x] = x[threadIdx.x] * 2.0; // NOKBOPT
}

// A rounded bound would change how often the loop runs.
// CHECK: Function: countsTo
// CHECK: String: '''k'' is compared without any float'
__global__ void countsTo(float *y, int n) {
  for (int k = 0; k < n * 0.5; ++k)
    y[k] = 0;
}

// One instance computes in double.
// CHECK: Function: inEither
// CHECK: String: no float expression has a double literal
template <class T> __global__ void inEither(const T *x, T *y) {
  y[threadIdx.x] = x[threadIdx.x] * 0.1 + 1.5;
}
void launchBoth(const float *x, float *y, const double *u, double *v) {
  inEither<<<1, 32>>>(x, y);
  inEither<<<1, 32>>>(u, v);
}

// What the host or other instances use stays as it is.
// CHECK: Function: ofBothSides
// CHECK: String: 'the double literals of ''both'' are those of the host or of other instances as well'
__host__ __device__ float both(float x) { return x * 0.1; }
__global__ void ofBothSides(const float *x, float *y) { y[threadIdx.x] = both(x[threadIdx.x]); }
// CHECK: Function: ofInstances
// CHECK: String: 'the double literals of ''any'' are those of the host or of other instances as well'
template <class T> __device__ T any(T x) { return x * 0.1; }
__global__ void ofInstances(const float *x, float *y) { y[threadIdx.x] = any(x[threadIdx.x]); }

// The macro is more than the literal.
// CHECK: Function: partOfMacro
// CHECK: String: a literal comes from a macro
#define SCALED(x) ((x) * 0.1)
__global__ void partOfMacro(const float *x, float *y) { y[threadIdx.x] = SCALED(x[threadIdx.x]); }
