//===- PlanFolder.cpp - Plans that share their data with others ------------===//
// SPDX-License-Identifier: Apache-2.0
#include "kb-opt/Plan/PlanTransform.h"
#include "kb-opt/Support/Error.h"
#include "kb-opt/Support/FileSystem.h"
#include "llvm/Support/FileSystem.h"

using namespace kbopt;

llvm::Error kbopt::writePlanWithData(const kbrt::Plan &plan, llvm::StringRef from,
                                     llvm::StringRef folder) {
  if (llvm::Error failure = realFileSystem().createDirectories(folder))
    return failure;
  std::string error;
  if (!kbrt::writePlan(plan, folder.str(), error))
    return llvm::make_error<StoreError>(error);
  // The data may be large: one file under two names, where the file system has that.
  const std::string name = std::string("/") + kbrt::dataFileName, data = from.str() + name,
                    copy = folder.str() + name;
  if (!llvm::sys::fs::exists(data) || !llvm::sys::fs::create_hard_link(data, copy))
    return llvm::Error::success();
  if (std::error_code code = llvm::sys::fs::copy_file(data, copy))
    return llvm::make_error<StoreError>("cannot copy '" + data + "': " + code.message());
  return llvm::Error::success();
}
