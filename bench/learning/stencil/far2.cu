// One step of the wave equation in three dimensions, in double precision, with fixed walls. The thread's x runs over
// planes, as the loops of the Fortran program did from which this was taken over.
//
// kb-workload:
//   entry: waveStep
//   sizes: {nx: 96, ny: 96, nz: 128}
//   test-sizes: [{nx: 1, ny: 1, nz: 1}, {nx: 5, ny: 9, nz: 17}, {nx: 12, ny: 10, nz: 20}]
//   unseen-sizes: [{nx: 7, ny: 6, nz: 21}]
//   parameters:
//     - {name: next, type: f64, shape: nx*ny*nz, role: inout, init: normal}
//     - {name: now, type: f64, shape: nx*ny*nz, role: in, init: normal}
//     - {name: speed, type: f64, shape: nx*ny*nz, role: in, init: uniform}
//     - {name: nx, value: nx}
//     - {name: ny, value: ny}
//     - {name: nz, value: nz}

#define AT(a, i, j, k) a[((i) * ny + (j)) * nz + (k)]

__global__ void waveKernel(double *next, const double *now, const double *speed, int nx, int ny, int nz)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  int j = blockIdx.y * blockDim.y + threadIdx.y;
  int k = blockIdx.z * blockDim.z + threadIdx.z;
  if (i == 0 || j == 0 || k == 0 || i >= nx - 1 || j >= ny - 1 || k >= nz - 1)
    return;
  double laplacian = AT(now, i - 1, j, k) + AT(now, i + 1, j, k) + AT(now, i, j - 1, k) + AT(now, i, j + 1, k) +
                     AT(now, i, j, k - 1) + AT(now, i, j, k + 1) - 6.0 * AT(now, i, j, k);
  AT(next, i, j, k) = 2.0 * AT(now, i, j, k) - AT(next, i, j, k) + 0.1 * AT(speed, i, j, k) * laplacian;
}

void waveStep(double *next, const double *now, const double *speed, int nx, int ny, int nz)
{
  dim3 block(8, 8, 4);
  dim3 grid((nx + 7) / 8, (ny + 7) / 8, (nz + 3) / 4);
  waveKernel<<<grid, block>>>(next, now, speed, nx, ny, nz);
}
