// Ways through kernels, some of which no launch of the tests takes.
__device__ int halved(int value) {
  return value / 2; // line: shared function
}

extern "C" __global__ void ways(int *out, int way) {
  int sum = 0;
  for (int i = 0; i < way; ++i)
    sum += out[i]; // line: loop
  if (way == 3)
    atomicAdd(out + 1, halved(sum)); // line: third way
  else
    out[threadIdx.x] = sum; // line: other ways
  if (way < 0)
    __trap(); // line: gives up
}

extern "C" __global__ void neverLaunched(int *out) {
  out[threadIdx.x] = halved(7) + 1; // line: never launched
}
