//===- ChipInfo.cpp - Reading device files --------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "kb-opt/Target/ChipInfo.h"
#include "kb-opt/Support/Error.h"
#include "kb-opt/Support/FileSystem.h"
#include "kb-opt/Target/Builtin.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/Path.h"
#include <cmath>

using namespace kbopt;

namespace {

/// One figure of a device file.
struct Figure {
  llvm::StringLiteral key;
  double ChipInfo::*member;
  bool mayBeZero = false;
};

#define FIGURE(name) {#name, &ChipInfo::name, false}
#define FIGURE_OR_ZERO(name) {#name, &ChipInfo::name, true}
const Figure figures[] = {
    FIGURE(smCount),
    FIGURE(boostMHz),
    FIGURE(baseMHz),
    FIGURE(dramBytes),
    FIGURE(dramBytesPerSecond),
    FIGURE(l2Bytes),
    FIGURE(l2BytesPerSecond),
    FIGURE(pcieBytesPerSecond),
    FIGURE(l1BytesPerSm),
    FIGURE(sharedBytesPerSm),
    FIGURE(sharedBytesPerBlock),
    FIGURE(sharedBytesPerBlockOptIn),
    FIGURE_OR_ZERO(sharedBytesReservedPerBlock),
    FIGURE(sharedAllocationBytes),
    FIGURE(registersPerSm),
    FIGURE(registersPerBlock),
    FIGURE(registersPerThread),
    FIGURE(registerAllocationUnit),
    FIGURE(warpAllocationGranularity),
    FIGURE(maxThreadsPerSm),
    FIGURE(maxBlocksPerSm),
    FIGURE(maxThreadsPerBlock),
    FIGURE(schedulersPerSm),
    FIGURE(fp32PerClock),
    FIGURE(fp64PerClock),
    FIGURE(int32PerClock),
    FIGURE(fp16PerClock),
    FIGURE(sfuPerClock),
    FIGURE_OR_ZERO(tensorFp16PerClock),
    FIGURE_OR_ZERO(tensorTf32PerClock),
    FIGURE_OR_ZERO(tensorInt8PerClock),
    FIGURE(lsuLanesPerClock),
    FIGURE(lsuWavefrontsPerClock),
    FIGURE(l2AtomicsPerClock),
    FIGURE(aluLatencyCycles),
    FIGURE(sharedLatencyCycles),
    FIGURE(l1LatencyCycles),
    FIGURE(l2LatencyCycles),
    FIGURE(dramLatencyCycles),
    FIGURE(launchOverheadUs),
};
#undef FIGURE
#undef FIGURE_OR_ZERO

llvm::Error badFile(llvm::StringRef fileName, const llvm::Twine &what) {
  return llvm::make_error<StoreError>(
      ("device file '" + fileName + "': " + what).str(),
      "knowledge/devices/h200.json of the source is an example of every field");
}

llvm::Error readFigure(const Figure &figure, const llvm::json::Object &all,
                       llvm::StringRef fileName, ChipInfo &chip) {
  const llvm::json::Object *entry = all.getObject(figure.key);
  if (!entry)
    return badFile(fileName, "field 'figures." + figure.key + "' is missing or no object");
  std::optional<double> value = entry->getNumber("value");
  if (!value)
    return badFile(fileName, "field 'figures." + figure.key + ".value' is missing or no number");
  if (!std::isfinite(*value) || *value < 0 || (*value == 0 && !figure.mayBeZero))
    return badFile(fileName, "field 'figures." + figure.key + ".value' must be positive");
  std::optional<llvm::StringRef> source = entry->getString("source");
  if (!source || source->trim().empty())
    return badFile(fileName, "field 'figures." + figure.key +
                                 ".source' is missing: name where the figure comes from");
  chip.*figure.member = *value;
  chip.sources[figure.key.str()] = {source->str(), entry->getBoolean("estimate").value_or(false)};
  return llvm::Error::success();
}

} // namespace

std::string ChipInfo::arch() const {
  return "sm_" + std::to_string(computeMajor) + std::to_string(computeMinor);
}

