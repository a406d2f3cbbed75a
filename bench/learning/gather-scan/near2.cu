// Money spent since the last visit, for each customer and day.
//
// kb-workload:
//   entry: spent_since_visit
//   sizes: {customers: 3072, days: 730}
//   test-sizes: [{customers: 1, days: 1}, {customers: 10, days: 40}, {customers: 34, days: 90}]
//   unseen-sizes: [{customers: 21, days: 75}]
//   parameters:
//     - {name: visit, type: u8, shape: customers*days, role: in, init: "range(0, 2)"}
//     - {name: amount, type: f32, shape: customers*days, role: in, init: normal, values: [finite]}
//     - {name: spent, type: f32, shape: customers*days, role: out}
//     - {name: days, value: days}
//     - {name: customers, value: customers}

__global__ void spent_kernel(const unsigned char *visit, const float *amount, float *spent, int days, int customers)
{
    int c = threadIdx.x + blockDim.x * blockIdx.x;
    if (customers <= c)
        return;
    float running = 0.0f;
    for (int d = 0; d < days; d++) {
        if (visit[c * days + d] != 0)
            running = 0.0f;
        running += amount[c * days + d];
        spent[c * days + d] = running;
    }
}

void spent_since_visit(const unsigned char *visit, const float *amount, float *spent, int days, int customers)
{
    spent_kernel<<<(customers + 127) / 128, 128>>>(visit, amount, spent, days, customers);
}
