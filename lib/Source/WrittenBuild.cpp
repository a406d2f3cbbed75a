//===- WrittenBuild.cpp ---------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "WrittenBuild.h"
#include "kb-opt/Support/FileSystem.h"
#include "kb-opt/Support/YamlTree.h"
#include "llvm/Support/FileSystem.h"

using namespace kbopt;

llvm::Expected<WrittenBuild> kbopt::readWrittenBuild(llvm::StringRef folder) {
  WrittenBuild build;
  const std::string file = (folder + "/.kb-opt").str();
  if (!llvm::sys::fs::exists(file))
    return build;
  llvm::Expected<std::string> text = realFileSystem().read(file);
  if (!text)
    return text.takeError();
  llvm::Expected<YamlValue> root = parseYaml(*text, file, /*firstLine=*/1);
  if (!root)
    return root.takeError();
  constexpr const char *next = "write 'link:' or 'tests:' and below it a list of commands";
  if (root->kind != YamlValue::Mapping)
    return root->error("expected 'link:' or 'tests:'", next);
  for (const YamlField &field : root->fields) {
    const llvm::StringRef name = field.key.scalar;
    if (name != "link" && name != "tests")
      return field.key.error("unknown field '" + name + "'", next);
    if (field.value.kind != YamlValue::Sequence)
      return field.value.error("expected a list of commands", next);
    for (const YamlValue &command : field.value.items) {
      if (command.kind != YamlValue::Scalar)
        return command.error("expected a command", next);
      (name == "link" ? build.link : build.tests).push_back(command.scalar);
    }
  }
  return build;
}
