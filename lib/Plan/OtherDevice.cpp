//===- OtherDevice.cpp ----------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "kb-opt/Plan/OtherDevice.h"

using namespace kbopt;

/// An H100 with PCIe; a seventh of an H100 (MIG 1g.10gb, NVIDIA's MIG User Guide); and one larger
/// than any that is sold today, as a B200 has 148 multiprocessors and a B300 160. Kernels of the
/// same source need other numbers of registers where another compiler or architecture stands behind
/// them.
static constexpr OtherDevice devices[] = {
    {"another device",
     "name=NVIDIA H100 PCIe;multiProcessorCount=114;l2CacheSize=52428800;clockRate=1755000;"
     "memoryClockRate=1593000;memoryBusWidth=5120;totalGlobalMem=85520809984;kernelRegisters=72",
     38 << 20},
    {"a device with 16 multiprocessors",
     "name=NVIDIA H100 MIG 1g.10gb;multiProcessorCount=16;l2CacheSize=6553600;clockRate=1755000;"
     "memoryClockRate=2619000;memoryBusWidth=640;totalGlobalMem=10468982784;kernelRegisters=168",
     13 << 12},
    {"a device with 224 multiprocessors",
     "name=NVIDIA;multiProcessorCount=224;l2CacheSize=134217728;clockRate=2000000;"
     "memoryClockRate=4000000;memoryBusWidth=8192;totalGlobalMem=309237645312;kernelRegisters=20",
     74061 << 12}};

llvm::ArrayRef<OtherDevice> kbopt::otherDevices() { return devices; }
