//===- RecipeFolder.cpp - The recipes that a run knows --------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "RecipeFolder.h"
#include "kb-opt/Rewrite/PassFile.h"
#include "kb-opt/Target/Builtin.h"
#include <map>
#include <set>

using namespace kbopt;
using llvm::StringRef;

std::string kbopt::recipesFolder(StringRef knowledgeDirectory) {
  return (knowledgeDirectory + "/recipes").str();
}

static constexpr llvm::StringLiteral builtinFolder = "recipes";

/// The recipes among the files that are compiled in.
static FakeFileSystem &builtinRecipes() {
  static FakeFileSystem files;
  static const bool isFilled = [] {
    for (const BuiltinFile &file : builtinKnowledge())
      if (file.path.starts_with("recipes/"))
        files.files[file.path.str()] = file.bytes.str();
    return true;
  }();
  (void)isFilled;
  return files;
}

/// The reasons in the file `retired`, by the recipe's name.
static std::map<std::string, std::string> retiredIn(FileSystem &files, StringRef folder) {
  std::map<std::string, std::string> reasons;
  const std::string path = (folder + "/retired").str();
  if (!files.exists(path))
    return reasons;
  auto text = files.read(path);
  if (!text) {
    llvm::consumeError(text.takeError());
    return reasons;
  }
  llvm::SmallVector<StringRef> lines;
  StringRef(*text).split(lines, '\n', -1, /*KeepEmpty=*/false);
  for (StringRef line : lines) {
    auto [name, reason] = line.split(": ");
    reasons[name.trim().str()] = reason.trim().empty() ? "retired" : reason.trim().str();
  }
  return reasons;
}

static KnownRecipe readRecipe(FileSystem &files, StringRef folder, const std::string &name) {
  KnownRecipe recipe;
  recipe.name = name;
  auto pass = readPassFolder(files, (folder + "/" + name).str());
  if (!pass)
    recipe.fault = StringRef(llvm::toString(pass.takeError())).split('\n').first.str();
  else if (!pass->info->recipe)
    recipe.fault = "its pass.yaml does not say 'rule: example'";
  else
    recipe.pass = std::move(*pass);
  return recipe;
}

std::vector<KnownRecipe> kbopt::knownRecipes(FileSystem &files, StringRef folder, bool shipped) {
  std::vector<KnownRecipe> recipes;
  std::set<std::string> names;
  if (shipped)
    for (const auto &[path, bytes] : builtinRecipes().files)
      names.insert(StringRef(path).split('/').second.split('/').first.str());
  for (const std::string &name : names)
    recipes.push_back(readRecipe(builtinRecipes(), builtinFolder, name));
  for (const std::string &name : files.list(folder)) {
    const std::string place = (folder + "/" + name).str();
    if (!files.exists(place + "/pass.yaml"))
      continue;
    KnownRecipe &recipe = recipes.emplace_back(readRecipe(files, folder, name));
    recipe.folder = place;
    if (!names.insert(name).second)
      recipe.fault = "a recipe of that name comes with kb-opt";
  }
  const auto retired = retiredIn(files, folder);
  for (KnownRecipe &recipe : recipes)
    if (auto reason = retired.find(recipe.name); reason != retired.end())
      recipe.retired = reason->second;
  return recipes;
}

std::vector<std::string> kbopt::loadRecipes(FileSystem &files, StringRef folder,
                                            PassRegistry &registry, bool shipped) {
  std::vector<std::string> faults;
  for (KnownRecipe &recipe : knownRecipes(files, folder, shipped)) {
    if (!recipe.retired.empty())
      continue;
    if (recipe.fault.empty() && registry.lookup(recipe.name))
      recipe.fault = "a pass has that name";
    if (recipe.fault.empty())
      registry.add(recipe.pass);
    else
      faults.push_back("recipe '" + recipe.name + "' is not used: " + recipe.fault);
  }
  return faults;
}

llvm::Error kbopt::retireRecipe(FileSystem &files, StringRef folder, StringRef name,
                                StringRef reason) {
  if (llvm::Error error = files.createDirectories(folder))
    return error;
  return files.appendLine((folder + "/retired").str(),
                          (name + ": " + (reason.empty() ? "retired" : reason)).str());
}
