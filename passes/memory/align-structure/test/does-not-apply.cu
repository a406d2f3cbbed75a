// One kernel per reason for which the pass does not apply.
// RUN: kb-opt -passes=align-structure --quiet --remarks-file=%t.yaml -o %t %s
// RUN: diff %s %t
// RUN: FileCheck --implicit-check-not=!Passed %s < %t.yaml
#include <utility>

struct Odd {
  float x, y, z;
};
// CHECK: Function: odd
// CHECK: String: 'the size of ''Odd'', 12 bytes, allows no larger alignment'
__global__ void odd(Odd *p) { p->x += p->y; }

struct One {
  float x, y;
};
// CHECK: Function: one
// CHECK: String: 'the kernel uses one field of ''One'' at most'
__global__ void one(One *p) { p->x += 1; }

struct alignas(4) Own {
  float x, y;
};
// CHECK: Function: own
// CHECK: String: '''Own'' says how it is aligned'
__global__ void own(Own *p) { p->x += p->y; }

struct Cast {
  float x, y;
};
// CHECK: Function: cast
// CHECK: the cast at line {{[0-9]+}} makes a pointer to ''Cast'' of one to something else
__global__ void cast(Cast *p) { p->x += p->y; }

struct Part {
  float x, y;
};
struct Whole {
  int count;
  Part part;
};
// CHECK: Function: part
// CHECK: String: '''Whole'' holds ''Part'''
__global__ void part(Part *p) { p->x += p->y; }

struct Paired {
  float x, y;
};
// CHECK: Function: paired
// CHECK: may hold ''Paired''
__global__ void paired(Paired *p) { p->x += p->y; }

struct Passed {
  float x, y;
};
float outside(Passed value);
// CHECK: Function: passed
// CHECK: String: '''outside'' passes ''Passed'' and is defined in another file'
__global__ void passed(Passed *p) { p->x += p->y; }

template <class T> struct Pair {
  T x, y;
};
// CHECK: Function: made
// CHECK: String: '''Pair'' is no plain structure'
__global__ void made(Pair<float> *p) { p->x += p->y; }

union Both {
  float x[2];
  double y;
};
// CHECK: Function: both
// CHECK: String: '''Both'' is no plain structure'
__global__ void both(Both *p) { p->x[0] += p->x[1]; }

int main() {
  char *bytes;
  cudaMalloc(&bytes, 4096);
  std::pair<int, Paired> kept;
  kept.first = 0;
  cast<<<1, 1>>>((Cast *)(bytes + 4));
}
