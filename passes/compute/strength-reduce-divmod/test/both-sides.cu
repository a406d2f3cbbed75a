// The new kernel runs where the sizes are positive; a divisor of zero, which no thread divides by,
// reaches the original.
// RUN: kb-opt -passes=strength-reduce-divmod --quiet -o %t.cu %s
// RUN: %code %t.cu | FileCheck %s
// RUN: kb-opt --by-passes --judge=%t.cu --promise=bitwise %s 2>&1 | FileCheck %s --check-prefix=JUDGE
// CHECK: if (channels > 0 && images > 0 && pixels > 0 &&
// CHECK: {{t}}oChannelsLastDivided<<<2, 64>>>(in, out, images, channels, pixels,
// CHECK: else
// CHECK-NEXT: toChannelsLast<<<2, 64>>>(in, out, images, channels, pixels);
// JUDGE: {{^}}correct{{$}}
//
// kb-workload:
//   entry: run
//   sizes: {images: 2, channels: 12, pixels: 100}
//   test-sizes: [{images: 1, channels: 1, pixels: 1}, {images: 3, channels: 5, pixels: 7}, {images: 4, channels: 0, pixels: 7}, {images: 1, channels: 513, pixels: 2}]
//   parameters:
//     - {name: in, type: f32, shape: images*channels*pixels+1, role: in}
//     - {name: out, type: f32, shape: images*channels*pixels+1, role: inout}
//     - {name: images, value: images}
//     - {name: channels, value: channels}
//     - {name: pixels, value: pixels}
__global__ void toChannelsLast(const float *in, float *out, int images, int channels, int pixels) {
  int count = images * channels * pixels, step = gridDim.x * blockDim.x;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += step) {
    int channel = i % channels, pixel = i / channels % pixels, image = i / channels / pixels;
    out[i] = in[(image * channels + channel) * pixels + pixel];
  }
}
void run(const float *in, float *out, int images, int channels, int pixels) {
  toChannelsLast<<<2, 64>>>(in, out, images, channels, pixels);
}
