//===- CommandLine.cpp ----------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "CommandLine.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"
#include <variant>

using namespace kbopt;

namespace {

struct Option {
  llvm::StringLiteral name;
  llvm::StringLiteral value; ///< empty: a switch
  llvm::StringLiteral help;
  std::variant<bool Arguments::*, unsigned Arguments::*, std::string Arguments::*,
               std::vector<std::string> Arguments::*>
      member;
  llvm::StringLiteral oneOf = ""; ///< values, each between two spaces
};

const Option options[] = {
    {"--chip", "NAME", "chip to predict for (h200)", &Arguments::chip},
    {"--device", "cpu|cuda", "modelled (cpu, the default) or measured times", &Arguments::device,
     " cpu cuda "},
    {"--kernel-shape", "NAME", "class of the kernel, such as reduction", &Arguments::shape},
    {"--after", "PASS", "a pass that the pipeline has already; give it once for each, in order",
     &Arguments::after},
    {"--limit", "N", "entries at most (8)", &Arguments::limit},
    {"--knowledge", "DIR", "folder with evidence.jsonl; may be repeated (the user's own)",
     &Arguments::knowledge},
    {"--from", "NAME", "chip that was tried on", &Arguments::from},
    {"--to", "NAME", "chip to predict for", &Arguments::to},
    {"--program", "NAME", "only programs whose name in the records begins so, in detail",
     &Arguments::program},
    {"--only", "pairs|steps", "one of the two kinds of line (both)", &Arguments::only,
     " pairs steps "},
    {"-o", "FILE", "write there, whole or not at all (stdout)", &Arguments::output},
    {"--dry-run", "", "say what would go and change nothing", &Arguments::dryRun},
    {"--json", "", "write JSON", &Arguments::json},
};

const Option *optionOf(const Verb &verb, llvm::StringRef name) {
  for (const Option &option : options)
    if (option.name == name && llvm::is_contained(verb.options, name))
      return &option;
  return nullptr;
}

void printHelp(llvm::raw_ostream &os, llvm::ArrayRef<Verb> verbs) {
  os << "usage: kb-knowledge VERB [options] [...]\n\n"
        "Looks at and combines what kb-opt has learnt: evidence logs, which hold one\n"
        "record per line, and what follows from them.\n\n";
  for (const Verb &verb : verbs)
    os << llvm::formatv("  {0,-9} {1}\n", verb.name, verb.summary);
  os << llvm::formatv("  {0,-9} {1}\n", "recipes",
                      "proven code as passes: list, explain, test, retire, from");
  os << "\n`kb-knowledge VERB --help` explains one. Where a log is wanted, a folder with\n"
        "evidence.jsonl will do; without any it is the user's own. Lines that are no\n"
        "record are named with file and line, skipped, and never removed.\n\n"
        "Exit status: 0 done; 1 there is something to know (verify: bad lines; diff: a\n"
        "difference); 2 usage; 3 a file cannot be read or written; 70 internal error.\n";
}

void printHelp(llvm::raw_ostream &os, const Verb &verb) {
  os << "usage: kb-knowledge " << verb.name << (verb.options.empty() ? "" : " [options]")
     << (verb.words.empty() ? "" : " ") << verb.words << "\n\n"
     << verb.help << "\noptions:\n";
  for (const Option &option : options)
    if (optionOf(verb, option.name)) {
      std::string left = option.name.str();
      if (!option.value.empty())
        left += (llvm::StringRef(option.name).starts_with("--") ? "=" : " ") + option.value.str();
      os << llvm::formatv("  {0,-20} {1}\n", left, option.help);
    }
  os << "  --help               this text\n";
}

llvm::Error usage(const llvm::Twine &what, llvm::StringRef verb = "VERB") {
  return llvm::make_error<UsageError>(what.str(),
                                      ("`kb-knowledge " + verb + " --help` explains").str());
}

llvm::Error store(const Option &option, llvm::StringRef value, const Verb &verb,
                  Arguments &result) {
  auto wrong = [&](const llvm::Twine &what) {
    return usage("option " + option.name + ": " + what, verb.name);
  };
  if (value.empty())
    return wrong("its value is empty");
  if (!option.oneOf.empty() && !option.oneOf.contains((" " + value + " ").str()))
    return wrong("'" + value + "' is none of " + option.value);
  if (auto text = std::get_if<std::string Arguments::*>(&option.member))
    result.**text = value.str();
  else if (auto list = std::get_if<std::vector<std::string> Arguments::*>(&option.member))
    (result.**list).push_back(value.str());
  else if (value.getAsInteger(10, result.*std::get<unsigned Arguments::*>(option.member)))
    return wrong("'" + value + "' is no number");
  return llvm::Error::success();
}

} // namespace

