// The cheapest offer of each seller: cost and number of the offer in one 64-bit word, whose minimum is wanted.
//
// kb-workload:
//   entry: cheapestOffers
//   sizes: {offers: 2097152, sellers: 64}
//   test-sizes: [{offers: 1, sellers: 1}, {offers: 255, sellers: 4}, {offers: 1000, sellers: 33}]
//   unseen-sizes: [{offers: 700, sellers: 10}]
//   parameters:
//     - {name: cheapest, type: u64, shape: sellers, role: inout, init: constant(9000000000000000000)}
//     - {name: cost, type: u32, shape: offers, role: in, init: "range(0, 1000000)"}
//     - {name: seller, type: i32, shape: offers, role: in, init: "range(0, sellers)", range: [0, sellers - 1]}
//     - {name: offers, value: offers}

__global__ void cheapestKernel(unsigned long long *cheapest, const unsigned *cost, const int *seller, int offers)
{
    for (int o = blockIdx.x * blockDim.x + threadIdx.x; o < offers; o += blockDim.x * gridDim.x)
    {
        unsigned long long word = ((unsigned long long)cost[o] << 32) | (unsigned)o;
        atomicMin(cheapest + seller[o], word);
    }
}

void cheapestOffers(unsigned long long *cheapest, const unsigned *cost, const int *seller, int offers)
{
    cheapestKernel<<<1056, 256>>>(cheapest, cost, seller, offers);
}
