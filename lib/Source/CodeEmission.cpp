//===- CodeEmission.cpp - Running clang on a text -------------------------===//
#include "kb-opt/Source/CodeEmission.h"

#include "CompatHeader.h"
#include "DeviceSettling.h"
#include "HostRefusals.h"
#include "kb-opt/Support/Error.h"
#include "kb-opt/Support/FileSystem.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

using namespace kbopt;
using llvm::StringRef;
namespace path = llvm::sys::path;

namespace {

/// A folder with the text, the compatibility header and an overlay that puts
/// both where clang expects them: what clang compiles has the original's name,
/// so that relative includes, __FILE__ and debug locations are right and the
/// output does not depend on the folder.
class Workplace {
public:
  static llvm::Expected<Workplace> create(const CompileCommand &command, StringRef text);

  std::string file(StringRef name) const { return folder.file(name); }
  std::vector<std::string> arguments() const {
    std::vector<std::string> result = compatArguments();
    result.insert(result.begin(), {"-vfsoverlay", folder.file("overlay.yaml")});
    return result;
  }

private:
  Workplace(TemporaryDirectory folder) : folder(std::move(folder)) {}
  TemporaryDirectory folder;
};

} // namespace

/// A virtual folder of the overlay: names in it, and the files behind them.
static llvm::json::Value overlayFolder(StringRef folder,
                                       llvm::ArrayRef<std::pair<StringRef, std::string>> files) {
  llvm::json::Array contents;
  for (const auto &[name, realPath] : files)
    contents.push_back(
        llvm::json::Object{{"name", name}, {"type", "file"}, {"external-contents", realPath}});
  return llvm::json::Object{
      {"name", folder}, {"type", "directory"}, {"contents", std::move(contents)}};
}

llvm::Expected<Workplace> Workplace::create(const CompileCommand &command, StringRef text) {
  llvm::Expected<TemporaryDirectory> folder = TemporaryDirectory::create("kb-opt-compile");
  if (!folder)
    return folder.takeError();
  Workplace place(std::move(*folder));
  FileSystem &files = realFileSystem();
  std::string source = place.file("source.cu");
  if (llvm::Error error = files.write(source, text))
    return std::move(error);
  if (llvm::Error error = files.write(place.file("no-device-code"), kbrtFatbinMarker))
    return std::move(error);
  std::vector<std::pair<StringRef, std::string>> compat;
  for (const CompatHeader &header : compatHeaders()) {
    compat.emplace_back(header.name, place.file(header.name));
    if (llvm::Error error = files.write(compat.back().second, header.text))
      return std::move(error);
  }
  // JSON is YAML.
  llvm::json::Value overlay = llvm::json::Object{
      {"version", 0},
      {"case-sensitive", "true"},
      {"use-external-names", "false"},
      {"roots", llvm::json::Array{overlayFolder(path::parent_path(command.file),
                                                {{path::filename(command.file), source}}),
                                  overlayFolder(compatFolder, compat)}}};
  std::string overlayText;
  llvm::raw_string_ostream(overlayText) << overlay;
  if (llvm::Error error = files.write(place.file("overlay.yaml"), overlayText))
    return std::move(error);
  return place;
}

/// Runs clang; its complaints become an error.
static llvm::Error runCompiler(ProcessRunner &runner, const CompileLimits &limits,
                               const CompileCommand &command, std::vector<std::string> arguments,
                               StringRef what) {
  llvm::Expected<std::string> clang = findClang();
  if (!clang)
    return clang.takeError();
  ProcessRequest request;
  request.argv = {*clang, "-fno-color-diagnostics"};
  for (std::string &argument : arguments)
    request.argv.push_back(std::move(argument));
  request.workingDirectory = command.directory;
  request.wallSeconds = limits.wallSeconds;
  request.memoryBytes = limits.memoryBytes;
  request.environment = {"LC_ALL=C"};
  llvm::Expected<ProcessResult> result = runner.run(request);
  if (!result)
    return result.takeError();
  if (result->succeeded())
    return llvm::Error::success();
  // clang's own exit status for a program with errors is 1.
  if (result->exitStatus == 1 && !result->timedOut)
    return llvm::make_error<UsageError>("the " + what.str() + " of '" + command.shownFile +
                                            "' does not compile\n" + result->errorTail(40),
                                        "", ExitStatus::Diagnostics);
  return llvm::make_error<ToolError>("clang failed on the " + what.str() + " of '" +
                                         command.shownFile + "': " + result->describe(),
                                     request.argv, result->exitStatus, result->errorTail());
}

/// \p command's host or device arguments in a workplace, from the input to an
/// object file.
static std::vector<std::string> argumentsFor(const Workplace &place, const CompileCommand &command,
                                             std::vector<std::string> side,
                                             llvm::ArrayRef<StringRef> more) {
  std::vector<std::string> arguments = place.arguments();
  arguments.insert(arguments.end(), side.begin(), side.end());
  for (StringRef argument : more)
    arguments.push_back(argument.str());
  arguments.insert(arguments.end(), {"-c", command.file});
  return arguments;
}

llvm::Expected<std::string> CodeEmitter::emitDeviceBitcode(const CompileCommand &command,
                                                           StringRef text) {
  llvm::Expected<Workplace> place = Workplace::create(command, text);
  if (!place)
    return place.takeError();
  std::string output = place->file("device.bc");
  // -O2 decides what clang emits (no optnone, type-based aliasing); the passes
  // themselves are for Analysis and the image to run.
  std::vector<std::string> arguments = argumentsFor(
      *place, command, command.deviceArguments(),
      {"-O2", "-Xclang", "-disable-llvm-passes", "-emit-llvm", "-g", "-gcolumn-info", "-Xclang",
       "-debug-info-kind=constructor", "-fno-discard-value-names", "-o", output});
  if (llvm::Error error = runCompiler(runner, limits, command, std::move(arguments), "device code"))
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
  std::vector<std::string> side = command.hostArguments();
  bool saysOptimize =
      llvm::any_of(command.hostFlags, [](StringRef flag) { return flag.starts_with("-O"); });
  std::vector<StringRef> more{
      "-Xclang", "-fcuda-include-gpubinary", "-Xclang", noDeviceCode, "-fPIC", "-o", output};
  if (!saysOptimize)
    more.push_back("-O2");
  return runCompiler(runner, limits, command, argumentsFor(place, command, side, more),
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
    if (llvm::Error error = runCompiler(
            runner, limits, command,
            {"-x", "c", "-O1", "-fPIC", "-w", "-c", source, "-o", refusals}, "refusals"))
      return error;
    // In an archive it is only asked for what nothing before it has.
    std::string archive = place->file("librefusals.a");
    if (llvm::Error error = archiveOf(refusals, archive))
      return error;
    arguments.push_back(archive);
  }
  arguments.insert(arguments.end(), {"-lm", "-lpthread", "-ldl", "-o", output.str()});
  return runCompiler(runner, limits, command, std::move(arguments), "host program");
}
