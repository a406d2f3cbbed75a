//===- Catalogue.cpp - Reading the seed files -----------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "kb-opt/Knowledge/Catalogue.h"
#include "kb-opt/Support/Error.h"
#include "kb-opt/Target/Builtin.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/JSON.h"

using namespace kbopt;
namespace json = llvm::json;

namespace {

/// What is left of a prediction for a pass that was there before, where the
/// seed names no share.
constexpr double usualRepeat = 0.5;

llvm::Error badSeed(llvm::StringRef file, const llvm::Twine &what) {
  return llvm::make_error<StoreError>(("seed knowledge '" + file + "': " + what).str(),
                                      "docs/Knowledge.md describes the format");
}

/// One seed file: an object with a version and lists.
class SeedFile {
public:
  static llvm::Expected<SeedFile> parse(llvm::StringRef text, llvm::StringRef file) {
    llvm::Expected<json::Value> parsed = json::parse(text);
    if (!parsed)
      return badSeed(file, llvm::toString(parsed.takeError()));
    SeedFile result(std::move(*parsed), file.str());
    if (!result.root.getAsObject() || result.root.getAsObject()->getInteger("version") != 1)
      return badSeed(file, "field 'version' must be 1");
    return result;
  }

  const json::Object &object() const { return *root.getAsObject(); }
  llvm::Error error(const llvm::Twine &what) const { return badSeed(file, what); }

  /// Calls \p take for every object of \p list; its error gets the place added.
  llvm::Error each(llvm::StringRef list,
                   llvm::function_ref<llvm::Error(const json::Object &)> take) const {
    const json::Array *array = object().getArray(list);
    if (!array)
      return error("field '" + list + "' is missing or no list");
    for (auto [index, value] : llvm::enumerate(*array)) {
      std::string where = (list + "[" + llvm::Twine(index) + "]: ").str();
      const json::Object *entry = value.getAsObject();
      if (!entry)
        return error(where + "it is no object");
      if (llvm::Error failed = take(*entry))
        return error(where + llvm::toString(std::move(failed)));
    }
    return llvm::Error::success();
  }

private:
  SeedFile(json::Value root, std::string file) : root(std::move(root)), file(std::move(file)) {}
  json::Value root;
  std::string file;
};

llvm::Error textField(const json::Object &object, llvm::StringRef key, std::string &value) {
  std::optional<llvm::StringRef> text = object.getString(key);
  if (!text)
    return llvm::createStringError("field '" + key + "' is missing or no string");
  value = text->str();
  return llvm::Error::success();
}

llvm::Error shareField(const json::Object &object, llvm::StringRef key, double &value) {
  std::optional<double> number = object.getNumber(key);
  if (!number || *number < 0 || *number > 1)
    return llvm::createStringError("field '" + key + "' must be a number from 0 to 1");
  value = *number;
  return llvm::Error::success();
}

llvm::Error readOptimization(const json::Object &object, Optimization &entry) {
  for (auto [key, member] : {std::pair("name", &entry.name), std::pair("summary", &entry.summary),
                             std::pair("form", &entry.form)})
    if (llvm::Error error = textField(object, key, *member))
      return error;
  if (!llvm::is_contained({"full", "pattern", "tuning", "model"}, entry.form))
    return llvm::createStringError("'" + entry.name + "': unknown form '" + entry.form + "'");
  entry.number = static_cast<unsigned>(object.getInteger("number").value_or(0));
  entry.hint = object.getString("hint").value_or("").str();
  entry.changesNumerics = object.getBoolean("changesNumerics").value_or(false);
  entry.minimumArch = static_cast<unsigned>(object.getInteger("minimumArch").value_or(0));
  if (std::optional<llvm::StringRef> when = object.getString("when")) {
    llvm::Expected<MetricExpression> parsed = MetricExpression::parse(*when);
    if (!parsed)
      return llvm::createStringError("'" + entry.name +
                                     "': field 'when': " + llvm::toString(parsed.takeError()));
    entry.when = *parsed;
  }
  if (const json::Array *aliases = object.getArray("aliases"))
    for (const json::Value &alias : *aliases)
      entry.aliases.push_back(alias.getAsString().value_or("").str());
  const json::Array *answers = object.getArray("answers");
  if (!answers || answers->empty())
    return llvm::createStringError("'" + entry.name + "': field 'answers' is missing or empty");
  for (const json::Value &value : *answers) {
    StateAnswer answer;
    const json::Object *fields = value.getAsObject();
    if (!fields)
      return llvm::createStringError("'" + entry.name + "': an answer is no object");
    if (llvm::Error error = textField(*fields, "state", answer.state))
      return error;
    if (llvm::Error error = shareField(*fields, "removes", answer.removes))
      return error;
    entry.answers.push_back(std::move(answer));
  }
  return llvm::Error::success();
}

std::optional<EdgeKind> edgeKind(llvm::StringRef word) {
  if (word == "enables")
    return EdgeKind::Enables;
  if (word == "excludes")
    return EdgeKind::Excludes;
  if (word == "retune")
    return EdgeKind::Retune;
  return std::nullopt;
}

} // namespace

const StateAnswer *Optimization::answerTo(llvm::StringRef state) const {
  auto found =
      llvm::find_if(answers, [&](const StateAnswer &answer) { return answer.state == state; });
  return found == answers.end() ? nullptr : &*found;
}

