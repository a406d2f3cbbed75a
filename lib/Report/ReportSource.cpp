//===- ReportSource.cpp - Program text in a report ------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns what is shown beside lines of the program: the patch, old and new side by side,
// and what the lines of the original cost.
//
//===----------------------------------------------------------------------===//
#include "ReportParts.h"
#include "kb-opt/Report/Diff.h"
#include <set>

using namespace kbopt;
using namespace kbopt::report;
using llvm::formatv;
using llvm::StringRef;

//===-- The patch ---------------------------------------------------------===//

namespace {

bool isInsideCharacter(char byte) { return (static_cast<unsigned char>(byte) & 0xC0) == 0x80; }

/// \p text with what lies between \p head and \p tail bytes marked.
std::string marked(StringRef text, size_t head, size_t tail) {
  return escaped(text.take_front(head)) + "<b>" + escaped(text.slice(head, text.size() - tail)) +
         "</b>" + escaped(text.take_back(tail));
}

/// Both lines, with the part in which they differ marked where most of them is equal.
std::pair<std::string, std::string> markChanges(StringRef before, StringRef after) {
  size_t head = 0, tail = 0, shorter = std::min(before.size(), after.size());
  while (head < shorter && before[head] == after[head])
    ++head;
  while (tail < shorter - head &&
         before[before.size() - 1 - tail] == after[after.size() - 1 - tail])
    ++tail;
  auto splits = [&](StringRef text) { return head < text.size() && isInsideCharacter(text[head]); };
  while (head && (splits(before) || splits(after)))
    --head;
  while (tail && isInsideCharacter(before[before.size() - tail]))
    --tail;
  if (before.ltrim().empty() || after.ltrim().empty() ||
      3 * (head + tail) < std::max(before.size(), after.size()))
    return {escaped(before), escaped(after)};
  return {marked(before, head, tail), marked(after, head, tail)};
}

StringRef withoutEnd(StringRef line) {
  line.consume_back("\n");
  line.consume_back("\r");
  return line;
}

/// One row; a number of 0 leaves its side empty. Texts are escaped.
void writeRow(llvm::raw_ostream &os, StringRef kind, unsigned before, StringRef left,
              unsigned after, StringRef right) {
  bool same = kind == "same";
  auto side = [&](unsigned number, StringRef text, StringRef sign, StringRef extra) {
    if (!number)
      os << "<td class=\"no void\"></td><td class=\"void\"></td>";
    else
      os << formatv("<td class=\"no{0}\">{1}</td><td class=\"line {2}{0}\">{3}</td>", extra, number,
                    same ? "" : sign, text);
  };
  os << formatv("<tr class=\"{0}\">", kind);
  side(before, left, "minus", "");
  side(after, right, "plus", " right");
  os << "</tr>\n";
}

void writeHunk(llvm::raw_ostream &os, const DiffHunk &hunk) {
  unsigned before = hunk.beforeLines, after = hunk.afterLines;
  for (size_t i = 0; i < hunk.lines.size();) {
    if (hunk.lines[i].kind == ' ') {
      std::string text = escaped(withoutEnd(hunk.lines[i++].text));
      ++before, ++after;
      writeRow(os, "same", before, text, after, text);
      continue;
    }
    std::vector<StringRef> gone, come;
    for (; i < hunk.lines.size() && hunk.lines[i].kind != ' '; ++i)
      (hunk.lines[i].kind == '-' ? gone : come).push_back(withoutEnd(hunk.lines[i].text));
    for (size_t j = 0; j < std::max(gone.size(), come.size()); ++j) {
      std::string left = j < gone.size() ? escaped(gone[j]) : "",
                  right = j < come.size() ? escaped(come[j]) : "";
      if (j < gone.size() && j < come.size())
        std::tie(left, right) = markChanges(gone[j], come[j]);
      writeRow(os, "changed", j < gone.size() ? ++before : 0, left, j < come.size() ? ++after : 0,
               right);
    }
  }
}

} // namespace

