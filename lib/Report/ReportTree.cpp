//===- ReportTree.cpp - The search tree -----------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the drawing of programs (marks) and moves (edges): to the right goes one move, the
// winner's way is the top row, every program is drawn where it was first reached.
//
//===----------------------------------------------------------------------===//
#include "ReportParts.h"
#include <map>

using namespace kbopt;
using namespace kbopt::report;
using llvm::formatv;
using llvm::StringRef;

namespace {

constexpr int original = -1, late = -2; ///< instead of an attempt

struct TreeNode {
  int attempt = original;
  std::vector<size_t> children;
  size_t parent = 0, depth = 0, row = 0;
  bool wins = false;
  std::string step; ///< of a late one
};

class SearchTree {
public:
  explicit SearchTree(const ReportPage &page) : page(page) {
    nodes.emplace_back();
    nodes[0].wins = page.found;
    growAttempts();
    if (page.found)
      markWinner();
    place();
  }
  void draw(llvm::raw_ostream &os) const;

private:
  size_t add(size_t parent, int attempt) {
    nodes[parent].children.push_back(nodes.size());
    nodes.push_back({attempt, {}, parent, nodes[parent].depth + 1, 0, false, ""});
    return nodes.size() - 1;
  }
  void growAttempts();
  void markWinner();
  /// The way from the original to \p end becomes the top row.
  void markWay(size_t end);
  void place();
  std::string labelOf(const TreeNode &node) const;
  /// About as wide as a browser draws it.
  double labelWidth(const TreeNode &node) const {
    double characters = 0;
    const std::string label = labelOf(node);
    for (StringRef rest = label; !rest.empty(); ++characters) {
      // An entity, or a character with the bytes that belong to it.
      rest = rest.drop_front(rest[0] == '&' ? rest.find(';') + 1 : 1);
      rest = rest.drop_while(
          [](char byte) { return (static_cast<unsigned char>(byte) & 0xC0) == 0x80; });
    }
    return characters * (node.wins ? 7.2 : 6.3);
  }
  double x(const TreeNode &node) const { return 16 + column * static_cast<double>(node.depth); }
  double y(const TreeNode &node) const { return 24 + rowHeight * static_cast<double>(node.row); }

