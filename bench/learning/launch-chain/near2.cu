// Whitens the columns of a table (z-scores), negative scores are dropped.
//
// kb-workload:
//   entry: whiten
//   sizes: {records: 12288, fields: 192}
//   test-sizes: [{records: 1, fields: 1}, {records: 40, fields: 7}, {records: 90, fields: 35}]
//   unseen-sizes: [{records: 70, fields: 23}]
//   parameters:
//     - {name: table, type: f32, shape: records*fields, role: in, init: normal}
//     - {name: mu, type: f32, shape: fields, role: out}
//     - {name: var, type: f32, shape: fields, role: out}
//     - {name: scores, type: f32, shape: records*fields, role: out}
//     - {name: fields, value: fields}
//     - {name: records, value: records}

__global__ void column_mean(const float *table, float *mu, int fields, int records)
{
    int f = threadIdx.x + blockDim.x * blockIdx.x;
    if (fields <= f)
        return;
    float acc = 0.0f;
    for (int r = 0; r < records; r++)
        acc += table[f + r * fields];
    mu[f] = acc / records;
}

__global__ void column_variance(const float *table, const float *mu, float *var, int fields, int records)
{
    int f = threadIdx.x + blockDim.x * blockIdx.x;
    if (fields <= f)
        return;
    float acc = 0.0f;
    for (int r = 0; r < records; r++) {
        float d = table[f + r * fields] - mu[f];
        acc += d * d;
    }
    var[f] = acc / records;
}

__global__ void score(const float *table, const float *mu, const float *var, float *scores, int fields, int records)
{
    int i = threadIdx.x + blockDim.x * blockIdx.x;
    if (fields * records <= i)
        return;
    int f = i % fields;
    scores[i] = fmaxf((table[i] - mu[f]) / sqrtf(1e-3f + var[f]), 0.0f);
}

void whiten(const float *table, float *mu, float *var, float *scores, int fields, int records)
{
    column_mean<<<(fields + 63) / 64, 64>>>(table, mu, fields, records);
    column_variance<<<(fields + 63) / 64, 64>>>(table, mu, var, fields, records);
    score<<<(records * fields + 511) / 512, 512>>>(table, mu, var, scores, fields, records);
}
