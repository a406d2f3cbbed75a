//===- CaseSpace.cpp ------------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "kb-opt/Candidate/CaseSpace.h"

#include "kb-opt/Support/Error.h"
#include "kb-opt/Support/FreeSpace.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"

using namespace kbopt;

static uint64_t sizeOf(llvm::StringRef folder, llvm::StringRef name) {
  uint64_t bytes = 0;
  return llvm::sys::fs::file_size(folder + "/" + name, bytes) ? 0 : bytes;
}

/// "5.2 GiB", "64.0 MiB".
static std::string sizeText(uint64_t bytes) {
  constexpr uint64_t gibibyte = uint64_t(1) << 30;
  return bytes < gibibyte ? llvm::formatv("{0:f1} MiB", static_cast<double>(bytes) / (1 << 20))
                          : llvm::formatv("{0:f1} GiB", static_cast<double>(bytes) / gibibyte);
}

CaseSpace kbopt::spaceForCases(const kbrt::Plan &plan, llvm::StringRef folder) {
  // Normal, scaled and shifted, all equal: what a search compares beside the recorded inputs.
  constexpr uint64_t variedCases = 3;
  // The original's, the candidate's, and how far the elements may lie apart.
  constexpr uint64_t timesResults = 3;
  auto varies = [&](const kbrt::Step &step) {
    const auto *upload = std::get_if<kbrt::UploadStep>(&step);
    return upload && kbrt::isFloatingPoint(plan.buffers[upload->to.at.buffer].element);
  };
  CaseSpace space;
  const uint64_t results = sizeOf(folder, kbrt::observablesFileName);
  if (llvm::any_of(plan.steps, varies)) // else all cases have the recorded data
    space.diskBytes = variedCases * sizeOf(folder, kbrt::dataFileName);
  space.diskBytes += results; // of a run, on their way
  space.memoryBytes = timesResults * results;
  return space;
}

CaseSpace kbopt::spaceLeft(llvm::StringRef folder) {
  return {freeDiskSpace(folder), availableMemory()};
}

std::string kbopt::describe(const CaseSpace &space, llvm::StringRef folder) {
  return sizeText(space.diskBytes) + " in '" + folder.str() + "' and " +
         sizeText(space.memoryBytes) + " of memory";
}

llvm::Error kbopt::checkSpace(CaseSpace needed, const CaseSpace &left, llvm::StringRef folder,
                              bool inMemory, llvm::StringRef program) {
  auto refuse = [&](const std::string &what, uint64_t bytes, uint64_t free, const char *state,
                    const std::string &note) -> llvm::Error {
    return llvm::make_error<StoreError>("kb-opt needs " + sizeText(bytes) + " " + what +
                                            " for the test cases of '" + program.str() + "', and " +
                                            sizeText(free) + " are " + state,
                                        note);
  };
  if (needed.diskBytes > left.diskBytes)
    return refuse("in '" + folder.str() + "'", needed.diskBytes, left.diskBytes, "free",
                  "set TMPDIR to a folder with more room");
  if (inMemory)
    needed.memoryBytes += needed.diskBytes;
  if (needed.memoryBytes > left.memoryBytes)
    return refuse("of memory", needed.memoryBytes, left.memoryBytes, "available",
                  inMemory ? "set TMPDIR to a folder on a disk, or give the program smaller "
                             "arguments in a workload"
                           : "end what else runs, or give the program smaller arguments in a "
                             "workload");
  return llvm::Error::success();
}
