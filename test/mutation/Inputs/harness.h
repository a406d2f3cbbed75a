// What the programs of the mutation and exploit suites share on the host side.
#include <cstdio>
#include <cstdlib>
#include <vector>

inline float uniform(unsigned &state) {
  state = state * 1664525u + 1013904223u;
  return (state >> 8) * (1.0f / 16777216.0f) - 0.5f;
}

template <typename T> std::vector<T> randomVector(size_t count, unsigned seed) {
  std::vector<T> values(count);
  for (T &value : values)
    value = static_cast<T>(uniform(seed) * 8);
  return values;
}

template <typename T> T *toDevice(const std::vector<T> &values) {
  T *pointer = nullptr;
  cudaMalloc(&pointer, values.size() * sizeof(T));
  cudaMemcpy(pointer, values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice);
  return pointer;
}

template <typename T> T *onDevice(size_t count) {
  T *pointer = nullptr;
  cudaMalloc(&pointer, count * sizeof(T));
  return pointer;
}

template <typename T> int finish(T *pointer, size_t count) {
  if (cudaGetLastError() != cudaSuccess)
    return 1;
  std::vector<T> values(count);
  cudaMemcpy(values.data(), pointer, count * sizeof(T), cudaMemcpyDeviceToHost);
  double sum = 0;
  for (T value : values)
    sum += static_cast<double>(value);
  std::printf("%zu values, sum %.3f\n", count, sum);
  cudaFree(pointer);
  return 0;
}
