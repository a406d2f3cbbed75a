//===- Diff.cpp - Unified diffs ------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "kb-opt/Report/Diff.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/raw_ostream.h"
#include <algorithm>
#include <vector>

using namespace kbopt;
using llvm::StringRef;

namespace {

/// Lines with their newline, so that a missing one at the end is a difference.
std::vector<StringRef> splitLines(StringRef text) {
  std::vector<StringRef> lines;
  while (!text.empty()) {
    size_t end = text.find('\n');
    size_t length = end == StringRef::npos ? text.size() : end + 1;
    lines.push_back(text.take_front(length));
    text = text.drop_front(length);
  }
  return lines;
}

using Lines = llvm::ArrayRef<StringRef>;

/// Myers' greedy algorithm with the whole history of furthest points. The
/// history takes (D+1)^2 words for D differing lines.
std::vector<DiffLine> shortestScript(Lines a, Lines b) {
  const int n = a.size(), m = b.size(), limit = n + m;
  std::vector<int> furthest(2 * limit + 2, 0);
  std::vector<std::vector<int>> history;
  auto at = [&](std::vector<int> &v, int k) -> int & { return v[k + limit]; };
  for (int d = 0; d <= limit; ++d) {
    // Only the diagonals -d-1 … d+1 matter for step d.
    history.emplace_back(furthest.begin() + (limit - std::min(d, limit)),
                         furthest.begin() + std::min(limit + d + 2, 2 * limit + 2));
    bool done = false;
    for (int k = -d; k <= d && !done; k += 2) {
      bool down = k == -d || (k != d && at(furthest, k - 1) < at(furthest, k + 1));
      int x = down ? at(furthest, k + 1) : at(furthest, k - 1) + 1;
      int y = x - k;
      while (x < n && y < m && a[x] == b[y])
        ++x, ++y;
      at(furthest, k) = x;
      done = x >= n && y >= m;
    }
    if (done)
      break;
  }

  std::vector<DiffLine> script;
  int x = n, y = m;
  for (int d = history.size() - 1; d >= 0; --d) {
    auto value = [&](int k) { return history[d][k + std::min(d, limit)]; };
    int k = x - y;
    if (d > 0) {
      bool down = k == -d || (k != d && value(k - 1) < value(k + 1));
      int previousK = down ? k + 1 : k - 1;
      int previousX = value(previousK), previousY = previousX - previousK;
      while (x > previousX && y > previousY && !(down ? x == previousX : x == previousX + 1))
        script.push_back({' ', a[--x]}), --y;
      if (down)
        script.push_back({'+', b[--y]});
      else
        script.push_back({'-', a[--x]});
      assert(x == previousX && y == previousY);
    } else {
      while (x > 0)
        script.push_back({' ', a[--x]}), --y;
    }
  }
  std::reverse(script.begin(), script.end());
  return script;
}

void printLine(llvm::raw_ostream &os, const DiffLine &line) {
  os << line.kind << line.text;
  if (!line.text.ends_with("\n"))
    os << "\n\\ No newline at end of file\n";
}

/// `start,count` of a hunk; an empty side names the line before it.
void printRange(llvm::raw_ostream &os, unsigned linesBefore, unsigned count) {
  os << (count == 0 ? linesBefore : linesBefore + 1);
  if (count != 1)
    os << ',' << count;
}

} // namespace

std::vector<DiffHunk> kbopt::diffHunks(StringRef before, StringRef after, unsigned context) {
  std::vector<StringRef> a = splitLines(before), b = splitLines(after);
  // Equal ends need no search.
  size_t head = 0, tail = 0;
  while (head < a.size() && head < b.size() && a[head] == b[head])
    ++head;
  while (tail < a.size() - head && tail < b.size() - head &&
         a[a.size() - 1 - tail] == b[b.size() - 1 - tail])
    ++tail;
  std::vector<DiffLine> script;
  for (size_t i = 0; i < head; ++i)
    script.push_back({' ', a[i]});
  auto middle = shortestScript(Lines(a).slice(head, a.size() - head - tail),
                               Lines(b).slice(head, b.size() - head - tail));
  script.insert(script.end(), middle.begin(), middle.end());
  for (size_t i = a.size() - tail; i < a.size(); ++i)
    script.push_back({' ', a[i]});

  std::vector<DiffHunk> hunks;
  unsigned oldLine = 0, newLine = 0; // lines consumed so far
  for (size_t i = 0; i < script.size();) {
    if (script[i].kind == ' ') {
      ++i, ++oldLine, ++newLine;
      continue;
    }
    unsigned lead = std::min<size_t>(context, i);
    size_t begin = i - lead, end = i, quiet = 0;
    // A hunk ends where more than two contexts of equal lines follow.
    for (size_t j = i; j < script.size() && quiet <= 2 * size_t(context); ++j) {
      quiet = script[j].kind == ' ' ? quiet + 1 : 0;
      if (quiet == 0)
        end = j + 1;
    }
    size_t stop = std::min(script.size(), end + context);
    DiffHunk &hunk = hunks.emplace_back();
    hunk.beforeLines = oldLine - lead;
    hunk.afterLines = newLine - lead;
    hunk.lines.assign(script.begin() + begin, script.begin() + stop);
    oldLine = hunk.beforeLines;
    newLine = hunk.afterLines;
    for (const DiffLine &line : hunk.lines) {
      oldLine += line.kind != '+';
      newLine += line.kind != '-';
    }
    i = stop;
  }
  return hunks;
}

std::string kbopt::unifiedDiff(StringRef before, StringRef after, StringRef path,
                               unsigned context) {
  if (before == after)
    return "";
  std::string result;
  llvm::raw_string_ostream os(result);
  path.consume_front("/");
  // A tab ends a name with spaces, for patch and for git.
  StringRef end = path.contains(' ') ? "\t\n" : "\n";
  os << "--- a/" << path << end << "+++ b/" << path << end;
  for (const DiffHunk &hunk : diffHunks(before, after, context)) {
    os << "@@ -";
    printRange(os, hunk.beforeLines,
               llvm::count_if(hunk.lines, [](const DiffLine &line) { return line.kind != '+'; }));
    os << " +";
    printRange(os, hunk.afterLines,
               llvm::count_if(hunk.lines, [](const DiffLine &line) { return line.kind != '-'; }));
    os << " @@\n";
    for (const DiffLine &line : hunk.lines)
      printLine(os, line);
  }
  return result;
}
