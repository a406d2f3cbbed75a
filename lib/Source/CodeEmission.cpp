//===- CodeEmission.cpp - Running clang on a text -------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "kb-opt/Source/CodeEmission.h"

#include "CompatHeader.h"
#include "DeviceSettling.h"
#include "DeviceUnits.h"
#include "HostRefusals.h"
#include "LeadingIncludes.h"
#include "ToolkitPch.h"
#include "UserMacros.h"
#include "kb-opt/Support/Error.h"
#include "kb-opt/Support/FileSystem.h"
#include "kb-opt/Support/ShownNames.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"

using namespace kbopt;
using llvm::StringRef;
namespace path = llvm::sys::path;

/// The name of a compile's output among those of its outcome.
static constexpr const char *outputName = "output";

namespace {

/// A folder for one run of clang: the text, and an overlay that puts it in the
/// place of the original file, so that relative includes, __FILE__ and debug
/// locations are right and the output does not depend on the folder. The header
/// with the user's macros is there, too.
class Workplace {
public:
  static llvm::Expected<Workplace> create(const CompileCommand &command, StringRef text);

  std::string file(StringRef name) const { return folder.file(name); }
  /// clang's arguments that make it see the text and \p headers. The user's macros may be among
  /// those, too.
  llvm::Expected<std::vector<std::string>> overlay(llvm::ArrayRef<VirtualFile> headers) const;
  /// The headers of CompatHeader.h, written here.
  llvm::Expected<std::vector<VirtualFile>> ownHeaders() const;

private:
  Workplace(TemporaryDirectory folder, VirtualFile source, VirtualFile macros)
      : folder(std::move(folder)), source(std::move(source)), macros(std::move(macros)) {}
  TemporaryDirectory folder;
  VirtualFile source, macros;
};

} // namespace

llvm::Expected<Workplace> Workplace::create(const CompileCommand &command, StringRef text) {
  llvm::Expected<TemporaryDirectory> folder = TemporaryDirectory::create("kb-opt-compile");
  if (!folder)
    return folder.takeError();
  VirtualFile source{command.file, folder->file("source.cu")};
  if (llvm::Error error = realFileSystem().write(source.realPath, text))
    return std::move(error);
  VirtualFile macros{(compatFolder + "/" + macrosHeader).str(), folder->file(macrosHeader)};
  if (llvm::Error error = realFileSystem().write(macros.realPath, userMacrosText(command)))
    return std::move(error);
  return Workplace(std::move(*folder), std::move(source), std::move(macros));
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
  if (llvm::none_of(headers, [&](const VirtualFile &each) { return each.name == macros.name; }))
    files.push_back(macros);
  if (llvm::Error error = realFileSystem().write(file("overlay.yaml"), overlayOf(files)))
    return std::move(error);
  return std::vector<std::string>{"-vfsoverlay", file("overlay.yaml")};
}

/// Runs clang for the file \p output. Complaints about the program are an outcome; that clang could
/// not be run, crashed or exceeded its limits is an error.
static llvm::Expected<CompileOutcome>
runCompiler(ProcessRunner &runner, const CompileLimits &limits, const CompileCommand &command,
            std::vector<std::string> arguments, StringRef output, StringRef what) {
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
  result->err = withShownName(result->err, command.file, command.shownFile);
  CompileOutcome outcome;
  if (result->succeeded()) {
    llvm::Expected<std::string> made = realFileSystem().read(output);
    if (!made)
      return made.takeError();
    outcome.outputs[outputName] = std::move(*made);
    return outcome;
  }
  // clang's own exit status for a program with errors is 1.
  if (result->exitStatus == 1 && !result->timedOut) {
    outcome.exitStatus = 1;
    outcome.messages = result->errorTail(40);
    return outcome;
  }
  // Past its limits, or crashed: the text is to blame here, too.
  return llvm::make_error<ToolError>("clang failed on the " + what.str() + " of '" +
                                         command.shownFile + "': " + result->describe(),
                                     request.argv, result->exitStatus, result->errorTail(), "",
                                     ExitStatus::Diagnostics);
}

