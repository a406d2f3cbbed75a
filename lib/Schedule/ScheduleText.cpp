//===- ScheduleText.cpp - Schedules as people write them -------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "kb-opt/Schedule/ScheduleText.h"
#include "llvm/ADT/StringExtras.h"

using namespace kbopt;
using llvm::StringRef;

std::string kbopt::scheduleText(const Schedule &schedule) {
  std::string text = schedule.sketch().str();
  for (const auto &[key, value] : schedule.all())
    if (key != "sketch")
      text += " " + key + "=" + value;
  return text;
}

llvm::Expected<Schedule> kbopt::parseSchedule(StringRef text) {
  llvm::SmallVector<StringRef> words;
  llvm::SplitString(text, words);
  if (words.empty())
    return llvm::createStringError("no schedule is given");
  if (!findSketch(words.front())) {
    std::vector<std::string> names;
    for (const Sketch *sketch : sketches())
      names.push_back(sketch->name().str());
    return llvm::createStringError("there is no sketch '" + words.front().str() + "'" +
                                   (names.empty() ? "" : ", only " + llvm::join(names, ", ")));
  }
  Schedule schedule(words.front());
  for (StringRef word : llvm::drop_begin(words)) {
    auto [key, value] = word.split('=');
    if (key.empty() || value.empty())
      return llvm::createStringError("'" + word.str() + "' is not written as key=value");
    if (schedule.has(key))
      return llvm::createStringError("'" + key.str() + "' is given twice");
    schedule.set(key, value);
  }
  return schedule;
}

std::optional<FixedValues> kbopt::fixedValues(const Schedule &schedule) {
  StringRef text = schedule.string("fixed");
  return text.empty() || text == "none" ? FixedValues() : fixedValues(text);
}

std::optional<FixedValues> kbopt::fixedValues(StringRef text) {
  FixedValues values;
  llvm::SmallVector<StringRef> parts;
  text.split(parts, ',');
  for (StringRef part : parts) {
    auto [name, value] = part.rsplit(':');
    if (name.empty() || value.getAsInteger(10, values[name.str()]))
      return std::nullopt;
  }
  return values;
}
