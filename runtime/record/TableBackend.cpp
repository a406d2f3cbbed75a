//===- TableBackend.cpp - A cubin's kernels, none of which runs -------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the oracle-fed runs for a GPU: the host side of a candidate is recorded
// in the sandbox without a device, and all that is needed of its machine code
// are the tables in it. A recorder that was built without CUDA has nothing else.
//
//===----------------------------------------------------------------------===//
#include "ArenaBackend.h"
#include "kbrt/CubinTable.h"
#include "kbrt/Memory.h"

#include <unordered_map>

using namespace kbrt;

namespace {

class TableBackend : public ArenaBackend {
public:
  TableBackend(std::string path, BackendReports reports)
      : path(std::move(path)), reports(std::move(reports)) {}

  const DeviceKernel *findKernel(const std::string &name) override {
    const CubinKernel *found = table().findKernel(name);
    if (!found)
      return nullptr;
    return &kernels
                .try_emplace(name, DeviceKernel{name, found->parameterBytes, found->maxThreads,
                                                found->sharedBytes, found->registers, 0})
                .first->second;
  }

  std::vector<DeviceVariable> variables() override {
    std::vector<DeviceVariable> all;
    for (const CubinVariable &variable : table().variables)
      if (void *place = DeviceMemory::get().allocateSymbol(variable.name, variable.bytes,
                                                           variable.isManaged ? MemoryKind::Managed
                                                                              : MemoryKind::Symbol))
        all.push_back({variable.name, reinterpret_cast<uint64_t>(place), variable.bytes,
                       variable.isManaged, ""});
    return all;
  }

  cuda::Error launch(const KernelLaunch &) override {
    refuse();
    return cuda::success;
  }
  void multiply(const MatmulStep &, const MatmulPlaces &) override { refuse(); }

private:
  void refuse() {
    reports.stop(Ending::NoDevice, "this recorder was built without CUDA; build it with the "
                                   "headers of a toolkit (CUDA_PATH)");
  }

  const CubinTable &table() {
    if (read)
      return *read;
    std::string error;
    if (auto bytes = readImage(path, error))
      read = readCubin(*bytes, error);
    if (!read)
      reports.stop(Ending::Unsupported, "cannot read the cubin '" + path + "': it " + error);
    return *read;
  }

  std::string path;
  BackendReports reports;
  std::optional<CubinTable> read;
  std::unordered_map<std::string, DeviceKernel> kernels; ///< by the name that was asked for
};

} // namespace

std::unique_ptr<Backend> kbrt::createTableBackend(std::string path, BackendReports reports) {
  return std::make_unique<TableBackend>(std::move(path), std::move(reports));
}