llvm::Expected<Catalogue> Catalogue::parse(llvm::StringRef optimizations, llvm::StringRef edges,
                                           llvm::StringRef pipelines) {
  Catalogue result;
  llvm::Expected<SeedFile> first = SeedFile::parse(optimizations, "optimizations.json");
  if (!first)
    return first.takeError();
  auto known = [&](const std::string &name) -> llvm::Error {
    if (result.find(name))
      return llvm::Error::success();
    return llvm::createStringError("unknown optimization '" + name + "'");
  };
  if (llvm::Error error =
          first->each("optimizations", [&](const json::Object &object) -> llvm::Error {
            Optimization entry;
            if (llvm::Error error = readOptimization(object, entry))
              return error;
            if (result.find(entry.name))
              return llvm::createStringError("'" + entry.name + "' is there twice");
            result.entries.push_back(std::move(entry));
            return llvm::Error::success();
          }))
    return std::move(error);

  llvm::Expected<SeedFile> second = SeedFile::parse(edges, "edges.json");
  if (!second)
    return second.takeError();
  if (llvm::Error error = second->each("edges", [&](const json::Object &object) -> llvm::Error {
        SeedEdge edge;
        std::string kind;
        for (auto [key, member] :
             {std::pair("kind", &kind), std::pair("before", &edge.before),
              std::pair("after", &edge.after), std::pair("source", &edge.source)})
          if (llvm::Error error = textField(object, key, *member))
            return error;
        std::optional<EdgeKind> which = edgeKind(kind);
        if (!which)
          return llvm::createStringError("unknown kind '" + kind + "'");
        edge.kind = *which;
        if (*which != EdgeKind::Excludes)
          if (llvm::Error error = shareField(object, "bonus", edge.bonus))
            return error;
        result.seedEdges.push_back(std::move(edge));
        return llvm::Error::success();
      }))
    return std::move(error);
  if (llvm::Error error = second->each("repeats", [&](const json::Object &object) -> llvm::Error {
        std::string pass;
        double keeps = 0;
        if (llvm::Error error = textField(object, "pass", pass))
          return error;
        if (llvm::Error error = shareField(object, "keeps", keeps))
          return error;
        result.repeats[pass] = keeps;
        return known(pass);
      }))
    return std::move(error);

  llvm::Expected<SeedFile> third = SeedFile::parse(pipelines, "pipelines.json");
  if (!third)
    return third.takeError();
  const json::Object *shapes = third->object().getObject("pipelines");
  if (!shapes)
    return third->error("field 'pipelines' is missing or no object");
  for (const auto &shape : *shapes) {
    std::string name = llvm::StringRef(shape.first).str();
    const json::Array *passes = shape.second.getAsArray();
    if (!passes)
      return third->error("'" + name + "' is no list");
    for (const json::Value &pass : *passes) {
      std::string text = pass.getAsString().value_or("").str();
      if (llvm::Error error = known(text))
        return third->error("'" + name + "': " + llvm::toString(std::move(error)));
      result.pipelines[name].push_back(text);
    }
  }
  return result;
}

const Catalogue &Catalogue::builtin() {
  static const Catalogue catalogue = llvm::cantFail(parse(
      *builtinKnowledgeFile("seed/optimizations.json"), *builtinKnowledgeFile("seed/edges.json"),
      *builtinKnowledgeFile("seed/pipelines.json")));
  return catalogue;
}

const Optimization *Catalogue::find(llvm::StringRef name) const {
  auto found = llvm::find_if(entries, [&](const Optimization &entry) {
    return entry.name == name || llvm::is_contained(entry.aliases, name);
  });
  return found == entries.end() ? nullptr : &*found;
}

bool Catalogue::excludes(llvm::StringRef a, llvm::StringRef b) const {
  return llvm::any_of(seedEdges, [&](const SeedEdge &edge) {
    return edge.kind == EdgeKind::Excludes &&
           ((edge.before == a && edge.after == b) || (edge.before == b && edge.after == a));
  });
}

double Catalogue::bonus(const std::vector<std::string> &passes, llvm::StringRef after) const {
  double best = 0;
  for (const SeedEdge &edge : seedEdges)
    if (edge.kind != EdgeKind::Excludes && edge.after == after &&
        llvm::is_contained(passes, edge.before))
      best = std::max(best, edge.bonus);
  return best;
}

bool Catalogue::retunes(llvm::ArrayRef<std::string> passes, llvm::StringRef after) const {
  return llvm::any_of(seedEdges, [&](const SeedEdge &edge) {
    return edge.kind == EdgeKind::Retune && edge.after == after &&
           llvm::is_contained(passes, edge.before);
  });
}

double Catalogue::repeatDiscount(llvm::StringRef pass) const {
  auto found = repeats.find(pass.str());
  return found == repeats.end() ? usualRepeat : found->second;
}

const std::vector<std::string> &Catalogue::pipeline(llvm::StringRef shape) const {
  static const std::vector<std::string> none;
  auto found = pipelines.find(shape.str());
  return found == pipelines.end() ? none : found->second;
}

std::vector<std::string> Catalogue::shapes() const {
  std::vector<std::string> names;
  for (const auto &entry : pipelines)
    names.push_back(entry.first);
  return names;
}
