//===- CodeEmission.cpp - Running clang on a text -------------------------===//
#include "kb-opt/Source/CodeEmission.h"

#include "CompatHeader.h"
#include "DeviceSettling.h"
#include "HostRefusals.h"
#include "ToolkitPch.h"
#include "kb-opt/Support/Error.h"
#include "kb-opt/Support/FileSystem.h"
#include "kb-opt/Support/ShownNames.h"
#include "llvm/Support/Path.h"

using namespace kbopt;
using llvm::StringRef;
namespace path = llvm::sys::path;

namespace {

/// A folder for one run of clang: the text, and an overlay that puts it in the
/// place of the original file, so that relative includes, __FILE__ and debug
/// locations are right and the output does not depend on the folder.
class Workplace {
public:
  static llvm::Expected<Workplace> create(const CompileCommand &command, StringRef text);

  std::string file(StringRef name) const { return folder.file(name); }
  /// clang's arguments that make it see the text and \p headers.
  llvm::Expected<std::vector<std::string>> overlay(llvm::ArrayRef<VirtualFile> headers) const;
  /// The headers of CompatHeader.h, written here.
  llvm::Expected<std::vector<VirtualFile>> ownHeaders() const;

private:
  Workplace(TemporaryDirectory folder, VirtualFile source)
      : folder(std::move(folder)), source(std::move(source)) {}
  TemporaryDirectory folder;
  VirtualFile source;
};

} // namespace

llvm::Expected<Workplace> Workplace::create(const CompileCommand &command, StringRef text) {
  llvm::Expected<TemporaryDirectory> folder = TemporaryDirectory::create("kb-opt-compile");
  if (!folder)
    return folder.takeError();
  VirtualFile source{command.file, folder->file("source.cu")};
  if (llvm::Error error = realFileSystem().write(source.realPath, text))
    return std::move(error);
  return Workplace(std::move(*folder), std::move(source));
}

llvm::Expected<std::vector<VirtualFile>> Workplace::ownHeaders() const {
  std::vector<VirtualFile> headers;
  for (const CompatHeader &header : compatHeaders()) {
    headers.push_back({(compatFolder + "/" + header.name).str(), file(header.name)});
    if (llvm::Error error = realFileSystem().write(headers.back().realPath, header.text))
      return std::move(error);
  }
  return headers;
}

llvm::Expected<std::vector<std::string>>
Workplace::overlay(llvm::ArrayRef<VirtualFile> headers) const {
  std::vector<VirtualFile> files(headers.begin(), headers.end());
  files.push_back(source);
  if (llvm::Error error = realFileSystem().write(file("overlay.yaml"), overlayOf(files)))
    return std::move(error);
  return std::vector<std::string>{"-vfsoverlay", file("overlay.yaml")};
}

/// Runs clang for the file \p output; its complaints become an error.
static llvm::Error runCompiler(ProcessRunner &runner, const CompileLimits &limits,
                               const CompileCommand &command, std::vector<std::string> arguments,
                               StringRef output, StringRef what) {
  llvm::Expected<std::string> clang = findClang();
  if (!clang)
    return clang.takeError();
  ProcessRequest request;
  request.purpose = "clang " + what.str();
  request.argv = {*clang, "-fno-color-diagnostics"};
  for (std::string &argument : arguments)
    request.argv.push_back(std::move(argument));
  request.argv.insert(request.argv.end(), {"-o", output.str()});
  std::string folder = path::parent_path(output).str();
  if (limits.sandboxed)
    request.sandbox = Sandbox{{}, {folder}, /*seesAllFiles=*/true};
  request.workingDirectory = command.directory;
  request.wallSeconds = limits.wallSeconds;
  request.memoryBytes = limits.memoryBytes;
  request.fileBytes = limits.fileBytes;
  request.environment = {"LC_ALL=C", "TMPDIR=" + folder};
  llvm::Expected<ProcessResult> result = runner.run(request);
  if (!result)
    return result.takeError();
  if (result->succeeded())
    return llvm::Error::success();
  result->err = withShownName(result->err, command.file, command.shownFile);
  // clang's own exit status for a program with errors is 1.
  if (result->exitStatus == 1 && !result->timedOut)
    return llvm::make_error<UsageError>("the " + what.str() + " of '" + command.shownFile +
                                            "' does not compile\n" + result->errorTail(40),
                                        "", ExitStatus::Diagnostics);
  // Past its limits, or crashed: the text is to blame here, too.
  return llvm::make_error<ToolError>("clang failed on the " + what.str() + " of '" +
                                         command.shownFile + "': " + result->describe(),
                                     request.argv, result->exitStatus, result->errorTail(), "",
                                     ExitStatus::Diagnostics);
}

