//===- McpCommand.h - kb-opt mcp --------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef KBOPT_LIB_DRIVER_MCPCOMMAND_H
#define KBOPT_LIB_DRIVER_MCPCOMMAND_H

#include "llvm/ADT/ArrayRef.h"

namespace kbopt {

/// `kb-opt mcp`: a server of the Model Context Protocol on standard input and output, until the
/// input ends. Returns the exit status.
int runMcpCommand(llvm::ArrayRef<const char *> arguments);

} // namespace kbopt

#endif // KBOPT_LIB_DRIVER_MCPCOMMAND_H
