//===- JsonSchema.cpp -----------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "kb-opt/LLM/JsonSchema.h"
#include "kb-opt/Support/Error.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Regex.h"
#include "llvm/Support/raw_ostream.h"

using namespace kbopt;
namespace json = llvm::json;
using llvm::StringRef;

static StringRef typeName(const json::Value &value) {
  switch (value.kind()) {
  case json::Value::Null:
    return "null";
  case json::Value::Boolean:
    return "boolean";
  case json::Value::Number:
    return "number";
  case json::Value::String:
    return "string";
  case json::Value::Array:
    return "array";
  case json::Value::Object:
    return "object";
  }
  llvm_unreachable("unknown kind");
}

static std::string shown(const json::Value &value) {
  std::string text;
  llvm::raw_string_ostream(text) << value;
  if (text.size() <= 60)
    return text;
  size_t end = 57;
  while (end && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80)
    --end; // not within a character
  return text.substr(0, end) + "…";
}

//===----------------------------------------------------------------------===//
// The schema itself
//===----------------------------------------------------------------------===//

static llvm::Error bad(const llvm::Twine &path, const llvm::Twine &what) {
  return llvm::make_error<UsageError>(("schema at " + path + ": " + what).str(),
                                      "include/kb-opt/LLM/JsonSchema.h lists what is understood");
}

static bool isTypeName(const json::Value &value) {
  auto name = value.getAsString();
  return name && llvm::is_contained(
                     {"null", "boolean", "integer", "number", "string", "array", "object"}, *name);
}

static llvm::Error check(const json::Value &schema, const std::string &path);

static llvm::Error checkEach(const json::Array *schemas, const std::string &path) {
  if (!schemas || schemas->empty())
    return bad(path, "expected a list of schemas");
  for (const auto &[index, entry] : llvm::enumerate(*schemas))
    if (llvm::Error error = check(entry, path + "[" + std::to_string(index) + "]"))
      return error;
  return llvm::Error::success();
}

static llvm::Error checkKeyword(StringRef keyword, const json::Value &value,
                                const std::string &path) {
  if (llvm::is_contained({"title", "description", "default", "examples", "const", "$schema"},
                         keyword))
    return llvm::Error::success();
  if (keyword == "type") {
    const json::Array *several = value.getAsArray();
    if (isTypeName(value) || (several && !several->empty() && llvm::all_of(*several, isTypeName)))
      return llvm::Error::success();
    return bad(path, "unknown type " + shown(value));
  }
  if (keyword == "enum")
    return value.getAsArray() ? llvm::Error::success() : bad(path, "expected a list of values");
  if (keyword == "required") {
    const json::Array *names = value.getAsArray();
    bool good = names && llvm::all_of(*names, [](const json::Value &name) {
                  return name.getAsString().has_value();
                });
    return good ? llvm::Error::success() : bad(path, "expected a list of names");
  }
  if (keyword == "properties") {
    const json::Object *properties = value.getAsObject();
    if (!properties)
      return bad(path, "expected schemas by name");
    for (const auto &[name, property] : *properties)
      if (llvm::Error error = check(property, path + "." + name.str()))
        return error;
    return llvm::Error::success();
  }
  if (keyword == "additionalProperties" && value.getAsBoolean())
    return llvm::Error::success();
  if (keyword == "additionalProperties" || keyword == "items")
    return check(value, path);
  if (keyword == "anyOf")
    return checkEach(value.getAsArray(), path);
  if (keyword == "pattern") {
    std::string why;
    auto pattern = value.getAsString();
    return pattern && llvm::Regex(*pattern).isValid(why) ? llvm::Error::success()
                                                         : bad(path, "bad pattern: " + why);
  }
  if (llvm::is_contained({"minItems", "maxItems", "minLength", "maxLength"}, keyword))
    return value.getAsInteger().value_or(-1) >= 0 ? llvm::Error::success()
                                                  : bad(path, "expected a count");
  if (keyword == "minimum" || keyword == "maximum")
    return value.getAsNumber() ? llvm::Error::success() : bad(path, "expected a number");
  return bad(path, "the keyword is not understood");
}

static llvm::Error check(const json::Value &schema, const std::string &path) {
  const json::Object *object = schema.getAsObject();
  if (!object)
    return bad(path, "expected an object");
  for (const auto &[keyword, value] : *object)
    if (llvm::Error error = checkKeyword(keyword.str(), value, path + "." + keyword.str()))
      return error;
  return llvm::Error::success();
}

llvm::Error kbopt::checkSchema(const json::Value &schema) { return check(schema, "$"); }

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