bool report::writePatch(llvm::raw_ostream &os, const ReportPage &page) {
  if (!page.found || page.before == page.after)
    return false;
  os << formatv(
      "<section id=\"patch\">\n<h2>Patch</h2>\n<p class=\"soft\"><code>{0}</code>, original and "
      "winner.</p>\n<div class=\"scroll tall\"><table class=\"text patch\"><colgroup><col "
      "class=\"no\" /><col /><col class=\"no\" /><col /></colgroup><tbody>\n",
      escaped(page.program));
  unsigned last = 0;
  auto skipTo = [&](unsigned next) {
    if (next > last)
      os << formatv("<tr class=\"gap\"><td colspan=\"4\">{0} equal line{1}</td></tr>\n",
                    next - last, next - last == 1 ? "" : "s");
  };
  for (const DiffHunk &hunk : diffHunks(page.before, page.after)) {
    skipTo(hunk.beforeLines);
    writeHunk(os, hunk);
    last = hunk.beforeLines +
           llvm::count_if(hunk.lines, [](const DiffLine &line) { return line.kind != '+'; });
  }
  StringRef text = page.before;
  skipTo(text.count('\n') + (!text.empty() && !text.ends_with("\n")));
  os << "</tbody></table></div>\n</section>\n";
  return true;
}

//===-- Costs of lines ----------------------------------------------------===//

static void writeHotLine(llvm::raw_ostream &os, unsigned number, StringRef text,
                         const HotLine *hot) {
  os << formatv("<tr{0}><td class=\"no\">{1}</td><td class=\"share\">", hot ? " class=\"hot\"" : "",
                number);
  if (hot)
    os << formatv("<i style=\"width:{0:f1}%\"></i><span>{1:f1} %</span>",
                  std::min(100.0, 100 * hot->share), 100 * hot->share);
  os << "</td><td class=\"line\">" << escaped(text);
  if (hot && !hot->note.empty())
    os << "<span class=\"note\">" << escaped(hot->note) << "</span>";
  os << "</td></tr>\n";
}

static void writeKernelLines(llvm::raw_ostream &os, const ReportPage &page,
                             const KernelPage &kernel) {
  constexpr unsigned context = 4;
  llvm::SmallVector<StringRef> text;
  StringRef(page.before).split(text, '\n');
  std::map<unsigned, const HotLine *> hot;
  std::vector<const HotLine *> elsewhere;
  for (const HotLine &each : kernel.lines)
    if (each.file == page.program && each.line && each.line <= text.size())
      hot[each.line] = &each;
    else
      elsewhere.push_back(&each);
  os << formatv("<h3><code>{0}</code> <span class=\"soft\">share of {1}</span></h3>\n<div "
                "class=\"scroll tall\">"
                "<table class=\"text heat\"><tbody>\n",
                escaped(kernel.kernel), escaped(kernel.measure));
  std::set<unsigned> shown;
  for (const auto &[number, line] : hot)
    for (unsigned at = number > context ? number - context : 1;
         at <= std::min<size_t>(number + context, text.size()); ++at)
      shown.insert(at);
  unsigned last = 0;
  for (unsigned number : shown) {
    if (last && number > last + 1)
      os << "<tr class=\"gap\"><td colspan=\"3\">…</td></tr>\n";
    auto found = hot.find(number);
    writeHotLine(os, number, withoutEnd(text[number - 1]),
                 found == hot.end() ? nullptr : found->second);
    last = number;
  }
  for (const HotLine *each : elsewhere) {
    os << formatv("<tr class=\"gap\"><td colspan=\"3\">{0}</td></tr>\n",
                  each->file.empty() ? "no source line" : escaped(each->file));
    writeHotLine(os, each->line, each->text, each);
  }
  os << "</tbody></table></div>\n";
}

bool report::writeSource(llvm::raw_ostream &os, const ReportPage &page) {
  if (!llvm::any_of(page.kernelsBefore,
                    [](const KernelPage &kernel) { return !kernel.lines.empty(); }))
    return false;
  os << "<section id=\"source\">\n<h2>Where the original's time goes</h2>\n";
  for (const KernelPage &kernel : page.kernelsBefore)
    if (!kernel.lines.empty())
      writeKernelLines(os, page, kernel);
  os << "</section>\n";
  return true;
}
