// A kernel that launches another one from the device.
__global__ void child(int n, int *y) {
  if (threadIdx.x < n)
    y[threadIdx.x] = threadIdx.x;
}

__global__ void launchesChild(int n, int *y) {
  if (threadIdx.x == 0 && blockIdx.x == 0)
    child<<<1, 256>>>(n, y);
}
