//===- FileStyle.cpp - A file's own formatting ----------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "FileStyle.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include <map>

using namespace kbopt;
using llvm::StringRef;
namespace format = clang::format;

static bool hasStyleFile(StringRef file) {
  llvm::SmallString<128> folder(file);
  llvm::sys::fs::make_absolute(folder);
  for (StringRef at = llvm::sys::path::parent_path(folder); !at.empty();
       at = llvm::sys::path::parent_path(at))
    for (StringRef name : {".clang-format", "_clang-format"}) {
      llvm::SmallString<128> candidate(at);
      llvm::sys::path::append(candidate, name);
      if (llvm::sys::fs::exists(candidate))
        return true;
    }
  return false;
}

namespace {
/// What the lines of a file say about its habits.
struct Habits {
  unsigned indent = 4;
  bool tabs = false;
  bool braceOnOwnLine = false;
  bool pointerLeft = false;
  bool spaceAfterKeyword = true;
};
} // namespace

static Habits habitsOf(StringRef text) {
  std::map<unsigned, unsigned> steps;
  unsigned tabbed = 0, spaced = 0, own = 0, attached = 0, left = 0, right = 0, tight = 0, loose = 0;
  unsigned before = 0;
  llvm::SmallVector<StringRef> lines;
  text.split(lines, '\n');
  for (StringRef line : lines) {
    StringRef body = line.ltrim(" \t");
    StringRef margin = line.drop_back(body.size());
    body = body.rtrim();
    if (body.empty() || body.starts_with("*") || body.starts_with("//") || body.starts_with("#"))
      continue;
    if (margin.starts_with("\t"))
      ++tabbed;
    else if (!margin.empty())
      ++spaced;
    // How much deeper than the line above: mostly one level.
    unsigned depth = margin.size();
    if (depth > before && !margin.contains('\t') && depth - before <= 8)
      ++steps[depth - before];
    before = depth;
    if (body == "{")
      ++own;
    else if (body.ends_with("{"))
      ++attached;
    left += body.contains("* ") && !body.contains(" * ");
    right += body.contains(" *") && !body.contains(" * ");
    for (StringRef word : {"if", "for", "while"}) {
      tight += body.starts_with((word + "(").str());
      loose += body.starts_with((word + " (").str());
    }
  }
  Habits habits;
  habits.tabs = tabbed > spaced;
  habits.braceOnOwnLine = own > attached;
  habits.pointerLeft = left > right;
  habits.spaceAfterKeyword = loose >= tight;
  unsigned best = 0;
  for (auto [step, count] : steps)
    if (count > best && step > 1) {
      best = count;
      habits.indent = step;
    }
  return habits;
}

format::FormatStyle kbopt::styleOf(StringRef file, StringRef text) {
  if (!file.empty() && hasStyleFile(file)) {
    llvm::Expected<format::FormatStyle> style =
        format::getStyle("file", file, /*FallbackStyle=*/"LLVM", text);
    if (style) {
      // Moving includes about is no part of an edit.
      style->SortIncludes.Enabled = false;
      return *style;
    }
    llvm::consumeError(style.takeError());
  }
  Habits habits = habitsOf(text);
  format::FormatStyle style = format::getLLVMStyle(format::FormatStyle::LK_Cpp);
  style.IndentWidth = style.ContinuationIndentWidth = habits.tabs ? 8 : habits.indent;
  style.TabWidth = 8;
  style.UseTab = habits.tabs ? format::FormatStyle::UT_Always : format::FormatStyle::UT_Never;
  style.BreakBeforeBraces =
      habits.braceOnOwnLine ? format::FormatStyle::BS_Allman : format::FormatStyle::BS_Attach;
  style.PointerAlignment =
      habits.pointerLeft ? format::FormatStyle::PAS_Left : format::FormatStyle::PAS_Right;
  style.DerivePointerAlignment = false;
  style.SpaceBeforeParens = habits.spaceAfterKeyword ? format::FormatStyle::SBPO_ControlStatements
                                                     : format::FormatStyle::SBPO_Never;
  // The author breaks the lines, not a column.
  style.ColumnLimit = 0;
  style.MaxEmptyLinesToKeep = 4;
  style.SortIncludes.Enabled = false;
  style.ReflowComments = format::FormatStyle::RCS_Never;
  style.AlignTrailingComments.Kind = format::FormatStyle::TCAS_Leave;
  style.IndentPPDirectives = format::FormatStyle::PPDIS_None;
  return style;
}

/// Where clang-format takes the brackets of launches for comparisons, and splits them: from the
/// first thing on such a line to the end of the statement.
static std::vector<clang::tooling::Range>
misreadLaunches(StringRef text, const clang::tooling::Replacements &changes) {
  std::vector<clang::tooling::Range> misread;
  for (const clang::tooling::Replacement &change : changes)
    for (unsigned back : {1u, 2u}) {
      unsigned offset = change.getOffset();
      if (change.getLength() || offset < back)
        continue;
      StringRef brackets = text.substr(offset - back, 3);
      if (brackets != "<<<" && brackets != ">>>")
        continue;
      size_t begin = text.take_front(offset).rfind('\n') + 1;
      begin = text.find_first_not_of(" \t", begin);
      size_t end = std::min(text.find(';', offset), text.size());
      misread.emplace_back(begin, end - begin);
    }
  return misread;
}

llvm::Expected<std::string> kbopt::formatRanges(StringRef text,
                                                llvm::ArrayRef<clang::tooling::Range> ranges,
                                                StringRef file, StringRef original) {
  format::FormatStyle style = styleOf(file, original);
  clang::tooling::Replacements inside;
  clang::tooling::Replacements changes =
      format::reformat(style, text, ranges, file.empty() ? "kernel.cu" : file);
  std::vector<clang::tooling::Range> misread = misreadLaunches(text, changes);
  for (const clang::tooling::Replacement &change : changes) {
    clang::tooling::Range changed(change.getOffset(), change.getLength());
    // The margin of a line that was misread is right all the same.
    if (llvm::any_of(misread,
                     [&](const auto &range) {
                       return change.getOffset() >= range.getOffset() &&
                              change.getOffset() < range.getOffset() + range.getLength();
                     }) &&
        change.getReplacementText().count('\n') == 0 &&
        text.substr(change.getOffset(), change.getLength()).count('\n') == 0)
      continue;
    if (llvm::any_of(ranges, [&](const auto &range) { return range.contains(changed); }))
      if (llvm::Error error = inside.add(change))
        return std::move(error);
  }
  return clang::tooling::applyAllReplacements(text, inside);
}
