//===- Toolkit.cpp - Finding the CUDA toolkit -----------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "kb-opt/Source/Toolkit.h"

#include "kb-opt/Support/Digest.h"
#include "kb-opt/Support/Error.h"
#include "kb-opt/Support/FileSystem.h"
#include "kb-opt/Support/Process.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/LineIterator.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"

using namespace kbopt;
namespace fs = llvm::sys::fs;
namespace path = llvm::sys::path;

static std::string childOf(llvm::StringRef folder, const llvm::Twine &name) {
  llvm::SmallString<128> result(folder);
  path::append(result, name);
  return result.str().str();
}

static std::string absolute(llvm::StringRef folder) {
  llvm::SmallString<128> result(folder);
  fs::make_absolute(result);
  path::remove_dots(result, /*remove_dot_dot=*/false);
  while (result.size() > 1 && result.back() == '/')
    result.pop_back();
  return result.str().str();
}

/// Names in \p folder, sorted: a directory's own order differs between machines.
static std::vector<std::string> entries(llvm::StringRef folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error))
    names.push_back(path::filename(it->path()).str());
  llvm::sort(names);
  return names;
}

/// What `folder` lacks to be a toolkit; empty if nothing.
static std::string missingPart(llvm::StringRef folder) {
  for (llvm::StringRef part : {"include/cuda_runtime.h", "include/cuda.h", "nvvm/libdevice", "bin"})
    if (!fs::exists(childOf(folder, part)))
      return part.str();
  return "";
}

static unsigned readVersion(llvm::StringRef root) {
  auto buffer = llvm::MemoryBuffer::getFile(childOf(root, "include/cuda.h"));
  if (!buffer)
    return 0;
  for (llvm::line_iterator line(**buffer); !line.is_at_end(); ++line) {
    llvm::StringRef text = *line;
    unsigned version = 0;
    if (text.consume_front("#define CUDA_VERSION") && !text.trim().getAsInteger(10, version))
      return version;
  }
  return 0;
}

/// Links every file below \p from to the same place below \p to; what is
/// there already stays.
static std::error_code linkTree(llvm::StringRef from, llvm::StringRef to) {
  if (std::error_code error = fs::create_directories(to))
    return error;
  for (const std::string &name : entries(from)) {
    std::string source = childOf(from, name), target = childOf(to, name);
    if (fs::is_directory(source)) {
      if (std::error_code error = linkTree(source, target))
        return error;
    } else if (!fs::exists(target)) {
      std::error_code error = fs::create_link(source, target);
      if (error && error != std::errc::file_exists)
        return error;
    }
  }
  return {};
}

/// Merges the trees of the CUDA 12 wheels (`nvidia/cuda_runtime`,
/// `nvidia/cuda_nvcc`, …) below \p wheels into one toolkit.
static llvm::Expected<std::string> mergeWheels(llvm::StringRef wheels,
                                               llvm::StringRef mergeFolder) {
  std::string merged = childOf(mergeFolder, "toolkit-" + digestOf(wheels).substr(0, 12));
  // The name of every tree, so that a newly installed wheel is merged too.
  std::string stamp;
  for (const std::string &tree : entries(wheels))
    stamp += tree + "\n";
  std::string stampFile = childOf(merged, "merged-from");
  if (auto old = llvm::MemoryBuffer::getFile(stampFile))
    if ((*old)->getBuffer() == stamp && missingPart(merged).empty())
      return merged;
  for (const std::string &tree : entries(wheels)) {
    for (llvm::StringRef part : {"include", "bin", "nvvm", "lib"}) {
      std::string from = childOf(childOf(wheels, tree), part);
      if (!fs::is_directory(from))
        continue;
      if (std::error_code error = linkTree(from, childOf(merged, part)))
        return llvm::make_error<StoreError>("cannot merge the CUDA wheels of '" + wheels.str() +
                                                "' into '" + merged + "': " + error.message(),
                                            "set XDG_CACHE_HOME to a folder that can be written");
    }
  }
  if (llvm::Error error = realFileSystem().write(stampFile, stamp))
    return std::move(error);
  return merged;
}

static bool looksLikeWheels(llvm::StringRef folder) {
  return fs::is_directory(childOf(folder, "cuda_runtime/include")) &&
         fs::is_directory(childOf(folder, "cuda_nvcc"));
}

