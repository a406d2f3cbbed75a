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
    compareDefinitions();
    if (llvm::Error error = findKernel())
      return error;
    if (llvm::Error error = compareLaunches())
      return error;
    dropUnused();
    if (llvm::Error error = findOpen(recipe))
      return error;
    takeParameters();
    return llvm::Error::success();
  }

private:
  void compareDefinitions() {
    std::set<std::pair<std::string, std::string>> known;
    std::set<std::string> old;
    for (const Definition &each : definitionsIn(*example.before, *example.before)) {
      known.emplace(each.name, tokenText(each.text));
      old.insert(each.name);
    }
    // A function of the host that changed is the program's own.
    for (Definition &each : definitionsIn(*example.after, *example.before))
      if (!known.count({each.name, tokenText(each.text)}) &&
          !(each.isForHost && old.count(each.name)))
        example.made.push_back(std::move(each));
    const std::vector<std::string> lines = includesIn(example.before->text());
    for (std::string &line : includesIn(example.after->text()))
      if (!llvm::is_contained(lines, line))
        example.includes.push_back(std::move(line));
  }

  static std::string nameOf(const LaunchFact &launch) {
    return launch.kernel ? launch.kernel->getNameAsString() : "";
  }
  static bool launches(const LaunchPlace &place, StringRef kernel) {
    return llvm::any_of(place, [&](const LaunchWay &way) { return nameOf(*way.launch) == kernel; });
  }

  /// Whether \p places launch as \p launches do.
  bool isUnchanged(llvm::ArrayRef<const LaunchFact *> launches,
                   llvm::ArrayRef<const LaunchPlace *> places) const {
    auto textIn = [](const ParsedProgram &program, const LaunchFact &launch) {
      return tokenText(sourceText(program, launch.call->getSourceRange()));
    };
    return launches.size() == places.size() &&
           llvm::all_of(llvm::zip(launches, places), [&](auto pair) {
             auto [before, place] = pair;
             return place->size() == 1 && textIn(*example.before, *before) ==
                                              textIn(*example.after, *place->front().launch);
           });
  }

  /// The kernel whose text or launches changed, and what its launches have become.
  llvm::Error findKernel() {
    auto after = launchPlaces(*example.after, *example.before);
    if (!after)
      return after.takeError();
    places = std::move(*after);
    std::map<std::string, std::vector<const LaunchFact *>> old;
    for (const LaunchFact &each : findLaunches(*example.before))
      old[nameOf(each)].push_back(&each);
    std::map<std::string, std::string> kept;
    for (const Definition &each : definitionsIn(*example.after, *example.before))
      kept[each.name] = tokenText(each.text);
    std::vector<std::string> changed;
    for (const Definition &each : definitionsIn(*example.before, *example.before)) {
      auto before = old.find(each.name);
      if (each.isForHost || before == old.end())
        continue;
      std::vector<const LaunchPlace *> now;
      for (const LaunchPlace &place : places)
        if (launches(place, each.name))
          now.push_back(&place);
      const bool stays = kept[each.name] == tokenText(each.text);
      if (stays && isUnchanged(before->second, now))
        continue;
      changed.push_back(each.name);
      example.kernel = each.declaration->getAsFunction();
      example.keepsKernel = stays && !now.empty() && now.front()->size() > 1;
      given = before->second;
    }
    for (const LaunchPlace &place : places)
      if (changed.empty() && !old.count(nameOf(*place.front().launch)))
        return noRecipe("its examples/after.cu launches '" + nameOf(*place.front().launch) +
                        "' beside what examples/before.cu launches; in place of a launch is "
                        "'if (...) new<<<...>>>(...); else old<<<...>>>(...);'");
    if (changed.empty())
      return noRecipe("its examples/before.cu launches no kernel that examples/after.cu changes");
    if (changed.size() > 1)
      return noRecipe("its examples/after.cu changes the kernels '" + changed[0] + "' and '" +
                      changed[1] + "', and a recipe is of one");
    if (example.kernel->isTemplated())
      return noRecipe("kernel '" + changed[0] + "' of its examples/before.cu is a template");
    llvm::erase_if(places, [&](const LaunchPlace &place) {
      return !launches(place, changed[0]) && llvm::any_of(place, [&](const LaunchWay &way) {
        return old.count(nameOf(*way.launch));
      });
    });
    return llvm::Error::success();
  }

  /// The first of \p ways that is not the launch of before.
  static size_t firstNew(llvm::ArrayRef<ChangedLaunch> ways) {
    auto found = llvm::find_if(ways, [](const ChangedLaunch &way) { return !way.isAsBefore; });
    return found == ways.end() ? 0 : size_t(found - ways.begin());
  }

  llvm::Error compareLaunches() {
    const std::string name = example.kernel->getNameAsString();
    if (places.size() != given.size())
      return noRecipe("its examples/after.cu does not put one launch, or one 'if ... else' of "
                      "launches, in place of each of '" +
                      name + "'");
    std::set<std::string> made{name};
    for (const Definition &each : example.made)
      if (const auto *variable = llvm::dyn_cast<VarDecl>(each.declaration);
          !variable || variable->isConstexpr())
        made.insert(each.name);
    for (auto [before, place] : llvm::zip_equal(given, places)) {
      std::vector<ChangedLaunch> ways;
      for (LaunchWay &way : place) {
        if (before->byApi || way.launch->byApi || !way.launch->kernel)
          return noRecipe("its examples launch a kernel without <<< >>>");
        way.mayStay = example.keepsKernel;
        const std::string launched = nameOf(*way.launch);
        if (launched != name && llvm::none_of(example.made, [&](const Definition &each) {
              return each.name == launched && each.declaration->getAsFunction();
            }))
          return noRecipe("its examples/after.cu launches '" + launched +
                          "', which it defines in a namespace of its own");
        auto launch = changedLaunch(*example.before, *before, *example.after, way, made);
        if (!launch)
          return launch.takeError();
        ways.push_back(std::move(*launch));
      }
      if (before == given.front()) {
        const size_t first = firstNew(ways);
        kernelAfter = place[first].launch->kernel->getDefinition();
        example.launched = ways[first].kernel;
        example.ways = std::move(ways);
      } else if (!(example.ways == ways)) {
        return noRecipe("its examples/after.cu changes the launches of '" + name +
                        "' in different ways");
      }
    }
    return llvm::Error::success();
  }

  /// Leaves of the host's functions those that launches use.
  void dropUnused() {
    std::set<std::string> used;
    auto use = [&](StringRef text) {
      for (const TextToken &token : tokensOf(text))
        if (token.isName)
          used.insert(token.text.str());
    };
    for (const ChangedLaunch &way : example.ways) {
      for (const auto *part : {&way.grid, &way.block, &way.shared, &way.stream})
        use(part->text);
      for (const std::string &text : llvm::concat<const std::string>(way.setup, way.arguments))
        use(text);
      use(way.condition);
    }
    // What a function uses stands before it.
    for (const Definition &each : llvm::reverse(example.made))
      if (!each.isForHost || used.count(each.name))
        use(each.text);
    llvm::erase_if(example.made, [&](const Definition &each) {
      return each.isForHost && !used.count(each.name);
    });
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
      for (Definition &each : example.made)
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
    auto made = llvm::find_if(example.made, [&](const Definition &each) {
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
  std::vector<const LaunchFact *> given; ///< launches of the kernel
  std::vector<LaunchPlace> places;       ///< what they have become
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
