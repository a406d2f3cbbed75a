// One step of PageRank: gathers the rank of the pages that link here, damped.
//
// kb-workload:
//   entry: page_rank_step
//   sizes: {pages: 49152, links: 1966080}
//   test-sizes: [{pages: 1, links: 1}, {pages: 40, links: 333}, {pages: 90, links: 120}]
//   unseen-sizes: [{pages: 55, links: 440}]
//   parameters:
//     - {name: rank, type: f32, shape: pages, role: in, init: uniform}
//     - {name: weight, type: f32, shape: links, role: in, init: uniform}
//     - {name: source, type: i32, shape: links, role: in, init: "range(0, pages)", range: [0, pages - 1]}
//     - {name: offset, type: i32, shape: pages+1, role: in, init: offsets(links), values: [offsets]}
//     - {name: next, type: f32, shape: pages, role: out}
//     - {name: pages, value: pages}
//     - {name: damping, value: 0.85, fixed: true}

__global__ void page_rank_kernel(const float *rank, const float *weight, const int *source, const int *offset,
                                 float *next, int pages, float damping)
{
    int p = threadIdx.x + blockIdx.x * blockDim.x;
    if (pages <= p)
        return;
    float in = 0.0f;
    for (int l = offset[p]; l < offset[p + 1]; l++)
        in += rank[source[l]] * weight[l];
    next[p] = 0.15f + damping * in;
}

void page_rank_step(const float *rank, const float *weight, const int *source, const int *offset, float *next, int pages,
                    float damping)
{
    page_rank_kernel<<<(pages + 255) / 256, 256>>>(rank, weight, source, offset, next, pages, damping);
}
