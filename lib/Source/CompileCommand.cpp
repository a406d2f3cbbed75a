//===- CompileCommand.cpp - The command as a value, and finding it --------===//
// SPDX-License-Identifier: Apache-2.0
#include "kb-opt/Source/CompileCommand.h"

#include "ClangFlags.h"
#include "CompatHeader.h"
#include "Database.h"
#include "UserMacros.h"
#include "kb-opt/Support/Error.h"
#include "kb-opt/Support/Installation.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/Program.h"

using namespace kbopt;
using llvm::StringRef;
namespace fs = llvm::sys::fs;
namespace path = llvm::sys::path;

std::vector<std::string> CompileCommand::commonArguments() const {
  std::vector<std::string> arguments{
      "-x",
      "cuda",
      "--cuda-path=" + toolkit.root,
      "--cuda-gpu-arch=" + arch,
      // The newest toolkits parse as the newest version that clang knows.
      "-Wno-unknown-cuda-version",
      // What nvcc and GCC accept and clang makes an error.
      "-Wno-c++11-narrowing",
      "-Wno-register",
  };
  llvm::append_range(arguments, withoutUserMacros(clangFlags));
  for (const std::string &folder : toolkit.includeFolders())
    if (StringRef(folder).ends_with("cccl"))
      arguments.insert(arguments.end(), {"-isystem", folder});
  return arguments;
}

std::vector<std::string> CompileCommand::deviceArguments() const {
  std::vector<std::string> arguments = commonArguments();
  arguments.push_back("--cuda-device-only");
  return arguments;
}

std::vector<std::string> CompileCommand::hostArguments() const {
  std::vector<std::string> arguments = commonArguments();
  arguments.push_back("--cuda-host-only");
  llvm::append_range(arguments, withoutUserMacros(hostFlags));
  return arguments;
}

const CompileCommand *CompileCommand::findProgram(StringRef wanted) const {
  if (wanted.empty() || wanted == program)
    return this;
  auto other = llvm::find_if(
      others, [&](const CompileCommand &command) { return command.program == wanted; });
  return other == others.end() ? nullptr : &*other;
}

std::vector<const CompileCommand *> CompileCommand::deviceUnits() const {
  std::vector<const CompileCommand *> all;
  std::set<StringRef> files;
  auto add = [&](const CompileCommand &program) {
    for (const CompileCommand &unit : program.units)
      if (files.insert(unit.file).second)
        all.push_back(&unit);
  };
  add(*this);
  llvm::for_each(others, add);
  return all;
}

bool kbopt::runsOn(StringRef arch, StringRef device) {
  const unsigned code = archNumber(arch), chip = archNumber(device);
  return code / 10 == chip / 10 && (arch.ends_with("a") ? code == chip : code <= chip);
}

void CompileCommand::chooseArch(StringRef device) {
  if (archIsGiven)
    return;
  auto setArch = [](CompileCommand &command, const std::string &chosen) {
    if (!command.archIsDefault)
      command.otherArchs.insert(command.arch);
    command.otherArchs.erase(chosen);
    command.arch = chosen;
  };
  std::optional<std::string> best;
  if (archIsDefault)
    best = device.str();
  else if (runsOn(arch, device))
    best = arch;
  for (const std::string &other : otherArchs) // "sm_90a" after "sm_90"
    if (runsOn(other, device) && (!best || archNumber(other) >= archNumber(*best)))
      best = other;
  if (!best)
    return;
  setArch(*this, *best);
  auto setUnits = [&](CompileCommand &program) {
    for (CompileCommand &unit : program.units)
      setArch(unit, *best);
  };
  setUnits(*this);
  for (CompileCommand &other : others) {
    setArch(other, *best);
    setUnits(other);
  }
}

void CompileCommand::makeRelocatable() {
  relocatable = true;
  nvccFlags.push_back("-rdc=true");
}

bool CompileCommand::isForeignHeader(StringRef path) const {
  return (!toolkit.root.empty() && path.starts_with(toolkit.root)) || path.starts_with("/usr/") ||
         path.contains("/lib/clang/") || path.starts_with(compatFolder);
}

Digest CompileCommand::digest() const {
  DigestBuilder builder;
  builder.add(file).add(directory).add(arch).add(toolkit.root).add(toolkit.version);
  builder.add(preciseDivision).add(preciseRoot).add(relocatable);
  for (const auto *list : {&clangFlags, &hostFlags, &linkFlags}) {
    builder.add(list->size());
    for (const std::string &flag : *list)
      builder.add(flag);
  }
  // Objects that are linked are part of the program.
  for (StringRef flag : linkFlags)
    if (!flag.starts_with("-") && (flag.ends_with(".o") || flag.ends_with(".a")))
      if (auto object = llvm::MemoryBuffer::getFile(absolutePath(flag, directory)))
        builder.add((*object)->getBuffer());
  for (const CompileCommand &unit : units) {
    builder.add(unit.digest());
    if (auto text = llvm::MemoryBuffer::getFile(unit.file))
      builder.add((*text)->getBuffer());
  }
  for (const CompileCommand &other : others)
    builder.add(other.digest());
  return builder.finish();
}

llvm::Error kbopt::noSuchFile(StringRef file) {
  return llvm::make_error<UsageError>(
      "no such file: '" + file.str() + "'",
      "name a CUDA file; relative names start at the current folder", ExitStatus::Diagnostics);
}

