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

constexpr int kElements = 4096;
constexpr int kClusters = 512;

// A block adds its points up in shared memory and adds that to the sums once. Neighbouring threads have neighbouring
// coordinates. Sums that do not fit into shared memory are added to as before.
__global__ void __launch_bounds__(256)
    sumClustersKernel(float *sums, float *counts, const float *__restrict__ x, const int *__restrict__ cluster, int points,
                      int dims, int clusters) {
  __shared__ float ownSums[kElements];
  __shared__ float ownCounts[kClusters];
  for (int e = threadIdx.x; e < kElements; e += blockDim.x)
    ownSums[e] = 0.0f;
  for (int e = threadIdx.x; e < kClusters; e += blockDim.x)
    ownCounts[e] = 0.0f;
  __syncthreads();
  int share = (points + gridDim.x - 1) / gridDim.x;
  int first = min(points, (int)blockIdx.x * share), end = min(points, first + share);
  for (int e = first * dims + threadIdx.x; e < end * dims; e += blockDim.x) {
    int mine = cluster[e / dims];
    int at = mine * dims + e % dims;
    if (mine < clusters)
      atomicAdd(at < kElements ? &ownSums[at] : &sums[at], x[e]);
  }
  for (int point = first + threadIdx.x; point < end; point += blockDim.x) {
    int mine = cluster[point];
    if (mine < clusters)
      atomicAdd(mine < kClusters ? &ownCounts[mine] : &counts[mine], 1.0f);
  }
  __syncthreads();
  for (int e = threadIdx.x; e < min(kElements, clusters * dims); e += blockDim.x)
    if (ownSums[e] != 0.0f)
      atomicAdd(&sums[e], ownSums[e]);
  for (int e = threadIdx.x; e < min(kClusters, clusters); e += blockDim.x)
    if (ownCounts[e] != 0.0f)
      atomicAdd(&counts[e], ownCounts[e]);
}

void sumClusters(float *sums, float *counts, const float *x, const int *cluster, int points, int dims, int clusters) {
  sumClustersKernel<<<264, 256>>>(sums, counts, x, cluster, points, dims, clusters);
}
