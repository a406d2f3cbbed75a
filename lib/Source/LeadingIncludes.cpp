//===- LeadingIncludes.cpp ------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "LeadingIncludes.h"

#include "Database.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"

using namespace kbopt;
using llvm::StringRef;

/// \p text from its first word that is no comment on.
static StringRef skipComments(StringRef text) {
  for (;;) {
    text = text.ltrim();
    if (text.starts_with("//"))
      text = text.drop_until([](char c) { return c == '\n'; });
    else if (text.starts_with("/*"))
      text = text.drop_front(std::min(text.size(), text.find("*/", 2))).drop_front(2);
    else
      return text;
  }
}

/// The name in `#include <name>` at the start of \p text, and the text after it.
static std::pair<StringRef, StringRef> takeInclude(StringRef text) {
  const StringRef whole = text;
  if (!text.consume_front("#"))
    return {"", whole};
  text = text.ltrim(" \t");
  if (!text.consume_front("include"))
    return {"", whole};
  text = text.ltrim(" \t");
  const auto [line, rest] = text.split('\n');
  const size_t end = line.find('>');
  if (!line.starts_with("<") || end == StringRef::npos)
    return {"", whole};
  return {line.slice(1, end), text.drop_front(end + 1)};
}

/// The folders of the user's in which the compiler looks for headers.
static std::vector<std::string> userFolders(const CompileCommand &command) {
  std::vector<std::string> folders{command.directory};
  for (const auto *flags : {&command.clangFlags, &command.hostFlags})
    for (size_t i = 0; i < flags->size(); ++i)
      for (StringRef option : {"-I", "-isystem", "-iquote", "-idirafter"}) {
        StringRef value = (*flags)[i];
        if (!value.consume_front(option))
          continue;
        if (value.empty() && i + 1 < flags->size())
          value = (*flags)[i + 1];
        const std::string folder = absolutePath(value, command.directory);
        if (!command.isForeignHeader(folder))
          folders.push_back(folder);
      }
  return folders;
}

static bool isIn(StringRef folder, StringRef name) {
  llvm::SmallString<256> path(folder);
  llvm::sys::path::append(path, name);
  return llvm::sys::fs::exists(path);
}

std::vector<std::string> kbopt::leadingIncludes(const CompileCommand &command, StringRef text) {
  for (const char *variable : {"CPATH", "C_INCLUDE_PATH", "CPLUS_INCLUDE_PATH"})
    if (llvm::sys::Process::GetEnv(variable))
      return {};
  const std::vector<std::string> own = userFolders(command),
                                 known = command.toolkit.includeFolders();
  std::vector<std::string> names;
  bool hasLibrary = false;
  for (;;) {
    const auto [name, rest] = takeInclude(skipComments(text));
    if (name.empty())
      return hasLibrary ? names : std::vector<std::string>();
    if (llvm::any_of(own, [&](StringRef folder) { return isIn(folder, name); }))
      return {};
    const StringRef library = name.split('/').first;
    hasLibrary |= (library == "cub" || library == "thrust" || library == "cuda") &&
                  llvm::any_of(known, [&](StringRef folder) { return isIn(folder, name); });
    names.push_back(name.str());
    text = rest;
  }
}
