//===- PassFile.cpp - Reading passes without C++ ---------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "kb-opt/Rewrite/PassFile.h"
#include "kb-opt/Knowledge/State.h"
#include "kb-opt/Rewrite/DataPass.h"
#include "kb-opt/Rewrite/Recipe.h"
#include "kb-opt/Support/Error.h"
#include "kb-opt/Support/YamlTree.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Path.h"
#include <deque>
#include <set>

using namespace kbopt;
using llvm::Error;
using llvm::Expected;
using llvm::StringRef;

namespace {

/// A description with the storage that its references point into.
struct StoredPass {
  PassInfo info{};
  AssistedForm assisted{};
  RecipeForm recipe{};
  std::deque<std::string> strings;
  std::deque<std::vector<StringRef>> lists;
  std::vector<Assumption> assumes;
  std::vector<ReplyParameter> parameters;
  std::vector<OptionInfo> options; ///< of a recipe
  /// Where the names of neighbours stand, for errors that come later.
  std::vector<YamlValue> neighbours;
  std::string place;

  StringRef keep(StringRef text) { return strings.emplace_back(text.str()); }
};

std::string pathOf(StringRef folder, StringRef name) {
  llvm::SmallString<128> path(folder);
  llvm::sys::path::append(path, name);
  return path.str().str();
}

/// "give one of a, b, c", or the nearest of them.
std::string choices(StringRef given, llvm::ArrayRef<StringRef> known) {
  if (std::optional<std::string> near = nearestName(given, known))
    return "did you mean '" + *near + "'?";
  return "it is one of " + llvm::join(known, ", ");
}

class Reader {
public:
  Reader(const YamlValue &root, StoredPass &into) : root(root), into(into) {}

  Error read();

private:
  Error fields(const YamlValue &mapping, llvm::ArrayRef<StringRef> known, StringRef of);
  /// Empty text where \p key is missing and not \p needed.
  Expected<StringRef> text(const YamlValue &mapping, StringRef key, bool needed = true);
  Expected<llvm::ArrayRef<StringRef>> list(const YamlValue &mapping, StringRef key,
                                           llvm::ArrayRef<StringRef> known = {});
  template <class Value>
  Error choice(StringRef key, std::optional<Value> (*fromName)(StringRef),
               llvm::ArrayRef<StringRef> known, Value &value);
  Error readWords();
  Error readLists();
  Error readMatcher();
  Error readParameter(const YamlValue &value);
  Error readOptions();

