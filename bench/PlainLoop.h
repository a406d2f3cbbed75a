//===- PlainLoop.h - The kernels of bench/programs as plain C++ --*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef KBOPT_BENCH_PLAINLOOP_H
#define KBOPT_BENCH_PLAINLOOP_H

void plainSaxpy(int n, float a, const float *x, float *y);
void plainMatmul(int n, const float *a, const float *b, float *c);
void plainBlockSum(int n, const float *x, float *out);

#endif // KBOPT_BENCH_PLAINLOOP_H
