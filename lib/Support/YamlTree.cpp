//===- YamlTree.cpp ---------------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "kb-opt/Support/YamlTree.h"

#include "kb-opt/Support/Error.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/YAMLParser.h"

using namespace kbopt;
namespace yaml = llvm::yaml;

const YamlValue *YamlValue::find(llvm::StringRef key) const {
  for (const auto &[name, value] : fields)
    if (name.scalar == key)
      return &value;
  return nullptr;
}

llvm::Error YamlValue::error(const llvm::Twine &what, llvm::StringRef note) const {
  return llvm::make_error<UsageError>((place + ": " + what).str(), note.str(),
                                      ExitStatus::Diagnostics);
}

namespace {

class Builder {
public:
  Builder(llvm::SourceMgr &sources, llvm::StringRef file, unsigned firstLine)
      : sources(sources), file(file), firstLine(firstLine) {}

  std::string place(llvm::SMLoc loc) const {
    if (!loc.isValid())
      return file.str();
    auto [line, column] = sources.getLineAndColumn(loc);
    return (file + ":" + llvm::Twine(line + firstLine - 1) + ":" + llvm::Twine(column)).str();
  }

  /// What is wrong goes into `failure`; nothing more is read then, because what is left of a deep
  /// tree would be skipped by recursion.
  YamlValue build(yaml::Node *node) {
    constexpr unsigned deepest = 64;
    YamlValue value;
    if (!node || !failure.empty())
      return value;
    value.place = place(node->getSourceRange().Start);
    if (depth == deepest) {
      failure = value.place + ": nested too deeply";
      return value;
    }
    ++depth;
    read(*node, value);
    --depth;
    return value;
  }

  std::string failure;

private:
  void read(yaml::Node &node, YamlValue &value) {
    if (auto *scalar = llvm::dyn_cast<yaml::ScalarNode>(&node)) {
      llvm::SmallString<32> storage;
      value.kind = YamlValue::Scalar;
      value.scalar = scalar->getValue(storage).str();
    } else if (auto *block = llvm::dyn_cast<yaml::BlockScalarNode>(&node)) {
      value.kind = YamlValue::Scalar;
      value.scalar = block->getValue().str();
    } else if (auto *sequence = llvm::dyn_cast<yaml::SequenceNode>(&node)) {
      value.kind = YamlValue::Sequence;
      for (yaml::Node &item : *sequence) {
        value.items.push_back(build(&item));
        if (!failure.empty())
          return;
      }
    } else if (auto *mapping = llvm::dyn_cast<yaml::MappingNode>(&node)) {
      value.kind = YamlValue::Mapping;
      for (yaml::KeyValueNode &entry : *mapping) {
        addField(value, entry);
        if (!failure.empty())
          return;
      }
    } else if (!llvm::isa<yaml::NullNode>(node)) {
      failure = value.place + ": anchors and aliases are not used here";
    }
  }
  void addField(YamlValue &mapping, yaml::KeyValueNode &entry) {
    YamlValue key = build(entry.getKey());
    if (!failure.empty())
      return;
    YamlValue value = build(entry.getValue());
    if (value.place.empty())
      value.place = key.place;
    if (key.kind != YamlValue::Scalar && failure.empty())
      failure = key.place + ": expected a name";
    if (mapping.find(key.scalar) && failure.empty())
      failure = key.place + ": '" + key.scalar + "' is given twice";
    mapping.fields.push_back({std::move(key), std::move(value)});
  }

  llvm::SourceMgr &sources;
  llvm::StringRef file;
  unsigned firstLine;
  unsigned depth = 0; ///< of the value that is read
};

} // namespace

llvm::Expected<YamlValue> kbopt::parseYaml(llvm::StringRef text, llvm::StringRef file,
                                           unsigned firstLine) {
  llvm::SourceMgr sources;
  std::string syntaxError;
  struct Context {
    std::string *into;
    llvm::StringRef file;
    unsigned firstLine;
  } context{&syntaxError, file, firstLine};
  sources.setDiagHandler(
      [](const llvm::SMDiagnostic &diagnostic, void *opaque) {
        auto &context = *static_cast<Context *>(opaque);
        if (context.into->empty())
          *context.into =
              (context.file + ":" + llvm::Twine(diagnostic.getLineNo() + context.firstLine - 1) +
               ":" + llvm::Twine(diagnostic.getColumnNo() + 1) + ": " +
               llvm::StringRef(diagnostic.getMessage()).lower())
                  .str();
      },
      &context);
  yaml::Stream stream(text, sources, /*ShowColors=*/false);
  Builder builder(sources, file, firstLine);
  YamlValue root;
  auto document = stream.begin();
  if (document != stream.end())
    root = builder.build(document->getRoot());
  bool more = false;
  if (syntaxError.empty() && document != stream.end())
    more = ++document != stream.end();
  std::string failure = !syntaxError.empty() ? syntaxError : builder.failure;
  if (failure.empty() && (stream.failed() || more))
    failure = (file + ": expected one YAML document").str();
  if (!failure.empty())
    return llvm::make_error<UsageError>(failure, "", ExitStatus::Diagnostics);
  if (root.place.empty())
    root.place = (file + ":" + llvm::Twine(firstLine) + ":1").str();
  return root;
}
