//===- RecordJson.cpp -----------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "RecordJson.h"
#include "kb-opt/Support/Error.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"
#include <cmath>

using namespace kbopt;
namespace json = llvm::json;

/// Whether brackets outside of strings are nested deeper than a record's, which
/// would cost the JSON parser a stack frame each.
static bool isTooDeep(llvm::StringRef line) {
  unsigned depth = 0;
  bool quoted = false;
  for (size_t i = 0; i < line.size(); ++i) {
    char c = line[i];
    if (quoted && c == '\\')
      ++i;
    else if (c == '"')
      quoted = !quoted;
    else if (!quoted && (c == '{' || c == '['))
      ++depth;
    else if (!quoted && (c == '}' || c == ']') && depth)
      --depth;
    if (depth > 8)
      return true;
  }
  return false;
}

llvm::Error record::bad(const llvm::Twine &what) {
  return llvm::make_error<StoreError>(what.str());
}

llvm::Expected<json::Object> record::parse(llvm::StringRef line) {
  if (isTooDeep(line))
    return bad("it is nested too deeply");
  llvm::Expected<json::Value> parsed = json::parse(line);
  if (!parsed)
    return bad(llvm::toString(parsed.takeError()));
  json::Object *object = parsed->getAsObject();
  if (!object)
    return bad("it is no JSON object");
  std::optional<int64_t> version = object->getInteger("v");
  if (!version)
    return bad("field 'v' is missing");
  if (*version > newestVersion)
    return bad("it was written by a newer kb-opt (version " + llvm::Twine(*version) + ")");
  return std::move(*object);
}

bool record::isDigest(llvm::StringRef text) {
  return text.size() == 32 &&
         llvm::all_of(text, [](char c) { return llvm::isDigit(c) || (c >= 'a' && c <= 'f'); });
}

std::string record::print(json::Object object) {
  std::string text;
  llvm::raw_string_ostream(text) << json::Value(std::move(object));
  return text;
}

Digest record::idOf(json::Object object) {
  object.erase("time");
  return digestOf(print(std::move(object)));
}

llvm::Error record::checkName(const json::Object &object, const json::Object &written) {
  if (object.getInteger("v") != written.getInteger("v"))
    return bad("field 'v' does not match the content");
  if (object.getString("id") != idOf(written))
    return bad("field 'id' does not match the content");
  return llvm::Error::success();
}

llvm::Error record::readText(const json::Object &object, llvm::StringRef key, bool required,
                             std::string &value) {
  const json::Value *found = object.get(key);
  if (!found)
    return required ? bad("field '" + key + "' is missing") : llvm::Error::success();
  std::optional<llvm::StringRef> text = found->getAsString();
  if (!text)
    return bad("field '" + key + "' is no string");
  value = text->str();
  return llvm::Error::success();
}

llvm::Error record::readNumber(const json::Object &object, llvm::StringRef key,
                               std::optional<double> &value) {
  const json::Value *found = object.get(key);
  if (!found)
    return llvm::Error::success();
  std::optional<double> number = found->getAsNumber();
  if (!number || !std::isfinite(*number))
    return bad("field '" + key + "' is no number");
  value = *number;
  return llvm::Error::success();
}

llvm::Error record::readTexts(const json::Object &object, llvm::StringRef key,
                              std::vector<std::string> &values) {
  const json::Value *found = object.get(key);
  if (!found)
    return llvm::Error::success();
  const json::Array *array = found->getAsArray();
  if (!array)
    return bad("field '" + key + "' is no list");
  for (const json::Value &entry : *array) {
    std::optional<llvm::StringRef> text = entry.getAsString();
    if (!text)
      return bad("field '" + key + "' holds something that is no string");
    values.push_back(text->str());
  }
  return llvm::Error::success();
}

llvm::Error record::readMap(const json::Object &object, llvm::StringRef key,
                            std::map<std::string, std::string> &values) {
  const json::Value *found = object.get(key);
  if (!found)
    return llvm::Error::success();
  const json::Object *entries = found->getAsObject();
  if (!entries)
    return bad("field '" + key + "' is no object");
  for (const auto &entry : *entries) {
    std::optional<llvm::StringRef> text = entry.second.getAsString();
    if (!text)
      return bad("field '" + key + "." + llvm::StringRef(entry.first) + "' is no string");
    values[llvm::StringRef(entry.first).str()] = text->str();
  }
  return llvm::Error::success();
}

void record::write(json::Object &object, llvm::StringRef key, llvm::StringRef value) {
  if (!value.empty())
    object[key] = json::fixUTF8(value);
}

void record::write(json::Object &object, llvm::StringRef key, std::optional<double> value) {
  if (value && std::isfinite(*value))
    object[key] = *value + 0.0; // no negative zero
}

void record::write(json::Object &object, llvm::StringRef key,
                   const std::vector<std::string> &values) {
  json::Array array;
  for (const std::string &value : values)
    array.push_back(json::fixUTF8(value));
  if (!array.empty())
    object[key] = std::move(array);
}

void record::write(json::Object &object, llvm::StringRef key,
                   const std::map<std::string, std::string> &values) {
  json::Object entries;
  for (const auto &[name, value] : values)
    entries[json::fixUTF8(name)] = json::fixUTF8(value);
  if (!entries.empty())
    object[key] = std::move(entries);
}
