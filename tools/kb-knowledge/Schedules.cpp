//===- Schedules.cpp - import, schedules ----------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "Verbs.h"
#include "kb-opt/Knowledge/RankingCheck.h"
#include "kb-opt/Support/Error.h"
#include "kb-opt/Support/FileSystem.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"

using namespace kbopt;
using llvm::formatv;
namespace json = llvm::json;

/// The records of \p path, one JSON object in a line, none of which has a name.
static llvm::Expected<std::vector<Evidence>> unnamedRecords(const std::string &path) {
  llvm::Expected<std::string> text = realFileSystem().read(path);
  if (!text)
    return text.takeError();
  std::vector<Evidence> records;
  llvm::SmallVector<llvm::StringRef> lines;
  llvm::StringRef(*text).split(lines, '\n');
  for (auto [number, line] : llvm::enumerate(lines)) {
    if (line.trim().empty())
      continue;
    llvm::Expected<Evidence> record = parseUnnamedEvidence(line);
    if (!record)
      return llvm::make_error<UsageError>(
          formatv("{0}:{1}: {2}", path, number + 1, llvm::toString(record.takeError())).str(),
          "nothing was written; docs/Knowledge.md lists the fields of a record");
    records.push_back(std::move(*record));
  }
  return records;
}

llvm::Expected<ExitStatus> kbopt::runImport(const Arguments &arguments) {
  const std::string path = logNamed(arguments.words.front());
  EvidenceSet named;
  for (const std::string &file : llvm::drop_begin(arguments.words)) {
    llvm::Expected<std::vector<Evidence>> records = unnamedRecords(file);
    if (!records)
      return records.takeError();
    for (Evidence &record : *records)
      named.insert(std::move(record));
  }
  std::vector<BadLine> bad;
  llvm::Expected<EvidenceSet> target = readEvidence(realFileSystem(), path, bad);
  if (!target)
    return target.takeError();
  report(bad);
  std::vector<Evidence> added;
  for (const auto &[id, record] : named.records())
    if (!target->contains(id))
      added.push_back(record);
  if (llvm::StringRef folder = llvm::sys::path::parent_path(path); !folder.empty())
    if (llvm::Error error = realFileSystem().createDirectories(folder))
      return std::move(error);
  if (llvm::Error error = appendEvidence(realFileSystem(), path, added))
    return std::move(error);
  return writeResult(path + ": " + counted(added.size(), "record") + " added, " +
                     std::to_string(target->size() + added.size()) + " now\n");
}

static json::Object toObject(const OrderFigures &order) {
  return json::Object{{"firstOverBest", order.firstOverBest},
                      {"fourOverBest", order.fourOverBest},
                      {"untilGood", order.untilGood},
                      {"correlation", order.correlation}};
}

static std::string line(llvm::StringRef name, const OrderFigures &model,
                        const OrderFigures &evidence) {
  return formatv("{0,-40} first {1:f2} {2:f2}  of four {3:f2} {4:f2}  until good {5,2} {6,2}  "
                 "correlation {7:f2} {8:f2}\n",
                 name, model.firstOverBest, evidence.firstOverBest, model.fourOverBest,
                 evidence.fourOverBest, model.untilGood, evidence.untilGood, model.correlation,
                 evidence.correlation);
}

/// The schedules of \p kernel, and whose records put them in that order.
static std::string details(const CheckedKernel &kernel) {
  std::string text;
  for (const CheckedSchedule &each : kernel.schedules)
    text += formatv("    {0,3}, by the model {1,3}  {2:f2} x the best  {3}\n", each.byEvidence,
                    each.byModel, each.time, each.schedule);
  if (kernel.voices.empty())
    return text + "    no record of another program speaks for it\n";
  for (const RankingVoice &voice : kernel.voices)
    text += formatv("    by {0} of {1} on {2}, weight {3:f2}: {4}{5}\n",
                    counted(voice.records.size(), "record"), voice.program, voice.chip,
                    voice.weight, voice.records.front(), voice.records.size() > 1 ? ", ..." : "");
  return text;
}

llvm::Expected<ExitStatus> kbopt::runSchedules(const Arguments &arguments) {
  llvm::Expected<EvidenceSet> all = readLogs(arguments.words);
  if (!all)
    return all.takeError();
  llvm::Expected<std::vector<CheckedKernel>> kernels = checkRanking(*all);
  if (!kernels)
    return kernels.takeError();
  if (!arguments.program.empty())
    llvm::erase_if(*kernels, [&](const CheckedKernel &kernel) {
      return !llvm::StringRef(kernel.program).starts_with(arguments.program);
    });
  const OrderFigures model = meanOf(*kernels, &CheckedKernel::model),
                     evidence = meanOf(*kernels, &CheckedKernel::evidence);
  if (arguments.json) {
    json::Array list;
    for (const CheckedKernel &kernel : *kernels) {
      json::Array voices;
      for (const RankingVoice &voice : kernel.voices)
        voices.push_back(json::Object{{"program", voice.program},
                                      {"chip", voice.chip},
                                      {"device", voice.device},
                                      {"weight", voice.weight},
                                      {"records", json::Array(voice.records)}});
      list.push_back(json::Object{{"program", kernel.program},
                                  {"chip", kernel.chip},
                                  {"schedules", kernel.schedules.size()},
                                  {"model", toObject(kernel.model)},
                                  {"evidence", toObject(kernel.evidence)},
                                  {"voices", std::move(voices)}});
    }
    return writeJson(json::Object{{"kernels", std::move(list)},
                                  {"model", toObject(model)},
                                  {"evidence", toObject(evidence)}});
  }
  if (kernels->empty())
    return writeResult("no kernel with three tried schedules\n");
  std::string text = "each pair of figures: by the model, and by the records of other programs\n";
  for (const CheckedKernel &kernel : *kernels) {
    text += line(llvm::StringRef(kernel.program).take_front(40), kernel.model, kernel.evidence);
    if (!arguments.program.empty())
      text += details(kernel);
  }
  return writeResult(text + line(counted(kernels->size(), "kernel"), model, evidence));
}
