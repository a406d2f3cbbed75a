// Convolutions become products whose columns are the pixels of all images: every bit stays, also where weights are infinite, where a
// window is larger than the image, and where there are no pixels.
// RUN: kb-opt "-passes=schedule{as='contraction bm=32 bn=64 bk=8 tm=4 tn=8 stages=2 vector=4'}" --quiet -o %t.cu %s
// RUN: %code %t.cu | FileCheck %s
// RUN: kb-opt --by-passes --judge=%t.cu --promise=bitwise %s | FileCheck --check-prefix=JUDGE %s
// JUDGE: {{^}}correct
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <vector>

// One number for each output, bounds in an if.
// CHECK: {{c}}onvolution_tiled(
__global__ void convolution(float *y, const float *x, const float *w, const float *bias, int N, int C, int H, int W, int OC, int KH, int KW,
                            int stride, int pad, int OH, int OW) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= N * OC * OH * OW)
    return;
  int ow = i % OW, oh = i / OW % OH, oc = i / (OW * OH) % OC, n = i / (OW * OH * OC);
  float sum = bias[oc];
  for (int c = 0; c < C; ++c)
    for (int kh = 0; kh < KH; ++kh)
      for (int kw = 0; kw < KW; ++kw) {
        int ih = oh * stride - pad + kh, iw = ow * stride - pad + kw;
        if (ih >= 0 && ih < H && iw >= 0 && iw < W)
          sum += x[((n * C + c) * H + ih) * W + iw] * w[((oc * C + c) * KH + kh) * KW + kw];
      }
  y[i] = sum > 0 ? sum : 0.1f * sum;
}

template <class T> T *make(const std::vector<T> &h) {
  T *d;
  cudaMalloc(&d, h.size() * sizeof(T) + 16);
  cudaMemcpy(d, h.data(), h.size() * sizeof(T), cudaMemcpyHostToDevice);
  return d;
}

std::vector<float> values(size_t n, int seed) {
  std::vector<float> h(n);
  for (size_t i = 0; i < n; ++i)
    h[i] = float((i * 7919 + seed * 131) % 1000) / 500 - 1;
  return h;
}

void show(const char *name, float *d, size_t n) {
  std::vector<float> h(n);
  cudaMemcpy(h.data(), d, n * sizeof(float), cudaMemcpyDeviceToHost);
  unsigned bits = 0;
  for (float x : h)
    bits = bits * 31 + *reinterpret_cast<unsigned *>(&x);
  printf("%s %u\n", name, bits);
}

int main() {
  struct Shape {
    int N, C, H, W, OC, KH, KW, stride, pad;
  };
  Shape shapes[] = {{2, 3, 9, 11, 5, 3, 3, 1, 1}, {1, 4, 8, 8, 36, 3, 3, 2, 1}, {3, 1, 7, 5, 1, 1, 1, 1, 0}, {1, 2, 4, 5, 3, 7, 5, 1, 3}, {1, 2, 4, 5, 3, 6, 5, 1, 0}};
  for (Shape s : shapes)
    for (int special : {0, 1, 2}) {
      int OH = std::max(0, (s.H + 2 * s.pad - s.KH) / s.stride + 1), OW = std::max(0, (s.W + 2 * s.pad - s.KW) / s.stride + 1);
      std::vector<float> x = values(s.N * s.C * s.H * s.W, 1), w = values(s.OC * s.C * s.KH * s.KW, 2);
      if (special == 1) // a product with zero would be no number
        w[0] = INFINITY, w[w.size() / 2] = NAN, x[x.size() / 2] = -INFINITY;
      if (special == 2) // sums of -0
        for (float &each : x)
          each = -0.0f;
      size_t count = s.N * s.OC * OH * OW;
      float *y = make(std::vector<float>(count)), *dx = make(x), *dw = make(w), *bias = make(special == 2 ? std::vector<float>(s.OC, -0.0f) : values(s.OC, 3));
      convolution<<<std::max<size_t>(1, (count + 127) / 128), 128>>>(y, dx, dw, bias, s.N, s.C, s.H, s.W, s.OC, s.KH, s.KW, s.stride, s.pad, OH, OW);
      show("convolution", y, count);
    }
}
