// Weight gradient of a layer whose activation is a ReLU: out(p, q) = 1/8 * max(0, shift(q) + sum over samples).
//
// kb-workload:
//   entry: weightGradient
//   sizes: {samples: 640, inputs: 384, outputs: 768}
//   test-sizes: [{samples: 1, inputs: 1, outputs: 1}, {samples: 11, inputs: 19, outputs: 35}, {samples: 37, inputs: 66, outputs: 72}]
//   unseen-sizes: [{samples: 20, inputs: 29, outputs: 43}]
//   parameters:
//     - {name: activations, type: f32, shape: samples*inputs, role: in, init: normal}
//     - {name: gradients, type: f32, shape: samples*outputs, role: in, init: normal}
//     - {name: shift, type: f32, shape: outputs, role: in, init: normal}
//     - {name: out, type: f32, shape: inputs*outputs, role: out}
//     - {name: samples, value: samples}
//     - {name: inputs, value: inputs}
//     - {name: outputs, value: outputs}

__global__ void gradientKernel(const float *activations, const float *gradients, const float *shift, float *out,
                               int samples, int inputs, int outputs)
{
  int p = threadIdx.y + blockIdx.y * blockDim.y;
  int q = threadIdx.x + blockIdx.x * blockDim.x;
  if (inputs <= p || outputs <= q)
    return;
  float total = 0.0f;
  for (int s = 0; s < samples; ++s)
    total += gradients[s * outputs + q] * activations[inputs * s + p];
  out[p * outputs + q] = 0.125f * fmaxf(shift[q] + total, 0.0f);
}

void weightGradient(const float *activations, const float *gradients, const float *shift, float *out, int samples,
                    int inputs, int outputs)
{
  dim3 threads(32, 8);
  dim3 blocks((outputs + 31) / 32, (inputs + 7) / 8);
  gradientKernel<<<blocks, threads>>>(activations, gradients, shift, out, samples, inputs, outputs);
}
