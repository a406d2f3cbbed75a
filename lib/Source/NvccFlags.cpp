//===- NvccFlags.cpp - Translating command lines --------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "kb-opt/Source/NvccFlags.h"

#include "ClangFlags.h"
#include "kb-opt/Support/Error.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/StringSaver.h"
#include <deque>

using namespace kbopt;
using llvm::StringRef;

static llvm::Error usage(const llvm::Twine &message, const llvm::Twine &note = "") {
  return llvm::make_error<UsageError>(message.str(), note.str());
}

/// nvcc's lists: separated by commas, quotes protect, a backslash protects one
/// character.
static std::vector<std::string> splitList(StringRef value) {
  std::vector<std::string> items;
  std::string item;
  char quote = 0;
  for (size_t i = 0; i < value.size(); ++i) {
    char c = value[i];
    if (c == '\\' && i + 1 < value.size()) {
      item += value[++i];
    } else if (quote ? c == quote : (c == '"' || c == '\'')) {
      quote = quote ? 0 : c;
    } else if (!quote && (c == ',' || c == ' ')) {
      if (!item.empty())
        items.push_back(std::move(item));
      item.clear();
    } else {
      item += c;
    }
  }
  if (!item.empty())
    items.push_back(std::move(item));
  return items;
}

namespace {

class Translator {
public:
  Translator(CompileCommand &command) : command(command) {}
  llvm::Error run(llvm::ArrayRef<std::string> arguments);
  std::vector<std::string> inputs;

private:
  llvm::Error takeOne();
  llvm::Error takeRow(const NvccFlag &row, StringRef spelling, std::optional<std::string> value);
  llvm::Error takeValue(const NvccFlag &row, StringRef spelling, StringRef value);
  llvm::Error takeArchitectures(StringRef value);
  llvm::Error expandFile(StringRef name);
  llvm::Error takeUnknown(StringRef token);
  const NvccFlag *match(StringRef token, std::optional<std::string> &value) const;
  static bool wantsValue(FlagForm form) {
    return form == FlagForm::Value || form == FlagForm::Joined;
  }

  CompileCommand &command;
  std::deque<std::string> rest;
  bool forwardUnknown = false;
  unsigned filesRead = 0;
};

} // namespace

/// Finds the row of \p token, and the value that is joined to it.
const NvccFlag *Translator::match(StringRef token, std::optional<std::string> &value) const {
  if (const NvccFlag *row = findNvccFlag(token))
    return row;
  auto [name, joined] = token.split('=');
  if (name.size() != token.size())
    if (const NvccFlag *row = findNvccFlag(name); row && row->form != FlagForm::Alone) {
      value = joined.str();
      return row;
    }
  if (token.starts_with("--"))
    return nullptr;
  // The longest short name that the token starts with: -MF before -M.
  const NvccFlag *best = nullptr;
  for (const NvccFlag &row : nvccFlagTable())
    if (row.form == FlagForm::Joined && token.drop_front().starts_with(row.shortName) &&
        (!best || row.shortName.size() > best->shortName.size()))
      best = &row;
  if (!best)
    return nullptr;
  StringRef after = token.drop_front(1 + best->shortName.size());
  // Words that merely start with the letter of a joined flag are other flags.
  if ((best->shortName == "m" || best->shortName == "t") && !llvm::all_of(after, llvm::isDigit))
    return nullptr;
  if (best->shortName == "x" && after != "cu" && after != "c++" && after != "c")
    return nullptr;
  if (best->shortName == "O" && after.size() != 1 && after != "fast")
    return nullptr;
  value = after.str();
  return best;
}

