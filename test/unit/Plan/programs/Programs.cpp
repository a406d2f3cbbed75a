//===- Programs.cpp - Host programs for the recorder's tests ----------------===//
//
// Owns one small host program per behaviour, chosen by the first argument, with
// the calls that a CUDA compiler would make to register and launch kernels.
//
//===----------------------------------------------------------------------===//
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dirent.h>
#include <fcntl.h>
#include <fstream>
#include <string>
#include <sys/socket.h>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>
#include <vector>

struct Dim {
  unsigned x = 1, y = 1, z = 1;
};

extern "C" {
void **__cudaRegisterFatBinary(void *);
void __cudaRegisterFatBinaryEnd(void **);
void __cudaRegisterFunction(void **, const char *, char *, const char *, int, void *, void *,
                            void *, void *, int *);
void __cudaRegisterVar(void **, char *, char *, const char *, int, size_t, int, int);
int cudaLaunchKernel(const void *, Dim, Dim, void **, size_t, void *);
int cudaLaunchCooperativeKernel(const void *, Dim, Dim, void **, size_t, void *);
int cudaMalloc(void **, size_t);
int cudaMallocManaged(void **, size_t, unsigned);
int cudaMallocHost(void **, size_t);
int cudaFree(void *);
int cudaFreeHost(void *);
int cudaMemcpy(void *, const void *, size_t, int);
int cudaMemcpyAsync(void *, const void *, size_t, int, void *);
int cudaMemcpy2D(void *, size_t, const void *, size_t, size_t, size_t, int);
int cudaMemcpyToSymbol(const void *, const void *, size_t, size_t, int);
int cudaMemset(void *, int, size_t);
int cudaDeviceSynchronize();
int cudaGetLastError();
int cudaPeekAtLastError();
const char *cudaGetErrorName(int);
int cudaStreamCreateWithFlags(void **, unsigned);
int cudaStreamSynchronize(void *);
int cudaEventCreate(void **);
int cudaEventRecord(void *, void *);
int cudaEventSynchronize(void *);
int cudaEventElapsedTime(float *, void *, void *);
int cudaGraphCreate(void **, unsigned);
int cudaGetDeviceProperties(void *, int);
int cudaGetDeviceProperties_v2(void *, int);
int cudaDeviceGetAttribute(int *, int, int);
int cublasCreate_v2(void **);
int cublasDestroy_v2(void *);
int cublasSgemm_v2(void *, int, int, int, int, int, const float *, const float *, int,
                   const float *, int, const float *, float *, int);
int cublasSgemmStridedBatched(void *, int, int, int, int, int, const float *, const float *, int,
                              long long, const float *, int, long long, const float *, float *, int,
                              long long, int);
}

