//===- ToolkitTest.cpp - Finding the toolkit ------------------------------===//
#include "kb-opt/Source/Toolkit.h"
#include "SourceTestUtils.h"
#include "llvm/Support/FileSystem.h"

using namespace kbopt;
using namespace kbopt::test;

namespace {

class ToolkitTest : public testing::Test {
protected:
  ToolkitTest() : folder(makeFolder()) { search.mergeFolder = folder.file("cache"); }

  void put(const std::string &name, llvm::StringRef text = "") {
    std::string path = folder.file(name);
    llvm::cantFail(realFileSystem().createDirectories(llvm::StringRef(path).rsplit('/').first));
    writeFile(path, text);
  }
  /// The least that is a toolkit.
  void putToolkit(const std::string &root) {
    put(root + "/include/cuda.h", "#define CUDA_VERSION 12040\n");
    put(root + "/include/cuda_runtime.h");
    put(root + "/nvvm/libdevice/libdevice.10.bc");
    put(root + "/bin/nvcc");
    llvm::cantFail(llvm::errorCodeToError(
        llvm::sys::fs::setPermissions(folder.file(root + "/bin/nvcc"), llvm::sys::fs::all_all)));
  }

  TemporaryDirectory folder;
  ToolkitSearch search;
};

} // namespace

TEST_F(ToolkitTest, CudaPath) {
  putToolkit("cuda");
  search.cudaPath = folder.file("cuda") + "/";
  CudaToolkit found = llvm::cantFail(findCudaToolkit(search));
  EXPECT_EQ(found.root, folder.file("cuda"));
  EXPECT_EQ(found.foundBy, "CUDA_PATH");
  EXPECT_EQ(found.version, 12040u);
  EXPECT_EQ(found.tool("nvcc"), folder.file("cuda/bin/nvcc"));
  EXPECT_EQ(found.tool("ptxas"), std::nullopt);
  EXPECT_EQ(found.includeFolders(), (std::vector<std::string>{folder.file("cuda/include")}));
  put("cuda/include/cccl/cuda/std/version");
  EXPECT_EQ(found.includeFolders().back(), folder.file("cuda/include/cccl"));
}

TEST_F(ToolkitTest, NvccInPathThenStandardPlaces) {
  putToolkit("a");
  putToolkit("b");
  search.standardPlaces = {folder.file("none"), folder.file("b")};
  EXPECT_EQ(llvm::cantFail(findCudaToolkit(search)).root, folder.file("b"));
  search.nvcc = folder.file("a/bin/nvcc");
  CudaToolkit found = llvm::cantFail(findCudaToolkit(search));
  EXPECT_EQ(found.root, folder.file("a"));
  EXPECT_EQ(found.foundBy, "nvcc in PATH");
}

TEST_F(ToolkitTest, NvccBehindALink) {
  putToolkit("real");
  llvm::cantFail(realFileSystem().createDirectories(folder.file("usr/bin")));
  llvm::cantFail(llvm::errorCodeToError(
      llvm::sys::fs::create_link(folder.file("real/bin/nvcc"), folder.file("usr/bin/nvcc"))));
  search.nvcc = folder.file("usr/bin/nvcc");
  CudaToolkit found = llvm::cantFail(findCudaToolkit(search));
  EXPECT_TRUE(llvm::StringRef(found.root).ends_with("/real")) << found.root;
}

TEST_F(ToolkitTest, WheelsOfCuda13) {
  putToolkit("site-packages/nvidia/cu13");
  for (const char *path : {"site-packages/nvidia/cu13", "site-packages/nvidia", "site-packages"}) {
    search.cudaPath = folder.file(path);
    EXPECT_EQ(llvm::cantFail(findCudaToolkit(search)).root,
              folder.file("site-packages/nvidia/cu13"));
  }
}

TEST_F(ToolkitTest, WheelsOfCuda12AreMerged) {
  put("nvidia/cuda_runtime/include/cuda.h", "#define CUDA_VERSION 12060\n");
  put("nvidia/cuda_runtime/include/cuda_runtime.h");
  put("nvidia/cuda_runtime/include/crt/host_defines.h");
  put("nvidia/cuda_nvcc/include/crt/host_config.h");
  put("nvidia/cuda_nvcc/bin/ptxas");
  put("nvidia/cuda_nvcc/nvvm/libdevice/libdevice.10.bc");
  search.cudaPath = folder.file("nvidia");
  CudaToolkit found = llvm::cantFail(findCudaToolkit(search));
  EXPECT_EQ(found.version, 12060u);
  for (const char *name : {"include/crt/host_defines.h", "include/crt/host_config.h", "bin/ptxas",
                           "nvvm/libdevice/libdevice.10.bc"})
    EXPECT_TRUE(llvm::sys::fs::exists(found.root + "/" + name)) << name;
  // A wheel that is installed later is seen.
  put("nvidia/curand/include/curand_kernel.h");
  EXPECT_EQ(llvm::cantFail(findCudaToolkit(search)).root, found.root);
  EXPECT_TRUE(llvm::sys::fs::exists(found.root + "/include/curand_kernel.h"));
}

TEST_F(ToolkitTest, UnusableCudaPathIsAnError) {
  putToolkit("good");
  put("bad/include/cuda_runtime.h");
  search.standardPlaces = {folder.file("good")};
  search.cudaPath = folder.file("bad");
  Failure failure = failureOf(findCudaToolkit(search));
  EXPECT_EQ(failure.message,
            "CUDA_PATH is no CUDA toolkit: '" + folder.file("bad") + "' has no include/cuda.h");
  EXPECT_EQ(failure.status, ExitStatus::Environment);
  search.cudaPath = folder.file("gone");
  EXPECT_EQ(failureOf(findCudaToolkit(search)).message,
            "CUDA_PATH is no CUDA toolkit: '" + folder.file("gone") + "' does not exist");
}

TEST_F(ToolkitTest, NothingAnywhereSaysWhereItLooked) {
  search.standardPlaces = {folder.file("x")};
  Failure failure = failureOf(findCudaToolkit(search));
  EXPECT_EQ(failure.message, "no CUDA toolkit found: CUDA_PATH (not set), '" + folder.file("x") +
                                 "' does not exist");
  EXPECT_FALSE(failure.note.empty());
}
