//===- CubinTable.h - what a cubin says of itself ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the reading of machine code's own tables: kernels with their parameters
// and resources, and variables. Needs neither a driver nor a toolkit.
//
//===----------------------------------------------------------------------===//
#ifndef KBRT_CUBINTABLE_H
#define KBRT_CUBINTABLE_H

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace kbrt {

struct CubinKernel {
  std::string name;                     ///< as nvcc mangles it
  std::vector<uint32_t> parameterBytes; ///< in the order of the parameters
  unsigned registers = 0;               ///< per thread
  uint64_t sharedBytes = 0;             ///< static, without what the driver reserves
  uint32_t maxThreads = 0;              ///< of __launch_bounds__; 0 if there is none
};

struct CubinVariable {
  std::string name; ///< as nvcc has it
  uint64_t bytes = 0;
  bool isConstant = false, isManaged = false;
};

struct CubinTable {
  std::vector<CubinKernel> kernels;
  std::vector<CubinVariable> variables;

  /// By the name of nvcc or of clang, which differ for what has internal linkage; null if there is
  /// none, or more than one that it may be.
  const CubinKernel *findKernel(std::string_view name) const;
  const CubinVariable *findVariable(std::string_view name) const;
};

/// Whether \p bytes start as a cubin does.
bool isCubin(std::string_view bytes);

/// Nothing and \p error (lower case, no full stop) if \p bytes are no whole cubin.
std::optional<CubinTable> readCubin(std::string_view bytes, std::string &error);

/// What the names of nvcc and clang for one entity have in common: without the mark of internal
/// linkage, and with one name for all unnamed namespaces.
std::string linkageFreeName(std::string_view mangled);

} // namespace kbrt

#endif // KBRT_CUBINTABLE_H
