//===- JsonBytes.cpp - Any bytes in JSON ------------------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "kb-opt/Support/JsonBytes.h"
#include "llvm/Support/Base64.h"

using namespace kbopt;
namespace json = llvm::json;

static constexpr llvm::StringLiteral base64Key = "base64";

json::Value kbopt::jsonOfBytes(llvm::StringRef bytes) {
  if (json::isUTF8(bytes))
    return bytes.str(); // owns it, which a StringRef does not
  return json::Object{{base64Key, llvm::encodeBase64(bytes)}};
}

std::optional<std::string> kbopt::bytesOfJson(const json::Value *value) {
  if (!value)
    return std::nullopt;
  if (auto text = value->getAsString())
    return text->str();
  const json::Object *object = value->getAsObject();
  auto encoded = object ? object->getString(base64Key) : std::nullopt;
  std::vector<char> bytes;
  if (!encoded)
    return std::nullopt;
  if (llvm::Error error = llvm::decodeBase64(*encoded, bytes)) {
    llvm::consumeError(std::move(error)); // a damaged record is no record
    return std::nullopt;
  }
  return std::string(bytes.begin(), bytes.end());
}

json::Value kbopt::shownJson(llvm::StringRef text) {
  return json::isUTF8(text) ? text.str() : json::fixUTF8(text);
}
