//===- RunKernels.cpp - Kernels over columns of words ---------------------===//
//
//   run-kernels DEVICE.bc LAUNCHES.txt
//
// A line of LAUNCHES.txt is a kernel, a file of operands, and the numbers of
// operand columns, of rows and of result columns. A kernel takes its operands, the
// number of rows and the place of its results, all as 64-bit words. The results go
// to KERNEL.out beside the list. Owns no meaning of any of them: that is
// Inputs/conformance.py.
//
//===----------------------------------------------------------------------===//
#include "kb-opt/Eval/CpuImage.h"
#include "kb-opt/Support/Error.h"
#include "kb-opt/Support/FileSystem.h"
#include "kbrt/CpuRuntime.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"
#include <cstring>
#include <sstream>

using namespace llvm;
using namespace kbopt;

namespace {

struct Launch {
  std::string kernel, operands;
  uint64_t columns = 0, rows = 0, results = 0;
};

/// Runs one kernel and writes its results into \p folder; prints why where it cannot.
bool run(kbrt::Image &image, const Launch &launch, const std::string &folder) {
  const kbrt::KernelInfo *kernel = image.findKernel(launch.kernel);
  Expected<std::string> operands = realFileSystem().read(folder + "/" + launch.operands);
  if (!kernel || !operands || operands->size() != 8 * launch.columns * launch.rows) {
    errs() << launch.kernel << ": no such kernel, or its operands are not readable\n";
    consumeError(operands.takeError());
    return false;
  }
  kbrt::DeviceMemory &memory = kbrt::DeviceMemory::get();
  void *in = memory.allocate(operands->size());
  size_t bytes = 8 * launch.rows * launch.results;
  void *out = memory.allocate(bytes);
  memcpy(in, operands->data(), operands->size());
  memory.noteHostWrite(in, operands->size());
  auto rows = static_cast<unsigned>(launch.rows);
  void *arguments[] = {&in, &rows, &out};
  kbrt::LaunchOptions options;
  kbrt::LaunchResult result =
      kbrt::launch(image, *kernel, arguments, {(rows + 127) / 128}, {128}, 0, options);
  bool isRun = result.status == kbrt::LaunchStatus::Ok;
  if (!isRun)
    errs() << launch.kernel << ": " << result.message << '\n';
  else
    cantFail(realFileSystem().write(folder + "/" + launch.kernel + ".out",
                                    std::string(static_cast<char *>(out), bytes)));
  memory.free(in);
  memory.free(out);
  return isRun;
}

Expected<bool> runAll(const std::string &bitcodePath, const std::string &listPath) {
  Expected<std::string> bitcode = realFileSystem().read(bitcodePath);
  if (!bitcode)
    return bitcode.takeError();
  Expected<std::string> list = realFileSystem().read(listPath);
  if (!list)
    return list.takeError();
  SmallString<128> imagePath(bitcodePath + ".so");
  sys::fs::make_absolute(imagePath);
  Expected<CpuImage> built = buildCpuImage(*bitcode, {}, realProcessRunner(), imagePath);
  if (!built)
    return built.takeError();
  for (const UnsupportedConstruct &construct : built->unsupported)
    errs() << construct.describe() << '\n';
  std::string problem;
  std::unique_ptr<kbrt::Image> image = kbrt::Image::load(std::string(imagePath), problem);
  if (!image)
    return make_error<UsageError>(problem, "build the image again", ExitStatus::Diagnostics);
  bool isAllRun = true;
  std::istringstream lines(*list);
  Launch launch;
  while (lines >> launch.kernel >> launch.operands >> launch.columns >> launch.rows >>
         launch.results)
    isAllRun &= run(*image, launch, sys::path::parent_path(listPath).str());
  return isAllRun;
}

} // namespace

int main(int argc, char **argv) {
  if (argc != 3) {
    errs() << "usage: run-kernels DEVICE.bc LAUNCHES.txt\n";
    return static_cast<int>(ExitStatus::Usage);
  }
  Expected<bool> isAllRun = runAll(argv[1], argv[2]);
  if (!isAllRun)
    return static_cast<int>(reportError(errs(), "run-kernels", isAllRun.takeError()));
  return *isAllRun ? 0 : 1;
}
