//===- NvccImage.cpp - Compiling device code with the toolkit -------------===//
// SPDX-License-Identifier: Apache-2.0
#include "kb-opt/Eval/NvccImage.h"
#include "kb-opt/Eval/PtxCensus.h"
#include "kb-opt/Support/Error.h"
#include "kb-opt/Support/FileSystem.h"
#include "kb-opt/Support/ShownNames.h"
#include "kbrt/CubinTable.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"
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

std::vector<std::string> toolkitFiles(StringRef nvcc) {
  std::string bin = sys::path::parent_path(nvcc).str();
  std::vector<std::string> files{
      nvcc.str(),    bin + "/ptxas",           bin + "/nvcc.profile",
      bin + "/cicc", bin + "/../version.json", bin + "/../nvvm/bin/cicc"};
  // nvcc preprocesses with the host's compiler.
  for (StringRef host : {"gcc", "g++"})
    if (ErrorOr<std::string> path = sys::findProgramByName(host))
      files.push_back(*path);
  return files;
}

Digest toolkitEnvironment() {
  DigestBuilder builder;
  for (const char *variable :
       {"NVCC_PREPEND_FLAGS", "NVCC_APPEND_FLAGS", "NVCC_CCBIN", "CPATH", "C_INCLUDE_PATH",
        "CPLUS_INCLUDE_PATH", "CUDA_PATH", "CUDA_HOME", "LD_LIBRARY_PATH"})
    builder.add(sys::Process::GetEnv(variable).value_or(""));
  return builder.finish();
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

NvccCompiler::NvccCompiler(ProcessRunner &runner, std::string directory, bool sandboxed,
                           CompileCache *compiles)
    : runner(runner), directory(std::move(directory)), sandboxed(sandboxed), compiles(compiles) {
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

void NvccCompiler::limitCompiler(ProcessRequest &request, const std::string &folder) const {
  request.wallSeconds = 120;
  request.memoryBytes = compilerMemoryBytes;
  request.fileBytes = compilerFileBytes;
  request.environment = {"TMPDIR=" + folder};
  if (sandboxed)
    request.sandbox = Sandbox{{}, {folder}, /*seesAllFiles=*/true};
}

static Error noAssembler(const std::string &path) {
  return make_error<ToolError>("nvcc not found to assemble '" + path + "'",
                               std::vector<std::string>{"nvcc"}, -1, "",
                               "set CUDA_PATH to a CUDA toolkit");
}

Expected<std::string> DeviceCompiler::assemble(const std::string &path, const std::string &) {
  return noAssembler(path);
}

Expected<std::string> NvccCompiler::assemble(const std::string &path, const std::string &arch) {
  if (nvccPath.empty())
    return noAssembler(path);
  const std::string cubin = path + ".cubin", folder = sys::path::parent_path(path).str();
  ProcessRequest request;
  request.argv = {nvccPath, "-cubin", "-arch=" + arch, "-o", cubin, path};
  request.workingDirectory = folder;
  limitCompiler(request, folder);
  Expected<ProcessResult> run = runner.run(request);
  if (!run)
    return run.takeError();
  if (!run->succeeded())
    return make_error<ToolError>(
        formatv("nvcc does not assemble '{0}': {1}", path, run->describe()), request.argv,
        run->exitStatus, run->errorTail(), "", ExitStatus::Diagnostics);
  return cubin;
}

/// The folder's name says what decides what comes out, but for included files: a folder lives no
/// longer than its owner. Between runs a `CompileCache` keeps compiles, which looks at those files,
/// too.
static std::string outputFolder(StringRef directory, StringRef version,
                                const ProgramArtefacts &program) {
  DigestBuilder builder;
  builder.add("nvcc-2").add(version).add(program.text).add(program.arch);
  builder.add(program.workingDirectory).add(sys::path::parent_path(program.sourcePath));
  for (const std::string &flag : program.flags)
    builder.add(flag);
  return (directory + "/nvcc-" + builder.finish()).str();
}

Expected<std::string> NvccCompiler::askVersion() {
  ProcessRequest ask;
  ask.argv = {nvccPath, "--version"};
  ask.wallSeconds = 20;
  Digest key =
      DigestBuilder().add("nvcc version").add(toolIdentity(toolkitFiles(nvccPath))).finish();
  Expected<CompileOutcome> answer = compileThrough(compiles, key, [&]() -> Expected<NewCompile> {
    Expected<ProcessResult> result = runner.run(ask);
    if (!result)
      return result.takeError();
    return NewCompile{{result->exitStatus, result->out, {}}, {}, result->succeeded()};
  });
  if (!answer)
    return answer.takeError();
  SmallVector<StringRef, 2> match;
  return Regex("V([0-9.]+)").match(answer->messages, &match) ? match[1].str()
                                                             : "of unknown version";
}

/// The names of what nvcc leaves in its folder and readDeviceCode reads.
static constexpr const char *cubinName = "code.cubin", *ptxName = "code.ptx",
                            *reportName = "ptxas.txt";

Expected<ProcessRequest> NvccCompiler::cubinRequest(const ProgramArtefacts &program,
                                                    const std::string &folder,
                                                    ArrayRef<std::string> more) const {
  // __FILE__ and messages are the original's, wherever the text lies; quoted
  // includes resolve by -I.
  std::string source = folder + "/code.cu", shown;
  raw_string_ostream(shown) << "#line 1 \"" << program.sourcePath << "\"\n";
  if (Error error = realFileSystem().write(source, shown + program.text))
    return std::move(error);
  ProcessRequest request;
  request.argv = {nvccPath,
                  "-x",
                  "cu",
                  "-arch=" + program.arch,
                  "-cubin",
                  "-lineinfo", // samples are shown by line; changes no machine code
                  "-I" + sys::path::parent_path(program.sourcePath).str()};
  append_range(request.argv, more);
  append_range(request.argv, program.flags);
  request.argv.insert(request.argv.end(), {"-o", folder + "/" + cubinName, source});
  request.workingDirectory = program.workingDirectory;
  limitCompiler(request, folder);
  return request;
}

/// Compiles in \p folder, which exists.
Expected<NewCompile> NvccCompiler::runNvcc(const ProgramArtefacts &program,
                                           const std::string &folder) {
  FileSystem &files = realFileSystem();
  Expected<ProcessRequest> request =
      cubinRequest(program, folder, {"-Xptxas", "-v", "--keep", "--keep-dir", folder});
  if (!request)
    return request.takeError();
  Expected<ProcessResult> run = runner.run(*request);
  if (!run)
    return run.takeError();
  run->err = withShownName(run->err, program.sourcePath, program.name);
  run->out = withShownName(run->out, program.sourcePath, program.name);
  // nvcc's own exit statuses for a program with errors are small; the shell's for a killed child
  // are not.
  if (!run->succeeded() && (run->timedOut || run->signal || run->exitStatus > 2))
    return make_error<ToolError>(
        formatv("{0} does not compile with nvcc: {1}", program.name, run->describe()),
        request->argv, run->exitStatus,
        StringRef(run->err).trim().empty() ? run->out : run->errorTail(), "",
        ExitStatus::Diagnostics);
  NewCompile made;
  made.outcome.exitStatus = run->exitStatus;
  made.outcome.messages = run->err + run->out;
  // The preprocessed texts name the files that were read.
  for (const std::string &name : files.list(folder)) {
    std::string path = folder + "/" + name;
    if (StringRef(name).ends_with(".ii")) {
      Expected<std::string> text = files.read(path);
      if (!text)
        return text.takeError();
      append_range(made.inputs, inputsOfPreprocessed(*text, program.workingDirectory));
    }
    if (StringRef(name).ends_with(".ii") || StringRef(name).contains("cudafe"))
      consumeError(files.remove(path));
  }
  // The text stands in the place of the source, and what lies here is described by the key.
  erase_if(made.inputs, [&](const std::string &file) {
    return file == program.sourcePath || StringRef(file).starts_with(folder);
  });
  made.isRepeatable = !made.inputs.empty();
  if (!run->succeeded())
    return made;
  for (const char *name : {cubinName, ptxName}) {
    Expected<std::string> bytes = files.read(folder + "/" + name);
    if (!bytes)
      return bytes.takeError();
    made.outcome.outputs[name] = std::move(*bytes);
  }
  return made;
}

Expected<DeviceCode> NvccCompiler::compileWithNvcc(const ProgramArtefacts &program) {
  std::unique_lock<std::mutex> asking(versionMutex);
  if (version.empty()) {
    Expected<std::string> answer = askVersion();
    if (!answer)
      return answer.takeError();
    version = std::move(*answer);
  }
  asking.unlock();
  FileSystem &files = realFileSystem();
  std::string folder = outputFolder(directory, version, program);
  std::string report = folder + "/" + reportName;
  if (!files.exists(report)) {
    if (Error error = files.createDirectories(folder))
      return std::move(error);
    Digest key = DigestBuilder()
                     .add(sys::path::filename(folder)) // says what decides the compile
                     .add(toolIdentity(toolkitFiles(nvccPath)))
                     .add(toolkitEnvironment())
                     .add(program.sourcePath)
                     .add(program.name)
                     .finish();
    Expected<CompileOutcome> outcome =
        compileThrough(compiles, key, [&] { return runNvcc(program, folder); });
    if (!outcome)
      return outcome.takeError();
    if (outcome->exitStatus != 0)
      return make_error<ToolError>(formatv("{0} does not compile with nvcc: exit status {1}",
                                           program.name, outcome->exitStatus),
                                   std::vector<std::string>{nvccPath}, outcome->exitStatus,
                                   outcome->messages, "", ExitStatus::Diagnostics);
    for (const auto &[name, bytes] : outcome->outputs)
      if (!files.exists(folder + "/" + name))
        if (Error error = files.write(folder + "/" + name, bytes))
          return std::move(error);
    if (Error error = files.write(report, outcome->messages))
      return std::move(error);
  }
  Expected<std::string> text = realFileSystem().read(report);
  if (!text)
    return text.takeError();
  Expected<DeviceCode> code =
      readDeviceCode(folder + "/" + cubinName, folder + "/" + ptxName, *text);
  if (code) {
    code->producer = "nvcc " + version;
    code->arch = program.arch;
  }
  if (code && linksUnits && !program.units.empty()) {
    Expected<std::string> linked = linkedCubin(program);
    if (!linked)
      return linked.takeError();
    code->cubinPath = std::move(*linked);
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

const KernelResources *DeviceCode::find(StringRef kernel) const {
  if (auto exact = kernels.find(kernel.str()); exact != kernels.end())
    return &exact->second;
  const std::string wanted = kbrt::linkageFreeName(kernel);
  const KernelResources *found = nullptr;
  for (const auto &[name, resources] : kernels)
    if (kbrt::linkageFreeName(name) == wanted) {
      if (found)
        return nullptr;
      found = &resources;
    }
  return found;
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
