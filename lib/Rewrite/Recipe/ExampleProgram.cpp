//===- ExampleProgram.cpp - What a recipe's examples say --------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "ExampleProgram.h"
#include "RenamedText.h"
#include "kb-opt/Rewrite/AstTools.h"
#include "clang/AST/Attr.h"
#include "clang/AST/DeclTemplate.h"
#include <mutex>

using namespace kbopt;
using namespace clang;
using llvm::StringRef;

static llvm::Error noRecipe(const llvm::Twine &why) { return llvm::createStringError(why.str()); }

std::string kbopt::openName(unsigned number) { return "kbOpen" + std::to_string(number); }

//===-- Declarations ------------------------------------------------------===//

static bool isForDevice(const Decl *declaration) {
  if (const auto *pattern = llvm::dyn_cast<FunctionTemplateDecl>(declaration))
    declaration = pattern->getTemplatedDecl();
  if (const auto *variable = llvm::dyn_cast<VarDecl>(declaration);
      variable && variable->isConstexpr())
    return true;
  return declaration->hasAttr<CUDAGlobalAttr>() || declaration->hasAttr<CUDADeviceAttr>() ||
         declaration->hasAttr<CUDAConstantAttr>();
}

std::vector<DeviceDeclaration> kbopt::deviceDeclarations(const ParsedProgram &program) {
  std::vector<DeviceDeclaration> found;
  std::map<SourceLocation, unsigned> declarators; // of one declaration
  for (const Decl *each : program.declarations())
    if (llvm::isa<VarDecl>(each))
      ++declarators[each->getBeginLoc()];
  for (const Decl *each : program.declarations()) {
    const auto *named = llvm::dyn_cast<NamedDecl>(each);
    if (!named || each->isImplicit() || !isForDevice(each) ||
        !program.sources().isInMainFile(each->getLocation()))
      continue;
    std::string text = sourceText(program, each->getSourceRange()).str();
    const auto *function = each->getAsFunction();
    if (text.empty() || (function && !function->doesThisDeclarationHaveABody()))
      continue;
    if (const auto *variable = llvm::dyn_cast<VarDecl>(each)) {
      if (declarators[each->getBeginLoc()] > 1 && variable->isConstexpr() && variable->getInit())
        text = "constexpr " + variable->getType().getUnqualifiedType().getAsString() + " " +
               variable->getNameAsString() + " = " +
               sourceText(program, variable->getInit()->getSourceRange()).str();
      text += ";";
    }
    found.push_back({named->getNameAsString(), std::move(text), each});
  }
  return found;
}

/// Lines of \p text that include files.
static std::vector<std::string> includesIn(StringRef text) {
  std::vector<std::string> lines;
  llvm::SmallVector<StringRef> all;
  text.split(all, '\n');
  for (StringRef line : all)
    if (line.trim().starts_with("#include"))
      lines.push_back(line.trim().str());
  return lines;
}

//===-- What was changed --------------------------------------------------===//

namespace {

class Comparison {
public:
  explicit Comparison(ExampleProgram &example) : example(example) {}

  llvm::Error run(const RecipeForm &recipe) {
    compareDeclarations();
    if (llvm::Error error = findKernel())
      return error;
    if (llvm::Error error = compareLaunches())
      return error;
    if (llvm::Error error = findOpen(recipe))
      return error;
    takeParameters();
    return llvm::Error::success();
  }

private:
  void compareDeclarations() {
    std::set<std::pair<std::string, std::string>> known;
    for (const DeviceDeclaration &each : deviceDeclarations(*example.before))
      known.emplace(each.name, tokenText(each.text));
    for (DeviceDeclaration &each : deviceDeclarations(*example.after))
      if (!known.count({each.name, tokenText(each.text)}))
        example.made.push_back(std::move(each));
    const std::vector<std::string> old = includesIn(example.before->text());
    for (std::string &line : includesIn(example.after->text()))
      if (!llvm::is_contained(old, line))
        example.includes.push_back(std::move(line));
  }

  using Launches = std::map<std::string, std::vector<const LaunchFact *>>;

  /// By the kernel's name and, where `after` has it unchanged too, the launch's text.
  static Launches launchesOf(const ParsedProgram &program) {
    Launches launches;
    for (const LaunchFact &each : findLaunches(program))
      if (each.kernel)
        launches[each.kernel->getNameAsString()].push_back(&each);
    return launches;
  }

  static std::vector<std::string> textsOf(const ParsedProgram &program,
                                          llvm::ArrayRef<const LaunchFact *> launches) {
    std::vector<std::string> texts;
    for (const LaunchFact *each : launches)
      texts.push_back(tokenText(sourceText(program, each->call->getSourceRange())));
    return texts;
  }

  /// The kernel whose text or launches changed.
  llvm::Error findKernel() {
    const Launches old = launchesOf(*example.before), now = launchesOf(*example.after);
    std::map<std::string, std::string> kept;
    for (const DeviceDeclaration &each : deviceDeclarations(*example.after))
      kept[each.name] = tokenText(each.text);
    std::vector<std::string> changed;
    for (const DeviceDeclaration &each : deviceDeclarations(*example.before)) {
      auto before = old.find(each.name), after = now.find(each.name);
      if (before == old.end())
        continue;
      if (kept[each.name] == tokenText(each.text) && after != now.end() &&
          textsOf(*example.before, before->second) == textsOf(*example.after, after->second))
        continue;
      changed.push_back(each.name);
      example.kernel = each.declaration->getAsFunction();
      launches = before->second;
    }
    if (changed.empty())
      return noRecipe("its examples/before.cu launches no kernel that examples/after.cu changes");
    if (changed.size() > 1)
      return noRecipe("its examples/after.cu changes the kernels '" + changed[0] + "' and '" +
                      changed[1] + "', and a recipe is of one");
    if (example.kernel->isTemplated())
      return noRecipe("kernel '" + changed[0] + "' of its examples/before.cu is a template");
    for (const auto &[name, all] : now)
      if (name == changed[0] || !old.count(name))
        for (const LaunchFact *each : all)
          replaced.push_back(each);
    llvm::sort(replaced, [&](const LaunchFact *a, const LaunchFact *b) {
      return example.after->isBefore(a->call->getBeginLoc(), b->call->getBeginLoc());
    });
    return llvm::Error::success();
  }

