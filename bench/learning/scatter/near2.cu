// Extents of connected components, for the tracker.
//
// kb-workload:
//   entry: component_extents
//   sizes: {rows: 1280, cols: 960, n: 100}
//   test-sizes: [{rows: 1, cols: 1, n: 1}, {rows: 12, cols: 35, n: 6}, {rows: 33, cols: 65, n: 20}]
//   unseen-sizes: [{rows: 27, cols: 41, n: 9}]
//   parameters:
//     - {name: component, type: i32, shape: rows*cols, role: in, init: "range(0, n)", range: [0, n - 1]}
//     - {name: n, value: n}
//     - {name: cols, value: cols}
//     - {name: rows, value: rows}
//     - {name: rmin, type: i32, shape: n, role: inout, init: constant(1000000)}
//     - {name: rmax, type: i32, shape: n, role: inout, init: constant(-1)}
//     - {name: cmin, type: i32, shape: n, role: inout, init: constant(1000000)}
//     - {name: cmax, type: i32, shape: n, role: inout, init: constant(-1)}

__global__ void extents_kernel(const int *component, int n, int cols, int rows, int *rmin, int *rmax, int *cmin, int *cmax)
{
    int c = threadIdx.x + blockIdx.x * blockDim.x;
    int r = threadIdx.y + blockIdx.y * blockDim.y;
    if (cols <= c || rows <= r)
        return;
    int id = component[c + cols * r];
    if (n > id) {
        atomicMin(&cmin[id], c);
        atomicMax(&cmax[id], c);
        atomicMin(&rmin[id], r);
        atomicMax(&rmax[id], r);
    }
}

void component_extents(const int *component, int n, int cols, int rows, int *rmin, int *rmax, int *cmin, int *cmax)
{
    dim3 threads(16, 16);
    dim3 blocks((cols + 15) / 16, (rows + 15) / 16);
    extents_kernel<<<blocks, threads>>>(component, n, cols, rows, rmin, rmax, cmin, cmax);
}
