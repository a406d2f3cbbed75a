//===- Expectation.cpp ----------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "Expectation.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include <cmath>
#include <cstdlib>

using namespace llvm;
using namespace kbopt;

namespace {

std::vector<StringRef> linesOf(StringRef text) {
  SmallVector<StringRef, 64> lines;
  text.split(lines, '\n');
  return {lines.begin(), lines.end()};
}

/// Numbers with sign and exponent, words, and every other character but white
/// space by itself.
std::vector<StringRef> tokensOf(StringRef line) {
  std::vector<StringRef> tokens;
  auto isWord = [](char c) { return isAlnum(c) || c == '_' || c == '.'; };
  for (size_t at = 0; at < line.size();) {
    if (isSpace(line[at])) {
      ++at;
      continue;
    }
    size_t end = at + 1;
    bool isSign = (line[at] == '-' || line[at] == '+') && end < line.size() &&
                  (isDigit(line[end]) || line[end] == '.') && (at == 0 || !isWord(line[at - 1]));
    if (isSign || isWord(line[at])) {
      const bool isNumber = isSign || isDigit(line[at]) || line[at] == '.';
      auto continues = [&] {
        char c = line[end];
        bool isExponentSign =
            isNumber && (c == '-' || c == '+') && (line[end - 1] == 'e' || line[end - 1] == 'E');
        return isWord(c) || isExponentSign;
      };
      while (end < line.size() && continues())
        ++end;
    }
    tokens.push_back(line.slice(at, end));
    at = end;
  }
  return tokens;
}

/// Counts and indices; a floating-point number that is printed without a point has six digits at
/// least before one in the last of them means nothing.
bool isWholeNumber(StringRef token) {
  token.consume_front("-");
  return !token.empty() && all_of(token, isDigit);
}

bool sameToken(StringRef a, StringRef b) {
  if (a == b)
    return true;
  double x, y;
  if (long long n, m;
      isWholeNumber(a) && isWholeNumber(b) && !a.getAsInteger(10, n) && !b.getAsInteger(10, m))
    return std::abs(n) >= 100000 && (n - m == 1 || m - n == 1);
  if (a.getAsDouble(x) || b.getAsDouble(y) || !std::isfinite(x) || !std::isfinite(y))
    return false;
  return std::fabs(x - y) <= printedTolerance * std::max(std::fabs(x), std::fabs(y));
}

} // namespace

Expectation::Expectation(ArrayRef<StringRef> runs) : lines(linesOf(runs.front())) {
  tokens.reserve(lines.size());
  for (StringRef line : lines)
    tokens.push_back(tokensOf(line));
  varies.resize(lines.size());
  for (size_t i = 0; i < lines.size(); ++i)
    varies[i].resize(tokens[i].size());
  for (const std::vector<StringRef> &line : tokens)
    moved.emplace_back(line.size());
  moves = moved;
  wholeLine.resize(lines.size());
  for (StringRef run : runs.drop_front())
    addRun(run);
}

std::string Expectation::omitted() const {
  if (lineCountVaries)
    return "the original prints another number of lines each time: its output is not compared";
  size_t masked = 0, whole = count(wholeLine, true);
  for (const std::vector<bool> &line : varies)
    masked += count(line, true);
  if (masked + whole == 0)
    return "";
  return formatv("{0} words and {1} lines that change by themselves are not compared", masked,
                 whole);
}

void Expectation::addRun(StringRef output) {
  std::vector<StringRef> other = linesOf(output);
  if (other.size() != lines.size()) {
    lineCountVaries = true;
    return;
  }
  for (size_t i = 0; i < lines.size(); ++i) {
    if (other[i] == lines[i])
      continue;
    std::vector<StringRef> words = tokensOf(other[i]);
    if (words.size() != tokens[i].size()) {
      wholeLine[i] = true;
      continue;
    }
    for (size_t k = 0; k < words.size(); ++k)
      if (words[k] != tokens[i][k])
        varies[i][k] = true;
  }
}