namespace {

enum { hostToDevice = 1, deviceToHost = 2, deviceToDevice = 3 };

char scaleStub, lookUpStub, followStub, trapStub, absentStub, tableShadow;

void registerKernel(void **handle, char *stub, const char *name) {
  __cudaRegisterFunction(handle, stub, const_cast<char *>(name), name, -1, nullptr, nullptr,
                         nullptr, nullptr, nullptr);
}

/// What the compiler's module constructor does.
__attribute__((constructor)) void registerAll() {
  void **handle = __cudaRegisterFatBinary(nullptr);
  registerKernel(handle, &scaleStub, "_Z5scalePfif");
  registerKernel(handle, &lookUpStub, "lookUp");
  registerKernel(handle, &followStub, "_Z6followPPf");
  registerKernel(handle, &trapStub, "_Z4trapPf");
  __cudaRegisterVar(handle, &tableShadow, const_cast<char *>("table"), "table", 0, 16, 0, 0);
  __cudaRegisterFatBinaryEnd(handle);
}

int scale(float *x, int n, float a, unsigned threads = 32, void *stream = nullptr,
          size_t shared = 0) {
  void *args[] = {&x, &n, &a};
  unsigned blocks = (static_cast<unsigned>(n) + 31) / 32;
  return cudaLaunchKernel(&scaleStub, {blocks, 1, 1}, {threads, 1, 1}, args, shared, stream);
}

float *deviceFloats(const std::vector<float> &values) {
  void *p = nullptr;
  cudaMalloc(&p, values.size() * sizeof(float));
  cudaMemcpy(p, values.data(), values.size() * sizeof(float), hostToDevice);
  return static_cast<float *>(p);
}

float firstOf(float *x) {
  float value = 0;
  cudaMemcpy(&value, x, sizeof value, deviceToHost);
  return value;
}

void show(const char *what, int error) { std::printf("%s: %s\n", what, cudaGetErrorName(error)); }

int simple() {
  std::vector<float> values{1, 2, 3, 4};
  float *x = deviceFloats(values);
  scale(x, 4, 2);
  cudaMemcpy(values.data(), x, 16, deviceToHost);
  std::printf("%g %g %g %g\n", values[0], values[1], values[2], values[3]);
  cudaFree(x);
  return 0;
}

/// Doubles 32 numbers, and again as often as the first result says; \p inPieces uploads
/// the numbers in two pieces, \p isOther others in their place.
int goByResult(bool inPieces, bool isOther) {
  std::vector<float> values(32);
  for (int i = 0; i < 32; ++i)
    values[i] = static_cast<float>(i + (isOther ? 2 : 1));
  float *x;
  cudaMalloc(reinterpret_cast<void **>(&x), 128);
  const int bytes = inPieces ? 64 + 4 : 128; // a piece of at most 64 bytes is no input
  cudaMemcpy(x, values.data(), bytes, hostToDevice);
  if (inPieces)
    cudaMemcpy(x + 15, values.data() + 15, 68, hostToDevice);
  scale(x, 32, 2);
  float first;
  cudaMemcpy(&first, x, 4, deviceToHost);
  for (int i = 0; i < first; ++i)
    scale(x, 32, 2);
  cudaMemcpy(values.data(), x, 128, deviceToHost);
  std::printf("%g: %g %g\n", first, values[0], values[31]);
  return 0;
}

/// Computes its results again, as programs do that check themselves.
int simpleAndSleep() {
  int status = simple();
  sleep(50);
  return status;
}

/// C (2 x 2) = A (2 x 3) times B (3 x 2), columns one after the other.
int product() {
  void *handle;
  cublasCreate_v2(&handle);
  float *a = deviceFloats({1, 2, 3, 4, 5, 6}), *b = deviceFloats({1, 0, 2, 0, 1, 1}),
        *at = deviceFloats({1, 3, 5, 2, 4, 6}), *bt = deviceFloats({1, 0, 0, 1, 2, 1}),
        *c = deviceFloats({1, 1, 1, 1});
  float alpha = 2, beta = 1, zero = 0;
  std::vector<float> values(4);
  auto show = [&](int status) {
    cudaMemcpy(values.data(), c, 16, deviceToHost);
    std::printf("%d: %g %g %g %g\n", status, values[0], values[1], values[2], values[3]);
  };
  show(cublasSgemm_v2(handle, 0, 0, 2, 2, 3, &alpha, a, 2, b, 3, &beta, c, 2));
  show(cublasSgemm_v2(handle, 1, 1, 2, 2, 3, &alpha, at, 3, bt, 2, &zero, c, 2));
  // Two products of one column each: the second column of B belongs to the second one.
  show(cublasSgemmStridedBatched(handle, 0, 0, 2, 1, 3, &alpha, a, 2, 0, b, 3, 3, &zero, c, 2, 2,
                                 2));
  show(cublasSgemm_v2(handle, 0, 0, 2, 2, 3, &alpha, a, 1, b, 3, &zero, c, 2));
  cublasDestroy_v2(handle);
  return 0;
}

int productBeyond() {
  void *handle;
  cublasCreate_v2(&handle);
  float *a = deviceFloats({1, 2, 3, 4}), one = 1;
  cublasSgemm_v2(handle, 0, 0, 2, 2, 2, &one, a, 2, a, 3, &one, a, 2);
  return 0;
}

/// A check, and then launches without end.
int timing() {
  float *x = deviceFloats({1, 2, 3, 4});
  scale(x, 4, 2);
  std::printf("first: %g\n", firstOf(x));
  while (true)
    scale(x, 4, 2);
}

/// Results that are read after more launches than a recording may have.
int repeated() {
  float *x = deviceFloats({1, 2, 3, 4});
  const float ones[] = {1, 1, 1, 1};
  for (int i = 0; i < 10; ++i) {
    cudaMemcpy(x, ones, sizeof ones, hostToDevice);
    scale(x, 4, 2);
  }
  std::printf("first: %g\n", firstOf(x));
  if (getenv("CHECK_FOR_EVER"))
    for (volatile int i = 0;; ++i) // a reference on the host
      ;
  scale(x, 4, 2);
  std::printf("not reached\n");
  return 0;
}

int symbols() {
  void *x;
  cudaMalloc(&x, 32);
  int patch[2] = {70, 80}, n = 8, result[8];
  cudaMemcpyToSymbol(&tableShadow, patch, 8, 4, hostToDevice);
  void *args[] = {&x, &n};
  cudaLaunchKernel(&lookUpStub, {1, 1, 1}, {8, 1, 1}, args, 0, nullptr);
  cudaMemcpy(result, x, 32, deviceToHost);
  std::printf("%d %d %d %d\n", result[0], result[1], result[2], result[3]);
  return 0;
}

int managed() {
  void *p;
  cudaMallocManaged(&p, 4096, 1);
  auto *x = static_cast<float *>(p);
  for (int i = 0; i < 1024; ++i)
    x[i] = 1;
  scale(x, 1024, 3);
  cudaDeviceSynchronize();
  std::printf("%g\n", x[5]);
  x[6] = 100; // one host write between two launches
  scale(x, 1024, 2);
  cudaDeviceSynchronize();
  std::printf("%g %g\n", x[5], x[6]);
  return 0;
}

int pinned() {
  void *p;
  cudaMallocHost(&p, 64);
  auto *x = static_cast<float *>(p);
  for (int i = 0; i < 16; ++i)
    x[i] = static_cast<float>(i);
  float *device = deviceFloats(std::vector<float>(x, x + 16)); // a host side of a copy
  scale(x, 16, 2);                                             // and now a kernel uses it
  cudaDeviceSynchronize();
  std::printf("%g %g\n", x[3], firstOf(device + 3));
  cudaFreeHost(p);
  return 0;
}

/// The same launch three times; the host writes before the third.
int repeat() {
  void *p;
  cudaMallocManaged(&p, 16, 1);
  int n = 4;
  void *args[] = {&p, &n};
  for (int i = 0; i < 3; ++i) {
    cudaLaunchKernel(&lookUpStub, {1, 1, 1}, {4, 1, 1}, args, 0, nullptr);
    cudaDeviceSynchronize();
    std::printf("%d ", *static_cast<int *>(p));
    if (i == 1)
      *static_cast<int *>(p) = 99;
  }
  return 0;
}

/// Equal fills with a kernel, a copy and another fill between them.
int refill() {
  void *p;
  cudaMalloc(&p, 16);
  int n = 4, first;
  void *args[] = {&p, &n};
  for (int i = 0; i < 5; ++i) {
    cudaMemset(p, 0, 16);
    cudaMemcpy(&first, p, 4, deviceToHost);
    std::printf("%d ", first);
    if (i == 1)
      cudaLaunchKernel(&lookUpStub, {1, 1, 1}, {4, 1, 1}, args, 0, nullptr);
    if (i == 2)
      cudaMemcpy(p, &n, 4, hostToDevice);
    if (i == 3)
      cudaMemset(p, 1, 16);
  }
  return 0;
}

int pitched() {
  char host[3][10], back[3][16];
  std::memset(host, 'h', sizeof host);
  std::memset(back, '-', sizeof back);
  void *p;
  cudaMalloc(&p, 3 * 32);
  cudaMemset(p, 'd', 96);
  cudaMemcpy2D(p, 32, host, 10, 7, 3, hostToDevice);
  cudaMemcpy2D(back, 16, p, 32, 9, 3, deviceToHost);
  std::printf("%.16s %.16s\n", back[0], back[2]);
  return 0;
}

int streams() {
  void *stream, *start, *end;
  cudaStreamCreateWithFlags(&stream, 1);
  cudaEventCreate(&start);
  cudaEventCreate(&end);
  float *x = deviceFloats({1, 2});
  cudaEventRecord(start, stream);
  scale(x, 2, 2, 32, stream);
  cudaEventRecord(end, stream);
  cudaEventSynchronize(end);
  float milliseconds = 0, values[2];
  cudaEventElapsedTime(&milliseconds, start, end);
  cudaMemcpyAsync(values, x, 8, deviceToHost, stream);
  cudaStreamSynchronize(stream);
  std::printf("%d %g %g\n", milliseconds > 0 && milliseconds < 1, milliseconds, values[1]);
  return 0;
}

/// Decides by a device result how often to go on.
int decide() {
  float *x = deviceFloats({1});
  int rounds = 0;
  while (firstOf(x) < 100) {
    scale(x, 1, 3);
    ++rounds;
  }
  std::printf("%d rounds\n", rounds);
  return 0;
}

int memoryPointers() {
  float *x = deviceFloats({41});
  void *cell;
  cudaMalloc(&cell, 8);
  cudaMemcpy(cell, &x, 8, hostToDevice);
  void *args[] = {&cell};
  cudaLaunchKernel(&followStub, {1, 1, 1}, {1, 1, 1}, args, 0, nullptr);
  std::printf("%g\n", firstOf(x));
  return 0;
}

int errors() {
  float *x = deviceFloats({1});
  show("too many threads", scale(x, 1, 2, 2048));
  show("last", cudaGetLastError());
  show("then", cudaGetLastError());
  show("too much shared", scale(x, 1, 2, 32, nullptr, 100000));
  show("peek", cudaPeekAtLastError());
  float value;
  show("beyond the end", cudaMemcpy(&value, x + 1, 4, deviceToHost));
  show("host pointer", cudaMemcpy(&value, &value, 4, hostToDevice));
  show("freed by half", cudaFree(x + 1));
  show("unknown stream", cudaStreamSynchronize(&value));
  void *none;
  show("unknown kernel", cudaLaunchKernel(&absentStub, {}, {}, nullptr, 0, nullptr));
  show("huge", cudaMalloc(&none, size_t{1} << 40));
  show("nothing", cudaFree(nullptr));
  return 0;
}

int fault() {
  float *x = deviceFloats({1});
  void *args[] = {&x};
  show("launch", cudaLaunchKernel(&trapStub, {1, 1, 1}, {1, 1, 1}, args, 0, nullptr));
  show("synchronize", cudaDeviceSynchronize());
  show("malloc", cudaMalloc(args, 4));
  show("last", cudaGetLastError());
  return 1;
}

int properties() {
  // Offsets of CUDA 13's and 12's cudaDeviceProp.
  alignas(8) char now[1008], before[1032];
  cudaGetDeviceProperties(now, 0);
  cudaGetDeviceProperties_v2(before, 0);
  int processors = 0;
  cudaDeviceGetAttribute(&processors, 16, 0);
  std::printf("%s: %d %d %d\n", now, *reinterpret_cast<int *>(now + 384),
              *reinterpret_cast<int *>(before + 388), processors);
  return 0;
}

int cooperative() {
  void *args[] = {nullptr};
  return cudaLaunchCooperativeKernel(&trapStub, {}, {}, args, 0, nullptr);
}

int threads() {
  float *x = deviceFloats({1});
  std::vector<std::thread> all;
  for (int i = 0; i < 4; ++i)
    all.emplace_back([x] {
      for (int k = 0; k < 5; ++k)
        scale(x, 1, 2);
    });
  for (std::thread &one : all)
    one.join();
  std::printf("%g\n", firstOf(x));
  return 0;
}

/// A message to the keeper of the recording, as by host code that found the recorder's socket.
bool tellKeeper(unsigned message, unsigned long long value, const std::string &bytes) {
  for (int descriptor = 3; descriptor < 64; ++descriptor) {
    struct stat status;
    if (fstat(descriptor, &status) != 0 || !S_ISSOCK(status.st_mode))
      continue;
    struct {
      unsigned message, unused;
      unsigned long long value, bytes;
    } header{message, 0, value, bytes.size()};
    char answer[12]; // a count and a float
    bool good =
        send(descriptor, &header, sizeof header, 0) == sizeof header &&
        send(descriptor, bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size());
    return good &&
           (message != 4 || recv(descriptor, answer, sizeof answer, MSG_WAITALL) == sizeof answer);
  }
  return false;
}

int hang() {
  for (;;)
    sleep(1);
}

struct Command {
  const char *name;
  int (*run)();
};

/// Looks at the machine's files in several ways.
int looking() {
  std::string word;
  std::ifstream("stream.txt") >> word;
  if (std::FILE *file = std::fopen("file.txt", "r"))
    std::fclose(file);
  if (int descriptor = open("open.txt", O_RDONLY); descriptor >= 0)
    close(descriptor);
  struct stat status;
  (void)!stat("/absent.txt", &status);
  (void)!access("asked.txt", R_OK);
  if (DIR *folder = opendir("folder")) {
    (void)!openat(dirfd(folder), "inner.txt", O_RDONLY);
    closedir(folder);
  }
  for (const char *path : {"/proc/self/status", P_tmpdir "/own.txt"})
    if (std::FILE *file = std::fopen(path, "r"))
      std::fclose(file);
  std::printf("%s\n", word.c_str());
  return simple();
}

int starting() {
  (void)!std::system("true");
  return simple();
}

const Command commands[] = {
    {"looking", looking},
    {"starting", starting},
    {"simple", simple},
    {"go-by-result", [] { return goByResult(false, false); }},
    {"go-by-result-in-pieces", [] { return goByResult(true, false); }},
    {"go-by-another-result", [] { return goByResult(false, true); }},
    {"simple-and-sleep", simpleAndSleep},
    {"product", product},
    {"product-beyond", productBeyond},
    {"timing", timing},
    {"repeated", repeated},
    {"symbols", symbols},
    {"managed", managed},
    {"pinned", pinned},
    {"repeat", repeat},
    {"refill", refill},
    {"pitched", pitched},
    {"streams", streams},
    {"decide", decide},
    {"memory-pointers", memoryPointers},
    {"errors", errors},
    {"fault", fault},
    {"properties", properties},
    {"cooperative", cooperative},
    {"threads", threads},
    {"hang", hang},
    {"notes-a-step", [] { return simple() + !tellKeeper(7, 1, ""); }},
    {"takes-results", [] { return !tellKeeper(4, 4, "") + simple(); }},
    {"leaves-a-plan", [] { return simple() + !tellKeeper(8, 0, "{}"); }},
    {"leaves-another",
     [] { return simple(), tellKeeper(8, 0, R"({"version": 1, "steps": []})"), _exit(0), 0; }},
    {"graph", [] { return cudaGraphCreate(nullptr, 0); }},
    {"fail", [] { return std::fputs("wrong input\n", stderr), 7; }},
    {"exit", [] { return simple(), std::exit(0), 0; }},
    {"abort", [] { return simple(), std::abort(), 0; }},
    {"crash", [] { return simple(), *static_cast<volatile int *>(nullptr); }},
    {"leave", [] { return simple(), _exit(0), 0; }},
    {"allocate",
     [] {
       void *p;
       return cudaMalloc(&p, size_t{1} << 40);
     }},
    {"bad-alloc",
     [] {
       std::vector<char> many(size_t{1} << 40);
       return std::printf("%p\n", static_cast<void *>(many.data()));
     }},
    {"environment",
     [] {
       int c;
       std::printf("%s ", std::getenv("KB_TEST"));
       while ((c = std::getchar()) != EOF)
         std::putchar(c);
       char folder[4096];
       return std::printf("%s\n", getcwd(folder, sizeof folder)), 0;
     }},
};

} // namespace

int main(int argc, char **argv) {
  for (const Command &command : commands)
    if (argc > 1 && std::string(argv[1]) == command.name)
      return command.run();
  return 64;
}
