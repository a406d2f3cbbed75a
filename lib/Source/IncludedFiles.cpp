//===- IncludedFiles.cpp --------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "kb-opt/Source/IncludedFiles.h"
#include "CompatHeader.h"
#include "Database.h"
#include "Invocation.h"
#include "clang/Frontend/CompilerInstance.h"
#include "clang/Frontend/FrontendActions.h"
#include "clang/Frontend/Utils.h"

using namespace kbopt;
using llvm::StringRef;

namespace {

class UserFiles : public clang::DependencyCollector {
public:
  UserFiles(const CompileCommand &command, std::set<std::string> &files)
      : command(command), files(files) {}

  bool needSystemDependencies() override { return true; }
  bool sawDependency(StringRef name, bool, bool isSystem, bool, bool isMissing) override {
    const std::string file = absolutePath(name, command.directory);
    const bool isOurs = StringRef(file).starts_with(compatFolder);
    if (!isMissing && !isOurs && !(isSystem && command.isForeignHeader(file)))
      files.insert(file);
    return false; // nothing is kept in the collector
  }

private:
  const CompileCommand &command;
  std::set<std::string> &files;
};

} // namespace

llvm::Expected<std::set<std::string>> kbopt::includedFiles(const CompileCommand &command) {
  std::set<std::string> files{command.file};
  for (const auto &arguments : {command.deviceArguments(), command.hostArguments()}) {
    auto invocation = askDriver(command, arguments);
    if (!invocation)
      return invocation.takeError();
    clang::CompilerInstance compiler(std::move(*invocation),
                                     std::make_shared<clang::PCHContainerOperations>());
    compiler.setVirtualFileSystem(filesWithCompatHeaders(command));
    compiler.createDiagnostics(new clang::IgnoringDiagConsumer());
    compiler.addDependencyCollector(std::make_shared<UserFiles>(command, files));
    clang::PreprocessOnlyAction action;
    compiler.ExecuteAction(action);
  }
  return files;
}