  const YamlValue &root;
  StoredPass &into;
};

Error Reader::fields(const YamlValue &mapping, llvm::ArrayRef<StringRef> known, StringRef of) {
  if (mapping.kind != YamlValue::Mapping)
    return mapping.error("expected " + of, "docs/WritingAPass.md describes the format");
  for (const YamlField &field : mapping.fields)
    if (!llvm::is_contained(known, field.key.scalar))
      return field.key.error("unknown key '" + field.key.scalar + "' of " + of,
                             choices(field.key.scalar, known));
  return Error::success();
}

Expected<StringRef> Reader::text(const YamlValue &mapping, StringRef key, bool needed) {
  const YamlValue *value = mapping.find(key);
  if (!value && !needed)
    return StringRef();
  if (!value)
    return mapping.error("key '" + key + "' is missing",
                         "docs/WritingAPass.md describes the format");
  if (value->kind != YamlValue::Scalar || StringRef(value->scalar).trim().empty())
    return value->error("'" + key + "' is a text");
  return into.keep(StringRef(value->scalar).trim());
}

Expected<llvm::ArrayRef<StringRef>> Reader::list(const YamlValue &mapping, StringRef key,
                                                 llvm::ArrayRef<StringRef> known) {
  const YamlValue *value = mapping.find(key);
  std::vector<StringRef> &names = into.lists.emplace_back();
  if (!value)
    return llvm::ArrayRef<StringRef>();
  if (value->kind != YamlValue::Sequence)
    return value->error("'" + key + "' is a list, as in [a, b]");
  for (const YamlValue &item : value->items) {
    if (item.kind != YamlValue::Scalar || item.scalar.empty())
      return item.error("'" + key + "' is a list of names");
    if (!known.empty() && !llvm::is_contained(known, item.scalar))
      return item.error("'" + item.scalar + "' is unknown in '" + key + "'",
                        choices(item.scalar, known));
    names.push_back(into.keep(item.scalar));
  }
  return llvm::ArrayRef<StringRef>(names);
}

template <class Value>
Error Reader::choice(StringRef key, std::optional<Value> (*fromName)(StringRef),
                     llvm::ArrayRef<StringRef> known, Value &value) {
  Expected<StringRef> name = text(root, key);
  if (!name)
    return name.takeError();
  std::optional<Value> found = fromName(*name);
  if (!found)
    return root.find(key)->error("'" + *name + "' is no " + key, choices(*name, known));
  value = *found;
  return Error::success();
}

bool isName(StringRef name) {
  return !name.empty() && llvm::isLower(name.front()) && llvm::all_of(name, [](char c) {
    return llvm::isLower(c) || llvm::isDigit(c) || c == '-';
  });
}

Error Reader::readWords() {
  PassInfo &info = into.info;
  for (auto [key, member] :
       {std::pair("name", &info.name), std::pair("family", &info.family),
        std::pair("summary", &info.summary), std::pair("description", &info.description)}) {
    Expected<StringRef> value = text(root, key);
    if (!value)
      return value.takeError();
    *member = *value;
  }
  if (!isName(info.name))
    return root.find("name")->error("'" + info.name + "' is no name of a pass",
                                    "lower-case words joined by hyphens, as in double-buffer");
  if (info.summary.ends_with(".") || info.summary.contains('\n'))
    return root.find("summary")->error("the summary is one line without a full stop");
  if (Error error =
          choice("site", siteKindFromName,
                 {"kernel", "parameter", "loop", "access", "shared", "launch"}, info.site))
    return error;
  return choice("promise", promiseFromName, {"bitwise", "reassociates", "lower-precision"},
                info.promise);
}

Error Reader::readLists() {
  PassInfo &info = into.info;
  std::vector<std::string> stateNames = StateRules::builtin().names();
  std::vector<StringRef> states(stateNames.begin(), stateNames.end());
  std::vector<StringRef> allowed;
  for (const Allowance &each : allowances())
    allowed.push_back(each.name);
  using List = llvm::ArrayRef<StringRef>;
  static constexpr StringRef assumptions[] = {"aligned", "noalias"};
  List assumed;
  for (auto [key, known, member] :
       {std::tuple("states", List(states), &info.states),
        std::tuple("aliases", List(), &info.aliases),
        std::tuple("excludes", List(), &info.excludes),
        std::tuple("enables", List(), &info.enables), std::tuple("retunes", List(), &info.retunes),
        std::tuple("allow", List(allowed), &into.assisted.allow),
        std::tuple("assumes", List(assumptions), &assumed),
        std::tuple("open", List(), &into.recipe.open)}) {
    Expected<List> names = list(root, key, known);
    if (!names)
      return names.takeError();
    *member = *names;
  }
  if (info.states.empty())
    return root.error("key 'states' is missing or empty",
                      "name the states that the pass answers: " + llvm::join(states, ", "));
  for (StringRef name : assumed)
    into.assumes.push_back(*assumptionFromName(name));
  info.assumes = into.assumes;
  for (StringRef key : {"excludes", "enables", "retunes"})
    if (const YamlValue *value = root.find(key))
      llvm::append_range(into.neighbours, value->items);
  return Error::success();
}

Error Reader::readMatcher() {
  Expected<StringRef> matcher = text(root, "matcher", false);
  if (!matcher)
    return matcher.takeError();
  if (matcher->empty())
    return Error::success();
  const YamlValue &value = *root.find("matcher");
  if (std::string wrong = checkMatcher(*matcher); !wrong.empty())
    return value.error("the matcher is wrong: " + wrong,
                       "clang-query's 'match' command takes the same text");
  into.assisted.matcher = *matcher;
  return Error::success();
}

Error Reader::readParameter(const YamlValue &value) {
  if (Error error = fields(value, {"name", "summary", "default", "values"}, "a parameter"))
    return error;
  ReplyParameter parameter;
  for (auto [key, member] :
       {std::pair("name", &parameter.name), std::pair("summary", &parameter.summary),
        std::pair("default", &parameter.defaultValue)}) {
    Expected<StringRef> word = text(value, key);
    if (!word)
      return word.takeError();
    *member = *word;
  }
  auto values = list(value, "values");
  if (!values)
    return values.takeError();
  parameter.values = *values;
  if (parameter.values.size() < 2 || !llvm::is_contained(parameter.values, parameter.defaultValue))
    return value.error("parameter '" + parameter.name +
                       "' needs at least two values, with its default among them");
  into.parameters.push_back(parameter);
  return Error::success();
}

Error Reader::read() {
  if (Error error = fields(root,
                           {"name", "family", "summary", "description", "aliases", "states", "site",
                            "matcher", "promise", "assumes", "excludes", "enables", "retunes",
                            "minimumChip", "allow", "parameters", "rule", "open"},
                           "a pass"))
    return error;
  if (Error error = readWords())
    return error;
  if (Error error = readLists())
    return error;
  if (Error error = readMatcher())
    return error;
  if (const YamlValue *chip = root.find("minimumChip"))
    if (StringRef number = chip->scalar; (into.info.exactChip = number.consume_back("a"),
                                          number.getAsInteger(10, into.info.minimumChip)))
      return chip->error("'" + chip->scalar + "' is no compute capability", "write 90 for sm_90");
  if (const YamlValue *parameters = root.find("parameters")) {
    if (parameters->kind != YamlValue::Sequence)
      return parameters->error("'parameters' is a list of name, summary, values and default");
    for (const YamlValue &each : parameters->items)
      if (Error error = readParameter(each))
        return error;
  }
  into.assisted.parameters = into.parameters;
  if (const YamlValue *rule = root.find("rule"); rule && rule->scalar != "example")
    return rule->error("'" + rule->scalar + "' is no rule", "write: rule: example");
  into.info.deterministic = root.find("rule") != nullptr;
  into.info.assisted = &into.assisted;
  if (const YamlValue *open = root.find("open"); open && !into.info.deterministic)
    return open->error("'open' is for a pass with 'rule: example'");
  return into.info.deterministic ? readOptions() : Error::success();
}

/// The parameters of a recipe are constants of its examples/after.cu, which tuning may set.
Error Reader::readOptions() {
  for (const ReplyParameter &each : into.parameters) {
    OptionInfo option{
        each.name, OptionType::Integer, each.defaultValue, each.summary, each.values, 0, INT32_MAX};
    for (StringRef value : each.values)
      if (int64_t number; value.getAsInteger(10, number) || number < 0)
        return root.find("parameters")
            ->error("parameter '" + each.name + "': '" + value +
                    "' is no number that a constant may have");
    into.options.push_back(option);
  }
  into.info.options = into.options;
  return Error::success();
}

Error readTexts(FileSystem &files, StringRef folder, StoredPass &into) {
  std::string prompt = pathOf(folder, "prompt.md");
  const bool isRecipe = into.info.deterministic;
  if (!isRecipe && !files.exists(prompt))
    return llvm::make_error<UsageError>(prompt + ": the file is missing",
                                        "it says what a model is told of the pass",
                                        ExitStatus::Diagnostics);
  for (auto [path, member] :
       {std::pair(prompt, &into.assisted.prompt),
        std::pair(pathOf(folder, "examples/before.cu"), &into.assisted.before),
        std::pair(pathOf(folder, "examples/after.cu"), &into.assisted.after)}) {
    if (!files.exists(path))
      continue;
    Expected<std::string> text = files.read(path);
    if (!text)
      return text.takeError();
    if (StringRef(*text).trim().empty())
      return llvm::make_error<UsageError>(path + ":1:1: the file is empty", "",
                                          ExitStatus::Diagnostics);
    *member = into.keep(StringRef(*text).trim());
  }
  if (into.assisted.before.empty() != into.assisted.after.empty())
    return llvm::make_error<UsageError>(
        pathOf(folder, "examples") + ": before.cu and after.cu are there together or not at all",
        "", ExitStatus::Diagnostics);
  if (!isRecipe)
    return Error::success();
  if (into.assisted.before.empty())
    return llvm::make_error<UsageError>(
        pathOf(folder, "examples") + ": before.cu and after.cu are missing",
        "they are the rule of a pass with 'rule: example'; docs/Recipes.md describes them",
        ExitStatus::Diagnostics);
  into.recipe.before = into.assisted.before;
  into.recipe.after = into.assisted.after;
  into.recipe.kernel = changedKernelIn(into.recipe.before, into.recipe.after);
  into.info.recipe = &into.recipe;
  if (into.assisted.prompt.empty()) // then a model is not asked
    into.info.assisted = nullptr;
  return Error::success();
}

Expected<std::shared_ptr<StoredPass>> readStored(FileSystem &files, StringRef folder) {
  std::string path = pathOf(folder, "pass.yaml");
  Expected<std::string> text = files.read(path);
  if (!text)
    return text.takeError();
  Expected<YamlValue> root = parseYaml(*text, path, 1);
  if (!root)
    return root.takeError();
  auto pass = std::make_shared<StoredPass>();
  if (Error error = Reader(*root, *pass).read())
    return std::move(error);
  pass->place = root->find("name")->place;
  StringRef folderName = llvm::sys::path::filename(folder.rtrim('/'));
  if (folderName != pass->info.name)
    return root->find("name")->error("the pass is named '" + pass->info.name +
                                     "' but its folder '" + folderName + "'");
  if (Error error = readTexts(files, folder, *pass))
    return std::move(error);
  return pass;
}

PassRegistration registrationOf(std::shared_ptr<StoredPass> pass) {
  return {&pass->info, nullptr, pass};
}

/// The folders that hold a pass.yaml: \p folder, or those up to two levels below.
std::vector<std::string> passFolders(FileSystem &files, StringRef folder, unsigned levels = 2) {
  if (files.exists(pathOf(folder, "pass.yaml")))
    return {folder.str()};
  std::vector<std::string> found;
  if (levels)
    for (const std::string &name : files.list(folder))
      llvm::append_range(found, passFolders(files, pathOf(folder, name), levels - 1));
  return found;
}

} // namespace