llvm::Expected<ChipInfo> kbopt::parseChip(llvm::StringRef json, llvm::StringRef fileName) {
  llvm::Expected<llvm::json::Value> parsed = llvm::json::parse(json);
  if (!parsed)
    return badFile(fileName, llvm::toString(parsed.takeError()));
  const llvm::json::Object *root = parsed->getAsObject();
  if (!root)
    return badFile(fileName, "it must hold one JSON object");
  ChipInfo chip;
  for (auto [key, target] : {std::pair("name", &chip.name), std::pair("product", &chip.product)}) {
    std::optional<llvm::StringRef> text = root->getString(key);
    if (!text || text->empty())
      return badFile(fileName, "field '" + llvm::Twine(key) + "' is missing or no string");
    *target = text->str();
  }
  auto [major, minor] = root->getString("computeCapability").value_or("").split('.');
  if (major.getAsInteger(10, chip.computeMajor) || minor.getAsInteger(10, chip.computeMinor))
    return badFile(fileName, "field 'computeCapability' must be a string such as \"9.0\"");
  const llvm::json::Object *all = root->getObject("figures");
  if (!all)
    return badFile(fileName, "field 'figures' is missing or no object");
  for (const Figure &figure : figures)
    if (llvm::Error error = readFigure(figure, *all, fileName, chip))
      return std::move(error);
  for (const auto &entry : *all) {
    llvm::StringRef key = entry.first;
    if (llvm::none_of(figures, [&](const Figure &figure) { return key == figure.key; }))
      return badFile(fileName, "field 'figures." + key + "' is unknown");
  }
  return chip;
}

std::vector<std::string> kbopt::builtinChips() {
  std::vector<std::string> names;
  for (const BuiltinFile &file : builtinKnowledge())
    if (file.path.starts_with("devices/"))
      names.push_back(llvm::sys::path::stem(file.path).str());
  return names;
}

llvm::Expected<ChipInfo> kbopt::loadChip(llvm::StringRef name) {
  return loadChip(name, realFileSystem(), userDataDirectory() + "/knowledge/devices");
}

llvm::Expected<ChipInfo> kbopt::loadChip(llvm::StringRef name, FileSystem &fileSystem,
                                         llvm::StringRef overlay) {
  std::string lower = name.lower();
  bool plain = !lower.empty() && llvm::all_of(lower, [](char c) {
    return llvm::isAlnum(c) || c == '-' || c == '_' || c == '.';
  });
  if (plain && !overlay.empty()) {
    std::string path = (overlay + "/" + lower + ".json").str();
    if (fileSystem.exists(path)) {
      llvm::Expected<std::string> bytes = fileSystem.read(path);
      if (!bytes)
        return bytes.takeError();
      return parseChip(*bytes, path);
    }
  }
  std::string path = "devices/" + lower + ".json";
  if (std::optional<llvm::StringRef> bytes = builtinKnowledgeFile(path))
    return parseChip(*bytes, "knowledge/" + path);
  return llvm::make_error<UsageError>("unknown chip '" + name.str() + "'",
                                      "known chips: " + llvm::join(builtinChips(), ", "));
}

std::optional<std::string> kbopt::chipOfProduct(llvm::StringRef product) {
  std::string lower = product.lower();
  llvm::SmallVector<llvm::StringRef> words;
  for (llvm::StringRef rest = lower; !rest.empty();) {
    llvm::StringRef word = rest.take_while([](char c) { return llvm::isAlnum(c); });
    if (!word.empty())
      words.push_back(word);
    rest = rest.drop_front(std::max<size_t>(1, word.size()));
  }
  for (const std::string &chip : builtinChips())
    if (llvm::is_contained(words, chip))
      return chip;
  return std::nullopt;
}

double kbopt::chipSimilarity(const ChipInfo &from, const ChipInfo &to) {
  if (from.name == to.name)
    return 1;
  if (from.computeMajor == to.computeMajor)
    return from.computeMinor == to.computeMinor ? 0.8 : 0.6;
  unsigned distance = from.computeMajor > to.computeMajor ? from.computeMajor - to.computeMajor
                                                          : to.computeMajor - from.computeMajor;
  return distance == 1 ? 0.4 : 0.25;
}
