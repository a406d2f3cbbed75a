//===- CompletionCommand.cpp ----------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the subcommand `completion`: the shells' scripts. The options come from
// the one table, the names of passes from --list-passes, when a key is pressed.
//
//===----------------------------------------------------------------------===//
#include "CompletionCommand.h"
#include "kb-opt/Driver/Options.h"
#include "kb-opt/Support/Error.h"

using namespace kbopt;

static constexpr llvm::StringLiteral bash = R"sh(_kb_opt() {
  local line="${COMP_LINE:0:COMP_POINT}" word words
  word="${line##*[[:space:]]}"
  COMPREPLY=()
  case "$word" in
  -passes=* | --passes=*)
    words="auto $(kb-opt --list-passes 2>/dev/null | sed -n 's/^\([a-z][a-z0-9-]*\).*/\1/p')"
    COMPREPLY=($(compgen -W "$words" -- "${word#*=}")) ;;
  -*=*) COMPREPLY=($(compgen -f -- "${word#*=}")) ;;
  -*)
    COMPREPLY=($(compgen -W "$(kb-opt completion --words "$word" 2>/dev/null | cut -f1)" -- "$word"))
    [[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == *= ]] && compopt -o nospace ;;
  *) COMPREPLY=($(compgen -f -- "$word")) ;;
  esac
}
complete -o filenames -F _kb_opt kb-opt
)sh";

static constexpr llvm::StringLiteral zsh = R"sh(autoload -Uz bashcompinit && bashcompinit
)sh";

int kbopt::runCompletionCommand(llvm::ArrayRef<const char *> arguments) {
  const llvm::StringRef what = arguments.empty() ? "" : arguments.front();
  if (what == "--words" && arguments.size() == 2)
    printCompletions(llvm::outs(), arguments[1]);
  else if (what == "bash" && arguments.size() == 1)
    llvm::outs() << bash;
  else if (what == "zsh" && arguments.size() == 1)
    llvm::outs() << zsh << bash;
  else if (what == "--help")
    llvm::outs() << "usage: kb-opt completion bash|zsh\n\nPrints a script: source <(kb-opt "
                    "completion bash)\n";
  else
    return static_cast<int>(
        reportError(llvm::errs(), "kb-opt",
                    llvm::make_error<UsageError>("'completion' needs the name of a shell",
                                                 "it is bash or zsh")));
  return static_cast<int>(ExitStatus::Success);
}
