// The summation step of k-means: every point adds its coordinates to the sums of its cluster.
//
// kb-workload:
//   entry: sumClusters
//   sizes: {points: 131072, dims: 24, clusters: 20}
//   test-sizes: [{points: 1, dims: 1, clusters: 1}, {points: 255, dims: 3, clusters: 5}, {points: 600, dims: 17, clusters: 30}]
//   unseen-sizes: [{points: 411, dims: 7, clusters: 12}]
//   parameters:
//     - {name: sums, type: f32, shape: clusters*dims, role: inout, init: zeros}
//     - {name: counts, type: f32, shape: clusters, role: inout, init: zeros}
//     - {name: x, type: f32, shape: points*dims, role: in, init: uniform}
//     - {name: cluster, type: i32, shape: points, role: in, init: "range(0, clusters)", range: [0, clusters - 1]}
//     - {name: points, value: points}
//     - {name: dims, value: dims}
//     - {name: clusters, value: clusters}

__global__ void sumClustersKernel(float *sums, float *counts, const float *x, const int *cluster, int points, int dims,
                                  int clusters) {
  int point = blockIdx.x * blockDim.x + threadIdx.x;
  if (point >= points)
    return;
  int mine = cluster[point];
  if (mine >= clusters)
    return;
  for (int d = 0; d < dims; ++d)
    atomicAdd(&sums[mine * dims + d], x[point * dims + d]);
  atomicAdd(&counts[mine], 1.0f);
}

void sumClusters(float *sums, float *counts, const float *x, const int *cluster, int points, int dims, int clusters) {
  sumClustersKernel<<<(points + 255) / 256, 256>>>(sums, counts, x, cluster, points, dims, clusters);
}
