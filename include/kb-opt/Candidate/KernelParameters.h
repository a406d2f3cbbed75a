//===- KernelParameters.h - What kernels are handed -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns what the source tells the recorder of the memory that the parameters of kernels point to.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_CANDIDATE_KERNELPARAMETERS_H
#define KBOPT_CANDIDATE_KERNELPARAMETERS_H

#include "kb-opt/Plan/RecordFields.h"
#include "kb-opt/Plan/Recorder.h"
#include "kb-opt/Source/ParsedProgram.h"

namespace kbopt {

/// What the parameters of kernels lead to, where the mangled name does not tell it, and what device
/// variables consist of.
KernelTypes kernelTypes(const ParsedProgram &program);

/// The records that the parameters of kernels point to, by mangled name; one of no bytes for what
/// is no record.
using KernelRecords = std::map<std::string, std::vector<RecordLayout>>;
KernelRecords kernelRecords(const ParsedProgram &program);

} // namespace kbopt

#endif // KBOPT_CANDIDATE_KERNELPARAMETERS_H
