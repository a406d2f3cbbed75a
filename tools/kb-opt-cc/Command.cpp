//===- Command.cpp --------------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "Command.h"
#include <cctype>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace kboptcc;
using std::string;
using std::string_view;

string kboptcc::fileOf(string_view path) {
  size_t slash = path.rfind('/');
  return string(slash == string_view::npos ? path : path.substr(slash + 1));
}

string kboptcc::folderOf(string_view path) {
  size_t slash = path.rfind('/');
  return slash == string_view::npos ? "." : slash == 0 ? "/" : string(path.substr(0, slash));
}

string_view kboptcc::extensionOf(string_view path) {
  size_t dot = path.rfind('.'), slash = path.rfind('/');
  bool isOfFile = dot != string_view::npos && (slash == string_view::npos || dot > slash);
  return isOfFile ? path.substr(dot) : string_view();
}

bool kboptcc::isFile(const string &path) {
  struct stat info;
  return ::stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode);
}

string kboptcc::absolute(const string &path) {
  if (!path.empty() && path[0] == '/')
    return path;
  char here[PATH_MAX];
  return string(::getcwd(here, sizeof here) ? here : ".") + "/" + path;
}

string kboptcc::cleaned(const string &path) {
  std::vector<string> parts;
  for (size_t at = 0; at < path.size();) {
    size_t end = path.find('/', at);
    string part = path.substr(at, end == string::npos ? end : end - at);
    at = end == string::npos ? path.size() : end + 1;
    if (part == ".." && !parts.empty())
      parts.pop_back();
    else if (!part.empty() && part != "." && part != "..")
      parts.push_back(part);
  }
  string result;
  for (const string &part : parts)
    result += "/" + part;
  return result;
}

string kboptcc::environment(const char *name) {
  const char *value = ::getenv(name);
  return value ? value : "";
}

void kboptcc::warn(const string &text) {
  fprintf(stderr, "kb-opt-cc: warning: %s\n", text.c_str());
}

bool kboptcc::readFile(const string &path, string &text) {
  int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0)
    return false;
  char block[1 << 14];
  ssize_t count;
  text.clear();
  while ((count = ::read(file, block, sizeof block)) > 0)
    text.append(block, count);
  ::close(file);
  return count == 0;
}

bool kboptcc::writeFile(const string &path, string_view text) {
  const string temporary = path + "." + std::to_string(::getpid()) + ".tmp";
  int file = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (file < 0)
    return false;
  bool isWhole = true;
  while (isWhole && !text.empty()) {
    ssize_t count = ::write(file, text.data(), text.size());
    isWhole = count > 0;
    text.remove_prefix(isWhole ? count : 0);
  }
  isWhole &= ::close(file) == 0;
  isWhole = isWhole && ::rename(temporary.c_str(), path.c_str()) == 0;
  if (!isWhole)
    ::unlink(temporary.c_str());
  return isWhole;
}

/// The words of a response file, quoted as GNU's tools do.
static std::vector<string> wordsOf(string_view text) {
  std::vector<string> words;
  string word;
  bool inWord = false;
  char quote = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (c == '\\' && quote != '\'' && i + 1 < text.size()) {
      word += text[++i];
      inWord = true;
    } else if (quote) {
      if (c == quote)
        quote = 0;
      else
        word += c;
    } else if (c == '\'' || c == '"') {
      quote = c;
      inWord = true;
    } else if (isspace(static_cast<unsigned char>(c))) {
      if (inWord)
        words.push_back(std::move(word));
      word.clear();
      inWord = false;
    } else {
      word += c;
      inWord = true;
    }
  }
  if (inWord)
    words.push_back(std::move(word));
  return words;
}

static void expand(const std::vector<string> &words, std::vector<string> &into, unsigned depth) {
  for (size_t i = 0; i < words.size(); ++i) {
    string file, text;
    if (words[i].size() > 1 && words[i][0] == '@')
      file = words[i].substr(1);
    else if ((words[i] == "-optf" || words[i] == "--options-file") && i + 1 < words.size())
      file = words[++i];
    else if (words[i].starts_with("--options-file="))
      file = words[i].substr(15);
    if (file.empty() || depth > 16 || !readFile(file, text)) {
      into.push_back(words[i]);
      continue;
    }
    expand(wordsOf(text), into, depth + 1);
  }
}

