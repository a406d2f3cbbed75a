//===- PassTable.cpp - The text of --list-passes ---------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "kb-opt/Report/PassTable.h"
#include "llvm/ADT/StringExtras.h"

using namespace kbopt;

static llvm::StringRef typeName(OptionType type) {
  switch (type) {
  case OptionType::Integer:
    return "integer";
  case OptionType::Boolean:
    return "boolean";
  case OptionType::String:
    return "string";
  }
  llvm_unreachable("option type");
}

void kbopt::writePassTable(llvm::raw_ostream &os, llvm::ArrayRef<const PassInfo *> passes) {
  size_t width = 0;
  for (const PassInfo *pass : passes)
    width = std::max(width, pass->name.size());
  for (const PassInfo *pass : passes) {
    const PassInfo &info = *pass;
    os << info.name;
    os.indent(width + 2 - info.name.size()) << info.summary << '\n';
    os.indent(width + 2) << "promises " << promiseName(info.promise) << " results; family "
                         << info.family << "; one site per " << siteKindName(info.site);
    if (info.assisted)
      os << (info.deterministic ? "; where its rule does not apply a model can be asked"
                                : "; assisted: a model writes it");
    if (!info.aliases.empty())
      os << "; also called " << llvm::join(info.aliases, ", ");
    os << '\n';
    for (const OptionInfo &option : info.options) {
      os.indent(width + 2) << '{' << option.name << '=' << option.defaultValue << "}  "
                           << typeName(option.type) << ": " << option.summary;
      if (!option.tuning.empty())
        os << " (tried: " << llvm::join(option.tuning, ", ") << ')';
      os << '\n';
    }
  }
}
