//===- Dependencies.cpp ---------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "Dependencies.h"
#include <algorithm>
#include <climits>
#include <cstdio>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace kboptcc;
using std::string;
using std::string_view;

/// \p text as a makefile writes a file's name.
static string escaped(string_view text) {
  string result;
  for (char c : text)
    result += c == ' ' || c == '#' ? string("\\") + c : c == '$' ? string("$$") : string(1, c);
  return result;
}

/// Puts originals in the place of what was compiled, and adds the locks.
void kboptcc::mendDependencies(const string &file, const std::vector<Replacement> &replaced,
                               const std::vector<string> &locks) {
  string text;
  if (!readFile(file, text))
    return;
  for (const Replacement &each : replaced)
    for (const string &name : {escaped(each.rewritten), each.rewritten})
      for (size_t at = 0; (at = text.find(name, at)) != string::npos;
           at += escaped(each.original).size())
        text.replace(at, name.size(), escaped(each.original));
  size_t colon = text.find(": ");
  if (colon == string::npos)
    return;
  string added;
  for (const string &lock : locks)
    added += " " + escaped(lock) + " \\\n ";
  text.insert(colon + 1, added);
  if (!writeFile(file, text))
    warn("cannot add the lock to '" + file + "'");
}

/// The files that the make rule \p text depends on.
static std::vector<string> inputsOf(string_view text) {
  std::vector<string> inputs;
  string name;
  auto finish = [&] {
    if (!name.empty() && name.back() != ':')
      inputs.push_back(name);
    name.clear();
  };
  const size_t colon = text.find(": ");
  for (size_t i = colon == string_view::npos ? text.size() : colon + 2; i < text.size(); ++i) {
    const char c = text[i], next = i + 1 < text.size() ? text[i + 1] : 0;
    if (c == '\\' && next == '\n')
      finish(), ++i;
    else if ((c == '\\' && (next == ' ' || next == '#')) || (c == '$' && next == '$'))
      name += next, ++i;
    else if (c == ' ' || c == '\n')
      finish();
    else
      name += c;
  }
  finish();
  return inputs;
}

/// When \p path was written; false if there is no such file.
static bool timeOf(const string &path, timespec &time) {
  struct stat info;
  if (::stat(path.c_str(), &info) != 0)
    return false;
  time = info.st_mtim;
  return true;
}

static bool isLater(const timespec &a, const timespec &b) {
  return a.tv_sec != b.tv_sec ? a.tv_sec > b.tv_sec : a.tv_nsec > b.tv_nsec;
}

Record::Record(const Command &command, const std::vector<string> &locks, const string &entries)
    : command(command), locks(locks), file(command.output + ".kbopt/made") {
  char here[PATH_MAX];
  made = string(::getcwd(here, sizeof here) ? here : "") + "\n";
  for (const string &word : command.expanded)
    made += word + "\n";
  for (const char *name : {"NVCC_PREPEND_FLAGS", "NVCC_APPEND_FLAGS", "CPATH"})
    made += string(name) + "=" + environment(name) + "\n";
  made += entries;
}

bool Record::renew() const {
  string before, list;
  timespec object, time;
  if (!readFile(file, before) || before != made || !readFile(file + ".d", list) ||
      !timeOf(command.output, object))
    return false;
  bool hasNewLock = false;
  for (const string &lock : locks)
    hasNewLock |= timeOf(lock, time) && isLater(time, object);
  for (const string &input : inputsOf(list))
    if (std::find(locks.begin(), locks.end(), input) == locks.end() &&
        (!timeOf(input, time) || isLater(time, object)))
      return false;
  return hasNewLock && writeFile(command.dependencyFile, list) &&
         ::utimensat(AT_FDCWD, command.output.c_str(), nullptr, 0) == 0;
}

void Record::keep() const {
  string list;
  ::mkdir(folderOf(file).c_str(), 0777);
  if (readFile(command.dependencyFile, list) && writeFile(file + ".d", list))
    writeFile(file, made);
}

void Record::drop() const { ::unlink(file.c_str()); }
