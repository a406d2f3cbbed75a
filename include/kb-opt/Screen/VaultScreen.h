//===- VaultScreen.h - Screening by a kb-run hold ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the way from screening to a `kb-run hold` on this machine (docs/JobFormat.md):
// starts it in its sandbox, hands it one candidate after the other, and starts it
// again when it dies.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_SCREEN_VAULTSCREEN_H
#define KBOPT_SCREEN_VAULTSCREEN_H

#include "kb-opt/Eval/JobChannel.h"
#include "kb-opt/Screen/ScreenDevice.h"
#include "kb-opt/Support/Timings.h"

namespace kbopt {

struct VaultScreenOptions {
  /// `directory` holds links to the original's files as long as the device lives.
  ProcessChannelOptions process;
  std::string program;        ///< in messages: "map.cu"
  Timings *timings = nullptr; ///< seconds of jobs, and inside kb-run by part
};

/// Fails with a `ToolError` if there is no kb-run. The process starts at once and opens the
/// device while others work; a device that cannot be used is `open`'s error.
llvm::Expected<std::unique_ptr<ScreenDevice>> createVaultScreen(VaultScreenOptions options);

} // namespace kbopt

#endif // KBOPT_SCREEN_VAULTSCREEN_H
