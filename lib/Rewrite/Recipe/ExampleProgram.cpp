//===- ExampleProgram.cpp - What a recipe's examples say --------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "ExampleProgram.h"
#include "RenamedText.h"
#include "kb-opt/Rewrite/AstTools.h"
#include "clang/AST/Attr.h"
#include <mutex>

using namespace kbopt;
using namespace clang;
using llvm::StringRef;

namespace {

llvm::Error noRecipe(const llvm::Twine &why) { return llvm::createStringError(why.str()); }

/// The only kernel of \p program with its only launch.
llvm::Expected<LaunchFact> onlyLaunch(const ParsedProgram &program, StringRef file) {
  const std::vector<LaunchFact> &launches = findLaunches(program);
  if (launches.size() != 1 || !launches.front().kernel || launches.front().byApi)
    return noRecipe("its examples/" + file + " is no program with one launch by <<< >>>");
  return launches.front();
}

/// The text of \p expr, a configuration's part or an argument.
StringRef textOf(const ParsedProgram &program, const Expr *expr) {
  return sourceText(program, expr->getSourceRange());
}

/// Functions and variables for the device in the main file of \p program, with their texts.
std::vector<std::pair<std::string, std::string>> deviceDeclarations(const ParsedProgram &program) {
  std::vector<std::pair<std::string, std::string>> found;
  for (const Decl *each : program.declarations()) {
    const auto *named = llvm::dyn_cast<NamedDecl>(each);
    const bool isForDevice = each->hasAttr<CUDAGlobalAttr>() || each->hasAttr<CUDADeviceAttr>() ||
                             each->hasAttr<CUDAConstantAttr>();
    if (!named || !isForDevice || each->isImplicit() ||
        !program.sources().isInMainFile(each->getLocation()))
      continue;
    std::string text = sourceText(program, each->getSourceRange()).str();
    if (llvm::isa<VarDecl>(each))
      text += ";";
    found.emplace_back(named->getNameAsString(), std::move(text));
  }
  return found;
}

llvm::Error readLaunches(ExampleProgram &example) {
  llvm::Expected<LaunchFact> before = onlyLaunch(*example.before, "before.cu");
  if (!before)
    return before.takeError();
  llvm::Expected<LaunchFact> after = onlyLaunch(*example.after, "after.cu");
  if (!after)
    return after.takeError();
  example.kernel = before->kernel->getDefinition();
  if (!example.kernel || example.kernel->isTemplated())
    return noRecipe("the kernel of its examples/before.cu is a template or has no body");
  for (const Expr *argument : before->arguments) {
    const VarDecl *variable = ast::variableOf(argument);
    if (!variable)
      return noRecipe("its examples/before.cu passes '" + textOf(*example.before, argument) +
                      "', which is no variable");
    example.passed.push_back(variable->getNameAsString());
  }
  example.launched = after->kernel->getNameAsString();
  example.hasShared = after->shared != nullptr;
  example.hasStream = after->stream != nullptr;
  for (const Expr *part : {after->grid, after->block, after->shared, after->stream})
    if (part)
      example.configuration +=
          (example.configuration.empty() ? "" : ", ") + textOf(*example.after, part).str();
  for (const Expr *argument : after->arguments)
    example.arguments.push_back(textOf(*example.after, argument).str());
  // What the launch is written with must be known wherever the kernel is launched.
  std::string all = example.configuration;
  for (const std::string &argument : example.arguments)
    all += " " + argument;
  for (const TextToken &token : tokensOf(all))
    if (token.isName && !llvm::is_contained(example.passed, token.text) && token.text != "dim3")
      return noRecipe("the launch of its examples/after.cu uses '" + token.text +
                      "', which examples/before.cu does not pass to the kernel");
  return llvm::Error::success();
}

llvm::Expected<std::unique_ptr<ExampleProgram>> readExample(StringRef before, StringRef after,
                                                            CompileCommand command) {
  static ProgramParser parser;
  command.units.clear();
  command.others.clear();
  auto example = std::make_unique<ExampleProgram>();
  for (auto [text, program, name] : {std::tuple(before, &example->before, "before.cu"),
                                     std::tuple(after, &example->after, "after.cu")}) {
    auto parsed = parser.parse(command, text);
    if (!parsed)
      return noRecipe(llvm::Twine("its examples/") + name +
                      " does not compile with this program's flags: " +
                      StringRef(llvm::toString(parsed.takeError())).split('\n').first);
    *program = std::move(*parsed);
  }
  if (llvm::Error error = readLaunches(*example))
    return std::move(error);
  const auto known = deviceDeclarations(*example->before);
  for (auto &each : deviceDeclarations(*example->after))
    if (!llvm::is_contained(known, each))
      example->made.push_back(std::move(each));
  if (example->made.empty())
    return noRecipe("its examples/after.cu changes nothing for the device");
  return std::move(example);
}

} // namespace

llvm::Expected<const ExampleProgram &> kbopt::exampleProgram(StringRef before, StringRef after,
                                                             const CompileCommand &command) {
  using Known = std::pair<std::unique_ptr<ExampleProgram>, std::string>; // or why not
  static std::mutex mutex;
  static std::map<Digest, Known> examples;
  DigestBuilder key;
  for (StringRef part : {before, after})
    key.add(part);
  for (const std::string &flag : command.clangFlags)
    key.add(flag);
  std::lock_guard<std::mutex> lock(mutex);
  auto [place, isNew] = examples.try_emplace(key.finish());
  if (isNew) {
    auto example = readExample(before, after, command);
    if (example)
      place->second.first = std::move(*example);
    else
      place->second.second = llvm::toString(example.takeError());
  }
  if (!place->second.first)
    return noRecipe(place->second.second);
  return *place->second.first;
}
