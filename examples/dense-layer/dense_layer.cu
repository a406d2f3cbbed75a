// One dense layer of a small network: y = gelu(x * W^T + b), then a residual
// y += scale * x. Written the way a first version often is: indices in reading
// order, literals as they came.
//
//   dense_layer [rows] [features]
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define CHECK(call)                                                                     \
  do {                                                                                  \
    cudaError_t status = (call);                                                        \
    if (status != cudaSuccess) {                                                        \
      fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(status));   \
      exit(EXIT_FAILURE);                                                               \
    }                                                                                   \
  } while (0)

// x: rows x features, weight: features x features (row = output), y: rows x features.
__global__ void denseGelu(float *y, const float *x, const float *weight, const float *bias, int rows,
                          int features) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  int out = blockIdx.y * blockDim.y + threadIdx.y;
  if (row < rows && out < features) {
    float sum = bias[out];
    for (int k = 0; k < features; ++k)
      sum += x[row * features + k] * weight[k * features + out];
    y[row * features + out] = 0.5f * sum * (1.0f + erff(sum * 0.70710678f));
  }
}

__global__ void addResidual(float *y, const float *x, float scale, int count) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count)
    y[i] += scale * x[i];
}

static float uniform(unsigned &state) {
  state = state * 1664525u + 1013904223u;
  return (state >> 8) * (1.0f / 16777216.0f) - 0.5f;
}

int main(int argc, char **argv) {
  int rows = argc > 1 ? atoi(argv[1]) : 96;
  int features = argc > 2 ? atoi(argv[2]) : 160;
  std::vector<float> x(rows * features), weight(features * features), bias(features), y(rows * features);
  unsigned state = 42;
  for (float &value : x)
    value = uniform(state);
  for (float &value : weight)
    value = uniform(state);
  for (float &value : bias)
    value = uniform(state);

  float *dX, *dWeight, *dBias, *dY;
  CHECK(cudaMalloc(&dX, x.size() * sizeof(float)));
  CHECK(cudaMalloc(&dWeight, weight.size() * sizeof(float)));
  CHECK(cudaMalloc(&dBias, bias.size() * sizeof(float)));
  CHECK(cudaMalloc(&dY, y.size() * sizeof(float)));
  CHECK(cudaMemcpy(dX, x.data(), x.size() * sizeof(float), cudaMemcpyHostToDevice));
  CHECK(cudaMemcpy(dWeight, weight.data(), weight.size() * sizeof(float), cudaMemcpyHostToDevice));
  CHECK(cudaMemcpy(dBias, bias.data(), bias.size() * sizeof(float), cudaMemcpyHostToDevice));

  dim3 block(16, 16);
  dim3 grid((rows + block.x - 1) / block.x, (features + block.y - 1) / block.y);
  denseGelu<<<grid, block>>>(dY, dX, dWeight, dBias, rows, features);
  CHECK(cudaGetLastError());
  int count = rows * features;
  addResidual<<<(count + 255) / 256, 256>>>(dY, dX, 0.5f, count);
  CHECK(cudaGetLastError());
  CHECK(cudaMemcpy(y.data(), dY, y.size() * sizeof(float), cudaMemcpyDeviceToHost));

  double worst = 0;
  for (int row = 0; row < rows; row += 7)
    for (int out = 0; out < features; out += 5) {
      double sum = bias[out];
      for (int k = 0; k < features; ++k)
        sum += double(x[row * features + k]) * weight[k * features + out];
      double expected = 0.5 * sum * (1 + std::erf(sum * 0.70710678118654752)) + 0.5 * x[row * features + out];
      worst = std::fmax(worst, std::fabs(expected - y[row * features + out]));
    }
  printf("largest error %.1e: %s\n", worst, worst < 1e-4 ? "PASS" : "FAIL");
  CHECK(cudaFree(dX));
  CHECK(cudaFree(dWeight));
  CHECK(cudaFree(dBias));
  CHECK(cudaFree(dY));
  return worst < 1e-4 ? EXIT_SUCCESS : EXIT_FAILURE;
}
