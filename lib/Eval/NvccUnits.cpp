//===- NvccUnits.cpp - Machine code of several files ----------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the cubin that has the kernels of all files of a program: each is compiled relocatably, and
// nvlink puts them together.
//
//===----------------------------------------------------------------------===//
#include "kb-opt/Eval/NvccImage.h"
#include "kb-opt/Support/Error.h"
#include "kb-opt/Support/FileSystem.h"
#include "kb-opt/Support/ShownNames.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"

using namespace llvm;

namespace kbopt {

static Digest digestOfUnit(const ProgramArtefacts &program) {
  DigestBuilder builder;
  builder.add(program.sourcePath).add(program.text).add(program.arch);
  for (const std::string &flag : program.flags)
    builder.add(flag);
  return builder.finish();
}

Expected<std::string> NvccCompiler::relocatable(const ProgramArtefacts &program) {
  const Digest digest = digestOfUnit(program);
  Expected<const std::string &> cubin = relocatables.get(
      digest, [&] { return compileRelocatably(program, directory + "/unit-" + digest); });
  if (!cubin)
    return cubin.takeError();
  return *cubin;
}

Expected<std::string> NvccCompiler::compileRelocatably(const ProgramArtefacts &program,
                                                       const std::string &folder) {
  if (Error error = realFileSystem().createDirectories(folder))
    return std::move(error);
  std::vector<std::string> more;
  if (!is_contained(program.flags, "-rdc=true")) // nvcc refuses it twice
    more.push_back("-rdc=true");
  Expected<ProcessRequest> request = cubinRequest(program, folder, more);
  if (!request)
    return request.takeError();
  Expected<ProcessResult> run = runner.run(*request);
  if (!run)
    return run.takeError();
  if (!run->succeeded())
    return make_error<ToolError>(
        formatv("{0} does not compile with nvcc: {1}", program.name, run->describe()),
        request->argv, run->exitStatus, withShownName(run->err, program.sourcePath, program.name),
        "", ExitStatus::Diagnostics);
  return folder + "/code.cubin";
}

Expected<std::string> NvccCompiler::linkedCubin(const ProgramArtefacts &program) {
  Expected<std::string> own = relocatable(program);
  if (!own)
    return own.takeError();
  std::vector<std::string> cubins{*own};
  for (const ProgramArtefacts &unit : program.units) {
    Expected<std::string> cubin = relocatable(unit);
    if (!cubin)
      return cubin.takeError();
    cubins.push_back(std::move(*cubin));
  }
  Expected<const std::string &> output = linked.get(*own, [&]() -> Expected<std::string> {
    const std::string folder = sys::path::parent_path(*own).str(), path = folder + "/linked.cubin";
    ProcessRequest request;
    request.argv = {sys::path::parent_path(nvccPath).str() + "/nvlink", "-arch=" + program.arch,
                    "-o", path};
    append_range(request.argv, cubins);
    limitCompiler(request, folder);
    Expected<ProcessResult> run = runner.run(request);
    if (!run)
      return run.takeError();
    if (!run->succeeded())
      return make_error<ToolError>(
          formatv("nvlink does not put the device code of {0} and the program's other files "
                  "together: {1}",
                  program.name, run->describe()),
          request.argv, run->exitStatus, run->err, "", ExitStatus::Diagnostics);
    return path;
  });
  if (!output)
    return output.takeError();
  return *output;
}

} // namespace kbopt
