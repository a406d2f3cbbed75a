//===- Toolkit.h - Where the CUDA toolkit is --------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns finding a CUDA toolkit: an installed one, or the trees that NVIDIA's
// PyPI wheels leave. Owns no flags (CompileCommand.h).
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_SOURCE_TOOLKIT_H
#define KBOPT_SOURCE_TOOLKIT_H

#include "llvm/Support/Error.h"
#include <optional>
#include <string>
#include <vector>

namespace kbopt {

/// A folder that clang accepts as --cuda-path: include/, bin/ and
/// nvvm/libdevice/ lie in it.
struct CudaToolkit {
  std::string root;     ///< absolute path
  std::string foundBy;  ///< "CUDA_PATH", "nvcc in PATH", "/usr/local/cuda", …
  unsigned version = 0; ///< CUDA_VERSION of cuda.h, e.g. 13000; 0 if unknown

  /// Path of nvcc, ptxas, … in bin/; nothing if the toolkit lacks it.
  std::optional<std::string> tool(llvm::StringRef name) const;
  /// include/, and include/cccl where there is one (CUDA 13).
  std::vector<std::string> includeFolders() const;
};

/// What the search looks at; tests fill it in.
struct ToolkitSearch {
  std::string cudaPath;                    ///< CUDA_PATH (or CUDA_HOME)
  std::string nvcc;                        ///< nvcc found in PATH
  std::vector<std::string> standardPlaces; ///< tried last, in order
  std::string mergeFolder;                 ///< where wheel trees are merged

  static ToolkitSearch fromEnvironment();
};

/// Finds the toolkit. CUDA_PATH may point at an installed toolkit, at the
/// `nvidia/cu13` folder of the CUDA 13 wheels, or at the `nvidia` folder with
/// the `cuda_*` trees of the CUDA 12 wheels (merged by links into
/// `mergeFolder`). Fails with a `UsageError` (environment) that says where it
/// looked; a CUDA_PATH that is set but unusable is an error, not skipped.
llvm::Expected<CudaToolkit> findCudaToolkit(const ToolkitSearch &search);

} // namespace kbopt

#endif // KBOPT_SOURCE_TOOLKIT_H
