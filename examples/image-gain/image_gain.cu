// Applies gain and gamma-like contrast to a grey image: an entry function with
// a workload, for code that is part of a library and has no main.
//
// kb-workload:
//   entry: applyGain
//   sizes: {width: 512, height: 96}
//   test-sizes: [{width: 1, height: 1}, {width: 31, height: 1}, {width: 32, height: 4}, {width: 33, height: 7}, {width: 127, height: 3}]
//   unseen-sizes: [{width: 97, height: 13}, {width: 640, height: 48}]
//   parameters:
//     - {name: out, type: f32, shape: width*height, role: out}
//     - {name: in, type: f32, shape: width*height, role: in, init: "uniform(0, 1)"}
//     - {name: width, value: width}
//     - {name: height, value: height}
//     - {name: gain, type: f32, value: 1.25}

__global__ void gainKernel(float *out, const float *in, int width, int height, float gain) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < width * height) {
    float value = in[i] * gain;
    out[i] = value / (value * value + 0.155) * 1.019;
  }
}

void applyGain(float *out, const float *in, int width, int height, float gain) {
  int count = width * height;
  gainKernel<<<(count + 127) / 128, 128>>>(out, in, width, height, gain);
}