using Finding = std::optional<std::string>;

static Finding match(const json::Value &value, const json::Value &schema, const std::string &path);

static bool hasType(const json::Value &value, StringRef type) {
  return type == "integer" ? value.getAsInteger().has_value() : typeName(value) == type;
}

static Finding matchType(const json::Value &value, const json::Value &type,
                         const std::string &path) {
  std::vector<StringRef> allowed;
  if (const json::Array *several = type.getAsArray())
    for (const json::Value &one : *several)
      allowed.push_back(one.getAsString().value_or(""));
  else
    allowed.push_back(type.getAsString().value_or(""));
  if (llvm::any_of(allowed, [&](StringRef name) { return hasType(value, name); }))
    return std::nullopt;
  bool vowel = allowed.front().starts_with("a") || allowed.front().starts_with("i") ||
               allowed.front().starts_with("o");
  return path + ": expected " + (vowel ? "an " : "a ") + llvm::join(allowed, " or ") + ", got " +
         (value.kind() == json::Value::Null ? "null" : shown(value));
}

static Finding matchEnum(const json::Value &value, const json::Array &allowed,
                         const std::string &path) {
  if (llvm::is_contained(allowed, value))
    return std::nullopt;
  std::vector<std::string> names;
  for (const json::Value &one : allowed)
    names.push_back(shown(one));
  return path + ": expected one of " + llvm::join(names, ", ") + ", got " + shown(value);
}

static Finding matchString(StringRef text, const json::Object &schema, const std::string &path) {
  // Lengths are in characters.
  int64_t length =
      llvm::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; });
  if (auto least = schema.getInteger("minLength"); least && length < *least)
    return path + (*least == 1 ? ": must not be empty"
                               : ": expected at least " + std::to_string(*least) +
                                     " characters, got " + std::to_string(length));
  if (auto most = schema.getInteger("maxLength"); most && length > *most)
    return path + ": expected at most " + std::to_string(*most) + " characters, got " +
           std::to_string(length);
  if (auto pattern = schema.getString("pattern"); pattern && !llvm::Regex(*pattern).match(text))
    return path + ": " + shown(text) + " does not match " + pattern->str();
  return std::nullopt;
}

static Finding matchNumber(double number, const json::Object &schema, const std::string &path) {
  auto bound = [](double value) { return shown(json::Value(value)); };
  if (auto least = schema.getNumber("minimum"); least && number < *least)
    return path + ": expected at least " + bound(*least) + ", got " + bound(number);
  if (auto most = schema.getNumber("maximum"); most && number > *most)
    return path + ": expected at most " + bound(*most) + ", got " + bound(number);
  return std::nullopt;
}

static Finding matchArray(const json::Array &array, const json::Object &schema,
                          const std::string &path) {
  int64_t size = array.size();
  if (auto least = schema.getInteger("minItems"); least && size < *least)
    return path + ": expected at least " + std::to_string(*least) + " items, got " +
           std::to_string(size);
  if (auto most = schema.getInteger("maxItems"); most && size > *most)
    return path + ": expected at most " + std::to_string(*most) + " items, got " +
           std::to_string(size);
  if (const json::Value *items = schema.get("items"))
    for (const auto &[index, item] : llvm::enumerate(array))
      if (Finding finding = match(item, *items, path + "[" + std::to_string(index) + "]"))
        return finding;
  return std::nullopt;
}

/// By name, so that the first finding does not depend on the order in a hash table.
static std::vector<StringRef> sortedNames(const json::Object &object) {
  std::vector<StringRef> names;
  for (const auto &entry : object)
    names.push_back(StringRef(entry.first));
  llvm::sort(names);
  return names;
}

static Finding matchObject(const json::Object &object, const json::Object &schema,
                           const std::string &path) {
  const json::Object *properties = schema.getObject("properties");
  if (const json::Array *required = schema.getArray("required"))
    for (const json::Value &name : *required)
      if (!object.get(*name.getAsString()))
        return path + ": lacks '" + name.getAsString()->str() + "'";
  const json::Value *others = schema.get("additionalProperties");
  for (StringRef name : sortedNames(object)) {
    std::string inner = path + "." + name.str();
    const json::Value *property = properties ? properties->get(name) : nullptr;
    if (!property && others && others->getAsBoolean() == false) {
      std::vector<StringRef> known;
      if (properties)
        known = sortedNames(*properties);
      return path + ": unknown '" + name.str() + "'; there are " + llvm::join(known, ", ");
    }
    if (!property && others && others->getAsObject())
      property = others;
    if (Finding finding = property ? match(*object.get(name), *property, inner) : std::nullopt)
      return finding;
  }
  return std::nullopt;
}

