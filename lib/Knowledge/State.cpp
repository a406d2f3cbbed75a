//===- State.cpp - Evaluating the rules -----------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "kb-opt/Knowledge/State.h"
#include "kb-opt/Support/Error.h"
#include "kb-opt/Target/Builtin.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include <cmath>

using namespace kbopt;

namespace {

constexpr double unknown = std::numeric_limits<double>::quiet_NaN();
/// No rewrite removes all of the time.
constexpr double largestShare = 0.95;

llvm::Error badRules(llvm::StringRef fileName, const llvm::Twine &what) {
  return llvm::make_error<StoreError>(("state rules '" + fileName + "': " + what).str(),
                                      "docs/Knowledge.md describes the format");
}

/// Reads a list of objects with the given string fields, all required.
llvm::Error readList(const llvm::json::Object &root, llvm::StringRef fileName, llvm::StringRef list,
                     llvm::ArrayRef<llvm::StringRef> keys,
                     llvm::function_ref<llvm::Error(llvm::ArrayRef<llvm::StringRef>)> take) {
  const llvm::json::Array *array = root.getArray(list);
  if (!array)
    return badRules(fileName, "field '" + list + "' is missing or no list");
  for (auto [index, value] : llvm::enumerate(*array)) {
    std::string where = (list + "[" + llvm::Twine(index) + "]").str();
    const llvm::json::Object *object = value.getAsObject();
    std::vector<llvm::StringRef> fields;
    for (llvm::StringRef key : keys) {
      std::optional<llvm::StringRef> text;
      if (object)
        text = object->getString(key);
      if (!text)
        return badRules(fileName, "field '" + where + "." + key + "' is missing or no string");
      fields.push_back(*text);
    }
    if (llvm::Error error = take(fields))
      return badRules(fileName, where + ": " + llvm::toString(std::move(error)));
  }
  return llvm::Error::success();
}

llvm::Error parseInto(MetricExpression &target, llvm::StringRef text) {
  llvm::Expected<MetricExpression> parsed = MetricExpression::parse(text);
  if (!parsed)
    return parsed.takeError();
  target = std::move(*parsed);
  return llvm::Error::success();
}

/// Puts figures for the {names} of \p text; "unknown" where there is none.
std::string fillIn(llvm::StringRef text, const MetricMap &metrics) {
  std::string result;
  while (!text.empty()) {
    auto [before, rest] = text.split('{');
    result += before;
    if (rest.empty())
      break;
    auto [name, after] = rest.split('}');
    auto found = metrics.find(name.str());
    result += found == metrics.end() ? "unknown" : llvm::formatv("{0:f2}", found->second).str();
    text = after;
  }
  return result;
}

double clamp01(double value) { return std::min(1.0, std::max(0.0, value)); }

} // namespace

std::string State::why() const {
  std::string text;
  for (llvm::StringRef name : {llvm::StringRef(primary), llvm::StringRef(secondary)})
    if (const StateShare *found = share(name))
      text += (text.empty() ? "" : "; ") + found->why;
  if (!text.empty())
    return text;
  if (primary == balancedState)
    return "no rule of the bottlenecks holds";
  text = "counters are missing:";
  for (const std::string &name : missing)
    text += " " + name;
  return text;
}

const StateShare *State::share(llvm::StringRef name) const {
  auto found = llvm::find_if(shares, [&](const StateShare &s) { return s.name == name; });
  return found == shares.end() ? nullptr : &*found;
}

llvm::Expected<StateRules> StateRules::parse(llvm::StringRef json, llvm::StringRef fileName) {
  llvm::Expected<llvm::json::Value> parsed = llvm::json::parse(json);
  if (!parsed)
    return badRules(fileName, llvm::toString(parsed.takeError()));
  const llvm::json::Object *root = parsed->getAsObject();
  if (!root || root->getInteger("version") != 1)
    return badRules(fileName, "field 'version' must be 1");

  StateRules result;
  result.leastBlame = root->getNumber("leastBlame").value_or(0);
  llvm::Error states =
      readList(*root, fileName, "states", {"name", "code"}, [&](auto fields) -> llvm::Error {
        result.stateNames.push_back({fields[0].str(), fields[1].str()});
        return llvm::Error::success();
      });
  if (states)
    return std::move(states);
  llvm::Error derived =
      readList(*root, fileName, "derived", {"name", "value"}, [&](auto fields) -> llvm::Error {
        result.derived.push_back({fields[0].str(), {}});
        return parseInto(result.derived.back().value, fields[1]);
      });
  if (derived)
    return std::move(derived);
  llvm::Error rules =
      readList(*root, fileName, "rules", {"state", "kind", "when", "blame", "why"},
               [&](auto fields) -> llvm::Error {
                 if (llvm::none_of(result.stateNames,
                                   [&](const Name &name) { return name.state == fields[0]; }))
                   return llvm::createStringError("unknown state '" + fields[0] + "'");
                 if (fields[1] != "elimination" && fields[1] != "hiding")
                   return llvm::createStringError("kind must be 'elimination' or 'hiding'");
                 Rule rule;
                 rule.state = fields[0].str();
                 rule.hiding = fields[1] == "hiding";
                 rule.why = fields[4].str();
                 if (llvm::Error error = parseInto(rule.when, fields[2]))
                   return error;
                 if (llvm::Error error = parseInto(rule.blame, fields[3]))
                   return error;
                 result.rules.push_back(std::move(rule));
                 return llvm::Error::success();
               });
  if (rules)
    return std::move(rules);
  return result;
}

