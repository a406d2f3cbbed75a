//===- DeviceHeaders.h - Includes without a host compiler -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns what becomes of #include lines in a slice: the user's headers are sliced
// too, CUDA's stay if they are for the device, and of the standard library
// little is left.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_LIB_SOURCE_DEVICEHEADERS_H
#define KBOPT_LIB_SOURCE_DEVICEHEADERS_H

#include "kb-opt/Source/CompileCommand.h"
#include <functional>
#include <map>

namespace kbopt {

class HeaderSlices {
public:
  /// \p slice turns the text of the file at a real path into what is left of it.
  HeaderSlices(const CompileCommand &command,
               std::function<std::string(llvm::StringRef path, llvm::StringRef text)> slice);

  /// \p text of a file in \p folder; its includes are kept, sliced or blanked.
  std::string withDeviceIncludes(std::string text, llvm::StringRef folder);
  /// By the name in #include.
  std::map<std::string, std::string> take() { return std::move(headers); }

private:
  bool addUserHeader(llvm::StringRef name, llvm::StringRef folder, bool quoted);
  std::vector<std::string> searched; ///< -I, absolute
  std::function<std::string(llvm::StringRef, llvm::StringRef)> slice;
  std::map<std::string, std::string> headers;
};

} // namespace kbopt

#endif // KBOPT_LIB_SOURCE_DEVICEHEADERS_H
