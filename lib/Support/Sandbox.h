//===- Sandbox.h - Command lines for bubblewrap -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef KBOPT_LIB_SUPPORT_SANDBOX_H
#define KBOPT_LIB_SUPPORT_SANDBOX_H

#include "kb-opt/Support/Process.h"

namespace kbopt {

/// The command line that runs \p request inside its sandbox. Fails with a
/// `ToolError` if bubblewrap is not installed.
llvm::Expected<std::vector<std::string>> sandboxedArguments(const ProcessRequest &request);

} // namespace kbopt

#endif // KBOPT_LIB_SUPPORT_SANDBOX_H
