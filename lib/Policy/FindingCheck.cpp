//===- FindingCheck.cpp - What of a role's words is taken -----------------===//
// SPDX-License-Identifier: Apache-2.0
#include "kb-opt/Policy/Learning.h"
#include "kb-opt/Support/Error.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include <cmath>

using namespace kbopt;

namespace {

using Samples = std::vector<const ReplaySample *>;

/// A number in a text, with the digits behind its point.
struct Figure {
  double value;
  int decimals;
  std::string text;
};

/// Numbers of \p text that are no part of a name: "4.0" and "16" of "4.0 x with 16x16"
/// are, that of "float4", "sm_90" or "e3" is not.
std::vector<Figure> figuresOf(llvm::StringRef text) {
  std::vector<Figure> figures;
  for (size_t i = 0; i < text.size();) {
    if (!llvm::isDigit(text[i])) {
      ++i;
      continue;
    }
    bool named = i && (llvm::isAlpha(text[i - 1]) || text[i - 1] == '_');
    size_t end = i;
    while (end < text.size() && llvm::isDigit(text[end]))
      ++end;
    int decimals = 0;
    if (end + 1 < text.size() && text[end] == '.' && llvm::isDigit(text[end + 1])) {
      size_t point = end++;
      while (end < text.size() && llvm::isDigit(text[end]))
        ++end;
      decimals = static_cast<int>(end - point) - 1;
    }
    Figure figure{0, decimals, text.slice(i, end).str()};
    if (!named && !text.slice(i, end).getAsDouble(figure.value))
      figures.push_back(std::move(figure));
    // "16x16" is 16 and a name.
    i = end;
  }
  return figures;
}

/// Every number that \p samples have, in the forms that people write it in.
std::vector<double> knownFigures(const Samples &samples) {
  std::vector<double> known;
  auto text = [&](llvm::StringRef words) {
    for (const Figure &figure : figuresOf(words))
      known.push_back(figure.value);
  };
  for (const ReplaySample *sample : samples) {
    const Evidence &record = sample->record;
    for (const std::optional<double> &gain :
         {record.predictedGain, record.achievedGain, record.creditGain})
      if (gain)
        llvm::append_range(known, std::initializer_list<double>{
                                      *gain, std::exp(*gain), std::exp(-*gain),
                                      100 * std::expm1(*gain), 100 * std::expm1(-*gain)});
    for (const auto &[name, value] : record.parameters)
      text(value);
    text(record.reason);
    for (const MetricMap *metrics : {&sample->before, &sample->after})
      for (const auto &[name, value] : StateRules::builtin().figures(*metrics))
        known.push_back(value);
  }
  // How many they are, and how many of them did what.
  for (size_t count = 1; count <= samples.size(); ++count)
    known.push_back(static_cast<double>(count));
  return known;
}

/// The first figure of \p text that rounds none of \p known.
std::optional<std::string> foreignFigure(llvm::StringRef text, const std::vector<double> &known) {
  for (const Figure &figure : figuresOf(text)) {
    double half = 0.5 * std::pow(10.0, -figure.decimals) * (1 + 1e-9);
    if (llvm::none_of(known, [&](double value) {
          return std::fabs(std::fabs(value) - figure.value) <= half;
        }))
      return figure.text;
  }
  return std::nullopt;
}

std::string refusalOfLesson(const Finding &finding, const Samples &cited) {
  if (cited.empty())
    return "it cites no evidence of this run";
  for (const ReplaySample *sample : cited) {
    if (!coversState(finding.state, sample->record.primary))
      return sample->name + " was made in state '" + sample->record.primary + "'";
    if (!finding.pass.empty() && finding.pass != sample->record.pass)
      return sample->name + " is of pass '" + sample->record.pass + "'";
  }
  return "";
}

std::string refusalOfState(const Finding &finding, const ReplayBuffer &buffer,
                           const Samples &cited) {
  if (!llvm::is_contained(StateRules::builtin().names(), finding.state))
    return "its parent '" + finding.state + "' is no state of the rules";
  if (llvm::is_contained(buffer.states, finding.stateName()))
    return "there is a state '" + finding.stateName() + "' already";
  if (cited.empty())
    return "it cites no evidence of this run";
  auto rule = finding.rule.empty() ? MetricExpression() : MetricExpression::parse(finding.rule);
  if (!rule)
    return "its condition: " + llvm::toString(rule.takeError());
  for (const ReplaySample *sample : cited) {
    if (!coversState(finding.state, sample->record.primary))
      return sample->name + " was made in state '" + sample->record.primary + "'";
    if (rule->empty())
      continue;
    std::optional<double> holds = rule->evaluate(StateRules::builtin().figures(sample->before));
    if (!holds)
      return "its condition cannot be decided for " + sample->name;
    if (*holds == 0)
      return "its condition does not hold for " + sample->name;
  }
  return "";
}

std::string refusalOfProposal(const Finding &finding, const ReplayBuffer &buffer) {
  if (!llvm::is_contained(buffer.states, finding.state))
    return "unknown state '" + finding.state + "'";
  if (!llvm::is_contained(buffer.passes, finding.pass))
    return "no pass '" + finding.pass + "' applies in this run";
  for (const ReplaySample &sample : buffer.samples)
    if (sample.record.pass == finding.pass && sample.record.primary == finding.state)
      return "'" + finding.pass + "' was tried in that state: " + sample.name;
  return "";
}

} // namespace

