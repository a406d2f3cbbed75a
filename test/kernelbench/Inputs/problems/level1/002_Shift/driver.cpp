#include <torch/torch.h>
#include <iostream>

void launch_gpu_implementation(void *output, void *input, float factor, int64_t rows, int64_t columns);

int main() {
  const int64_t rows = 6, columns = 40;
  const float factor = 1.5f;
  auto options = torch::TensorOptions().dtype(torch::kFloat16).device(torch::kCUDA);
  torch::Tensor x = torch::randn({rows, columns}, options);
  torch::Tensor reference = x + factor;
  torch::Tensor y = torch::empty_like(reference);
  launch_gpu_implementation(y.data_ptr(), x.data_ptr(), factor, rows, columns);
  std::cout << (torch::allclose(y, reference, 1e-1, 1e-1) ? "passed" : "failed") << std::endl;
  return 0;
}