/// Compiles the text of \p place to \p output. \p side are the arguments that
/// decide what the text means, \p more those of this run alone.
static llvm::Error compileText(ProcessRunner &runner, const CompileLimits &limits,
                               const CompileCommand &command, const Workplace &place,
                               const std::vector<std::string> &side,
                               llvm::ArrayRef<std::string> more, StringRef output, StringRef what) {
  std::vector<std::string> meaning = compatArguments();
  meaning.insert(meaning.end(), side.begin(), side.end());
  auto compile = [&](llvm::ArrayRef<VirtualFile> headers,
                     llvm::ArrayRef<std::string> pch) -> llvm::Error {
    llvm::Expected<std::vector<std::string>> arguments = place.overlay(headers);
    if (!arguments)
      return arguments.takeError();
    for (llvm::ArrayRef<std::string> part : {llvm::ArrayRef<std::string>(meaning), more, pch})
      arguments->insert(arguments->end(), part.begin(), part.end());
    arguments->insert(arguments->end(), {"-c", command.file});
    return runCompiler(runner, limits, command, std::move(*arguments), output, what);
  };
  std::optional<ToolkitPch> pch = findToolkitPch(runner, limits, command, meaning);
  if (pch) {
    llvm::Error error = compile(pch->headers, {"-Xclang", "-include-pch", "-Xclang", pch->file});
    if (!error)
      return error;
    // Be it the text or a header that changed since: the plain way decides.
    llvm::consumeError(std::move(error));
  }
  llvm::Expected<std::vector<VirtualFile>> headers = place.ownHeaders();
  if (!headers)
    return headers.takeError();
  if (llvm::Error error = compile(*headers, {}))
    return error;
  if (pch)
    forgetToolkitPch(*pch);
  return llvm::Error::success();
}

llvm::Expected<std::string> CodeEmitter::emitDeviceBitcode(const CompileCommand &command,
                                                           StringRef text) {
  llvm::Expected<Workplace> place = Workplace::create(command, text);
  if (!place)
    return place.takeError();
  std::string output = place->file("device.bc");
  // -O2 decides what clang emits (no optnone, type-based aliasing); the passes
  // themselves are for Analysis and the image to run.
  std::vector<std::string> side = command.deviceArguments();
  side.insert(side.end(), {"-O2", "-emit-llvm", "-g", "-gcolumn-info", "-fno-discard-value-names"});
  if (llvm::Error error = compileText(runner, limits, command, *place, side,
                                      {"-Xclang", "-disable-llvm-passes"}, output, "device code"))
    return std::move(error);
  llvm::Expected<std::string> bitcode = realFileSystem().read(output);
  if (!bitcode)
    return bitcode.takeError();
  return settleDeviceBitcode(*bitcode, command);
}

static llvm::Error compileHost(ProcessRunner &runner, const CompileLimits &limits,
                               const CompileCommand &command, const Workplace &place,
                               StringRef output) {
  std::string noDeviceCode = place.file("no-device-code");
  if (llvm::Error error = realFileSystem().write(noDeviceCode, kbrtFatbinMarker))
    return error;
  std::vector<std::string> side = command.hostArguments();
  side.push_back("-fPIC");
  if (llvm::none_of(command.hostFlags, [](StringRef flag) { return flag.starts_with("-O"); }))
    side.push_back("-O2");
  return compileText(runner, limits, command, place, side,
                     {"-Xclang", "-fcuda-include-gpubinary", "-Xclang", noDeviceCode}, output,
                     "host code");
}

llvm::Expected<std::string> CodeEmitter::emitHostObject(const CompileCommand &command,
                                                        StringRef text) {
  llvm::Expected<Workplace> place = Workplace::create(command, text);
  if (!place)
    return place.takeError();
  std::string output = place->file("host.o");
  if (llvm::Error error = compileHost(runner, limits, command, *place, output))
    return std::move(error);
  return realFileSystem().read(output);
}

llvm::Error CodeEmitter::linkHostProgram(const CompileCommand &command, StringRef text,
                                         llvm::ArrayRef<std::string> extraObjects,
                                         StringRef runtimeLibrary, StringRef output) {
  llvm::Expected<Workplace> place = Workplace::create(command, text);
  if (!place)
    return place.takeError();
  std::string object = place->file("host.o");
  if (llvm::Error error = compileHost(runner, limits, command, *place, object))
    return error;
  std::vector<std::string> objects{object};
  objects.insert(objects.end(), extraObjects.begin(), extraObjects.end());
  llvm::Expected<std::vector<std::string>> missing = missingCudaFunctions(objects, runtimeLibrary);
  if (!missing)
    return missing.takeError();

  std::vector<std::string> arguments = objects;
  arguments.insert(arguments.end(), command.linkFlags.begin(), command.linkFlags.end());
  arguments.push_back(runtimeLibrary.str());
  arguments.push_back("-Wl,-rpath," + path::parent_path(runtimeLibrary).str());
  if (!missing->empty()) {
    std::string source = place->file("refusals.c"), refusals = place->file("refusals.o");
    if (llvm::Error error = realFileSystem().write(source, refusalSource(*missing)))
      return error;
    if (llvm::Error error =
            runCompiler(runner, limits, command, {"-x", "c", "-O1", "-fPIC", "-w", "-c", source},
                        refusals, "refusals"))
      return error;
    // In an archive it is only asked for what nothing before it has.
    std::string archive = place->file("librefusals.a");
    if (llvm::Error error = archiveOf(refusals, archive))
      return error;
    arguments.push_back(archive);
  }
  arguments.insert(arguments.end(), {"-lm", "-lpthread", "-ldl"});
  return runCompiler(runner, limits, command, std::move(arguments), output, "host program");
}
