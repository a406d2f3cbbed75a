//===- Version.cpp --------------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "Version.h"
#include "Commit.inc"
#include "kb-opt/Plan/Recorder.h"
#include "kb-opt/Source/Toolkit.h"
#include "kb-opt/Support/FileSystem.h"
#include "kb-opt/Support/Installation.h"
#include "kb-opt/Support/Process.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"

using namespace kbopt;

llvm::StringRef kbopt::kbOptVersion() { return KBOPT_VERSION; }

std::string kbopt::versionText() {
  std::string cuda = "no CUDA toolkit was found";
  if (auto toolkit = findCudaToolkit(ToolkitSearch::fromEnvironment()))
    cuda = llvm::formatv("CUDA {0}.{1} in {2}", toolkit->version / 1000,
                         toolkit->version % 1000 / 10, toolkit->root)
               .str();
  else
    llvm::consumeError(toolkit.takeError());
  return (kbOptVersion() + " (commit " KBOPT_COMMIT ", LLVM " LLVM_VERSION_STRING ")\n" + cuda)
      .str();
}

std::vector<std::string> kbopt::buildFiles() {
  static int anchor;
  std::vector<std::string> files = {llvm::sys::fs::getMainExecutable(nullptr, &anchor)};
  if (auto runner = findKbRun())
    files.push_back(*runner);
  if (auto library = findRecordLibrary())
    files.push_back(*library);
  else
    llvm::consumeError(library.takeError());
  return files;
}

static Digest computeBuildDigest() {
  DigestBuilder builder;
  for (const std::string &file : buildFiles()) {
    auto bytes = realFileSystem().read(file);
    if (bytes)
      builder.add(*bytes);
    else
      llvm::consumeError(bytes.takeError());
  }
  return builder.finish();
}

Digest kbopt::buildDigest() {
  static const Digest digest = computeBuildDigest();
  return digest;
}