/// The bytes that clang wrote, or its complaints as an error.
static llvm::Expected<std::string> outputOf(CompileOutcome outcome, const CompileCommand &command,
                                            StringRef what) {
  if (outcome.exitStatus == 0)
    return std::move(outcome.outputs[outputName]);
  return llvm::make_error<UsageError>("the " + what.str() + " of '" + command.shownFile +
                                          "' does not compile\n" + outcome.messages,
                                      "", ExitStatus::Diagnostics);
}

namespace {

/// What decides a compile of a text beside the text and its command's file and folder.
struct TextCompile {
  StringRef what; ///< "device code" or "host code"
  /// Arguments that decide what the text means.
  std::vector<std::string> side;
  /// Arguments of this run alone, and those that name files which are the same in every run.
  std::vector<std::string> more, paths;
};

} // namespace

/// Everything that decides the outcome of \p compile, but for the files that it reads.
static llvm::Expected<Digest> keyOf(const CompileCommand &command, StringRef text,
                                    const TextCompile &compile) {
  llvm::Expected<std::string> clang = findClang();
  if (!clang)
    return clang.takeError();
  DigestBuilder builder;
  builder.add("clang").add(toolIdentity({*clang})).add(text).add(compile.what);
  builder.add(command.file).add(command.shownFile).add(command.directory);
  for (const CompatHeader &header : compatHeaders())
    builder.add(header.name).add(header.text);
  builder.add(userMacrosText(command));
  for (const auto *arguments : {&compile.side, &compile.more})
    for (const std::string &argument : *arguments)
      builder.add(argument);
  for (const char *variable : {"CPATH", "C_INCLUDE_PATH", "CPLUS_INCLUDE_PATH"})
    builder.add(llvm::sys::Process::GetEnv(variable).value_or(""));
  return builder.finish();
}

/// Compiles the text of \p place; the bytes of the output.
static llvm::Expected<CompileOutcome>
compileText(ProcessRunner &runner, const CompileLimits &limits, const CompileCommand &command,
            StringRef text, const Workplace &place, const TextCompile &compile) {
  std::vector<std::string> meaning = compatArguments();
  llvm::append_range(meaning, macroArguments());
  llvm::append_range(meaning, compile.side);
  std::string output = place.file("compiled"), rule = place.file("inputs.d");
  auto attempt = [&](llvm::ArrayRef<VirtualFile> headers,
                     llvm::ArrayRef<std::string> pch) -> llvm::Expected<CompileOutcome> {
    llvm::Expected<std::vector<std::string>> arguments = place.overlay(headers);
    if (!arguments)
      return arguments.takeError();
    for (llvm::ArrayRef<std::string> part :
         {llvm::ArrayRef<std::string>(meaning), llvm::ArrayRef<std::string>(compile.more),
          llvm::ArrayRef<std::string>(compile.paths), pch})
      arguments->insert(arguments->end(), part.begin(), part.end());
    arguments->insert(arguments->end(), {"-MD", "-MF", rule, "-c", command.file});
    return runCompiler(runner, limits, command, std::move(*arguments), output, compile.what);
  };
  auto run = [&]() -> llvm::Expected<CompileOutcome> {
    std::optional<ToolkitPch> pch =
        findToolkitPch(runner, limits, command, compile.side, leadingIncludes(command, text));
    if (pch) {
      llvm::Expected<CompileOutcome> outcome =
          attempt(pch->headers, {"-Xclang", "-include-pch", "-Xclang", pch->file});
      if (outcome && outcome->exitStatus == 0)
        return outcome;
      // Be it the text or a header that changed since: the plain way decides.
      if (!outcome)
        llvm::consumeError(outcome.takeError());
    }
    llvm::Expected<std::vector<VirtualFile>> headers = place.ownHeaders();
    if (!headers)
      return headers.takeError();
    llvm::Expected<CompileOutcome> outcome = attempt(*headers, {});
    if (outcome && outcome->exitStatus == 0 && pch)
      forgetToolkitPch(*pch);
    return outcome;
  };
  llvm::Expected<Digest> key = keyOf(command, text, compile);
  if (!key)
    return key.takeError();
  return compileThrough(limits.compiles, *key, [&]() -> llvm::Expected<NewCompile> {
    llvm::Expected<CompileOutcome> outcome = run();
    if (!outcome)
      return outcome.takeError();
    NewCompile made{std::move(*outcome), {}};
    llvm::Expected<std::string> inputs = realFileSystem().read(rule);
    if (inputs)
      made.inputs = inputsOfMakeRule(*inputs, command.directory);
    else
      llvm::consumeError(inputs.takeError());
    // The text stands in the place of the file, which may hold another.
    llvm::erase(made.inputs, command.file);
    made.isRepeatable = !made.inputs.empty();
    return made;
  });
}

