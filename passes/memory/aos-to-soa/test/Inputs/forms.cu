// One kernel or call for each form of use, of the device and of the host.
#include <cstdio>
#include <cstdlib>
#define CHECK_CUDA(call)                                                                           \
  do {                                                                                             \
    cudaError_t error = (call);                                                                    \
    if (error != cudaSuccess)                                                                      \
      exit(1);                                                                                     \
  } while (0)

struct Cell {
  float mass, speed;
  float at[3];
  int hits;
  double age;
};
struct Link {
  int next;
  float weight, unused[3];
};

// A device function is handed the parts that it uses, and its callers' callers, too.
__device__ float energy(const Cell *cells, int i) {
  return cells[i].mass * cells[i].speed * cells[i].speed;
}
// A declaration of its own.
__global__ void energies(const Cell *cells, float *out, int n);

__global__ void forms(Cell *__restrict__ cells, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  cells[i].mass += 1;
  (cells + i)->speed *= 2;
  (*(cells + i)).speed += 1;
  cells[i].at[1] = cells[i].mass;
  atomicAdd(&cells[i / 2].hits, 1);
  Cell &cell = cells[i];
  cell.age = cell.speed;
  const Cell *other = &cells[n - 1 - i];
  float sum = other->at[2] + (*other).at[2];
  Cell *third = cells + i;
  third->speed += sum;
}
// A copy reads the fields that are used of it.
__global__ void copies(const Cell *cells, float *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  Cell cell = cells[i];
  out[i] = cell.at[1] + cell.speed + (i ? cells[i].age : cells[0].age);
}
__global__ void energies(const Cell *cells, float *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    out[i] = energy(cells, i);
}
// The index of a structure may be a field of another one; all fields of a copied one are used.
__global__ void relink(Link *to, const Link *from, float *out) {
  int i = threadIdx.x;
  __shared__ Link tile[256];
  tile[i] = from[i];
  __syncthreads();
  out[i] = from[from[i].next].weight + tile[255 - i].weight;
  if (i > 3)
    to[i] = from[i];
}
int main() {
  const int n = 256;
  static Cell host[n], back[n];
  static Link links[n];
  static float result[n];
  for (int i = 0; i < n; ++i) {
    host[i] = {i % 5 * 1.0f, i % 3 * 0.5f, {0, 1, 2}, i, 0.5};
    links[i] = {(i * 7) % n, i * 0.25f};
  }
  Cell *cells = nullptr;
  float *out;
  CHECK_CUDA(cudaMalloc((void **)&cells, n * sizeof(Cell)));
  cudaMalloc(&out, n * sizeof(float));
  cudaMemset(cells, 0, n * sizeof(Cell));
  if (cudaMemcpy(cells, host, sizeof host, cudaMemcpyHostToDevice) != cudaSuccess)
    return 1;
  for (int step = 0; step < 3; ++step) {
    forms<<<n / 128, 128>>>(cells, n);
    copies<<<n / 128, 128>>>(cells, out);
    energies<<<n / 128, 128>>>(cells, out, n);
  }
  // A part may be read, but only whole arrays are written.
  CHECK_CUDA(cudaMemcpy(back, cells + 4, 8 * sizeof(Cell), cudaMemcpyDeviceToHost));
  Link *one, *other;
  size_t bytes = n * sizeof(Link);
  cudaMalloc(&one, bytes);
  cudaMalloc(&other, sizeof(*other) * n);
  cudaMemcpy(one, links, bytes, cudaMemcpyHostToDevice);
  cudaMemcpy(other, links, bytes, cudaMemcpyHostToDevice);
  for (int step = 0; step < 2; ++step)
    relink<<<1, n>>>(other, one, out);
  cudaMemcpy(links, other, bytes, cudaMemcpyDeviceToHost);
  cudaMemcpy(result, out, n * sizeof(float), cudaMemcpyDeviceToHost);
  CHECK_CUDA(cudaFree(cells));
  printf("%g %g %g\n", back[0].mass, result[7], links[9].weight);
}
