//===- McpTools.h - What kb-opt mcp offers ----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the tools of the MCP server: their schemas, and running kb-opt for a call.
// The protocol is McpCommand.cpp's.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_LIB_DRIVER_MCPTOOLS_H
#define KBOPT_LIB_DRIVER_MCPTOOLS_H

#include "kb-opt/Support/FileSystem.h"
#include "kb-opt/Support/Process.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/Program.h"
#include <map>

namespace kbopt {

/// The answer to a call.
struct McpResult {
  std::string text;                  ///< for the model to read
  llvm::json::Value facts = nullptr; ///< an object for programs, or null
  bool isError = false;
};

/// Runs kb-opt as a child for every call, so that a crash ends the call and not the server. Not
/// thread-safe. Searches go on between calls; those that still run when this is destroyed are
/// ended.
class McpTools {
public:
  /// \p kbOpt is the program to run.
  McpTools(std::string kbOpt, ProcessRunner &runner) : kbOpt(std::move(kbOpt)), runner(runner) {}
  ~McpTools();
  McpTools(const McpTools &) = delete;

  /// The answer to `tools/list`: name, description and input schema of each.
  static llvm::json::Array list();
  /// Nothing if there is no tool \p name; what is wrong with the arguments is an error in the
  /// result.
  std::optional<McpResult> call(llvm::StringRef name, const llvm::json::Object &arguments);

private:
  struct Search {
    TemporaryDirectory folder;
    llvm::sys::ProcessInfo process;
    std::optional<int> status; ///< when it has ended
  };
  McpResult runOnce(std::vector<std::string> words);
  McpResult findings(std::vector<std::string> words);
  McpResult judge(std::vector<std::string> words);
  McpResult optimize(std::vector<std::string> words);
  McpResult poll(const llvm::json::Object &arguments);

  std::string kbOpt;
  ProcessRunner &runner;
  std::map<int64_t, Search> searches;
};

} // namespace kbopt

#endif // KBOPT_LIB_DRIVER_MCPTOOLS_H
