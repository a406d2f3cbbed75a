//===- LockText.cpp -------------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "LockText.h"
#include "Command.h"
#include <cstring>

using namespace kboptcc;
using std::string;
using std::string_view;

string kboptcc::lockAbove(const string &file) {
  for (string folder = folderOf(file); !folder.empty();) {
    string lock = (folder == "/" ? "" : folder) + "/kbopt.lock";
    if (isFile(lock))
      return lock;
    if (folder == "/")
      break;
    folder = folderOf(folder);
  }
  return "";
}

/// \p file as the lock names it: relative to the lock's folder.
static string nameInLock(const string &file, const string &lock) {
  string folder = folderOf(lock) + "/";
  size_t common = 0;
  for (size_t i = 0; i < folder.size() && i < file.size() && folder[i] == file[i]; ++i)
    if (folder[i] == '/')
      common = i + 1;
  string name;
  for (size_t i = common; i < folder.size(); ++i)
    if (folder[i] == '/')
      name += "../";
  return name + file.substr(common);
}

/// Whether \p entry is one for \p name. The names of files stand on lines of their own.
static bool isFor(string_view entry, string_view name) {
  for (size_t at = 0; (at = entry.find("file:", at)) != string_view::npos; ++at) {
    size_t begin = entry.find_first_not_of(" '\"", at + 5);
    if (begin != string_view::npos && entry.compare(begin, name.size(), name) == 0) {
      size_t end = begin + name.size();
      if (end == entry.size() || strchr("\r\n'\" ", entry[end]))
        return true;
    }
  }
  return false;
}

string kboptcc::entriesOf(string_view text, const string &file, const string &lock) {
  const string name = nameInLock(file, lock);
  string found;
  auto add = [&](string_view entry) {
    if (isFor(entry, name))
      found += entry;
  };
  // Entries begin with a dash; lists within them stand further to the right.
  size_t begin = 0, indent = string_view::npos;
  for (size_t at = 0; at < text.size();) {
    const size_t end = text.find('\n', at), first = text.find_first_not_of(' ', at);
    if (first != string_view::npos && text[first] == '-' && first - at <= indent) {
      indent = first - at;
      add(text.substr(begin, at - begin));
      begin = at;
    }
    at = end == string_view::npos ? text.size() : end + 1;
  }
  add(text.substr(begin));
  return found;
}