void Expectation::addRerounded(StringRef output) {
  std::vector<StringRef> other = linesOf(output);
  if (other.size() != lines.size())
    return;
  for (size_t i = 0; i < lines.size(); ++i) {
    std::vector<StringRef> words = tokensOf(other[i]);
    if (words.size() != tokens[i].size())
      continue;
    for (size_t k = 0; k < words.size(); ++k) {
      double x, y;
      if (words[k] == tokens[i][k] || isWholeNumber(words[k]) || words[k].getAsDouble(x) ||
          tokens[i][k].getAsDouble(y) || !std::isfinite(x) || !std::isfinite(y))
        continue;
      moved[i][k] = std::max({moved[i][k], std::fabs(x), std::fabs(y)});
      moves[i][k] = std::max(moves[i][k], std::fabs(x - y));
    }
  }
}

/// Whether \p token is a number of the size of those that other roundings give, or a smaller one.
static bool isAsSmall(StringRef token, double largest) {
  constexpr double room = 10; // another order of sums has another error
  double value;
  return largest > 0 && !token.getAsDouble(value) && std::fabs(value) <= room * largest;
}

/// One in the last place that \p token, a number, is printed with.
static double lastPlace(StringRef token) {
  auto [digits, exponent] = token.split(token.contains('e') ? 'e' : 'E');
  int power = 0;
  if (!exponent.empty() && exponent.ltrim('+').getAsInteger(10, power))
    return 0;
  return std::pow(10.0, power - static_cast<int>(digits.split('.').second.size()));
}

bool Expectation::isSame(StringRef word, size_t line, size_t token, Closeness closeness) const {
  StringRef own = tokens[line][token];
  if (closeness == Closeness::Exactly)
    return own == word;
  if (closeness == Closeness::Roughly)
    return sameToken(own, word) || isAsSmall(word, moved[line][token]);
  double x, y;
  if (own == word)
    return true;
  if (own.getAsDouble(x) || word.getAsDouble(y) || !std::isfinite(x) || !std::isfinite(y))
    return false;
  if (isWholeNumber(own) && isWholeNumber(word))
    return sameToken(own, word) ||
           (moves[line][token] > 0 && std::fabs(x - y) <= moves[line][token]);
  // 16 roundings, as of what a host computes from results (Plan/HostValues.h); the factor is that
  // of a declared reassociation (docs/VerificationNumerics.md).
  constexpr double roundings = 0x1p-20, factor = 4;
  return std::fabs(x - y) <=
         std::max({roundings * std::fabs(x), factor * moves[line][token], 1.01 * lastPlace(own)});
}

std::optional<GateRecord> Expectation::compare(StringRef output, Closeness closeness,
                                               StringRef what) const {
  if (lineCountVaries)
    return std::nullopt;
  std::vector<StringRef> got = linesOf(output);
  if (got.size() != lines.size())
    return GateRecord::fail(
        GateId::G14, FailureClass::Correctness,
        formatv("{0} has {1} lines, the original's {2}", what, got.size(), lines.size()));
  for (size_t i = 0; i < lines.size(); ++i) {
    if (got[i] == lines[i] || wholeLine[i])
      continue;
    std::vector<StringRef> words = tokensOf(got[i]);
    bool same = words.size() == tokens[i].size();
    for (size_t k = 0; same && k < words.size(); ++k)
      same = varies[i][k] || isSame(words[k], i, k, closeness);
    // Where nothing varies, white space counts too.
    if (closeness == Closeness::Exactly && same && !is_contained(varies[i], true))
      same = false;
    if (!same)
      return GateRecord::fail(GateId::G14, FailureClass::Correctness,
                              formatv("line {0} of {1} differs", i + 1, what),
                              {("original:  " + lines[i]).str(), ("candidate: " + got[i]).str()});
  }
  return std::nullopt;
}
