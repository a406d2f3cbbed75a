// One launch for each image.
__global__ void brighten(float *out, const float *image, float by, int rows, int columns) {
  int column = blockIdx.x * blockDim.x + threadIdx.x;
  int row = blockIdx.y * blockDim.y + threadIdx.y;
  if (row < rows && column < columns)
    out[row * columns + column] = image[row * columns + column] + by;
}

// All launches of 'brighten' in the loop over 'i' at once: none needs what another
// one computes.
__global__ void brightenBatch(float *__restrict__ out, const float *__restrict__ image, float by,
                              int rows, int columns, int count) {
  const int point = blockIdx.x * blockDim.x + threadIdx.x;
  if (point >= count * rows * columns)
    return;
  const int column = point % columns;
  const int row = point / columns % rows;
  const int i = point / (rows * columns);
  out[column + (size_t)row * columns + (size_t)i * rows * columns] =
      image[column + (size_t)row * columns + (size_t)i * rows * columns] + by;
}

void run(float *out, const float *images, float by, int count, int rows, int columns) {
  dim3 block(32, 8), grid((columns + 31) / 32, (rows + 7) / 8);
  if (count > 0 && rows > 0 && columns > 0 && (size_t)count * rows * columns <= 0x7fff0000 &&
      (images + (long long)rows * columns * count <= out ||
       out + (long long)rows * columns * count <= images)) {
    brightenBatch<<<(count * rows * columns + 255) / 256, 256>>>(out, images, by, rows, columns,
                                                                 count);
  } else {
    for (int i = 0; i < count; ++i)
      brighten<<<grid, block>>>(out + i * rows * columns, images + i * rows * columns, by, rows,
                                columns);
  }
}
