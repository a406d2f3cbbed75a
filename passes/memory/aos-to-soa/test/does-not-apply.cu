// One kernel per reason for which the pass does not apply.
// RUN: kb-opt -passes=aos-to-soa --quiet --remarks-file=%t.yaml -o %t %s
// RUN: diff %s %t
// RUN: FileCheck --implicit-check-not=!Passed %s < %t.yaml
#include <cstdlib>
#include <utility>

struct Body {
  float x, y, z, mass, charge;
};
const int n = 64;

// CHECK: Function: unlaunched
// CHECK: no launch of ''unlaunched'' is in view
__global__ void unlaunched(const Body *b, float *out) { out[threadIdx.x] = b[threadIdx.x].mass; }

struct Pair {
  float x, y;
};
// CHECK: Function: all
// CHECK: the kernel uses all of ''Pair'', which align-structure has read as vectors
__global__ void all(const Pair *b, float *out) {
  out[threadIdx.x] = b[threadIdx.x].x * b[threadIdx.x].y;
}
void run_all(float *out) {
  Pair *d;
  cudaMalloc(&d, n * sizeof(Pair));
  all<<<1, n>>>(d, out);
  cudaFree(d);
}

struct Bits {
  int low : 4, high : 28, more;
};
// CHECK: Function: bits
// CHECK: ''low'' of ''Bits'' is a bit-field
__global__ void bits(const Bits *b, float *out) { out[threadIdx.x] = b[threadIdx.x].low; }
void run_bits(float *out) {
  Bits *d;
  cudaMalloc(&d, n * sizeof(Bits));
  bits<<<1, n>>>(d, out);
  cudaFree(d);
}

union Both {
  int x;
  float y;
};
// CHECK: Function: both
// CHECK: ''Both'' is no plain structure
__global__ void both(const Both *b, float *out) { out[threadIdx.x] = b[threadIdx.x].y; }
void run_both(float *out) {
  Both *d;
  cudaMalloc(&d, n * sizeof(Both));
  both<<<1, n>>>(d, out);
  cudaFree(d);
}

template <class T> struct Twins {
  T x, y, z;
};
// CHECK: Function: made
// CHECK: ''Twins<float>'' is a template''s instance, or a member, or has no name
__global__ void made(const Twins<float> *b, float *out) { out[threadIdx.x] = b[threadIdx.x].x; }
void run_made(float *out) {
  Twins<float> *d;
  cudaMalloc(&d, n * sizeof(Twins<float>));
  made<<<1, n>>>(d, out);
  cudaFree(d);
}

struct Table {
  int id;
  float rows[2][2];
};
// CHECK: Function: table
// CHECK: ''rows'' of ''Table'' has a type that makes no array
__global__ void table(const Table *b, float *out) { out[threadIdx.x] = b[threadIdx.x].id; }
void run_table(float *out) {
  Table *d;
  cudaMalloc(&d, n * sizeof(Table));
  table<<<1, n>>>(d, out);
  cudaFree(d);
}

struct Place {
  float at[3], age, mass;
};
// CHECK: Function: varying
// CHECK: the array ''at'' is used with an index that is no constant at line
__global__ void varying(const Place *b, float *out) {
  out[threadIdx.x] = b[threadIdx.x].at[threadIdx.x % 3];
}
void run_varying(float *out) {
  Place *d;
  cudaMalloc(&d, n * sizeof(Place));
  varying<<<1, n>>>(d, out);
  cudaFree(d);
}

// CHECK: Function: moves
// CHECK: ''b'' is used in another form than p[i].f at line
__global__ void moves(const Body *b, float *out) {
  b += threadIdx.x;
  out[threadIdx.x] = b->mass;
}
void run_moves(float *out) {
  Body *d;
  cudaMalloc(&d, n * sizeof(Body));
  moves<<<1, n>>>(d, out);
  cudaFree(d);
}

// CHECK: Function: casts
// CHECK: ''b'' is used in another form than p[i].f at line
__global__ void casts(const Body *b, float *out) {
  out[threadIdx.x] = ((const float *)b)[threadIdx.x];
}
void run_casts(float *out) {
  Body *d;
  cudaMalloc(&d, n * sizeof(Body));
  casts<<<1, n>>>(d, out);
  cudaFree(d);
}

// CHECK: Function: address
// CHECK: the address of ''x'' may be kept at line
__global__ void address(const Body *b, float *out) {
  const float *x = &b[threadIdx.x].x;
  out[threadIdx.x] = x[1];
}
void run_address(float *out) {
  Body *d;
  cudaMalloc(&d, n * sizeof(Body));
  address<<<1, n>>>(d, out);
  cudaFree(d);
}

