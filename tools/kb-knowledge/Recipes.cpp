//===- Recipes.cpp - recipes, and what merging does with them -------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the way to `kb-opt recipes`, which parses CUDA and is asked for everything about single
// recipes, and the union of recipe folders, which needs no more than their files.
//
//===----------------------------------------------------------------------===//
#include "Verbs.h"
#include "kb-opt/Support/FileSystem.h"
#include "kb-opt/Support/Installation.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include <cerrno>
#include <cstring>
#include <unistd.h>

using namespace kbopt;

int kbopt::runRecipes(int argc, char **argv) {
  const std::string tool = findBeside("kb-opt").value_or("kb-opt");
  static char verb[] = "recipes";
  std::vector<char *> words = {const_cast<char *>(tool.c_str()), verb};
  words.insert(words.end(), argv + 2, argv + argc);
  words.push_back(nullptr);
  ::execvp(tool.c_str(), words.data());
  return static_cast<int>(reportError(
      llvm::errs(), "kb-knowledge",
      llvm::make_error<ToolError>("cannot run kb-opt: " + std::string(std::strerror(errno)),
                                  std::vector<std::string>{tool}, 127, "",
                                  "install it beside kb-knowledge, or in PATH")));
}

namespace {

constexpr llvm::StringLiteral parts[] = {"examples/before.cu", "examples/after.cu", "pass.yaml"};

/// The files of the recipe in \p folder, in the order of `parts`; what is missing is empty.
llvm::Expected<std::vector<std::string>> readRecipe(const std::string &folder) {
  std::vector<std::string> texts;
  for (llvm::StringRef part : parts) {
    const std::string path = folder + "/" + part.str();
    auto text = realFileSystem().exists(path) ? realFileSystem().read(path)
                                              : llvm::Expected<std::string>(std::string());
    if (!text)
      return text.takeError();
    texts.push_back(std::move(*text));
  }
  return texts;
}

/// The recipes in \p folder by name.
llvm::Expected<std::map<std::string, std::vector<std::string>>>
recipesIn(const std::string &folder) {
  std::map<std::string, std::vector<std::string>> recipes;
  for (const std::string &name : realFileSystem().list(folder)) {
    auto texts = readRecipe(folder + "/" + name);
    if (!texts)
      return texts.takeError();
    if (!texts->back().empty())
      recipes.emplace(name, std::move(*texts));
  }
  return recipes;
}

/// \p name with the first number behind it that none of \p taken has.
std::string freeName(const std::string &name,
                     const std::map<std::string, std::vector<std::string>> &taken) {
  std::string other = name;
  for (unsigned number = 2; taken.count(other); ++number)
    other = name + "-" + std::to_string(number);
  return other;
}

llvm::Error writeRecipe(const std::string &folder, const std::string &old, const std::string &name,
                        std::vector<std::string> texts) {
  if (name != old) {
    const std::string line = "name: " + old + "\n";
    if (size_t at = texts.back().find(line); at != std::string::npos)
      texts.back().replace(at, line.size(), "name: " + name + "\n");
  }
  const std::string place = folder + "/" + name;
  if (llvm::Error error = realFileSystem().createDirectories(place + "/examples"))
    return error;
  for (auto [part, text] : llvm::zip_equal(parts, texts))
    if (llvm::Error error = realFileSystem().write(place + "/" + part.str(), text))
      return error;
  return llvm::Error::success();
}

} // namespace

llvm::Expected<size_t> kbopt::mergeRecipes(llvm::StringRef target,
                                           llvm::ArrayRef<std::string> sources) {
  const std::string folder = (target + "/recipes").str();
  auto known = recipesIn(folder);
  if (!known)
    return known.takeError();
  size_t added = 0;
  for (const std::string &source : sources) {
    auto others = recipesIn(source + "/recipes");
    if (!others)
      return others.takeError();
    for (const auto &[name, texts] : *others) {
      // Recipes are their examples; what they are called does not matter.
      const bool isKnown = llvm::any_of(*known, [&, &texts = texts](const auto &each) {
        return each.second[0] == texts[0] && each.second[1] == texts[1];
      });
      if (isKnown)
        continue;
      const std::string own = freeName(name, *known);
      if (llvm::Error error = writeRecipe(folder, name, own, texts))
        return std::move(error);
      known->emplace(own, texts);
      ++added;
    }
  }
  return added;
}
