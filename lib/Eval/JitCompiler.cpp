//===- JitCompiler.cpp ----------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "kb-opt/Eval/JitCompiler.h"

#include "kb-opt/Support/Error.h"
#include "kb-opt/Support/FileSystem.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/Path.h"

using namespace llvm;

namespace kbopt {

/// The limits of a compile that usually takes a tenth of a second.
static constexpr double mostSeconds = 30;

JitCompiler::JitCompiler(NvccCompiler &nvcc, ProcessRunner &runner, std::string kbRun,
                         std::string directory, bool sandboxed, CompileCache *compiles)
    : nvcc(nvcc), runner(runner), kbRun(std::move(kbRun)), directory(std::move(directory)),
      sandboxed(sandboxed), compiles(compiles) {}

/// Whether \p cubinPath has variables; an unreadable one is taken to.
static bool mayHaveVariables(StringRef cubinPath) {
  Expected<std::string> elf = realFileSystem().read(cubinPath);
  Expected<bool> has = elf ? hasVariables(*elf) : elf.takeError();
  if (has)
    return *has;
  consumeError(has.takeError());
  return true;
}

/// Whether \p ptx declares variables of the module, or functions of CUDA's device runtime
/// (malloc, vprintf).
static bool declaresMore(StringRef ptx) {
  SmallVector<StringRef> lines;
  ptx.split(lines, '\n', -1, /*KeepEmpty=*/false);
  return any_of(lines, [](StringRef line) {
    if (line.starts_with(".extern .func"))
      return true;
    for (StringRef linkage : {".visible ", ".extern ", ".weak ", ".common "})
      line.consume_front(linkage);
    return line.starts_with(".global ") || line.starts_with(".const ");
  });
}

bool JitCompiler::decide() {
  auto refuse = [&](std::string why) {
    reason = std::move(why);
    return false;
  };
  if (!original.units.empty())
    return refuse("the program has several files");
  if (kbRun.empty() || nvcc.nvcc().empty())
    return refuse("kb-run or nvcc is not there");
  Expected<DeviceCode> exact = compileExactly(original);
  if (!exact) {
    consumeError(exact.takeError());
    return refuse("nvcc does not compile the original");
  }
  // NVRTC keeps unreferenced static members as variables, nvcc does not.
  withVariables = mayHaveVariables(exact->cubinPath);
  usesShared = StringRef(exact->ptx).contains(".shared");
  usesMore = declaresMore(exact->ptx);
  std::optional<DeviceCode> quick = compileSlice(original);
  if (!quick)
    return refuse(reason.empty() ? "the device part does not stand alone" : reason);
  return exact->digest == quick->digest || refuse("NVRTC gives other machine code than nvcc");
}

bool JitCompiler::applies() {
  Expected<const bool &> known = decision.get(0, [&]() -> Expected<bool> { return decide(); });
  return cantFail(std::move(known));
}

/// Everything that decides the machine code of \p program.
static Digest keyOf(const ProgramArtefacts &program) {
  DigestBuilder builder;
  builder.add(program.text).add(program.arch).add(program.sourcePath);
  for (const std::string &flag : program.flags)
    builder.add(flag);
  return builder.finish();
}

Expected<DeviceCode> JitCompiler::compile(const ProgramArtefacts &program) {
  Expected<const DeviceCode &> code =
      codes.get(keyOf(program), [&] { return compileNow(program); });
  if (!code)
    return code.takeError();
  return *code;
}

Expected<DeviceCode> JitCompiler::compileExactly(const ProgramArtefacts &program) {
  Expected<const DeviceCode &> code =
      exactCodes.get(keyOf(program), [&] { return nvcc.compile(program); });
  if (!code)
    return code.takeError();
  return *code;
}

Expected<DeviceCode> JitCompiler::compileNow(const ProgramArtefacts &program) {
  if (program.text != original.text && applies())
    if (std::optional<DeviceCode> code = compileSlice(program))
      // What the original does not have was not compared.
      if ((usesShared || !StringRef(code->ptx).contains(".shared")) &&
          (usesMore || !declaresMore(code->ptx)))
        return std::move(*code);
  return compileExactly(program);
}

/// What NVRTC gets. \p hasToolkit: with the folders of this machine's headers of CUDA.
static json::Object requestFor(const DeviceSlice &slice, const ProgramArtefacts &program,
                               StringRef cubin, StringRef ptx, bool hasToolkit = true) {
  json::Object headers;
  for (const auto &[name, text] : slice.headers)
    headers[name] = text;
  json::Array options(slice.options);
  // CUDA's own headers for device code.
  if (std::optional<std::string> compiler = hasToolkit ? findNvcc() : std::nullopt) {
    SmallString<256> include(sys::path::parent_path(sys::path::parent_path(*compiler)));
    sys::path::append(include, "include");
    options.push_back(("-I" + include).str());
    options.push_back(("-I" + include + "/cccl").str());
  }
  options.push_back("-lineinfo"); // changes no machine code
  return json::Object{{"source", slice.text},
                      {"name", sys::path::filename(program.sourcePath)},
                      {"arch", program.arch},
                      {"headers", std::move(headers)},
                      {"instances", json::Array(slice.instances)},
                      {"options", std::move(options)},
                      {"cubin", cubin},
                      {"ptx", ptx}};
}

Expected<NewCompile> JitCompiler::runNvrtc(const DeviceSlice &slice,
                                           const ProgramArtefacts &program,
                                           const std::string &folder, const std::string &cubin,
                                           const std::string &ptx) {
  if (remote)
    if (std::optional<CompileOutcome> outcome =
            remote(requestFor(slice, program, "", "", /*hasToolkit=*/false))) {
      NewCompile made;
      made.outcome = std::move(*outcome);
      return made;
    }
  const std::string request = folder + "/request.json";
  json::Value body(requestFor(slice, program, cubin, ptx));
  if (Error error = realFileSystem().write(request, formatv("{0}", body).str()))
    return std::move(error);
  ProcessRequest process;
  process.purpose = "NVRTC";
  process.argv = {kbRun, "compile", request};
  process.workingDirectory = folder;
  process.wallSeconds = mostSeconds;
  process.memoryBytes = compilerMemoryBytes;
  process.fileBytes = compilerFileBytes;
  process.environment = {"TMPDIR=" + folder};
  if (sandboxed)
    process.sandbox = Sandbox{{}, {folder}, /*seesAllFiles=*/true};
  Expected<ProcessResult> result = runner.run(process);
  if (!result)
    return result.takeError();
  NewCompile made;
  made.outcome.exitStatus = result->succeeded() ? 0 : result->exitStatus;
  made.outcome.messages = result->succeeded() ? result->out : result->errorTail();
  // The request holds every header of the user's.
  made.isRepeatable = result->exitStatus == 0 || result->exitStatus == 1;
  if (!result->succeeded())
    return made;
  for (const auto &[path, name] : {std::pair(cubin, "cubin"), std::pair(ptx, "ptx")}) {
    Expected<std::string> bytes = realFileSystem().read(path);
    if (!bytes)
      return bytes.takeError();
    made.outcome.outputs[name] = std::move(*bytes);
  }
  return made;
}

std::optional<CompileOutcome> compileRemotely(JobChannel &channel, json::Object request) {
  JobRequest job;
  job.fields["compile"] = std::move(request);
  job.fields["wallSeconds"] = mostSeconds;
  job.limitSeconds = mostSeconds;
  Expected<JobAnswer> answer = channel.run(job);
  if (!answer) {
    consumeError(answer.takeError());
    return std::nullopt;
  }
  const json::Object &result = answer->result;
  std::optional<bool> compiles = result.getBoolean("compiles");
  if (!compiles)
    return std::nullopt;
  CompileOutcome outcome;
  outcome.exitStatus = *compiles ? 0 : 1;
  outcome.messages = result.getString("message").value_or("").str();
  std::string cubin;
  if (*compiles && !tryGetFromHex(result.getString("cubin").value_or(""), cubin))
    return std::nullopt;
  outcome.outputs["cubin"] = std::move(cubin);
  outcome.outputs["ptx"] = result.getString("ptx").value_or("").str();
  return outcome;
}

std::optional<DeviceCode> JitCompiler::compileSlice(const ProgramArtefacts &program) {
  std::optional<DeviceSlice> slice = program.slice ? program.slice() : std::nullopt;
  // Machine code of another program would be judged in the place of this one.
  if (!slice || slice->of != digestOf(program.text))
    return std::nullopt;
  // The request is JSON, which other bytes do not survive.
  if (!json::isUTF8(slice->text) ||
      any_of(slice->headers, [](const auto &each) { return !json::isUTF8(each.second); }))
    return std::nullopt;
  std::string folder =
      directory + "/nvrtc-" + DigestBuilder().add(slice->text).add(program.text).finish();
  std::string cubin = folder + "/code.cubin", ptx = folder + "/code.ptx";
  FileSystem &files = realFileSystem();
  auto attempt = [&]() -> Expected<DeviceCode> {
    if (Error error = files.createDirectories(folder))
      return std::move(error);
    // The request names the folder, which decides nothing.
    Digest key = DigestBuilder()
                     .add("NVRTC")
                     .add(formatv("{0}", json::Value(requestFor(*slice, program, "", ""))).str())
                     .add(toolIdentity(toolkitFiles(nvcc.nvcc())))
                     .add(toolIdentity({kbRun}))
                     .add(toolkitEnvironment())
                     .finish();
    Expected<CompileOutcome> outcome = compileThrough(
        compiles, key, [&] { return runNvrtc(*slice, program, folder, cubin, ptx); });
    if (!outcome)
      return outcome.takeError();
    if (outcome->exitStatus != 0)
      return make_error<ToolError>("NVRTC does not compile '" + program.name + "'",
                                   std::vector<std::string>{kbRun, "compile"}, outcome->exitStatus,
                                   outcome->messages);
    for (const auto &[path, name] : {std::pair(cubin, "cubin"), std::pair(ptx, "ptx")})
      if (!files.exists(path))
        if (Error error = files.write(path, outcome->outputs[name]))
          return std::move(error);
    Expected<DeviceCode> code = readDeviceCode(cubin, ptx, outcome->messages, withVariables);
    if (code) {
      code->producer = "NVRTC";
      code->arch = program.arch;
    }
    return code;
  };
  Expected<DeviceCode> code = attempt();
  if (code)
    return std::move(*code);
  handleAllErrors(code.takeError(), [&](const ErrorInfoBase &error) {
    if (reason.empty() && program.text == original.text)
      reason = error.message();
  });
  return std::nullopt;
}

} // namespace kbopt