struct Summed {
  float x, y, z;
  __device__ float sum() const { return x + y; }
};
// CHECK: Function: calls
// CHECK: ''sum'' of ''Summed'' is called at line
__global__ void calls(const Summed *b, float *out) { out[threadIdx.x] = b[threadIdx.x].sum(); }
void run_calls(float *out) {
  Summed *d;
  cudaMalloc(&d, n * sizeof(Summed));
  calls<<<1, n>>>(d, out);
  cudaFree(d);
}

struct Padded {
  double x;
  int y;
};
// CHECK: Function: padded
// CHECK: ''Padded'' has padding, and is stored at line
__global__ void padded(Padded *b, float *out) { b[threadIdx.x] = {1, 2}; }
void run_padded(float *out) {
  Padded *d;
  cudaMalloc(&d, n * sizeof(Padded));
  padded<<<1, n>>>(d, out);
  cudaFree(d);
}

// CHECK: Function: effect
// CHECK: the index has an effect or calls a function, and the structure is copied at line
__global__ void effect(const Body *b, float *out) {
  int i = threadIdx.x;
  Body own = b[i++];
  out[i] = own.mass;
}
void run_effect(float *out) {
  Body *d;
  cudaMalloc(&d, n * sizeof(Body));
  effect<<<1, n>>>(d, out);
  cudaFree(d);
}

template <int N> // CHECK: Function: generic
// CHECK: ''generic'' is a template or a member
__global__ void generic(const Body *b, float *out) {
  out[threadIdx.x] = b[threadIdx.x].mass + N;
}
void run_generic(float *out) {
  Body *d;
  cudaMalloc(&d, n * sizeof(Body));
  generic<1><<<1, n>>>(d, out);
  generic<2><<<1, n>>>(d, out);
}

// CHECK: Function: given
// CHECK: the callers of ''run_given'' choose what ''d'' points to
__global__ void given(const Body *b, float *out) { out[threadIdx.x] = b[threadIdx.x].mass; }
void run_given(const Body *d, float *out) { given<<<1, n>>>(d, out); }

// CHECK: Function: kept
// CHECK: ''kept_array'' is no local variable
__global__ void kept(const Body *b, float *out) { out[threadIdx.x] = b[threadIdx.x].mass; }
Body *kept_array;
void run_kept(float *out) { kept<<<1, n>>>(kept_array, out); }

// CHECK: Function: offset
// CHECK: ''offset'' is handed structures at line {{[0-9]+}} that are not followed
__global__ void offset(const Body *b, float *out) { out[threadIdx.x] = b[threadIdx.x].mass; }
void run_offset(float *out) {
  Body *d;
  cudaMalloc(&d, n * sizeof(Body));
  offset<<<1, n>>>(d + 1, out);
}

void elsewhere(Body *);
// CHECK: Function: escapes
// CHECK: ''d'' is handed to ''elsewhere'' at line
__global__ void escapes(const Body *b, float *out) { out[threadIdx.x] = b[threadIdx.x].mass; }
void run_escapes(float *out) {
  Body *d;
  cudaMalloc(&d, n * sizeof(Body));
  elsewhere(d);
  escapes<<<1, n>>>(d, out);
  cudaFree(d);
}

// CHECK: Function: swapped
// CHECK: ''d'' is handed to ''swap'' at line
__global__ void swapped(const Body *b, float *out) { out[threadIdx.x] = b[threadIdx.x].mass; }
void run_swapped(float *out) {
  Body *d;
  cudaMalloc(&d, n * sizeof(Body));
  Body *e = nullptr;
  std::swap(d, e);
  swapped<<<1, n>>>(d, out);
  cudaFree(d);
}

// CHECK: Function: stored_pointer
// CHECK: the host uses ''d'' in a way that is not followed at line
__global__ void stored_pointer(const Body *b, float *out) {
  out[threadIdx.x] = b[threadIdx.x].mass;
}
void run_stored_pointer(float *out) {
  Body *d;
  cudaMalloc(&d, n * sizeof(Body));
  Body *other = d;
  (void)other;
  stored_pointer<<<1, n>>>(d, out);
  cudaFree(d);
}

// CHECK: Function: managed
// CHECK: the address of ''d'' is handed on at line
__global__ void managed(const Body *b, float *out) { out[threadIdx.x] = b[threadIdx.x].mass; }
void run_managed(float *out) {
  Body *d;
  cudaMallocManaged(&d, n * sizeof(Body));
  managed<<<1, n>>>(d, out);
}

// CHECK: Function: hosted
// CHECK: ''d'' is no memory of cudaMalloc
__global__ void hosted(const Body *b, float *out) { out[threadIdx.x] = b[threadIdx.x].mass; }
void run_hosted(float *out) {
  Body *d = (Body *)malloc(n * sizeof(Body));
  hosted<<<1, n>>>(d, out);
}