llvm::Error Translator::takeArchitectures(StringRef value) {
  // Of several architectures the newest decides: it is the likeliest to run.
  for (StringRef name : llvm::split(value, ',')) {
    name = name.trim("[]\"' ");
    if (name.empty())
      continue;
    if (name == "native" || name == "all" || name == "all-major") {
      command.otherArchs.insert(name.str());
      command.ignored.push_back(
          {"-arch=" + name.str(), "it names no single architecture; " + command.arch + " is used"});
      continue;
    }
    llvm::Expected<std::string> arch = normalizeArch(name);
    if (!arch)
      return arch.takeError();
    if (!command.archIsDefault)
      command.otherArchs.insert({*arch, command.arch});
    if (command.archIsDefault || archNumber(*arch) >= archNumber(command.arch))
      command.arch = *arch;
    command.otherArchs.erase(command.arch);
    command.archIsDefault = false;
  }
  return llvm::Error::success();
}

llvm::Error Translator::expandFile(StringRef name) {
  // Deeper nesting is a file that includes itself.
  if (++filesRead > 64)
    return usage("response file '" + name + "' is nested too deeply",
                 "look for a response file that names itself");
  llvm::SmallString<128> file(name);
  if (llvm::sys::path::is_relative(file)) {
    file = command.directory;
    llvm::sys::path::append(file, name);
  }
  auto buffer = llvm::MemoryBuffer::getFile(file);
  if (!buffer)
    return usage("cannot read response file '" + name + "': " + buffer.getError().message(),
                 "it is looked up in '" + command.directory + "'");
  llvm::BumpPtrAllocator memory;
  llvm::StringSaver saver(memory);
  llvm::SmallVector<const char *> tokens;
  llvm::cl::TokenizeGNUCommandLine((*buffer)->getBuffer(), saver, tokens);
  rest.insert(rest.begin(), tokens.begin(), tokens.end());
  return llvm::Error::success();
}

/// Edit distance decides between nvcc's words and clang's.
static std::string nearestFlag(StringRef token) {
  StringRef name = token.split('=').first;
  std::string nearest;
  unsigned best = std::max<unsigned>(2, name.size() / 3) + 1;
  auto consider = [&](StringRef dashes, StringRef candidate) {
    if (candidate.size() < 2)
      return;
    std::string full = (dashes + candidate).str();
    unsigned distance = name.edit_distance(full, true, best);
    if (distance < best) {
      best = distance;
      nearest = std::move(full);
    }
  };
  for (const NvccFlag &row : nvccFlagTable()) {
    consider("-", row.shortName);
    consider("--", row.longName);
  }
  unsigned distance = best;
  if (std::string clang = nearestClangFlag(name, distance); !clang.empty())
    return clang;
  return nearest;
}

llvm::Error Translator::takeUnknown(StringRef token) {
  llvm::Expected<unsigned> taken = takeClangArgument(token, rest, command, forwardUnknown);
  if (!taken)
    return taken.takeError();
  if (*taken) {
    rest.erase(rest.begin(), rest.begin() + (*taken - 1));
    return llvm::Error::success();
  }
  if (forwardUnknown) {
    command.ignored.push_back({token.str(), "the host side is compiled by clang, which lacks it"});
    command.nvccFlags.push_back(token.str());
    return llvm::Error::success();
  }
  std::string nearest = nearestFlag(token);
  return usage("unknown flag '" + token + "'", nearest.empty()
                                                   ? "flags after -- are those of nvcc or clang"
                                                   : "did you mean '" + nearest + "'?");
}

llvm::Error Translator::takeOne() {
  std::string token = std::move(rest.front());
  rest.pop_front();
  if (StringRef(token).starts_with("@"))
    return expandFile(StringRef(token).drop_front());
  if (token.empty())
    return llvm::Error::success();
  if (token[0] != '-' || token == "-") {
    takeInput(token, inputs, command);
    return llvm::Error::success();
  }
  std::optional<std::string> value;
  const NvccFlag *row = match(token, value);
  if (!row)
    return takeUnknown(token);
  if (!value && wantsValue(row->form)) {
    if (rest.empty())
      return usage("flag '" + token + "' needs a value");
    value = std::move(rest.front());
    rest.pop_front();
    if (row->replay)
      command.nvccFlags.insert(command.nvccFlags.end(), {token, *value});
    return takeRow(*row, token, value);
  }
  if (!value && row->form == FlagForm::Truth && !rest.empty() &&
      (rest.front() == "true" || rest.front() == "false")) {
    value = std::move(rest.front());
    rest.pop_front();
    if (row->replay)
      command.nvccFlags.push_back(token + "=" + *value);
    return takeRow(*row, token, value);
  }
  if (row->replay)
    command.nvccFlags.push_back(token);
  return takeRow(*row, token, value);
}