std::string kbopt::didYouMean(llvm::StringRef word, llvm::ArrayRef<std::string> known) {
  unsigned best = 1 + word.size() / 3;
  std::string result;
  for (llvm::StringRef name : known)
    if (unsigned distance = word.edit_distance(name, true, best); distance <= best && distance) {
      if (distance == best && !result.empty())
        continue;
      best = distance;
      result = "; did you mean '" + name.str() + "'?";
    }
  return result;
}

llvm::Expected<const Verb *> kbopt::readCommandLine(llvm::ArrayRef<const char *> arguments,
                                                    llvm::ArrayRef<Verb> verbs, Arguments &result,
                                                    llvm::raw_ostream &os) {
  llvm::StringRef first = arguments.empty() ? "" : arguments.front();
  if (first == "--help" || first == "-h" || first == "help") {
    printHelp(os, verbs);
    return nullptr;
  }
  if (first == "--version") {
    os << "kb-knowledge " KBOPT_VERSION "\n";
    return nullptr;
  }
  std::vector<std::string> names;
  for (const Verb &verb : verbs)
    names.push_back(verb.name.str());
  if (first.empty())
    return llvm::make_error<UsageError>("no verb", "one of " + llvm::join(names, ", ") +
                                                       "; `kb-knowledge --help` explains");
  auto verb = llvm::find_if(verbs, [&](const Verb &entry) { return entry.name == first; });
  if (verb == verbs.end())
    return llvm::make_error<UsageError>("unknown verb '" + first.str() + "'" +
                                            didYouMean(first, names),
                                        "`kb-knowledge --help` lists them");
  bool onlyWords = false;
  for (arguments = arguments.drop_front(); !arguments.empty(); arguments = arguments.drop_front()) {
    llvm::StringRef word = arguments.front();
    if (onlyWords || !word.starts_with("-") || word == "-") {
      result.words.push_back(word.str());
      continue;
    }
    if (word == "--") {
      onlyWords = true;
      continue;
    }
    if (word == "--help" || word == "-h") {
      printHelp(os, *verb);
      return nullptr;
    }
    auto [name, value] = word.split('=');
    const Option *option = optionOf(*verb, name);
    if (!option) {
      std::vector<std::string> own(verb->options.begin(), verb->options.end());
      return usage("unknown option '" + name + "'" + didYouMean(name, own), verb->name);
    }
    if (option->value.empty()) {
      if (word.contains('='))
        return usage("option " + name + " takes no value", verb->name);
      result.*std::get<bool Arguments::*>(option->member) = true;
      continue;
    }
    if (!word.contains('=')) {
      if (arguments.size() == 1)
        return usage("option " + name + " needs a value: " + option->value, verb->name);
      arguments = arguments.drop_front();
      value = arguments.front();
    }
    if (llvm::Error error = store(*option, value, *verb, result))
      return std::move(error);
  }
  if (result.words.size() < verb->least)
    return usage("'" + verb->name + "' needs " + verb->words, verb->name);
  if (result.words.size() > verb->most)
    return usage("'" + result.words[verb->most] + "': one word too many", verb->name);
  return &*verb;
}