  llvm::Error compareLaunches() {
    const std::string name = example.kernel->getNameAsString();
    if (replaced.size() != launches.size())
      return noRecipe("its examples/after.cu does not put one launch in place of each of '" + name +
                      "'");
    std::set<std::string> made;
    for (const DeviceDeclaration &each : example.made)
      if (const auto *variable = llvm::dyn_cast<VarDecl>(each.declaration);
          variable && variable->isConstexpr())
        made.insert(each.name);
    for (auto [before, after] : llvm::zip_equal(launches, replaced)) {
      if (before->byApi || after->byApi)
        return noRecipe("its examples launch a kernel without <<< >>>");
      auto launch = changedLaunch(*example.before, *before, *example.after, *after, made);
      if (!launch)
        return launch.takeError();
      const std::string launched = after->kernel->getNameAsString();
      if (before == launches.front()) {
        example.launch = std::move(*launch);
        example.launched = launched;
        kernelAfter = after->kernel->getDefinition();
      } else if (!(example.launch == *launch) || launched != example.launched) {
        return noRecipe("its examples/after.cu changes the launches of '" + name +
                        "' in different ways");
      }
    }
    return llvm::Error::success();
  }

  /// Open expressions in both kernels: in the first as places of its tree, in what was made as
  /// names.
  llvm::Error findOpen(const RecipeForm &recipe) {
    for (auto [number, text] : llvm::enumerate(recipe.open)) {
      const std::string tokens = tokenText(text);
      size_t places = 0;
      for (const Expr *each : ast::findAll<Expr>(example.kernel->getBody()))
        if (tokenText(sourceText(*example.before, each->getSourceRange())) == tokens)
          places +=
              example.open.try_emplace(openExpr(each), OpenPlace{unsigned(number), each}).second;
      if (!places)
        return noRecipe("the kernel of its examples/before.cu has no expression '" + text + "'");
      for (DeviceDeclaration &each : example.made)
        each.text = replaceOpen(each.text, text, openName(unsigned(number)));
    }
    return llvm::Error::success();
  }

  /// What is open of \p expr: of an assignment its right side.
  static const Expr *openExpr(const Expr *expr) {
    const auto *assignment = llvm::dyn_cast<BinaryOperator>(ast::strip(expr));
    return ast::strip(assignment && assignment->getOpcode() == BO_Assign ? assignment->getRHS()
                                                                         : expr);
  }

  void takeParameters() {
    auto made = llvm::find_if(example.made, [&](const DeviceDeclaration &each) {
      return each.declaration == kernelAfter ||
             (kernelAfter && each.name == kernelAfter->getNameAsString());
    });
    if (made == example.made.end() || !kernelAfter->getNumParams())
      return;
    std::string list;
    for (const ParmVarDecl *parameter : kernelAfter->parameters()) {
      example.parameters.push_back(sourceText(*example.after, parameter->getSourceRange()).str());
      list += (list.empty() ? "" : ", ") + example.parameters.back();
    }
    const auto places = findTokens(made->text, list);
    if (places.empty()) {
      example.parameters.clear(); // written with defaults or macros: it stays as it is
      return;
    }
    made->text.replace(places.front().first, places.front().second,
                       ExampleProgram::parametersName.str());
  }

  ExampleProgram &example;
  std::vector<const LaunchFact *> launches, replaced;
  const FunctionDecl *kernelAfter = nullptr;
};

} // namespace

static llvm::Expected<std::unique_ptr<ExampleProgram>> readExample(const RecipeForm &recipe,
                                                                   CompileCommand command) {
  static ProgramParser parser;
  command.units.clear();
  command.others.clear();
  auto example = std::make_unique<ExampleProgram>();
  for (auto [text, program, name] : {std::tuple(recipe.before, &example->before, "before.cu"),
                                     std::tuple(recipe.after, &example->after, "after.cu")}) {
    auto parsed = parser.parse(command, text);
    if (!parsed)
      return noRecipe(llvm::Twine("its examples/") + name +
                      " does not compile with this program's flags: " +
                      StringRef(llvm::toString(parsed.takeError())).split('\n').first);
    *program = std::move(*parsed);
  }
  if (llvm::Error error = Comparison(*example).run(recipe))
    return std::move(error);
  return std::move(example);
}

llvm::Expected<const ExampleProgram &> kbopt::exampleProgram(const RecipeForm &recipe,
                                                             const CompileCommand &command) {
  using Known = std::pair<std::unique_ptr<ExampleProgram>, std::string>; // or why not
  static std::mutex mutex;
  static std::map<Digest, Known> examples;
  DigestBuilder key;
  for (StringRef part : {recipe.before, recipe.after})
    key.add(part);
  for (StringRef part : recipe.open)
    key.add(part);
  for (const std::string &flag : command.clangFlags)
    key.add(flag);
  std::lock_guard<std::mutex> lock(mutex);
  auto [place, isNew] = examples.try_emplace(key.finish());
  if (isNew) {
    auto example = readExample(recipe, command);
    if (example)
      place->second.first = std::move(*example);
    else
      place->second.second = llvm::toString(example.takeError());
  }
  if (!place->second.first)
    return noRecipe(place->second.second);
  return *place->second.first;
}
