//===- PtxTables.cpp - Variables that are only read -----------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "PtxTables.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include <set>

using namespace llvm;

namespace kbopt {

static bool isOnlyReadIn(StringRef variable, ArrayRef<PtxStatement> statements) {
  // What makes an address of an address, and what reads there. All else may write, or let it
  // escape.
  static constexpr StringLiteral moves[] = {"mov", "cvta", "add", "sub", "mad", "mul",
                                            "shl", "selp", "and", "or",  "cvt"};
  std::set<std::string> addresses = {variable.str()};
  for (bool hasGrown = true; hasGrown;) {
    hasGrown = false;
    for (const PtxStatement &statement : statements) {
      SmallVector<StringRef, 8> words;
      SplitString(statement.operands, words, " \t\n,;[]{}()|!+");
      const StringRef base = StringRef(statement.opcode).split('.').first;
      auto isAddress = [&](StringRef word) { return addresses.count(word.str()) != 0; };
      if (words.empty() || none_of(words, isAddress))
        continue;
      // The first operand of a load is what is read; that of a move becomes an address itself.
      const bool usesIt = any_of(drop_begin(words), isAddress);
      if (base == "ld" || base == "ldu" || base == "prefetch" || base == "setp")
        continue;
      if (!is_contained(moves, base))
        return false;
      if (usesIt)
        hasGrown |= addresses.insert(words.front().str()).second;
    }
  }
  return true;
}

bool isOnlyRead(StringRef variable,
                const std::map<std::string, std::vector<PtxStatement>> &functions) {
  return all_of(functions, [&](const auto &entry) { return isOnlyReadIn(variable, entry.second); });
}

} // namespace kbopt
