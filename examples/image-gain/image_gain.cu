// Applies gain and gamma-like contrast to a grey image: an entry function with
// a workload, for code that is part of a library and has no main.
//
// kb-workload:
//   entry: applyGain
//   parameters:
//     out:    { type: float, shape: "width*height", role: out }
//     in:     { type: float, shape: "width*height", role: in, distribution: uniform(0, 1) }
//     width:  { type: int, value: 512 }
//     height: { type: int, value: 96 }
//     gain:   { type: float, value: 1.25 }

__global__ void gainKernel(float *out, const float *in, int width, int height, float gain) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < width * height) {
    float value = in[i] * gain;
    out[i] = value / (value + 0.155) * 1.019;
  }
}

void applyGain(float *out, const float *in, int width, int height, float gain) {
  int count = width * height;
  gainKernel<<<(count + 127) / 128, 128>>>(out, in, width, height, gain);
}
