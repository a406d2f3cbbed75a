// Holt's linear smoothing of sales (level and slope of every item), the error of its forecast, and the mean absolute
// error of each item.
//
// kb-workload:
//   entry: holt
//   sizes: {items: 2048, weeks: 1024}
//   test-sizes: [{items: 1, weeks: 1}, {items: 9, weeks: 33}, {items: 33, weeks: 100}]
//   unseen-sizes: [{items: 37, weeks: 61}]
//   parameters:
//     - {name: sales, type: f64, shape: items*weeks, role: in, init: uniform, values: [finite]}
//     - {name: forecast, type: f64, shape: items*weeks, role: out}
//     - {name: error, type: f64, shape: items*weeks, role: out}
//     - {name: meanError, type: f64, shape: items, role: out}
//     - {name: items, value: items}
//     - {name: weeks, value: weeks}

__global__ void forecastKernel(const double *sales, double *forecast, int items, int weeks) {
  int item = blockIdx.x * blockDim.x + threadIdx.x;
  if (item < items) {
    const double *s = sales + item * weeks;
    double level = s[0], slope = 0;
    for (int week = 0; week < weeks; ++week) {
      forecast[item * weeks + week] = level + slope;
      double before = level;
      level = 0.3 * s[week] + 0.7 * (level + slope);
      slope = 0.1 * (level - before) + 0.9 * slope;
    }
  }
}

__global__ void errorKernel(const double *sales, const double *forecast, double *error, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    error[i] = sales[i] - forecast[i];
}

__global__ void meanErrorKernel(const double *error, double *meanError, int items, int weeks) {
  int item = blockIdx.x * blockDim.x + threadIdx.x;
  if (item < items) {
    double sum = 0;
    for (int week = 0; week < weeks; ++week)
      sum += fabs(error[item * weeks + week]);
    meanError[item] = sum / weeks;
  }
}

void holt(const double *sales, double *forecast, double *error, double *meanError, int items, int weeks) {
  forecastKernel<<<(items + 127) / 128, 128>>>(sales, forecast, items, weeks);
  errorKernel<<<(items * weeks + 255) / 256, 256>>>(sales, forecast, error, items * weeks);
  meanErrorKernel<<<(items + 127) / 128, 128>>>(error, meanError, items, weeks);
}
