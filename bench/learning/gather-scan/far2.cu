// Prefix sums within blocks of 512 integers, as in the textbooks: two arrays in shared memory take turns.
//
// kb-workload:
//   entry: blockSums
//   sizes: {n: 4194304}
//   test-sizes: [{n: 1}, {n: 700}, {n: 3000}]
//   unseen-sizes: [{n: 1500}]
//   parameters:
//     - {name: sums, type: i32, shape: n, role: out}
//     - {name: totals, type: i32, shape: "ceildiv(n, 512)", role: out}
//     - {name: values, type: i32, shape: n, role: in, init: "range(0, 100)"}
//     - {name: n, value: n}

#define BLOCK 512

__global__ void blockSumsKernel(int *sums, int *totals, const int *values, int n)
{
    __shared__ int turn[2][BLOCK];
    int t = threadIdx.x, from = 0;
    int i = blockIdx.x * BLOCK + t;
    turn[0][t] = i < n ? values[i] : 0;
    __syncthreads();
    for (int distance = 1; distance < BLOCK; distance *= 2)
    {
        if (t >= distance)
            turn[1 - from][t] = turn[from][t] + turn[from][t - distance];
        else
            turn[1 - from][t] = turn[from][t];
        from = 1 - from;
        __syncthreads();
    }
    if (i < n)
        sums[i] = turn[from][t];
    if (t == BLOCK - 1)
        totals[blockIdx.x] = turn[from][t];
}

void blockSums(int *sums, int *totals, const int *values, int n)
{
    blockSumsKernel<<<(n + BLOCK - 1) / BLOCK, BLOCK>>>(sums, totals, values, n);
}
