//===- PlainLoop.cpp ------------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "PlainLoop.h"

void plainSaxpy(int n, float a, const float *x, float *y) {
  for (int i = 0; i < n; ++i)
    y[i] = a * x[i] + y[i];
}

void plainMatmul(int n, const float *a, const float *b, float *c) {
  for (int row = 0; row < n; ++row)
    for (int column = 0; column < n; ++column) {
      float sum = 0;
      for (int k = 0; k < n; ++k)
        sum += a[row * n + k] * b[k * n + column];
      c[row * n + column] = sum;
    }
}

void plainBlockSum(int n, const float *x, float *out) {
  for (int block = 0; block * 256 < n; ++block) {
    float sum = 0;
    for (int i = block * 256; i < n && i < block * 256 + 256; ++i)
      sum += x[i];
    out[block] = sum;
  }
}
