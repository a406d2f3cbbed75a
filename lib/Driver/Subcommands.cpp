//===- Subcommands.cpp ----------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "Subcommands.h"
#include "ClusterCommand.h"
#include "CompletionCommand.h"
#include "LockCommand.h"
#include "McpCommand.h"
#include "Modes.h"
#include "RecipesCommand.h"
#include "TestInitCommand.h"
#include "llvm/ADT/STLExtras.h"
#include <vector>

using namespace kbopt;

// One row for each; declare its function in its own header.
static const std::vector<Subcommand> table = {
    {"lock", "Say whether what a lock file holds is fresh, prove it again, search again",
     runLockCommand},
    {"verify", "Judge rewrites: kb-opt verify old.cu new.cu, as --judge=new.cu old.cu",
     runVerifyCommand},
    {"test-init", "Write a lit suite: one test for each entry of the lock file",
     runTestInitCommand},
    {"mcp",
     "Serve coding agents: findings, patches, verdicts and searches, by the Model Context Protocol",
     runMcpCommand},
    {"recipes", "Make passes of programs before and after, list, explain, test and retire them",
     runRecipesCommand},
    {"cluster", "Make a database of jobs, start, watch and stop its workers (docs/Cluster.md)",
     runClusterCommand},
    {"completion", "Print a script that completes kb-opt's options in bash or zsh",
     runCompletionCommand},
};

llvm::ArrayRef<Subcommand> kbopt::subcommands() { return table; }

const Subcommand *kbopt::findSubcommand(llvm::StringRef name) {
  const auto *found =
      llvm::find_if(subcommands(), [&](const Subcommand &each) { return each.name == name; });
  return found == subcommands().end() ? nullptr : found;
}
