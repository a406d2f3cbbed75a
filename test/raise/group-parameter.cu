// A function that gets a tile of a block and reduces in it is read like code in the kernel's body.
// RUN: kb-opt --emit=kb-nest %s | FileCheck %s
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
namespace cg = cooperative_groups;

struct Scale {
  float factor, top;
};

__device__ Scale scaleOf(cg::thread_block_tile<32> &warp, const float *row, int columns) {
  float most = -INFINITY, sum = 0.0f;
  for (int j = warp.thread_rank(); j < columns; j += warp.size())
    most = fmaxf(most, row[j]);
  float all = cg::reduce(warp, most, cg::greater<float>{});
  for (int j = warp.thread_rank(); j < columns; j += warp.size())
    sum += expf(row[j] - all);
  float total = cg::reduce(warp, sum, cg::plus<float>{});
  return Scale{1.0f / total, all};
}

// CHECK-NOT: kb.unraised
// CHECK: kb.nest @{{.*}}softmax{{.*}} dims ["i"]
// CHECK: kb.reduce {{.*}}"max"
// CHECK: kb.reduce {{.*}}"add"
__global__ void softmax(float *out, const float *in, int rows, int columns) {
  cg::thread_block_tile<32> warp = cg::tiled_partition<32>(cg::this_thread_block());
  int i = blockIdx.x * warp.meta_group_size() + warp.meta_group_rank();
  if (i >= rows)
    return;
  Scale scale = scaleOf(warp, in + i * columns, columns);
  for (int j = warp.thread_rank(); j < columns; j += warp.size())
    out[i * columns + j] = expf(in[i * columns + j] - scale.top) * scale.factor;
}

void run(float *out, const float *in, int rows, int columns, int block) {
  softmax<<<(rows * 32 + block - 1) / block, block>>>(out, in, rows, columns);
}
