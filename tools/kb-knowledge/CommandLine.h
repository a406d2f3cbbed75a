//===- CommandLine.h - Verbs, their options and their help -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns reading of the command line and the help texts. What a verb does is
// Verbs.h's.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_TOOLS_KBKNOWLEDGE_COMMANDLINE_H
#define KBOPT_TOOLS_KBKNOWLEDGE_COMMANDLINE_H

#include "kb-opt/Support/Error.h"
#include "llvm/ADT/ArrayRef.h"
#include <string>
#include <vector>

namespace kbopt {

/// What a verb is given; each verb has some of the options.
struct Arguments {
  std::vector<std::string> words; ///< states, files
  std::string chip = "h200", device = "cpu", shape, from, to, output, only, program;
  std::vector<std::string> knowledge, after;
  unsigned limit = 8;
  bool json = false, dryRun = false;
};

struct Verb {
  llvm::StringRef name;
  llvm::StringRef words;   ///< usage of its words: "TARGET SOURCE..."
  unsigned least, most;    ///< words
  llvm::StringRef summary; ///< in the list of verbs
  llvm::StringRef help;    ///< paragraphs, examples, exit statuses
  std::vector<llvm::StringRef> options;
  llvm::Expected<ExitStatus> (*run)(const Arguments &);
};

/// The verb that \p arguments (without the program's name) ask for, with its
/// arguments in \p result; null where they ask for help or the version, which is
/// then written to \p os. Whatever makes no sense is a `UsageError`.
llvm::Expected<const Verb *> readCommandLine(llvm::ArrayRef<const char *> arguments,
                                             llvm::ArrayRef<Verb> verbs, Arguments &result,
                                             llvm::raw_ostream &os);

/// "; did you mean 'show'?", or nothing.
std::string didYouMean(llvm::StringRef word, llvm::ArrayRef<std::string> known);

} // namespace kbopt

#endif // KBOPT_TOOLS_KBKNOWLEDGE_COMMANDLINE_H