/// Launchers may stand before the compiler: "ccache nvcc -c …".
static size_t compilerIn(const std::vector<string> &words) {
  for (size_t i = 0; i < words.size(); ++i) {
    const string name = fileOf(words[i]);
    if (words[i][0] != '-' && !extensionOf(name).starts_with(".cu") &&
        (name.find("nvcc") != string::npos || name.find("clang") != string::npos))
      return i;
  }
  size_t last = 0;
  while (last + 1 < words.size() && words[last + 1][0] != '-' &&
         !extensionOf(words[last + 1]).starts_with(".c"))
    ++last;
  return last;
}

/// Whether the word after \p flag is its value and no source; the flags whose values may look like
/// a source.
static bool takesFile(string_view flag) {
  for (string_view each :
       {"-o", "--output-file", "-MF", "--dependency-output", "-MT", "--dependency-target-name",
        "-MQ", "-include", "--pre-include", "-I", "-isystem", "-iquote", "-D", "-U", "-Xcompiler",
        "-Xptxas", "-Xlinker", "-odir", "-x"})
    if (flag == each)
      return true;
  return false;
}

static bool takeValue(const std::vector<string> &words, size_t &i,
                      std::initializer_list<string_view> names, string &into) {
  for (string_view name : names) {
    if (words[i] == name && i + 1 < words.size()) {
      into = words[++i];
      return true;
    }
    if (words[i].starts_with(name) && words[i].size() > name.size()) {
      string_view rest = string_view(words[i]).substr(name.size());
      if (rest[0] == '=')
        rest.remove_prefix(1);
      else if (name.starts_with("--"))
        continue;
      into = rest;
      return true;
    }
  }
  return false;
}

Command kboptcc::readCommand(std::vector<string> words) {
  Command command;
  const size_t compiler = compilerIn(words);
  expand({words.begin() + compiler, words.end()}, command.expanded, 0);
  command.words = std::move(words);
  const std::vector<string> &all = command.expanded;
  command.isClang = fileOf(all[0]).find("clang") != string::npos;
  bool isCuda = false, writesDependencies = false;
  std::vector<size_t> others;
  for (size_t i = 1; i < all.size(); ++i) {
    const string &word = all[i];
    string language;
    if (word == "-M" || word == "-MM" || word == "--generate-dependencies" ||
        word == "--generate-nonsystem-dependencies")
      command.isForDependencies = true;
    else if (word == "-MD" || word == "-MMD" || word == "--generate-dependencies-with-compile" ||
             word == "--generate-nonsystem-dependencies-with-compile")
      writesDependencies = true;
    else if (takeValue(all, i, {"-MF", "--dependency-output"}, command.dependencyFile)) {
    } else if (takeValue(all, i, {"--output-file"}, command.output) ||
               (!word.starts_with("-odir") && !word.starts_with("-optf") &&
                takeValue(all, i, {"-o"}, command.output))) {
    } else if (takeValue(all, i, {"-x"}, language))
      isCuda = language == "cu" || language == "cuda";
    else if (takesFile(word))
      ++i;
    else if (!word.empty() && word[0] != '-')
      (extensionOf(word) == ".cu" ? command.sources : others).push_back(i);
  }
  if (isCuda)
    for (size_t i : others)
      if (string_view extension = extensionOf(all[i]);
          extension == ".cpp" || extension == ".cc" || extension == ".cxx")
        command.sources.push_back(i);
  if (!writesDependencies)
    command.dependencyFile.clear();
  else if (command.dependencyFile.empty() && !command.output.empty()) {
    // Both compilers put it beside the object.
    command.dependencyFile =
        command.output.substr(0, command.output.size() - extensionOf(command.output).size()) + ".d";
  }
  return command;
}