/// The file behind the compiler \p name, looked for in PATH unless it is absolute. What goes by its
/// name there may be a link to ccache or the like, which is passed over. Empty where there is none.
static std::string realCompiler(StringRef name) {
  llvm::SmallVector<StringRef, 16> folders{""};
  const std::string all = llvm::sys::Process::GetEnv("PATH").value_or("");
  if (!path::is_absolute(name))
    StringRef(all).split(folders, llvm::sys::EnvPathSeparator, -1, /*KeepEmpty=*/false);
  for (StringRef folder : folders) {
    llvm::SmallString<128> program(folder), real;
    path::append(program, name);
    if (path::is_absolute(program) && fs::can_execute(program) && !fs::real_path(program, real) &&
        path::filename(real).contains("clang"))
      return real.str().str();
  }
  return "";
}

llvm::Expected<std::string> kbopt::findClang() {
  static const std::optional<std::string> found = [] {
    if (auto bundled = findBeside(bundledClangName))
      return bundled;
    // The driver looks for its headers beside its real place.
    for (const char *name : {"clang++-22", "/usr/lib/llvm-22/bin/clang++", "clang++"})
      if (std::string program = realCompiler(name); !program.empty()) {
        llvm::SmallString<128> beside(path::parent_path(program));
        path::append(beside, "clang++");
        return std::optional<std::string>(fs::can_execute(beside) ? beside.str().str() : program);
      }
    return std::optional<std::string>();
  }();
  if (found)
    return *found;
  return llvm::make_error<UsageError>("no clang++ 22 in PATH",
                                      "install clang-22 from apt.llvm.org, or run scripts/build",
                                      ExitStatus::Environment);
}

/// The nearest compile_commands.json above the file that names it.
static llvm::Expected<bool> takeNearest(CompileCommand &command) {
  for (const std::string &json : databasesAbove(path::parent_path(command.file))) {
    llvm::Expected<bool> taken = takeFromDatabase(json, command);
    if (!taken || *taken)
      return taken;
  }
  return false;
}

static llvm::Error takeFlags(const CommandQuery &query, CompileCommand &command) {
  if (query.flags) {
    // A compiler's name before the flags is a whole command pasted.
    llvm::ArrayRef<std::string> flags = *query.flags;
    bool forClang = false;
    if (!flags.empty() && !StringRef(flags.front()).starts_with("-") &&
        (isClang(flags.front()) || path::filename(flags.front()) == "nvcc")) {
      forClang = isClang(flags.front());
      flags = flags.drop_front();
    }
    return translateFlags(flags, forClang, command);
  }
  if (!query.databaseFolder.empty()) {
    llvm::SmallString<128> json(absolutePath(query.databaseFolder, command.directory));
    path::append(json, "compile_commands.json");
    if (!fs::exists(json))
      return llvm::make_error<UsageError>("no compile_commands.json in '" + query.databaseFolder +
                                              "'",
                                          "cmake writes one with CMAKE_EXPORT_COMPILE_COMMANDS=ON");
    llvm::Expected<bool> taken = takeFromDatabase(json, command);
    if (!taken)
      return taken.takeError();
    if (!*taken && !command.object.empty())
      return llvm::make_error<UsageError>("no command of the compilation database of '" +
                                              query.databaseFolder + "' makes '" + query.object +
                                              "' of '" + query.file + "'",
                                          "name an object as the commands do, or drop '--object'");
    if (!*taken)
      return llvm::make_error<UsageError>("'" + query.file +
                                              "' is not in the compilation database of '" +
                                              query.databaseFolder + "'",
                                          "give the flags after -- instead");
    return llvm::Error::success();
  }
  return takeNearest(command).takeError();
}

llvm::Expected<CompileCommand> kbopt::findCompileCommand(const CommandQuery &query,
                                                         const CudaToolkit &toolkit) {
  CompileCommand command;
  command.toolkit = toolkit;
  command.shownFile = query.file;
  command.directory = query.workingDirectory;
  if (command.directory.empty()) {
    llvm::SmallString<128> current;
    fs::current_path(current);
    command.directory = current.str().str();
  }
  command.file = absolutePath(query.file, command.directory);
  if (!query.object.empty())
    command.object = absolutePath(query.object, command.directory);
  if (!fs::exists(command.file))
    return noSuchFile(query.file);
  if (fs::is_directory(command.file))
    return llvm::make_error<UsageError>("'" + query.file + "' is a folder",
                                        "name one CUDA file in it", ExitStatus::Diagnostics);
  if (llvm::Error error = takeFlags(query, command))
    return std::move(error);
  if (query.arch) {
    llvm::Expected<std::string> arch = normalizeArch(*query.arch);
    if (!arch)
      return arch.takeError();
    if (!command.archIsDefault)
      command.otherArchs.insert(command.arch);
    command.arch = *arch;
    command.otherArchs.erase(*arch);
    command.archIsDefault = false;
    command.archIsGiven = true;
  }
  StringRef extension = path::extension(command.file);
  if (extension != ".cu" && extension != ".cuh" && !command.languageIsGiven)
    return llvm::make_error<UsageError>("'" + query.file + "' is not CUDA by its name",
                                        "say -x cu after -- if it is", ExitStatus::Diagnostics);
  return command;
}

std::string kbopt::withShownName(std::string text, const CompileCommand &command) {
  if (command.file.empty() || command.file == command.shownFile)
    return text;
  for (size_t at = 0; (at = text.find(command.file, at)) != std::string::npos;
       at += command.shownFile.size())
    text.replace(at, command.file.size(), command.shownFile);
  return text;
}