llvm::Expected<std::vector<DeviceUnit>> CodeEmitter::emitUnits(const CompileCommand &command,
                                                               StringRef text) {
  llvm::Expected<std::string> own = emitOwnBitcode(command, text);
  if (!own)
    return own.takeError();
  std::vector<DeviceUnit> all{{command.shownFile, std::move(*own), command.relocatable}};
  for (const CompileCommand *unit : command.deviceUnits()) {
    llvm::Expected<const std::string &> bitcode =
        units.get(unit->digest(), [&]() -> llvm::Expected<std::string> {
          llvm::Expected<std::string> source = realFileSystem().read(unit->file);
          return source ? emitOwnBitcode(*unit, *source) : source.takeError();
        });
    if (!bitcode)
      return bitcode.takeError();
    all.push_back({unit->shownFile, *bitcode, unit->relocatable});
  }
  return all;
}

llvm::Expected<std::string> CodeEmitter::emitDeviceBitcode(const CompileCommand &command,
                                                           StringRef text) {
  llvm::Expected<std::vector<DeviceUnit>> all = emitUnits(command, text);
  if (!all)
    return all.takeError();
  return all->size() == 1 ? std::move(all->front().bitcode) : linkDeviceUnits(*all);
}

/// The macro gives \p name of \p unit, by number, a name of its own.
static void rename(CompileCommand &unit, StringRef name, size_t number) {
  const std::string macro = ("-D" + name + "=" + name + "_of_unit").str() + std::to_string(number);
  unit.clangFlags.push_back(macro);
  unit.nvccFlags.push_back(macro);
}

llvm::Error CodeEmitter::separateNames(CompileCommand &command, StringRef text) {
  if (command.relocatable || command.deviceUnits().empty())
    return llvm::Error::success();
  llvm::Expected<std::vector<DeviceUnit>> all = emitUnits(command, text);
  if (!all)
    return all.takeError();
  llvm::Expected<std::vector<std::vector<std::string>>> taken = takenNames(*all);
  if (!taken)
    return taken.takeError();
  std::map<std::string, size_t> numbers;
  for (const CompileCommand *unit : command.deviceUnits())
    numbers.emplace(unit->file, numbers.size() + 1); // the file itself is the first of all
  auto renameIn = [&](CompileCommand &program) {
    for (CompileCommand &unit : program.units)
      for (const std::string &name : (*taken)[numbers[unit.file]])
        rename(unit, name, numbers[unit.file]);
  };
  renameIn(command);
  llvm::for_each(command.others, renameIn);
  return llvm::Error::success();
}