const StateRules &StateRules::builtin() {
  static const StateRules rules = llvm::cantFail(
      parse(*builtinKnowledgeFile("states/rules.json"), "knowledge/states/rules.json"));
  return rules;
}

/// The given metrics behind \p names.
static std::set<std::string> explain(const std::map<std::string, std::set<std::string>> &lacking,
                                     const std::set<std::string> &names) {
  std::set<std::string> raw;
  for (const std::string &name : names) {
    auto found = lacking.find(name);
    if (found == lacking.end())
      raw.insert(name);
    else
      raw.insert(found->second.begin(), found->second.end());
  }
  return raw;
}

MetricMap StateRules::derive(const MetricMap &given,
                             std::map<std::string, std::set<std::string>> &lacking) const {
  MetricMap metrics = given;
  for (const Derived &figure : derived) {
    std::set<std::string> names;
    if (std::optional<double> value = figure.value.evaluate(metrics, &names))
      metrics[figure.name] = *value;
    else
      lacking[figure.name] = explain(lacking, names);
  }
  return metrics;
}

MetricMap StateRules::figures(const MetricMap &metrics) const {
  std::map<std::string, std::set<std::string>> lacking;
  return derive(metrics, lacking);
}

State StateRules::classify(const MetricMap &given) const {
  std::map<std::string, std::set<std::string>> lacking;
  MetricMap metrics = derive(given, lacking);
  State state;
  auto known = [&](llvm::StringRef name) {
    auto found = metrics.find(name.str());
    return found == metrics.end() ? unknown : found->second;
  };
  // A model may be a little faster than its own floor.
  double headroom = known("headroom");
  state.headroom = headroom < 1 ? 1 : headroom;
  state.active = known("active");
  std::set<std::string> missing;
  for (const Rule &rule : rules) {
    std::set<std::string> names;
    std::optional<double> holds = rule.when.evaluate(metrics, &names);
    if (!holds) {
      std::set<std::string> raw = explain(lacking, names);
      missing.insert(raw.begin(), raw.end());
      state.degraded |= state.shares.empty();
      continue;
    }
    if (*holds == 0 || state.share(rule.state))
      continue;
    StateShare share;
    share.name = rule.state;
    share.hiding = rule.hiding;
    std::optional<double> blame = rule.blame.evaluate(metrics);
    share.blame = blame ? clamp01(*blame) : unknown;
    share.why = fillIn(rule.why, metrics);
    state.shares.push_back(std::move(share));
  }
  // An unknown blame, NaN, is not less.
  std::vector<StateShare> minor;
  for (const StateShare &share : state.shares)
    if (share.blame < leastBlame)
      minor.push_back(share);
  llvm::erase_if(state.shares, [&](const StateShare &share) { return share.blame < leastBlame; });
  state.shares.insert(state.shares.end(), minor.begin(), minor.end());
  state.missing.assign(missing.begin(), missing.end());
  if (!state.shares.empty())
    state.primary = state.shares[0].name;
  else
    state.primary = missing.empty() ? balancedState.str() : unknownState.str();
  if (state.shares.size() > 1)
    state.secondary = state.shares[1].name;
  return state;
}

std::vector<std::string> StateRules::names() const {
  std::vector<std::string> result;
  for (const Name &name : stateNames)
    result.push_back(name.state);
  return result;
}

std::string StateRules::codeOf(llvm::StringRef name) const {
  for (const Name &entry : stateNames)
    if (entry.state == name)
      return entry.code;
  return name.str();
}

std::string StateRules::nameOf(llvm::StringRef code) const {
  for (const Name &entry : stateNames)
    if (entry.code == code)
      return entry.state;
  return code.str();
}

double kbopt::predictedLogGain(const State &state, const StateShare &share, double removed) {
  if (std::isnan(share.blame))
    return unknown;
  double blamed = std::min(largestShare, share.blame * removed);
  if (share.hiding)
    blamed = std::min(blamed, std::isnan(state.active) ? 0.5 : std::min(0.5, state.active));
  double gain = -std::log1p(-blamed);
  if (!std::isnan(state.headroom))
    gain = std::min(gain, std::log(std::max(1.0, state.headroom)));
  return gain;
}
