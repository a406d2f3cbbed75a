//===- McpTools.cpp - What kb-opt mcp offers ------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "McpTools.h"
#include "kb-opt/Support/Error.h"
#include "llvm/ADT/StringExtras.h"
#include <csignal>

using namespace kbopt;
namespace json = llvm::json;

McpTools::~McpTools() {
  for (auto &[number, search] : searches)
    if (!search.status) {
      kill(search.process.Pid, SIGTERM);
      llvm::sys::Wait(search.process, 10);
    }
}

static json::Object text(llvm::StringRef description) {
  return json::Object{{"type", "string"}, {"description", description.str()}};
}

static json::Object number(llvm::StringRef description) {
  return json::Object{{"type", "integer"}, {"description", description.str()}, {"minimum", 1}};
}

/// A tool over one program: what every such tool takes, and \p more.
static json::Object tool(llvm::StringRef name, llvm::StringRef description, llvm::StringRef file,
                         json::Object more, json::Array required) {
  more[file] = text("path of the CUDA source file");
  more["flags"] = json::Object{
      {"type", "array"},
      {"items", json::Object{{"type", "string"}}},
      {"description", "compiler flags; without them the nearest compile_commands.json"}};
  more["workload"] =
      text("file that says how to run the program; without it main, or a kb-workload comment");
  more["arch"] = text("GPU architecture, sm_90 for instance");
  required.insert(required.begin(), file.str());
  return json::Object{{"name", name.str()},
                      {"description", description.str()},
                      {"inputSchema", json::Object{{"type", "object"},
                                                   {"properties", std::move(more)},
                                                   {"required", std::move(required)}}}};
}

json::Array McpTools::list() {
  json::Object promise{{"type", "string"},
                       {"enum", json::Array{"bitwise", "reassociates", "lower-precision"}},
                       {"description", "what the candidate claims to keep; bitwise without it"}};
  json::Object run{
      {"name", "run"},
      {"description",
       "How a search that optimize started is getting on, and its patch once it has ended"},
      {"inputSchema",
       json::Object{{"type", "object"},
                    {"properties", json::Object{{"run", json::Object{{"type", "integer"}}},
                                                {"cancel", json::Object{{"type", "boolean"}}}}},
                    {"required", json::Array{"run"}}}}};
  return json::Array{
      tool("profile",
           "Where a CUDA program's time goes, by kernel: measured on a GPU, else modelled", "file",
           {}, {}),
      tool("findings",
           "What the compiler knows against the kernels: places, reasons and the passes that mend "
           "them",
           "file", {}, {}),
      tool(
          "apply", "The patch that a pipeline of passes makes; nothing is written", "file",
          json::Object{
              {"pipeline",
               text(
                   "passes as kb-opt -passes= takes them, vectorize-loads{width=4} for instance")}},
          json::Array{"pipeline"}),
      tool("judge",
           "Whether a candidate computes what the original does: every gate with its outcome and "
           "facts",
           "original",
           json::Object{{"candidate", text("path of the rewritten file")},
                        {"promise", std::move(promise)}},
           json::Array{"candidate"}),
      tool("optimize",
           "Start a search for a faster program without a model; returns the number of a run",
           "file",
           json::Object{{"seconds", number("time of the search")},
                        {"candidates", number("most candidates to judge")}},
           {}),
      std::move(run)};
}

/// kb-opt's words for what all tools take, the input \p file last; or what is wrong.
static llvm::Expected<std::vector<std::string>>
wordsFor(const json::Object &arguments, llvm::StringRef file, std::vector<std::string> words) {
  auto wrong = [](const llvm::Twine &what) { return llvm::createStringError(what); };
  auto take = [&](llvm::StringRef key, llvm::StringRef option) -> llvm::Error {
    const json::Value *value = arguments.get(key);
    if (!value)
      return llvm::Error::success();
    if (auto string = value->getAsString())
      words.push_back((option + *string).str());
    else if (auto integer = value->getAsInteger())
      words.push_back((option + llvm::Twine(*integer)).str());
    else
      return wrong("'" + key + "' is neither text nor a number");
    return llvm::Error::success();
  };
  for (auto [key, option] : {std::pair<llvm::StringRef, llvm::StringRef>{"workload", "--workload="},
                             {"arch", "--arch="},
                             {"pipeline", "-passes="},
                             {"candidate", "--judge="},
                             {"promise", "--promise="},
                             {"seconds", "--budget-seconds="},
                             {"candidates", "--budget-candidates="}})
    if (llvm::Error error = take(key, option))
      return std::move(error);
  auto input = arguments.getString(file);
  if (!input || input->empty())
    return wrong("'" + file + "' is missing: the path of a CUDA source file");
  words.push_back(input->starts_with("-") ? "./" + input->str() : input->str());
  if (const json::Value *flags = arguments.get("flags")) {
    const json::Array *all = flags->getAsArray();
    if (!all)
      return wrong("'flags' is no list");
    words.push_back("--");
    for (const json::Value &flag : *all) {
      if (!flag.getAsString())
        return wrong("a flag is no text");
      words.push_back(flag.getAsString()->str());
    }
  }
  return words;
}