/// The toolkit at \p folder, or what is wrong with it in \p problem.
static llvm::Expected<std::optional<CudaToolkit>> tryFolder(llvm::StringRef folder,
                                                            llvm::StringRef foundBy,
                                                            llvm::StringRef mergeFolder,
                                                            std::string &problem) {
  CudaToolkit toolkit;
  toolkit.foundBy = foundBy.str();
  toolkit.root = absolute(folder);
  if (missingPart(toolkit.root).empty()) {
    toolkit.version = readVersion(toolkit.root);
    return toolkit;
  }
  // The folder above the CUDA 13 wheels' tree, or a site-packages folder.
  for (llvm::StringRef below : {"cu13", "nvidia/cu13"}) {
    std::string inner = childOf(toolkit.root, below);
    if (missingPart(inner).empty()) {
      toolkit.root = inner;
      toolkit.version = readVersion(inner);
      return toolkit;
    }
  }
  for (const std::string &wheels : {toolkit.root, childOf(toolkit.root, "nvidia")}) {
    if (!looksLikeWheels(wheels))
      continue;
    llvm::Expected<std::string> merged = mergeWheels(wheels, mergeFolder);
    if (!merged)
      return merged.takeError();
    if (std::string missing = missingPart(*merged); !missing.empty()) {
      problem = "the wheels in '" + wheels + "' lack " + missing;
      return std::nullopt;
    }
    toolkit.root = *merged;
    toolkit.version = readVersion(*merged);
    return toolkit;
  }
  problem = fs::exists(toolkit.root) ? "'" + toolkit.root + "' has no " + missingPart(toolkit.root)
                                     : "'" + toolkit.root + "' does not exist";
  return std::nullopt;
}

std::optional<std::string> CudaToolkit::tool(llvm::StringRef name) const {
  std::string file = childOf(childOf(root, "bin"), name);
  if (fs::can_execute(file))
    return file;
  return std::nullopt;
}

std::vector<std::string> CudaToolkit::includeFolders() const {
  std::vector<std::string> folders{childOf(root, "include")};
  if (std::string cccl = childOf(root, "include/cccl"); fs::is_directory(cccl))
    folders.push_back(cccl);
  return folders;
}

ToolkitSearch ToolkitSearch::fromEnvironment() {
  ToolkitSearch search;
  for (const char *name : {"CUDA_PATH", "CUDA_HOME"})
    if (const char *value = ::getenv(name); value && *value && search.cudaPath.empty())
      search.cudaPath = value;
  if (auto nvcc = findProgram("nvcc"))
    search.nvcc = *nvcc;
  search.standardPlaces = {"/usr/local/cuda", "/opt/cuda", "/usr/lib/cuda"};
  search.mergeFolder = userCacheDirectory();
  return search;
}

llvm::Expected<CudaToolkit> kbopt::findCudaToolkit(const ToolkitSearch &search) {
  std::string problem;
  constexpr llvm::StringLiteral next =
      "set CUDA_PATH to a CUDA toolkit, or to the 'nvidia' folder of NVIDIA's PyPI wheels";
  if (!search.cudaPath.empty()) {
    auto toolkit = tryFolder(search.cudaPath, "CUDA_PATH", search.mergeFolder, problem);
    if (!toolkit)
      return toolkit.takeError();
    if (*toolkit)
      return **toolkit;
    return llvm::make_error<UsageError>("CUDA_PATH is no CUDA toolkit: " + problem, next.str(),
                                        ExitStatus::Environment);
  }
  std::vector<std::pair<std::string, std::string>> places;
  if (!search.nvcc.empty()) {
    // The root as nvcc is called, and where a link leads.
    std::string bin = path::parent_path(search.nvcc).str();
    places.emplace_back(path::parent_path(bin).str(), "nvcc in PATH");
    llvm::SmallString<128> real;
    if (!fs::real_path(search.nvcc, real))
      places.emplace_back(path::parent_path(path::parent_path(real)).str(), "nvcc in PATH");
  }
  for (const std::string &place : search.standardPlaces)
    places.emplace_back(place, place);
  std::string looked = "CUDA_PATH (not set)";
  for (const auto &[folder, foundBy] : places) {
    auto toolkit = tryFolder(folder, foundBy, search.mergeFolder, problem);
    if (!toolkit)
      return toolkit.takeError();
    if (*toolkit)
      return **toolkit;
    looked += ", " + problem;
  }
  return llvm::make_error<UsageError>("no CUDA toolkit found: " + looked, next.str(),
                                      ExitStatus::Environment);
}
