// Threads that return before a barrier, in the ways in which programs do, and threads that go around one.
#define KERNEL(name) extern "C" __global__ void name(int *out, int n)

__device__ void exchange(int *out, int n) {
  __shared__ int box[64];
  box[threadIdx.x] = threadIdx.x;
  if (threadIdx.x >= n)
    return;
  __syncthreads();
  out[threadIdx.x] = box[n - 1 - threadIdx.x];
}

KERNEL(fromFunction) { exchange(out, n); }

__device__ void exchangeTwice(int *out, int n) {
  out[threadIdx.x] = -1;
  exchange(out, n);
}

KERNEL(fromNestedFunction) { exchangeTwice(out, n); }

KERNEL(fromLambda) {
  __shared__ int box[64];
  auto body = [&](int own) {
    box[threadIdx.x] = own;
    if (own >= n)
      return;
    __syncthreads();
    out[own] = box[n - 1 - own];
  };
  body(threadIdx.x);
}

KERNEL(fromLoop) {
  __shared__ int box[64];
  for (int turn = 0; turn < 4; ++turn) {
    int own = threadIdx.x + turn;
    if (own >= n)
      return;
    box[threadIdx.x] = own;
    __syncthreads();
    out[threadIdx.x] += box[0];
    __syncthreads();
  }
  out[threadIdx.x] += 1000;
}

KERNEL(fromSwitch) {
  __shared__ int box[64];
  for (int turn = 0; turn < 3; ++turn) {
    int own = threadIdx.x < n ? turn : 7;
    switch (own) {
    case 7:
      out[threadIdx.x] = -7;
      return;
    default:
      box[threadIdx.x] = own;
    }
    __syncthreads();
    out[threadIdx.x] += box[0];
    __syncthreads();
  }
}

__device__ void leave(int n) {
  if (threadIdx.x >= n)
    asm volatile("exit;");
}

KERNEL(byExit) {
  __shared__ int box[64];
  box[threadIdx.x] = threadIdx.x;
  leave(n);
  __syncthreads();
  out[threadIdx.x] = box[n - 1 - threadIdx.x];
}

__device__ void exitBeforeBarrier(int n) {
  if (threadIdx.x >= n)
    asm volatile("exit;");
  __syncthreads();
}

KERNEL(byExitInFunction) {
  __shared__ int box[64];
  box[threadIdx.x] = threadIdx.x;
  exitBeforeBarrier(n);
  out[threadIdx.x] = box[n - 1 - threadIdx.x];
}

KERNEL(beforeEveryKind) {
  int lane = threadIdx.x % 32;
  if (threadIdx.x >= n)
    return;
  int count = __syncthreads_count(1);
  asm volatile("bar.sync 3;" ::: "memory");
  asm volatile("barrier.sync 4;" ::: "memory");
  __syncwarp();
  unsigned lanes = __ballot_sync(~0u, 1);
  int all = __syncthreads_and(lane < 32);
  out[threadIdx.x] = count * 100 + __popc(lanes) + all * 10000;
}

// From here on with a defect: the way around the barrier does not end there.
__device__ void waitIf(bool waits) {
  if (waits)
    __syncthreads(); // defect: in a function
}

KERNEL(goesOnBehindFunction) {
  waitIf(threadIdx.x < n);
  out[threadIdx.x] = 1;
}

__device__ void waitTwice(int n) {
  for (int turn = 0; turn < 2; ++turn) {
    int own = threadIdx.x;
    if (own >= n)
      continue;
    __syncthreads(); // defect: continued
  }
}

KERNEL(goesOnBehindLoop) {
  waitTwice(n);
  out[threadIdx.x] = 1;
}