llvm::Expected<std::string> CodeEmitter::emitOwnBitcode(const CompileCommand &command,
                                                        StringRef text) {
  llvm::Expected<Workplace> place = Workplace::create(command, text);
  if (!place)
    return place.takeError();
  // -O2 decides what clang emits (no optnone, type-based aliasing); the passes
  // themselves are for Analysis and the image to run.
  TextCompile compile{"device code", command.deviceArguments(), {}, {}};
  compile.side.insert(compile.side.end(),
                      {"-O2", "-emit-llvm", "-g", "-gcolumn-info", "-fno-discard-value-names"});
  compile.more = {"-Xclang", "-disable-llvm-passes"};
  llvm::Expected<CompileOutcome> outcome =
      compileText(runner, limits, command, text, *place, compile);
  if (!outcome)
    return outcome.takeError();
  llvm::Expected<std::string> bitcode = outputOf(std::move(*outcome), command, compile.what);
  if (!bitcode)
    return bitcode.takeError();
  return settleDeviceBitcode(*bitcode, command);
}

static llvm::Expected<std::string> compileHost(ProcessRunner &runner, const CompileLimits &limits,
                                               const CompileCommand &command, StringRef text,
                                               const Workplace &place) {
  std::string noDeviceCode = place.file("no-device-code");
  if (llvm::Error error = realFileSystem().write(noDeviceCode, kbrtFatbinMarker))
    return std::move(error);
  TextCompile compile{"host code", command.hostArguments(), {}, {}};
  compile.side.push_back("-fPIC");
  if (llvm::none_of(command.hostFlags, [](StringRef flag) { return flag.starts_with("-O"); }))
    compile.side.push_back("-O2");
  compile.paths = {"-Xclang", "-fcuda-include-gpubinary", "-Xclang", noDeviceCode};
  llvm::Expected<CompileOutcome> outcome =
      compileText(runner, limits, command, text, place, compile);
  if (!outcome)
    return outcome.takeError();
  return outputOf(std::move(*outcome), command, compile.what);
}

llvm::Expected<std::string> CodeEmitter::emitHostObject(const CompileCommand &command,
                                                        StringRef text) {
  llvm::Expected<Workplace> place = Workplace::create(command, text);
  if (!place)
    return place.takeError();
  return compileHost(runner, limits, command, text, *place);
}

/// Links \p objects with the user's libraries and \p runtimeLibrary to \p output; \p rule receives
/// the files that the linker read, as a rule of make.
static llvm::Expected<CompileOutcome> link(ProcessRunner &runner, const CompileLimits &limits,
                                           const CompileCommand &command, const Workplace &place,
                                           llvm::ArrayRef<std::string> objects,
                                           StringRef runtimeLibrary, StringRef rule) {
  std::vector<std::string> all = objects.vec();
  for (StringRef flag : command.linkFlags)
    if (flag.ends_with(".o") && path::is_absolute(flag))
      all.push_back(flag.str());
  llvm::Expected<std::vector<std::string>> missing = missingCudaFunctions(all, runtimeLibrary);
  if (!missing)
    return missing.takeError();
  std::vector<std::string> arguments = objects.vec();
  arguments.insert(arguments.end(), command.linkFlags.begin(), command.linkFlags.end());
  arguments.push_back(runtimeLibrary.str());
  arguments.push_back("-Wl,-rpath," + path::parent_path(runtimeLibrary).str());
  if (!missing->empty()) {
    std::string source = place.file("refusals.c"), refusals = place.file("refusals.o");
    if (llvm::Error error = realFileSystem().write(source, refusalSource(*missing)))
      return std::move(error);
    llvm::Expected<CompileOutcome> compiled =
        runCompiler(runner, limits, command, {"-x", "c", "-O1", "-fPIC", "-w", "-c", source},
                    refusals, "refusals");
    if (!compiled || compiled->exitStatus != 0)
      return compiled;
    // In an archive it is only asked for what nothing before it has.
    std::string archive = place.file("librefusals.a");
    if (llvm::Error error = archiveOf(refusals, archive))
      return std::move(error);
    arguments.push_back(archive);
  }
  arguments.insert(arguments.end(), {"-lm", "-lpthread", "-ldl"});
  // std::random_device asks the recorder (runtime/record/HostClock.cpp).
  arguments.push_back("-Wl,--wrap=_ZNSt13random_device9_M_getvalEv");
  std::vector<std::string> withRule = arguments;
  withRule.push_back("-Wl,--dependency-file=" + rule.str());
  std::string output = place.file("program");
  llvm::Expected<CompileOutcome> outcome =
      runCompiler(runner, limits, command, std::move(withRule), output, "host program");
  if (!outcome || outcome->exitStatus == 0)
    return outcome;
  // Not every linker writes rules.
  return runCompiler(runner, limits, command, std::move(arguments), output, "host program");
}