std::optional<McpResult> McpTools::call(llvm::StringRef name, const json::Object &arguments) {
  if (name == "run")
    return poll(arguments);
  std::vector<std::string> words{"--quiet"};
  if (name == "profile")
    words.push_back("--emit=profile-json");
  else if (name == "findings")
    words.push_back("--emit=findings-json");
  else if (name == "optimize")
    words = {"-passes=auto", "--llm=off"};
  else if (name == "judge")
    words.clear();
  else if (name != "apply")
    return std::nullopt;
  auto refuse = [](llvm::StringRef why) { return McpResult{why.str(), nullptr, true}; };
  if (name == "apply" && arguments.getString("pipeline").value_or("auto") == "auto")
    return refuse("'pipeline' names passes; a search is the tool optimize");
  if (name == "judge" && !arguments.getString("candidate"))
    return refuse("'candidate' is missing: the path of the rewritten file");
  auto all = wordsFor(arguments, name == "judge" ? "original" : "file", std::move(words));
  if (!all)
    return refuse(llvm::toString(all.takeError()));
  if (name == "findings")
    return findings(std::move(*all));
  if (name == "judge")
    return judge(std::move(*all));
  return name == "optimize" ? optimize(std::move(*all)) : runOnce(std::move(*all));
}

McpResult McpTools::runOnce(std::vector<std::string> words) {
  ProcessRequest request;
  request.argv = {kbOpt};
  llvm::append_range(request.argv, words);
  llvm::Expected<ProcessResult> result = runner.run(request);
  if (!result)
    return {llvm::toString(result.takeError()), nullptr, true};
  json::Object facts{{"status", result->exitStatus}};
  const bool done = result->succeeded() || result->exitStatus == 4; // 4: a budget was reached
  return {done ? result->out : result->err, std::move(facts), !done};
}

McpResult McpTools::findings(std::vector<std::string> words) {
  McpResult result = runOnce(std::move(words));
  if (result.isError)
    return result;
  if (llvm::Expected<json::Value> all = json::parse(result.text))
    result.facts = json::Object{{"findings", std::move(*all)}};
  else
    llvm::consumeError(all.takeError());
  return result;
}

/// The gates of a printed verdict: `G4  data races  failed: reason`, and below it lines with
/// details.
static json::Array gatesOf(llvm::StringRef verdict) {
  json::Array gates;
  json::Array *details = nullptr;
  for (llvm::StringRef line : llvm::split(verdict, '\n')) {
    if (line.starts_with("      ") && details) {
      details->push_back(line.trim().str());
      continue;
    }
    details = nullptr;
    if (!line.starts_with("G") || line.size() < 24 || !llvm::isDigit(line[1]))
      continue;
    auto [outcome, reason] = line.drop_front(23).split(": ");
    gates.push_back(json::Object{{"gate", line.take_front(4).trim().str()},
                                 {"title", line.slice(4, 23).trim().str()},
                                 {"outcome", outcome.trim().str()},
                                 {"reason", reason.str()},
                                 {"facts", json::Array()}});
    details = gates.back().getAsObject()->getArray("facts");
  }
  return gates;
}

McpResult McpTools::judge(std::vector<std::string> words) {
  ProcessRequest request;
  request.argv = {kbOpt};
  llvm::append_range(request.argv, words);
  llvm::Expected<ProcessResult> result = runner.run(request);
  if (!result)
    return {llvm::toString(result.takeError()), nullptr, true};
  json::Array gates = gatesOf(result->out);
  if (gates.empty() && !result->succeeded())
    return {result->err, json::Object{{"status", result->exitStatus}}, true};
  return {result->out, json::Object{{"correct", result->succeeded()}, {"gates", std::move(gates)}},
          false};
}

McpResult McpTools::optimize(std::vector<std::string> words) {
  auto folder = TemporaryDirectory::create("kb-opt-mcp");
  if (!folder)
    return {llvm::toString(folder.takeError()), nullptr, true};
  std::vector<llvm::StringRef> argv{kbOpt};
  argv.insert(argv.end(), words.begin(), words.end());
  const std::string out = folder->file("out"), err = folder->file("err");
  std::string problem;
  llvm::sys::ProcessInfo process = llvm::sys::ExecuteNoWait(
      kbOpt, argv, std::nullopt, {llvm::StringRef(), llvm::StringRef(out), llvm::StringRef(err)}, 0,
      &problem);
  if (process.Pid == llvm::sys::ProcessInfo::InvalidPid)
    return {"kb-opt cannot be started: " + problem, nullptr, true};
  const int64_t number = searches.empty() ? 1 : searches.rbegin()->first + 1;
  searches.emplace(number, Search{std::move(*folder), process, std::nullopt});
  return {"run " + std::to_string(number) + " has begun; ask the tool run how it is getting on",
          json::Object{{"run", number}, {"state", "running"}}, false};
}

McpResult McpTools::poll(const json::Object &arguments) {
  auto number = arguments.getInteger("run");
  auto found = number ? searches.find(*number) : searches.end();
  if (found == searches.end())
    return {"there is no such run: optimize starts one", nullptr, true};
  Search &search = found->second;
  if (!search.status) {
    if (arguments.getBoolean("cancel").value_or(false))
      kill(search.process.Pid, SIGINT); // it ends with the best so far
    llvm::sys::ProcessInfo ended =
        llvm::sys::Wait(search.process, 0, nullptr, nullptr, /*Polling=*/true);
    if (ended.Pid == search.process.Pid)
      search.status = ended.ReturnCode;
  }
  auto read = [&](const char *name) {
    auto bytes = realFileSystem().read(search.folder.file(name));
    return bytes ? *bytes : (llvm::consumeError(bytes.takeError()), std::string());
  };
  const std::string log = read("err");
  json::Object facts{{"run", *number},
                     {"state", search.status ? "ended" : "running"},
                     {"log", json::fixUTF8(log)}};
  if (!search.status)
    return {"running\n" + log, std::move(facts), false};
  const std::string patch = read("out");
  const bool failed = *search.status != 0 && *search.status != 4;
  facts["status"] = *search.status;
  facts["patch"] = json::fixUTF8(patch);
  return {failed          ? log
          : patch.empty() ? "no patch\n" + log
                          : patch + "\n" + log,
          std::move(facts), failed};
}