// CHECK: Function: twice
// CHECK: ''d'' is allocated once more at line
__global__ void twice(const Body *b, float *out) { out[threadIdx.x] = b[threadIdx.x].mass; }
void run_twice(float *out) {
  Body *d;
  cudaMalloc(&d, n * sizeof(Body));
  cudaMalloc(&d, 2 * n * sizeof(Body));
  twice<<<1, n>>>(d, out);
  cudaFree(d);
}

// CHECK: Function: maybe
// CHECK: ''d'' is copied under a condition at line
__global__ void maybe(const Body *b, float *out) { out[threadIdx.x] = b[threadIdx.x].mass; }
void run_maybe(float *out) {
  Body *d;
  cudaMalloc(&d, n * sizeof(Body));
  Body one[n];
  if (n > 7)
    cudaMemcpy(d, one, sizeof one, cudaMemcpyHostToDevice);
  maybe<<<1, n>>>(d, out);
  cudaFree(d);
}

// CHECK: Function: inner
// CHECK: ''d'' is declared in another block than it is allocated in, at line
__global__ void inner(const Body *b, float *out) { out[threadIdx.x] = b[threadIdx.x].mass; }
void run_inner(float *out) {
  Body *d;
  {
    cudaMalloc(&d, n * sizeof(Body));
  }
  inner<<<1, n>>>(d, out);
}

// CHECK: Function: part
// CHECK: the copy at line {{[0-9]+}} may fill only a part of ''d''
__global__ void part(Body *b, float *out) { b[threadIdx.x].mass += out[0]; }
void run_part(float *out) {
  Body *d;
  cudaMalloc(&d, n * sizeof(Body));
  Body one[n];
  cudaMemcpy(d, one, sizeof(Body), cudaMemcpyHostToDevice);
  part<<<1, n>>>(d, out);
  cudaFree(d);
}

// CHECK: Function: grown
// CHECK: the copy at line {{[0-9]+}} may fill only a part of ''d''
__global__ void grown(Body *b, float *out) { b[threadIdx.x].mass += out[0]; }
void run_grown(const Body *host, float *out, int m) {
  Body *d;
  cudaMalloc(&d, m * sizeof(Body));
  m -= 3;
  cudaMemcpy(d, host, m * sizeof(Body), cudaMemcpyHostToDevice);
  grown<<<1, n>>>(d, out);
}

// CHECK: Function: stream
// CHECK: the launch has a stream of its own at line
__global__ void stream(const Body *b, float *out) { out[threadIdx.x] = b[threadIdx.x].mass; }
void run_stream(float *out, cudaStream_t stream) {
  Body *d;
  cudaMalloc(&d, n * sizeof(Body));
  ::stream<<<1, n, 0, stream>>>(d, out);
}

// CHECK: Function: pointed
// CHECK: ''pointed'' is used in another way than by a call
__global__ void pointed(const Body *b, float *out) { out[threadIdx.x] = b[threadIdx.x].mass; }
void run_pointed(float *out) {
  Body *d;
  cudaMalloc(&d, n * sizeof(Body));
  pointed<<<1, n>>>(d, out);
  void (*other)(const Body *, float *) = pointed;
  other<<<1, n>>>(d, out);
}

// CHECK: Function: once
// CHECK: no launch uses ''d'' more often than it is copied
__global__ void once(const Body *b, float *out) { out[threadIdx.x] = b[threadIdx.x].mass; }
void run_once(const Body *host, float *out, int m) {
  Body *d;
  cudaMalloc(&d, m * sizeof(Body));
  for (int step = 0; step < 9; ++step) {
    cudaMemcpy(d, host, m * sizeof(Body), cudaMemcpyHostToDevice);
    once<<<1, n>>>(d, out);
  }
}

// CHECK: Function: captured
// CHECK: a lambda uses ''b'' at line
__global__ void captured(const Body *b, float *out) {
  auto mass = [b](int i) { return b[i].mass; };
  out[threadIdx.x] = mass(threadIdx.x);
}
void run_captured(float *out) {
  Body *d;
  cudaMalloc(&d, n * sizeof(Body));
  captured<<<1, n>>>(d, out);
}

struct Owner {
  struct Part {
    float x, y, z;
  };
};
// CHECK: Function: owned
// CHECK: ''Owner::Part'' is a template''s instance, or a member, or has no name
__global__ void owned(const Owner::Part *b, float *out) { out[threadIdx.x] = b[threadIdx.x].x; }
void run_owned(float *out) {
  Owner::Part *d;
  cudaMalloc(&d, n * sizeof(Owner::Part));
  owned<<<1, n>>>(d, out);
}

// CHECK: Function: early
// CHECK: ''d'' is used before it is allocated, at line
__global__ void early(const Body *b, float *out) { out[threadIdx.x] = b[threadIdx.x].mass; }
int run_early(float *out) {
  Body *d;
  if (cudaMalloc(&d, n * sizeof(Body)) == cudaSuccess) {
    early<<<1, n>>>(d, out);
  }
  return 0;
}