static const ReplaySample *sampleOf(const ReplayBuffer &buffer, llvm::StringRef name) {
  auto sample =
      llvm::find_if(buffer.samples, [&](const ReplaySample &each) { return each.name == name; });
  return sample == buffer.samples.end() ? nullptr : &*sample;
}

std::string kbopt::refusalOfCause(llvm::StringRef name, llvm::StringRef cause,
                                  const ReplayBuffer &buffer) {
  const ReplaySample *sample = sampleOf(buffer, name);
  if (!sample)
    return ("there is no evidence '" + name + "' in this batch").str();
  if (sample->record.verdict != VerdictKind::Incorrect &&
      sample->record.verdict != VerdictKind::NotApplied)
    return (name + " did not fail").str();
  if (cause.empty() || cause.size() > longestCause || findingText(cause) != cause)
    return llvm::formatv("it is not one line of at most {0} bytes", longestCause);
  if (std::optional<std::string> figure = foreignFigure(cause, knownFigures({sample})))
    return ("its figure " + *figure + " is not in " + name).str();
  return "";
}

std::string kbopt::refusalOf(const Finding &finding, const ReplayBuffer &buffer) {
  if (finding.text.size() > longestLesson)
    return llvm::formatv("its text has {0} bytes, more than {1}", finding.text.size(),
                         longestLesson);
  Samples cited;
  Finding named = finding; // with ids in place of names
  named.evidence.clear();
  for (const std::string &name : finding.evidence) {
    const ReplaySample *sample = sampleOf(buffer, name);
    if (!sample)
      return "there is no evidence '" + name + "' in this batch";
    if (llvm::is_contained(cited, sample))
      continue;
    cited.push_back(sample);
    named.evidence.push_back(sample->record.id());
  }
  if (llvm::Error error = named.check())
    return llvm::toString(std::move(error));
  std::string refusal = finding.kind == FindingKind::Lesson ? refusalOfLesson(finding, cited)
                        : finding.kind == FindingKind::State
                            ? refusalOfState(finding, buffer, cited)
                            : refusalOfProposal(finding, buffer);
  if (!refusal.empty())
    return refusal;
  std::vector<double> known = knownFigures(cited);
  for (const Figure &figure : figuresOf(finding.rule))
    known.push_back(figure.value);
  if (std::optional<std::string> figure = foreignFigure(finding.text, known))
    return "its figure " + *figure + " is not in the evidence that it cites";
  return "";
}
