//===- Settings.cpp ---------------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "Settings.h"

#include <cstring>
#include <map>
#include <string_view>
#include <unistd.h>

using namespace kbrt;

namespace {

constexpr std::string_view prefix = "KBRECORD_", tunables = "GLIBC_TUNABLES=";

std::map<std::string, std::string> takeAll() {
  std::map<std::string, std::string> settings;
  char **kept = environ;
  for (char **entry = environ; entry && *entry; ++entry) {
    const std::string_view text = *entry;
    const bool isOurs = text.substr(0, prefix.size()) == prefix;
    if (!isOurs && text.substr(0, tunables.size()) != tunables) {
      *kept++ = *entry;
      continue;
    }
    const size_t equals = text.find('=');
    if (isOurs && equals != text.npos)
      settings.emplace(text.substr(prefix.size(), equals - prefix.size()), text.substr(equals + 1));
    std::memset(*entry, 0, text.size()); // the kernel shows this memory as /proc/self/environ
  }
  if (kept)
    *kept = nullptr;
  return settings;
}

} // namespace

const std::string &kbrt::recorderSetting(const std::string &name) {
  static const std::map<std::string, std::string> *settings =
      new std::map<std::string, std::string>(takeAll());
  static const std::string *none = new std::string;
  auto found = settings->find(name);
  return found == settings->end() ? *none : found->second;
}

bool kbrt::givesOtherNumbers() {
  static const bool others = !recorderSetting("SOURCES").empty();
  return others;
}