/// The finding of the alternative that comes farthest: where paths differ, the deepest.
static Finding matchAny(const json::Value &value, const json::Array &schemas,
                        const std::string &path) {
  std::string best;
  size_t deepest = 0;
  for (const json::Value &schema : schemas) {
    Finding finding = match(value, schema, path);
    if (!finding)
      return std::nullopt;
    size_t depth = StringRef(*finding).split(": ").first.size();
    if (best.empty() || depth > deepest) {
      best = *finding;
      deepest = depth;
    }
  }
  return best;
}

static Finding match(const json::Value &value, const json::Value &schema, const std::string &path) {
  const json::Object *rules = schema.getAsObject();
  if (!rules)
    return std::nullopt;
  if (const json::Value *type = rules->get("type"))
    if (Finding finding = matchType(value, *type, path))
      return finding;
  if (const json::Array *allowed = rules->getArray("enum"))
    if (Finding finding = matchEnum(value, *allowed, path))
      return finding;
  if (const json::Value *only = rules->get("const"); only && *only != value)
    return path + ": expected " + shown(*only) + ", got " + shown(value);
  if (const json::Array *schemas = rules->getArray("anyOf"))
    if (Finding finding = matchAny(value, *schemas, path))
      return finding;
  if (auto text = value.getAsString())
    return matchString(*text, *rules, path);
  if (auto number = value.getAsNumber())
    return matchNumber(*number, *rules, path);
  if (const json::Array *array = value.getAsArray())
    return matchArray(*array, *rules, path);
  if (const json::Object *object = value.getAsObject())
    return matchObject(*object, *rules, path);
  return std::nullopt;
}

std::optional<std::string> kbopt::mismatch(const json::Value &value, const json::Value &schema) {
  return match(value, schema, "$");
}

//===----------------------------------------------------------------------===//
// For people
//===----------------------------------------------------------------------===//

static std::string alternatives(const json::Array &values,
                                llvm::function_ref<std::string(const json::Value &)> text) {
  std::vector<std::string> texts;
  for (const json::Value &value : values)
    texts.push_back(text(value));
  return llvm::join(texts, " | ");
}

/// " (at most 8)" where \p schema limits \p keyword to 8.
static std::string atMost(const json::Object &schema, StringRef keyword, StringRef unit) {
  std::optional<int64_t> limit = schema.getInteger(keyword);
  return limit ? " (at most " + std::to_string(*limit) + unit.str() + ")" : "";
}

static std::string shapeOfObject(const json::Object &schema) {
  const json::Object *properties = schema.getObject("properties");
  const json::Array *required = schema.getArray("required");
  std::vector<StringRef> names, optional;
  if (required)
    for (const json::Value &name : *required)
      names.push_back(name.getAsString().value_or(""));
  if (properties)
    for (const auto &[name, property] : *properties)
      if (!llvm::is_contained(names, StringRef(name)))
        optional.push_back(StringRef(name));
  llvm::sort(optional);
  std::string text;
  auto add = [&](StringRef name, StringRef mark) {
    const json::Value *property = properties ? properties->get(name) : nullptr;
    text += (text.empty() ? "\"" : ", \"") + name.str() + "\"" + mark.str() + ": " +
            (property ? shapeOf(*property) : "any");
  };
  for (StringRef name : names)
    add(name, "");
  for (StringRef name : optional)
    add(name, "?");
  return "{" + text + "}";
}

std::string kbopt::shapeOf(const json::Value &schema) {
  const json::Object *object = schema.getAsObject();
  if (!object)
    return "any";
  if (const json::Array *several = object->getArray("anyOf"))
    return alternatives(*several, [](const json::Value &one) { return shapeOf(one); });
  if (const json::Array *values = object->getArray("enum"))
    return alternatives(*values, [](const json::Value &one) { return shown(one); });
  if (object->get("properties"))
    return shapeOfObject(*object);
  if (const json::Array *types = object->getArray("type"))
    return alternatives(
        *types, [](const json::Value &one) { return one.getAsString().value_or("").str(); });
  StringRef type = object->getString("type").value_or("any");
  if (type == "array") {
    const json::Value *items = object->get("items");
    return "[" + (items ? shapeOf(*items) : "any") + ", …]" + atMost(*object, "maxItems", "");
  }
  if (type == "string")
    return "string" + atMost(*object, "maxLength", " characters");
  return type == "object" ? "{}" : type.str();
}
