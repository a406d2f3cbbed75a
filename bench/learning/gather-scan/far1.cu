// Max pooling over the neighbours of each node of a graph, feature by feature.
//
// kb-workload:
//   entry: poolNeighbours
//   sizes: {nodes: 8192, edges: 131072, features: 32}
//   test-sizes: [{nodes: 1, edges: 1, features: 1}, {nodes: 33, edges: 200, features: 5}, {nodes: 60, edges: 90, features: 33}]
//   unseen-sizes: [{nodes: 41, edges: 150, features: 12}]
//   parameters:
//     - {name: pooled, type: f32, shape: nodes*features, role: out}
//     - {name: feature, type: f32, shape: nodes*features, role: in, init: normal, values: [finite]}
//     - {name: begin, type: i32, shape: nodes+1, role: in, init: offsets(edges), values: [offsets]}
//     - {name: neighbour, type: i32, shape: edges, role: in, init: "range(0, nodes)", range: [0, nodes - 1]}
//     - {name: nodes, value: nodes}
//     - {name: features, value: features}

__global__ void poolKernel(float *pooled, const float *feature, const int *begin, const int *neighbour, int nodes,
                           int features) {
  int node = blockIdx.x * blockDim.x + threadIdx.x;
  if (node < nodes) {
    for (int f = 0; f < features; ++f)
      pooled[node * features + f] = -1e30f;
    for (int e = begin[node]; e < begin[node + 1]; ++e) {
      const float *other = feature + neighbour[e] * features;
      for (int f = 0; f < features; ++f)
        if (other[f] > pooled[node * features + f])
          pooled[node * features + f] = other[f];
    }
  }
}

void poolNeighbours(float *pooled, const float *feature, const int *begin, const int *neighbour, int nodes,
                    int features) {
  poolKernel<<<(nodes + 63) / 64, 64>>>(pooled, feature, begin, neighbour, nodes, features);
}
