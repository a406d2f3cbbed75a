//===- ResultComparison.cpp - results compared on the device --------------===//
// SPDX-License-Identifier: Apache-2.0
#include "ComparePtx.h"
#include "Handles.h"
#include "kbrt/CudaScreen.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

using namespace kbrt;
using namespace kbrt::cuda;

namespace {

constexpr unsigned threadsPerBlock = 256;
/// Several blocks for each multiprocessor of the largest device.
constexpr uint64_t mostBlocks = 2048;
constexpr double largest = std::numeric_limits<double>::max();

/// NaN comes of infinity divided by infinity.
double inRange(double value) { return std::isfinite(value) ? value : largest; }

} // namespace

struct ResultComparison::State {
  struct Kernels {
    CUmodule module = nullptr;
    CUfunction compare = nullptr, squares = nullptr;
  };

  explicit State(Device &device) : h(device.getHandles()) {}
  ~State() {
    if (h.isLost)
      return;
    for (auto &[suffix, each] : kernels)
      if (each.module)
        h.driver->cuModuleUnload(each.module);
    if (figures)
      h.driver->cuMemFree(figures);
  }

  bool check(CUresult code, Problem &problem) {
    if (code != CUDA_SUCCESS)
      problem = {LaunchStatus::Environment,
                 "kb-run's comparison of results: " + describe(*h.driver, code), adviceFor(code)};
    return code == CUDA_SUCCESS;
  }

  /// Null and \p problem if they do not load.
  Kernels *kernelsFor(ElementType type, Problem &problem) {
    const std::string suffix = compareSuffix(type);
    Kernels &found = kernels[suffix];
    const Driver &driver = *h.driver;
    if (found.compare)
      return &found;
    if (!check(driver.cuModuleLoadData(&found.module, comparePtx(type).c_str()), problem))
      return nullptr;
    if (isFloatingPoint(type) &&
        !check(driver.cuModuleGetFunction(&found.squares, found.module,
                                          ("kb_squares_" + suffix).c_str()),
               problem))
      return nullptr;
    return check(driver.cuModuleGetFunction(&found.compare, found.module,
                                            ("kb_compare_" + suffix).c_str()),
                 problem)
               ? &found
               : nullptr;
  }

  /// Runs \p kernel over \p bytes and copies its \p figures.
  template <typename Figures>
  bool launch(CUfunction kernel, uint64_t bytes, void **arguments, Figures &into,
              Problem &problem) {
    const uint64_t vectors = (bytes + 15) / 16;
    const auto blocks = static_cast<unsigned>(
        std::clamp<uint64_t>((vectors + threadsPerBlock - 1) / threadsPerBlock, 1, mostBlocks));
    const Driver &driver = *h.driver;
    return check(driver.cuMemsetD8Async(figures, 0, sizeof into, h.stream), problem) &&
           check(driver.cuLaunchKernel(kernel, blocks, 1, 1, threadsPerBlock, 1, 1, 0, h.stream,
                                       arguments, nullptr),
                 problem) &&
           check(driver.cuMemcpyDtoHAsync(&into, figures, sizeof into, h.stream), problem) &&
           check(driver.cuStreamSynchronize(h.stream), problem);
  }

  Device::Handles &h;
  std::map<std::string, Kernels> kernels; // by suffix
  CUdeviceptr figures = 0;
};

ResultComparison::ResultComparison(std::unique_ptr<State> state) : state(std::move(state)) {}
ResultComparison::~ResultComparison() = default;

std::unique_ptr<ResultComparison> ResultComparison::create(Device &device, Problem &problem) {
  auto state = std::make_unique<State>(device);
  if (!state->check(state->h.driver->cuMemAlloc(&state->figures, sizeof(CompareFigures)), problem))
    return nullptr;
  return std::unique_ptr<ResultComparison>(new ResultComparison(std::move(state)));
}

bool ResultComparison::measureReference(uint64_t reference, uint64_t bytes, ElementType type,
                                        ReferenceFigures &figures, Problem &problem) {
  figures = {};
  if (!isFloatingPoint(type) || !bytes)
    return true;
  State::Kernels *kernels = state->kernelsFor(type, problem);
  uint64_t elements = bytes / elementBytes(type);
  SquareFigures found;
  void *arguments[] = {&reference, &elements, &state->figures};
  if (!kernels || !state->launch(kernels->squares, bytes, arguments, found, problem))
    return false;
  figures = {found.finite, inRange(found.squares)};
  return true;
}

bool ResultComparison::compare(uint64_t reference, uint64_t candidate, uint64_t bytes,
                               ElementType type, const ReferenceFigures &figures,
                               ComparedResult &result, Problem &problem) {
  result = {};
  result.elements = bytes / std::max(elementBytes(type), 1u);
  if (!bytes)
    return true;
  State::Kernels *kernels = state->kernelsFor(type, problem);
  double rms =
      figures.finite ? std::sqrt(figures.sumOfSquares / static_cast<double>(figures.finite)) : 0;
  CompareFigures found;
  void *arguments[] = {&reference, &candidate, &result.elements, &rms, &state->figures};
  if (!kernels || !state->launch(kernels->compare, bytes, arguments, found, problem))
    return false;
  result.differing = found.differing;
  result.otherClass = found.otherClass;
  result.largestError = inRange(found.largestError);
  const double squares = std::max(figures.sumOfSquares - found.lostSquares, 0.0);
  if (found.squaredError > 0)
    result.relativeL2 = inRange(std::sqrt(found.squaredError / squares));
  return true;
}
