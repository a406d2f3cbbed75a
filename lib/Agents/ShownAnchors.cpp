//===- ShownAnchors.cpp ---------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "ShownAnchors.h"
#include "kb-opt/Plan/Workload.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace kbopt;

bool kbopt::hasOwnAnchors(SiteKind site) {
  return site != SiteKind::Kernel && site != SiteKind::Launch && site != SiteKind::Parameter;
}

static llvm::Expected<GroundedSource> groundFor(const ParsedProgram &program, const PassInfo &info,
                                                llvm::StringRef kernel,
                                                std::vector<LineSpan> lines) {
  GroundingRequest request;
  request.kernel = kernel.str();
  request.lines = std::move(lines);
  request.allow = info.assisted->allow;
  return ground(program, request);
}

/// Each of \p added that \p texts does not have.
static void addNew(std::vector<std::string> &texts, llvm::ArrayRef<std::string> added) {
  for (const std::string &text : added)
    if (!llvm::is_contained(texts, text))
      texts.push_back(text);
}

/// What \p source lets a reply change beside new declarations and includes, which all have.
static std::vector<std::string> changeable(const GroundedSource &source) {
  std::vector<std::string> places;
  for (const GroundedAnchor &anchor : source.anchors)
    if (SlotKind kind = *slotKind(anchor.id); kind != SlotKind::Decls && kind != SlotKind::Includes)
      places.push_back(anchor.what);
  return places;
}

bool kbopt::showAnchors(const ParsedProgram &program, const PassInfo &info, PromptPass &pass,
                        std::vector<std::string> &left) {
  bool isPossible = false;
  auto take = [&](llvm::Expected<GroundedSource> source, bool shows) {
    if (!source) {
      addNew(left, llvm::toString(source.takeError()));
      return false;
    }
    isPossible = true;
    if (shows)
      addNew(pass.anchors, changeable(*source));
    addNew(left, source->left);
    return true;
  };
  const bool hasBody = take(groundFor(program, info, pass.kernel, {}), /*shows=*/true);
  if (hasOwnAnchors(info.site))
    llvm::erase_if(pass.sites, [&](const PromptSite &site) {
      return !take(groundFor(program, info, pass.kernel, {{site.line, site.lastLine}}), !hasBody);
    });
  return isPossible;
}

std::string kbopt::whyNotAnchored(const ParsedProgram &program, const PassInfo &info,
                                  llvm::StringRef kernel, LineSpan lines) {
  auto source = groundFor(program, info, kernel, {lines});
  return source ? "" : llvm::toString(source.takeError());
}

namespace {
/// A line of a marked text.
struct MarkedLine {
  llvm::StringRef text;
  unsigned line = 0;     ///< of the program, that it is or belongs to
  bool isWhole = true;   ///< false: only marks, or the rest of a line that marks end
  bool isMarked = false; ///< it holds a mark, or stands between two
};
} // namespace

static std::vector<MarkedLine> linesOf(llvm::StringRef marked, const GroundedSource &source) {
  // Behind the marks of a place that holds nothing stands a line break that the program has not.
  llvm::SmallVector<std::string> breaks;
  for (const GroundedAnchor &each : source.anchors)
    if (each.anchor.begin == each.anchor.end)
      breaks.push_back("<<<KB:END " + each.id + ">>> */");
  std::vector<MarkedLine> lines;
  unsigned number = 0;
  bool isInside = false, isBroken = false;
  while (!marked.empty()) {
    auto [text, rest] = marked.split('\n');
    const size_t begin = text.rfind("<<<KB:BEGIN"), end = text.rfind("<<<KB:END");
    const bool hasMark = begin != llvm::StringRef::npos || end != llvm::StringRef::npos;
    const bool breaksHere = llvm::any_of(
        breaks, [&, text = text](const std::string &each) { return text.ends_with(each); });
    const bool isMarks = breaksHere && text.starts_with("/* <<<KB:BEGIN");
    number += !isBroken && !isMarks;
    lines.push_back({text, number + isMarks, !isBroken && !isMarks, hasMark || isInside});
    if (hasMark)
      isInside = end == llvm::StringRef::npos || (begin != llvm::StringRef::npos && begin > end);
    isBroken = breaksHere && !isMarks;
    marked = rest;
  }
  return lines;
}

std::string kbopt::shownProgram(const GroundedSource &source, LineSpan shown) {
  constexpr size_t maxBytes = 48 << 10, near = 40, nearOutside = 8;
  const std::string marked = withoutWorkload(source.marked(SIZE_MAX));
  const std::vector<MarkedLine> lines = linesOf(marked, source);
  size_t inside = 0; ///< bytes of the lines `shown`
  std::vector<bool> isShown(lines.size());
  for (size_t i = 0; i != lines.size(); ++i) {
    isShown[i] = lines[i].line >= shown.first && lines[i].line <= shown.last;
    inside += isShown[i] ? lines[i].text.size() + 1 : 0;
  }
  std::vector<bool> kept = inside <= maxBytes ? isShown : std::vector<bool>(lines.size());
  for (size_t i = 0; i != lines.size(); ++i)
    if (lines[i].isMarked) {
      const size_t before = isShown[i] ? near : nearOutside, behind = isShown[i] ? near : 0;
      for (size_t k = i - std::min(i, before); k <= std::min(i + behind, lines.size() - 1); ++k)
        kept[k] = kept[k] || isShown[k] == isShown[i];
    }
  std::string text;
  for (size_t i = 0; i < lines.size();) {
    if (kept[i]) {
      text += (lines[i].isWhole ? llvm::formatv("{0,5}| ", lines[i].line).str() : "     | ") +
              lines[i].text.str() + "\n";
      ++i;
      continue;
    }
    const size_t from = i;
    while (i < lines.size() && !kept[i])
      ++i;
    text += "     | // [" + std::to_string(i - from) + " lines are not shown]\n";
  }
  return text;
}
