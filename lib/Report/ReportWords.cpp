//===- ReportWords.cpp - Escaping, numbers and marks of a report ----------===//
// SPDX-License-Identifier: Apache-2.0
#include "ReportParts.h"
#include "llvm/Support/JSON.h"
#include <cmath>

using namespace kbopt;
using llvm::StringRef;

namespace {

/// Bytes of the character that begins with \p lead, in valid UTF-8.
size_t lengthOf(unsigned char lead) {
  return lead < 0x80 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
}

uint32_t codePoint(StringRef character) {
  unsigned char lead = static_cast<unsigned char>(character[0]);
  uint32_t code = character.size() == 1 ? lead : lead & (0x7Fu >> character.size());
  for (char next : character.drop_front())
    code = code << 6 | (static_cast<unsigned char>(next) & 0x3F);
  return code;
}

/// Controls, and marks that turn the direction of what follows: text with them does not
/// read as it compiles (Boucher and Anderson, "Trojan Source", 2021).
bool hides(uint32_t code) {
  return (code < 0x20 && code != '\n' && code != '\t') || (code >= 0x7F && code <= 0x9F) ||
         (code >= 0x200B && code <= 0x200F) || (code >= 0x202A && code <= 0x202E) ||
         (code >= 0x2066 && code <= 0x2069) || code == 0xFEFF || code == 0xFFFE || code == 0xFFFF;
}

void appendEscaped(std::string &out, StringRef character) {
  switch (character[0]) {
  case '&':
    out += "&amp;";
    return;
  case '<':
    out += "&lt;";
    return;
  case '>':
    out += "&gt;";
    return;
  case '"':
    out += "&quot;";
    return;
  case '\'':
    out += "&#39;";
    return;
  }
  uint32_t code = codePoint(character);
  if (hides(code))
    out += llvm::formatv("[U+{0:X-4}]", code).str();
  else
    out += character;
}

std::string valid(StringRef text) {
  return llvm::json::isUTF8(text) ? text.str() : llvm::json::fixUTF8(text);
}

} // namespace

std::string report::escaped(StringRef text) {
  std::string good = valid(text), out;
  out.reserve(good.size());
  for (size_t i = 0; i < good.size();) {
    size_t length = lengthOf(static_cast<unsigned char>(good[i]));
    // Ends of lines as in DOS are no news.
    if (!(good[i] == '\r' && i + 1 < good.size() && good[i + 1] == '\n'))
      appendEscaped(out, StringRef(good).substr(i, length));
    i += length;
  }
  return out;
}

std::string report::shortened(StringRef text, size_t columns) {
  std::string good = valid(text);
  size_t end = 0, count = 0;
  while (end < good.size() && count < columns) {
    end += lengthOf(static_cast<unsigned char>(good[end]));
    ++count;
  }
  return escaped(StringRef(good).take_front(end)) + (end < good.size() ? "…" : "");
}

std::string report::micros(double us) { return llvm::formatv("{0:f2} µs", us).str(); }

std::string report::factor(double ratio) { return llvm::formatv("{0:f2} ×", ratio).str(); }

std::string report::withPrefix(double value) {
  constexpr std::pair<double, const char *> prefixes[] = {
      {1e15, "P"}, {1e12, "T"}, {1e9, "G"}, {1e6, "M"}, {1e3, "k"}};
  for (auto [size, prefix] : prefixes)
    if (value >= size)
      return llvm::formatv(value < 10 * size ? "{0:f1} {1}" : "{0:f0} {1}", value / size, prefix)
          .str();
  return llvm::formatv("{0:f0} ", value).str();
}

std::string report::grouped(uint64_t number) {
  std::string digits = std::to_string(number);
  for (size_t at = digits.size(); at > 3;)
    digits.insert(at -= 3, "\u202f");
  return digits;
}

StringRef report::outcomeClass(const ReportAttempt &attempt) {
  if (attempt.isRefused)
    return "refused";
  switch (attempt.outcome) {
  case VerdictKind::Correct:
  case VerdictKind::Screened:
    return attempt.us > 0 && attempt.us < attempt.parentUs * 0.995 ? "gain" : "even";
  case VerdictKind::Incorrect:
    return "wrong";
  case VerdictKind::Inconclusive:
    return "open";
  case VerdictKind::NotApplied:
    return "none";
  }
  llvm_unreachable("unknown outcome");
}

