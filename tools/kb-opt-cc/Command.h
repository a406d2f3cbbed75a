//===- Command.h - A compiler's command line --------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns what the launcher must know of a command line that it passes on: where
// the compiler stands, which words are CUDA sources, and where the list of
// dependencies goes. Flags are kb-opt's business.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_TOOLS_KBOPTCC_COMMAND_H
#define KBOPT_TOOLS_KBOPTCC_COMMAND_H

#include <string>
#include <string_view>
#include <vector>

namespace kboptcc {

struct Command {
  /// Launchers, compiler and arguments; response files are read only where `expanded` says so.
  std::vector<std::string> words;
  /// The compiler and its arguments with the content of response files in their place.
  std::vector<std::string> expanded;
  bool isClang = false;
  std::vector<size_t> sources;    ///< CUDA files among `expanded`
  bool isForDependencies = false; ///< -M or -MM: nothing is compiled
  std::string output;             ///< -o; empty: none
  /// The file that -MD and the like write; empty: none.
  std::string dependencyFile;
};

Command readCommand(std::vector<std::string> words);

/// Folder, name and extension ("" or ".cu") of \p path.
std::string folderOf(std::string_view path);
std::string fileOf(std::string_view path);
std::string_view extensionOf(std::string_view path);

bool isFile(const std::string &path);
/// \p path from the root on.
std::string absolute(const std::string &path);
/// \p path without "." and "..", which must not be followed through the file system: kb-opt takes
/// them off in the text, too.
std::string cleaned(const std::string &path);

/// The value of a variable of the environment; empty where there is none.
std::string environment(const char *name);
void warn(const std::string &text);

/// The whole file; false if it cannot be read.
bool readFile(const std::string &path, std::string &text);
/// Writes a file beside \p path and renames it.
bool writeFile(const std::string &path, std::string_view text);

} // namespace kboptcc

#endif // KBOPT_TOOLS_KBOPTCC_COMMAND_H