  const ReportPage &page;
  std::vector<TreeNode> nodes;
  std::vector<size_t> ofAttempt;
  size_t winner = 0;
  size_t rows = 1;
  static constexpr double column = 190;
  double rowHeight = 22;
};

void SearchTree::growAttempts() {
  std::map<StringRef, size_t> made; // program, where it was first reached
  made[page.root] = 0;
  for (size_t i = 0; i != page.attempts.size(); ++i) {
    const ReportAttempt &attempt = page.attempts[i];
    // A refused winner hangs at itself.
    auto from = made.find(attempt.phase == "confirm" && made.count(attempt.node) ? attempt.node
                                                                                 : attempt.parent);
    size_t at = add(from == made.end() ? 0 : from->second, static_cast<int>(i));
    ofAttempt.push_back(at);
    if (!attempt.node.empty())
      made.try_emplace(attempt.node, at);
  }
}

void SearchTree::markWay(size_t end) {
  for (size_t at = end; at; at = nodes[at].parent) {
    nodes[at].wins = true;
    auto &siblings = nodes[nodes[at].parent].children;
    std::rotate(siblings.begin(), llvm::find(siblings, at), llvm::find(siblings, at) + 1);
  }
  winner = end;
}

void SearchTree::markWinner() {
  // What tuning made stands behind the program that it tuned.
  for (size_t i = 0; i != page.attempts.size(); ++i)
    if (page.attempts[i].phase == "tune" && page.attempts[i].node == page.winner)
      return markWay(ofAttempt[i]);
  size_t at = 0;
  std::vector<int> path = winningAttempts(page);
  for (size_t i = 0; i != path.size(); ++i) {
    bool follows = path[i] >= 0 && nodes[ofAttempt[path[i]]].parent == at;
    if (!follows) {
      size_t next = add(at, late);
      nodes[next].step = page.steps[i].step;
      at = next;
    } else {
      at = ofAttempt[path[i]];
    }
  }
  markWay(at);
}

/// Rows from top to bottom; a first child stays in its parent's row.
void SearchTree::place() {
  std::vector<size_t> stack = {0};
  bool first = true;
  while (!stack.empty()) {
    size_t at = stack.back();
    stack.pop_back();
    bool isFirstChild = at && nodes[nodes[at].parent].children.front() == at;
    nodes[at].row = first || isFirstChild ? rows - 1 : rows++;
    first = false;
    stack.insert(stack.end(), nodes[at].children.rbegin(), nodes[at].children.rend());
  }
  rowHeight = rows > 80 ? 17 : 22;
}

std::string SearchTree::labelOf(const TreeNode &node) const {
  if (node.attempt == original)
    return "original, " + micros(page.originalUs);
  // Where the next program stands behind it there is less room.
  bool inner = !node.children.empty();
  if (node.attempt == late)
    return shortened(node.step, inner ? 24 : 60) + (inner ? "" : " (at the end)");
  const ReportAttempt &attempt = page.attempts[node.attempt];
  std::string end =
      attempt.us > 0 && page.originalUs > 0 ? factor(page.originalUs / attempt.us) : "";
  if (inner)
    return shortened(attempt.phase == "tune" ? "tuned " + attempt.pass : attempt.pass, 19) +
           (end.empty() ? "" : " " + end);
  if (attempt.phase == "confirm")
    return "the final check refused it";
  if (end.empty())
    end = shortened(attempt.shortcut.empty() ? attempt.verdict : attempt.shortcut, 40);
  if (attempt.repair)
    end += ", repair";
  return shortened(attempt.phase == "tune" ? "tuned " + attempt.step : attempt.step, 52) + "  " +
         end;
}

void SearchTree::draw(llvm::raw_ostream &os) const {
  double width = 0;
  for (const TreeNode &node : nodes)
    width = std::max(width, x(node) + (node.children.empty() ? 620 : 190));
  double height = 24 + rowHeight * static_cast<double>(rows);
  os << formatv(
      "<svg width=\"{0:f0}\" height=\"{1:f0}\" viewBox=\"0 0 {0:f0} {1:f0}\" role=\"img\" "
      "aria-label=\"search tree\">\n",
      width, height);
  for (const TreeNode &node : nodes) {
    if (&node == &nodes[0])
      continue;
    const TreeNode &parent = nodes[node.parent];
    // In its parent's row a line begins behind the parent's name.
    double begin =
        x(parent) + (node.row == parent.row ? std::min(column - 14, 14 + labelWidth(parent)) : 0);
    os << formatv("<path class=\"edge{0}\" d=\"M{1:f0},{2:f0} V{3:f0} H{4:f0}\" />\n",
                  node.wins ? " win" : "", begin, y(parent), y(node), x(node));
  }
  for (const TreeNode &node : nodes) {
    StringRef kind = node.attempt == original ? "root"
                     : node.attempt == late   ? "late"
                                              : outcomeClass(page.attempts[node.attempt]);
    std::string title = node.attempt == original ? "the original"
                        : node.attempt == late
                            ? escaped(node.step) + ", made at the end by tuning or ablation"
                            : attemptTitle(page, node.attempt);
    bool linked = node.attempt >= 0;
    os << (linked ? formatv("<a href=\"#{0}\">", rowId(node.attempt)).str() : "<g>") << "<title>"
       << title << "</title>" << markShape(kind, x(node), y(node));
    if (winner && &node == &nodes[winner])
      os << formatv("<circle class=\"ring\" cx=\"{0:f1}\" cy=\"{1:f1}\" r=\"8\" />", x(node),
                    y(node));
    os << formatv("<text class=\"label{0}\" x=\"{1:f1}\" y=\"{2:f1}\">{3}</text>",
                  node.wins ? " win" : "", x(node) + 11, y(node) + 4, labelOf(node))
       << (linked ? "</a>\n" : "</g>\n");
  }
  os << "</svg>";
}

} // namespace

bool report::writeTree(llvm::raw_ostream &os, const ReportPage &page) {
  if (page.attempts.empty())
    return false;
  os << "<section id=\"tree\">\n<h2>Search tree</h2>\n"
        "<p class=\"soft\">Marks are programs, lines are moves, factors are over the original"
     << (page.found ? "; the thick line is the winner's way" : "")
     << ". A program that is reached again ends its branch. Point at a mark for the reason, click "
        "for all.</p>\n";
  writeLegend(os, page);
  os << "<div class=\"scroll tall\">";
  SearchTree(page).draw(os);
  os << "</div>\n";
  writeAttempts(os, page);
  os << "</section>\n";
  return true;
}