std::string report::markShape(StringRef outcome, double x, double y) {
  auto path = [&](const char *shape) {
    return llvm::formatv(
               "<path class=\"mark {0}\" transform=\"translate({1:f1} {2:f1})\" d=\"{3}\" />",
               outcome, x, y, shape)
        .str();
  };
  if (outcome == "wrong")
    return path("M-4,-4 L4,4 M-4,4 L4,-4");
  if (outcome == "open")
    return path("M0,-5 L5,0 L0,5 L-5,0 Z");
  if (outcome == "refused")
    return path("M-4,-4 H4 V4 H-4 Z");
  if (outcome == "none")
    return path("M-4,0 H4");
  return llvm::formatv("<circle class=\"mark {0}\" cx=\"{1:f1}\" cy=\"{2:f1}\" r=\"4.5\" />",
                       outcome, x, y)
      .str();
}

std::string report::attemptTitle(const ReportPage &page, size_t index) {
  const ReportAttempt &attempt = page.attempts[index];
  std::string text = llvm::formatv("#{0} {1}: {2}", index + 1, shortened(attempt.step, 120),
                                   escaped(attempt.verdict));
  if (attempt.us > 0)
    text += ", " + micros(attempt.us);
  if (attempt.us > 0 && page.originalUs > 0)
    text += ", " + factor(page.originalUs / attempt.us) + " of the original";
  for (StringRef note : {StringRef(attempt.shortcut), StringRef(attempt.reason)})
    if (!note.empty())
      text += "; " + shortened(note, 300);
  if (attempt.tokens)
    text += llvm::formatv("; {0} tokens", grouped(attempt.tokens));
  return text;
}

void report::writeLegend(llvm::raw_ostream &os, const ReportPage &page) {
  constexpr std::pair<llvm::StringLiteral, llvm::StringLiteral> words[] = {
      {"gain", "correct and faster than the step before"},
      {"even", "correct, no gain"},
      {"wrong", "incorrect"},
      {"open", "inconclusive or not measured"},
      {"none", "does not apply"},
      {"refused", "a proposal that was refused"}};
  os << "<p class=\"legend\">";
  for (const auto &[name, meaning] : words)
    if (llvm::any_of(page.attempts,
                     [&](const ReportAttempt &each) { return outcomeClass(each) == name; }))
      os << "<span><svg width=\"14\" height=\"14\" viewBox=\"-7 -7 14 14\" aria-hidden=\"true\">"
         << markShape(name, 0, 0) << "</svg> " << meaning << "</span> ";
  os << "</p>\n";
}

double report::Scale::operator()(double value) const {
  double low = logarithmic ? std::log(from) : from, high = logarithmic ? std::log(to) : to;
  double at = logarithmic ? std::log(value) : value;
  return begin + (high > low ? (at - low) / (high - low) : 0) * (end - begin);
}

std::vector<double> report::Scale::ticks(unsigned count) const {
  std::vector<double> values;
  if (logarithmic) {
    for (double decade = std::pow(10, std::ceil(std::log10(from) - 1e-9)); decade <= to * 1.0001;
         decade *= 10)
      values.push_back(decade);
    return values;
  }
  double rough = (to - from) / std::max(1u, count),
         step = std::pow(10, std::floor(std::log10(rough)));
  for (double each : {1.0, 2.0, 5.0, 10.0})
    if (step * each >= rough) {
      step *= each;
      break;
    }
  for (double number = std::ceil(from / step - 1e-9); number * step <= to + step * 1e-9; ++number)
    values.push_back(number == 0 ? 0 : number * step); // never -0
  return values;
}

std::vector<int> report::winningAttempts(const ReportPage &page) {
  std::vector<int> path;
  StringRef at = page.root;
  for (const ReportStep &step : page.steps) {
    int found = -1;
    for (size_t i = 0; i != page.attempts.size() && found < 0; ++i) {
      const ReportAttempt &attempt = page.attempts[i];
      if (attempt.parent == at && attempt.step == step.step && !attempt.node.empty() &&
          attempt.phase == "search")
        found = static_cast<int>(i);
    }
    path.push_back(found);
    at = found < 0 ? StringRef() : StringRef(page.attempts[found].node);
  }
  return path;
}
