#pragma once

// The sum of every row of a matrix on the device.
void rowSums(float *sums, const float *matrix, int rows, int columns);
// Sets all sums to zero.
void clearSums(float *sums, int rows);