llvm::Error Translator::takeRow(const NvccFlag &row, StringRef spelling,
                                std::optional<std::string> value) {
  if (row.form == FlagForm::Truth) {
    if (!value)
      value = "true";
    if (*value != "true" && *value != "false")
      return usage("flag '" + spelling.split('=').first + "' takes true or false, not '" + *value +
                   "'");
  }
  return takeValue(row, spelling, value.value_or(""));
}

llvm::Error Translator::takeValue(const NvccFlag &row, StringRef spelling, StringRef value) {
  std::vector<std::string> &flags = command.clangFlags;
  switch (row.action) {
  case FlagAction::Pass:
    flags.push_back((row.clang + value).str());
    break;
  case FlagAction::Separate:
    for (const std::string &item : splitList(value))
      flags.insert(flags.end(), {row.clang.str(), item});
    break;
  case FlagAction::Drop:
    command.ignored.push_back({spelling.str(), row.reason.str()});
    break;
  case FlagAction::Output:
    break;
  case FlagAction::Either: {
    auto [ifTrue, ifFalse] = row.clang.split('|');
    flags.push_back((value == "true" ? ifTrue : ifFalse).str());
    break;
  }
  case FlagAction::Optimize:
    command.hostFlags.push_back((row.clang + value).str());
    break;
  case FlagAction::Arch:
    return takeArchitectures(value);
  case FlagAction::Gencode: {
    size_t code = value.find("code=");
    StringRef arch = value.take_front(code).trim(", \"");
    arch.consume_front("arch=");
    if (llvm::Error error = takeArchitectures(arch))
      return error;
    if (code != StringRef::npos)
      return takeArchitectures(value.drop_front(code + 5));
    break;
  }
  case FlagAction::Host:
    takeHostArguments(splitList(value), command);
    break;
  case FlagAction::Forward:
    forwardUnknown = true;
    break;
  case FlagAction::Linker:
    for (const std::string &item : splitList(value))
      command.linkFlags.insert(command.linkFlags.end(), {"-Xlinker", item});
    break;
  case FlagAction::Link:
    takeLibrary(row.clang, value, command);
    break;
  case FlagAction::Language:
    if (value != "cu" && value != "cuda")
      return usage("'-x " + value + "' is not CUDA", "kb-opt reads CUDA C++: -x cu");
    command.languageIsGiven = true;
    break;
  case FlagAction::Division:
    command.preciseDivision = value == "true";
    break;
  case FlagAction::Root:
    command.preciseRoot = value == "true";
    break;
  case FlagAction::FastMath: {
    for (StringRef flag : llvm::split(row.clang, ' '))
      flags.push_back(flag.str());
    command.preciseDivision = command.preciseRoot = false;
    break;
  }
  case FlagAction::File:
    for (const std::string &item : splitList(value))
      if (llvm::Error error = expandFile(item))
        return error;
    break;
  }
  return llvm::Error::success();
}

llvm::Error Translator::run(llvm::ArrayRef<std::string> arguments) {
  rest.assign(arguments.begin(), arguments.end());
  // Forwarding holds for the whole line, wherever it is said.
  forwardUnknown = llvm::any_of(arguments, [](StringRef token) {
    return token == "-forward-unknown-to-host-compiler" ||
           token == "--forward-unknown-to-host-compiler" || token.ends_with("forward-unknown-opts");
  });
  while (!rest.empty())
    if (llvm::Error error = takeOne())
      return error;
  return llvm::Error::success();
}

llvm::Expected<std::vector<std::string>>
kbopt::translateNvccFlags(llvm::ArrayRef<std::string> arguments, CompileCommand &command) {
  Translator translator(command);
  if (llvm::Error error = translator.run(arguments))
    return std::move(error);
  return std::move(translator.inputs);
}
