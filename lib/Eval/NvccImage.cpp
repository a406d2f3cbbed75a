//===- NvccImage.cpp - Compiling device code with the toolkit -------------===//
#include "kb-opt/Eval/NvccImage.h"
#include "kb-opt/Eval/PtxCensus.h"
#include "kb-opt/Support/Error.h"
#include "kb-opt/Support/FileSystem.h"
#include "kb-opt/Support/ShownNames.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/Regex.h"
#include <cstdlib>

using namespace llvm;

namespace kbopt {

DeviceCompiler::~DeviceCompiler() = default;

std::optional<std::string> findNvcc() {
  std::vector<std::string> candidates;
  for (const char *variable : {"CUDA_PATH", "CUDA_HOME"})
    if (const char *root = std::getenv(variable); root && *root)
      candidates.push_back(std::string(root) + "/bin/nvcc");
  for (const std::string &path : candidates)
    if (sys::fs::can_execute(path))
      return path;
  if (ErrorOr<std::string> inPath = sys::findProgramByName("nvcc"))
    return *inPath;
  if (sys::fs::can_execute("/usr/local/cuda/bin/nvcc"))
    return std::string("/usr/local/cuda/bin/nvcc");
  return std::nullopt;
}

std::map<std::string, KernelResources> parsePtxasReport(StringRef text) {
  std::map<std::string, KernelResources> kernels;
  Regex compiling("Compiling entry function '([^']+)'");
  Regex properties("Function properties for ([^ ]+)");
  Regex number("([0-9]+) (bytes stack frame|bytes spill stores|bytes spill loads|registers|"
               "barriers|bytes smem|bytes cmem)");
  KernelResources *current = nullptr;
  SmallVector<StringRef, 64> lines;
  text.split(lines, '\n');
  for (StringRef line : lines) {
    SmallVector<StringRef, 4> match;
    if (compiling.match(line, &match)) {
      current = &kernels[match[1].str()];
      current->name = match[1].str();
      // ptxas leaves out what is zero.
      current->sharedBytes = current->barriers = 0;
      continue;
    }
    if (properties.match(line, &match)) {
      auto found = kernels.find(match[1].str());
      current = found == kernels.end() ? nullptr : &found->second; // a device function
      continue;
    }
    if (!current)
      continue;
    StringRef rest = line;
    while (number.match(rest, &match)) {
      unsigned value = 0;
      match[1].getAsInteger(10, value);
      StringRef what = match[2];
      if (what == "bytes stack frame")
        current->stackBytes = value;
      else if (what == "bytes spill stores")
        current->spillStoreBytes = value;
      else if (what == "bytes spill loads")
        current->spillLoadBytes = value;
      else if (what == "registers")
        current->registers = value;
      else if (what == "barriers")
        current->barriers = value;
      else if (what == "bytes smem")
        current->sharedBytes = value;
      else
        current->constantBytes = current->constantBytes.value_or(0) + value;
      rest = rest.substr(match[0].end() - rest.begin());
    }
  }
  return kernels;
}

NvccCompiler::NvccCompiler(ProcessRunner &runner, std::string directory, bool sandboxed)
    : runner(runner), directory(std::move(directory)), sandboxed(sandboxed) {
  if (std::optional<std::string> path = findNvcc())
    nvccPath = *path;
}

Expected<DeviceCode> NvccCompiler::compile(const ProgramArtefacts &program) {
  if (!nvccPath.empty())
    return compileWithNvcc(program);
  if (program.bitcodePath.empty())
    return make_error<ToolError>("nvcc not found and " + program.name + " has no bitcode",
                                 std::vector<std::string>{"nvcc"}, -1, "",
                                 "set CUDA_PATH to a CUDA toolkit");
  DeviceCode code;
  code.producer = "clang 22 (nvcc not found)";
  code.arch = program.arch;
  Expected<std::string> ptx = ptxFromBitcode(program.bitcodePath, program.arch);
  if (!ptx)
    return ptx.takeError();
  code.ptx = std::move(*ptx);
  code.digest = digestPtx(code.ptx, code.kernels);
  return code;
}

/// The folder's name says everything that decides what comes out. Included
/// files that change between two runs of kb-opt change the text's digest only
/// if they are part of it, so a folder lives no longer than its owner.
static std::string outputFolder(StringRef directory, StringRef version,
                                const ProgramArtefacts &program) {
  DigestBuilder builder;
  builder.add("nvcc-2").add(version).add(program.text).add(program.arch);
  builder.add(program.workingDirectory).add(sys::path::parent_path(program.sourcePath));
  for (const std::string &flag : program.flags)
    builder.add(flag);
  return (directory + "/nvcc-" + builder.finish()).str();
}

Expected<DeviceCode> NvccCompiler::compileWithNvcc(const ProgramArtefacts &program) {
  std::unique_lock<std::mutex> asking(versionMutex);
  if (version.empty()) {
    ProcessRequest ask;
    ask.argv = {nvccPath, "--version"};
    ask.wallSeconds = 20;
    Expected<ProcessResult> answer = runner.run(ask);
    if (!answer)
      return answer.takeError();
    SmallVector<StringRef, 2> match;
    version =
        Regex("V([0-9.]+)").match(answer->out, &match) ? match[1].str() : "of unknown version";
  }
  asking.unlock();
  FileSystem &files = realFileSystem();
  std::string folder = outputFolder(directory, version, program);
  std::string cubin = folder + "/code.cubin", report = folder + "/ptxas.txt",
              ptx = folder + "/code.ptx";
  if (!files.exists(report)) {
    if (Error error = files.createDirectories(folder))
      return std::move(error);
    // __FILE__ and messages are the original's, wherever the text lies; quoted
    // includes resolve by -I.
    std::string source = folder + "/code.cu", shown;
    raw_string_ostream(shown) << "#line 1 \"" << program.sourcePath << "\"\n";
    if (Error error = files.write(source, shown + program.text))
      return std::move(error);
    ProcessRequest request;
    request.argv = {
        nvccPath,    "-x",         "cu",   "-arch=" + program.arch,
        "-cubin",    "-Xptxas",    "-v",
        "-lineinfo", // samples are shown by line; changes no machine code
        "--keep",    "--keep-dir", folder, "-I" + sys::path::parent_path(program.sourcePath).str()};
    request.argv.insert(request.argv.end(), program.flags.begin(), program.flags.end());
    request.argv.insert(request.argv.end(), {"-o", cubin, source});
    request.workingDirectory = program.workingDirectory;
    request.wallSeconds = 120;
    request.memoryBytes = compilerMemoryBytes;
    request.fileBytes = compilerFileBytes;
    request.environment = {"TMPDIR=" + folder};
    if (sandboxed)
      request.sandbox = Sandbox{{}, {folder}, /*seesAllFiles=*/true};
    Expected<ProcessResult> run = runner.run(request);
    if (!run)
      return run.takeError();
    run->err = withShownName(run->err, program.sourcePath, program.name);
    run->out = withShownName(run->out, program.sourcePath, program.name);
    if (!run->succeeded())
      return make_error<ToolError>(
          formatv("{0} does not compile with nvcc: {1}", program.name, run->describe()),
          request.argv, run->exitStatus,
          StringRef(run->err).trim().empty() ? run->out : run->errorTail(), "",
          ExitStatus::Diagnostics);
    if (Error error = files.write(report, run->err + run->out))
      return std::move(error);
    for (const std::string &name : files.list(folder))
      if (StringRef(name).ends_with(".ii") || StringRef(name).contains("cudafe"))
        consumeError(files.remove(folder + "/" + name));
  }
  Expected<std::string> text = realFileSystem().read(report);
  if (!text)
    return text.takeError();
  Expected<DeviceCode> code = readDeviceCode(cubin, ptx, *text);
  if (code) {
    code->producer = "nvcc " + version;
    code->arch = program.arch;
  }
  return code;
}

Expected<DeviceCode> readDeviceCode(StringRef cubinPath, StringRef ptxPath, StringRef report,
                                    bool withVariables) {
  DeviceCode code;
  code.cubinPath = cubinPath.str();
  Expected<std::string> ptx = realFileSystem().read(ptxPath);
  if (!ptx)
    return ptx.takeError();
  Expected<std::string> elf = realFileSystem().read(cubinPath);
  if (!elf)
    return elf.takeError();
  code.kernels = parsePtxasReport(report);
  code.ptx = std::move(*ptx);
  SmallVector<StringRef, 32> lines;
  report.split(lines, '\n', -1, false);
  for (StringRef line : lines)
    if (!line.starts_with("ptxas info") && !line.starts_with("    "))
      code.diagnostics += (line + "\n").str();
  Expected<Digest> digest = digestCubin(*elf, code.kernels, withVariables);
  if (!digest)
    return digest.takeError();
  code.digest = *digest;
  return code;
}

Digest digestPtx(StringRef ptx, std::map<std::string, KernelResources> &kernels) {
  std::string body, name;
  DigestBuilder whole;
  auto finish = [&] {
    if (name.empty())
      return;
    KernelResources &kernel = kernels[name];
    kernel.name = name;
    kernel.code = digestOf(body);
    name.clear();
  };
  SmallVector<StringRef, 256> lines;
  ptx.split(lines, '\n', -1, false);
  for (StringRef line : lines) {
    line = line.split("//").first.trim();
    if (line.empty() || line.starts_with(".loc") || line.starts_with(".file") ||
        line.starts_with("$L__tmp") || line.starts_with("$L__func"))
      continue;
    if (line.starts_with(".section"))
      break; // debug information follows
    size_t entry = line.find(".entry ");
    if (entry != StringRef::npos) {
      finish();
      name = line.substr(entry + 7).take_until([](char c) { return c == '('; }).trim().str();
      body.clear();
    }
    body += withoutModuleHash(line);
    body += '\n';
    whole.add(withoutModuleHash(line));
  }
  finish();
  return whole.finish();
}

} // namespace kbopt
