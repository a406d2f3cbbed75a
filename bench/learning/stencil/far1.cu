// Grey-scale dilation of a byte image with a disc: the brightest pixel at most `radius` away.
//
// kb-workload:
//   entry: dilate
//   sizes: {height: 512, width: 768, radius: 6}
//   test-sizes: [{height: 1, width: 1, radius: 1}, {height: 9, width: 33, radius: 2}, {height: 40, width: 45, radius: 5}]
//   unseen-sizes: [{height: 23, width: 37, radius: 3}]
//   admissible:
//     radius: {minimum: 0, maximum: 40}
//   parameters:
//     - {name: out, type: u8, shape: height*width, role: out}
//     - {name: in, type: u8, shape: height*width, role: in, init: "range(0, 256)"}
//     - {name: height, value: height}
//     - {name: width, value: width}
//     - {name: radius, value: radius}

__global__ void dilateKernel(unsigned char *out, const unsigned char *in, int height, int width, int radius) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= height * width)
    return;
  int y = i / width, x = i % width;
  int brightest = 0;
  for (int dy = -radius; dy <= radius; ++dy) {
    for (int dx = -radius; dx <= radius; ++dx) {
      if (dx * dx + dy * dy > radius * radius)
        continue;
      int yy = y + dy, xx = x + dx;
      if (yy >= 0 && yy < height && xx >= 0 && xx < width)
        brightest = max(brightest, (int)in[yy * width + xx]);
    }
  }
  out[i] = (unsigned char)brightest;
}

void dilate(unsigned char *out, const unsigned char *in, int height, int width, int radius) {
  int pixels = height * width;
  dilateKernel<<<(pixels + 255) / 256, 256>>>(out, in, height, width, radius);
}
