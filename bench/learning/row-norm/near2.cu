// Edge weights of a dense graph: a softmax over the neighbours of each node; adj says who is a neighbour.
//
// kb-workload:
//   entry: edge_softmax
//   sizes: {nodes: 6144, width: 640}
//   test-sizes: [{nodes: 1, width: 1}, {nodes: 10, width: 37}, {nodes: 40, width: 90}]
//   unseen-sizes: [{nodes: 29, width: 53}]
//   parameters:
//     - {name: adj, type: u8, shape: nodes*width, role: in, init: "range(0, 2)"}
//     - {name: logit, type: f32, shape: nodes*width, role: in, init: normal, values: [finite]}
//     - {name: alpha, type: f32, shape: nodes*width, role: out}
//     - {name: temperature, value: 0.5, fixed: true}
//     - {name: width, value: width}
//     - {name: nodes, value: nodes}

__global__ void edge_softmax_kernel(const unsigned char *adj, const float *logit, float *alpha, float temperature,
                                    int width, int nodes)
{
    int v = threadIdx.x + blockDim.x * blockIdx.x;
    if (nodes <= v)
        return;
    float m = -1e30f;
    float z = 0.0f;
    for (int u = 0; u < width; u++) {
        if (adj[u + width * v] == 0)
            continue;
        float e = temperature * logit[u + width * v];
        if (m < e) {
            z = 1.0f + z * expf(m - e);
            m = e;
        } else {
            z += expf(e - m);
        }
    }
    for (int u = 0; u < width; u++) {
        float a = 0.0f;
        if (adj[u + width * v] != 0)
            a = expf(temperature * logit[u + width * v] - m) / z;
        alpha[u + width * v] = a;
    }
}

void edge_softmax(const unsigned char *adj, const float *logit, float *alpha, float temperature, int width, int nodes)
{
    edge_softmax_kernel<<<(nodes + 127) / 128, 128>>>(adj, logit, alpha, temperature, width, nodes);
}
