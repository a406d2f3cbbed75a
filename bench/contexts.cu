// How long N processes take to open a CUDA context at once, beside others that use the GPU.
//   nvcc -O2 -o contexts bench/contexts.cu -lcuda
//   CUDA_DEVICE_MAX_CONNECTIONS=1 ./contexts N [kernels|memory|copies] [COUNT]
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cuda.h>
#include <string>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

static double now() {
  using namespace std::chrono;
  return duration<double>(steady_clock::now().time_since_epoch()).count();
}

static void open() {
  CUdevice device;
  CUcontext context;
  if (cuInit(0) || cuDeviceGet(&device, 0) || cuDevicePrimaryCtxRetain(&context, device) ||
      cuCtxSetCurrent(context)) {
    fprintf(stderr, "contexts: cannot open the device\n");
    _exit(1);
  }
}

__global__ void spin(long long clocks) {
  for (long long start = clock64(); clock64() - start < clocks;)
    ;
}

/// Uses the GPU as \p how says until it is killed.
[[noreturn]] static void use(const std::string &how) {
  open();
  constexpr size_t bytes = size_t{256} << 20;
  std::vector<char> host(how == "copies" ? bytes : 0, 1);
  for (CUdeviceptr memory = 0;;) {
    if (how == "kernels") {
      spin<<<132, 256>>>(5000000);
      cudaDeviceSynchronize();
      continue;
    }
    cuMemAlloc(&memory, bytes);
    if (how == "copies")
      cuMemcpyHtoD(memory, host.data(), bytes);
    cuMemFree(memory);
  }
}

int main(int argc, char **argv) {
  const int count = argc > 1 ? atoi(argv[1]) : 12, others = argc > 3 ? atoi(argv[3]) : 4;
  std::vector<pid_t> busy, opened;
  for (int i = 0; argc > 2 && i < others; ++i)
    if (busy.push_back(fork()); busy.back() == 0)
      use(argv[2]);
  sleep(busy.empty() ? 0 : 3);
  const double start = now();
  for (int i = 0; i < count; ++i)
    if (opened.push_back(fork()); opened.back() == 0) {
      open();
      _exit(0);
    }
  for (pid_t each : opened)
    waitpid(each, nullptr, 0);
  printf("%d contexts were opened and closed in %.2f s\n", count, now() - start);
  for (pid_t each : busy)
    kill(each, SIGKILL);
  return 0;
}