llvm::Error CodeEmitter::linkHostProgram(const CompileCommand &command, StringRef text,
                                         StringRef runtimeLibrary, StringRef output) {
  llvm::Expected<Workplace> place = Workplace::create(command, text);
  if (!place)
    return place.takeError();
  llvm::Expected<std::string> host = compileHost(runner, limits, command, text, *place);
  if (!host)
    return host.takeError();
  std::vector<std::string> units;
  for (const CompileCommand &unit : command.units) {
    llvm::Expected<std::string> source = realFileSystem().read(unit.file);
    if (!source)
      return source.takeError();
    llvm::Expected<std::string> object = emitHostObject(unit, *source);
    if (!object)
      return object.takeError();
    units.push_back(std::move(*object));
  }
  llvm::Expected<std::string> clang = findClang();
  if (!clang)
    return clang.takeError();
  DigestBuilder key;
  key.add("link").add(toolIdentity({*clang})).add(*host).add(command.directory);
  key.add(command.shownFile).add(runtimeLibrary);
  for (const std::string &flag : command.linkFlags)
    key.add(flag);
  key.add("objects");
  for (const std::string &object : units)
    key.add(object);
  auto run = [&]() -> llvm::Expected<NewCompile> {
    std::vector<std::string> objects{place->file("host.o")};
    if (llvm::Error error = realFileSystem().write(objects.front(), *host))
      return std::move(error);
    for (const auto &[number, object] : llvm::enumerate(units)) {
      objects.push_back(place->file("unit" + std::to_string(number) + ".o"));
      if (llvm::Error error = realFileSystem().write(objects.back(), object))
        return std::move(error);
    }
    std::string rule = place->file("inputs.d");
    llvm::Expected<CompileOutcome> outcome =
        link(runner, limits, command, *place, objects, runtimeLibrary, rule);
    if (!outcome)
      return outcome.takeError();
    NewCompile made{std::move(*outcome), {}};
    llvm::Expected<std::string> inputs = realFileSystem().read(rule);
    if (inputs)
      made.inputs = inputsOfMakeRule(*inputs, command.directory);
    else
      llvm::consumeError(inputs.takeError());
    // The key describes what was made here.
    std::string folder = path::parent_path(rule).str();
    llvm::erase_if(made.inputs, [&](StringRef file) { return file.starts_with(folder); });
    made.isRepeatable = made.outcome.exitStatus == 0 && !made.inputs.empty();
    return made;
  };
  llvm::Expected<CompileOutcome> outcome = compileThrough(limits.compiles, key.finish(), run);
  if (!outcome)
    return outcome.takeError();
  llvm::Expected<std::string> program = outputOf(std::move(*outcome), command, "host program");
  if (!program)
    return program.takeError();
  if (llvm::Error error = realFileSystem().write(output, *program))
    return error;
  std::error_code failed = llvm::sys::fs::setPermissions(
      output, llvm::sys::fs::all_read | llvm::sys::fs::owner_write | llvm::sys::fs::all_exe);
  if (failed)
    return llvm::make_error<StoreError>("cannot make '" + output.str() +
                                        "' executable: " + failed.message());
  return llvm::Error::success();
}