Expected<PassRegistration> kbopt::readPassFolder(FileSystem &files, StringRef folder) {
  auto pass = readStored(files, folder);
  if (!pass)
    return pass.takeError();
  return registrationOf(std::move(*pass));
}

Error kbopt::loadPasses(FileSystem &files, StringRef folder, PassRegistry &registry) {
  std::vector<std::string> folders = passFolders(files, folder);
  if (folders.empty())
    return llvm::make_error<UsageError>(
        ("there is no pass in '" + folder + "'").str(),
        "a pass is a folder with a pass.yaml and a prompt.md; docs/WritingAPass.md describes them");
  std::vector<std::shared_ptr<StoredPass>> loaded;
  for (const std::string &each : folders) {
    auto pass = readStored(files, each);
    if (!pass)
      return pass.takeError();
    std::vector<StringRef> names((*pass)->info.aliases.begin(), (*pass)->info.aliases.end());
    names.insert(names.begin(), (*pass)->info.name);
    for (StringRef name : names)
      if (const PassRegistration *taken = registry.lookup(name))
        return llvm::make_error<UsageError>(
            (*pass)->place + ": '" + name.str() + "' is the name of another pass already" +
                (taken->info->name == name ? "" : ", '" + taken->info->name.str() + "'"),
            "choose another name; kb-opt --list-passes shows those that are taken",
            ExitStatus::Diagnostics);
    registry.add(registrationOf(*pass));
    loaded.push_back(std::move(*pass));
  }
  for (const auto &pass : loaded)
    for (const YamlValue &name : pass->neighbours)
      if (!registry.lookup(name.scalar)) {
        std::optional<std::string> near = registry.nearest(name.scalar);
        return name.error("there is no pass '" + name.scalar + "'",
                          near ? "did you mean '" + *near + "'?"
                               : "kb-opt --list-passes shows the passes");
      }
  return Error::success();
}
