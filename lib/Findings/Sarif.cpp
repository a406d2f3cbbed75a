//===- Sarif.cpp - Findings as SARIF 2.1.0 --------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the document that clang's SarifDocumentWriter makes of findings, and what
// that writer lacks, in one place: fixes, paths relative to the repository.
//
//===----------------------------------------------------------------------===//
#include "clang/Basic/Sarif.h"
#include "kb-opt/Findings/Printers.h"
#include "kb-opt/Source/ParsedProgram.h"
#include "clang/Basic/SourceManager.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"

using namespace kbopt;
namespace json = llvm::json;
namespace path = llvm::sys::path;

/// GitHub refuses a run with more results.
constexpr size_t mostResults = 25000;

/// \p file relative to the nearest folder above it with a `.git`, else to the working directory;
/// with slashes.
static std::string relativeUri(llvm::StringRef file) {
  llvm::SmallString<256> full(file), root;
  llvm::sys::fs::make_absolute(full);
  path::remove_dots(full, /*remove_dot_dot=*/true);
  for (llvm::StringRef folder = path::parent_path(full); !folder.empty();
       folder = path::parent_path(folder)) {
    llvm::SmallString<256> mark(folder);
    path::append(mark, ".git");
    if (llvm::sys::fs::exists(mark)) {
      root = folder;
      break;
    }
  }
  if (root.empty())
    llvm::sys::fs::current_path(root);
  llvm::StringRef rest = full;
  if (!rest.consume_front(root) || !rest.consume_front("/"))
    return clang::SarifDocumentWriter::fileNameToURI(full);
  std::string uri = clang::SarifDocumentWriter::fileNameToURI(("/" + rest).str());
  llvm::StringRef relative = uri;
  relative.consume_front("file://");
  return relative.ltrim('/').str();
}

/// The region from byte \p begin to byte \p end. Columns count code points: clang's writer counts
/// them for the places of results, and says so in the run's `columnKind`.
static json::Object regionOf(llvm::StringRef text, unsigned begin, unsigned end) {
  auto place = [&](unsigned offset) {
    llvm::StringRef before = text.take_front(offset);
    llvm::StringRef line = before.substr(before.rfind('\n') + 1);
    auto continues = [](char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; };
    return std::pair(1 + before.count('\n'), 1 + line.size() - llvm::count_if(line, continues));
  };
  auto [line, column] = place(begin);
  auto [endLine, endColumn] = place(end);
  return json::Object{
      {"startLine", line}, {"startColumn", column}, {"endLine", endLine}, {"endColumn", endColumn}};
}

static json::Object fixOf(llvm::StringRef text, llvm::StringRef uri,
                          const ProgramFinding &finding) {
  json::Array replacements;
  for (const FindingReplacement &each : finding.replacements)
    replacements.push_back(
        json::Object{{"deletedRegion", regionOf(text, each.offset, each.offset + each.length)},
                     {"insertedContent", json::Object{{"text", json::fixUTF8(each.text)}}}});
  std::string words = finding.summary;
  if (!finding.pass.empty())
    words = "-passes='" + finding.pipeline() + "': " + words;
  if (finding.promise != Promise::Bitwise)
    words += " (" + promiseName(finding.promise).str() + ")";
  return json::Object{
      {"description", json::Object{{"text", json::fixUTF8(words)}}},
      {"artifactChanges", json::Array{json::Object{{"artifactLocation", json::Object{{"uri", uri}}},
                                                   {"replacements", std::move(replacements)}}}}};
}

/// The other places of \p finding.
static json::Array placesOf(llvm::StringRef text, llvm::StringRef uri,
                            const ProgramFinding &finding) {
  json::Array places;
  for (const FindingPlace &each : finding.also)
    places.push_back(json::Object{
        {"physicalLocation", json::Object{{"artifactLocation", json::Object{{"uri", uri}}},
                                          {"region", regionOf(text, each.begin, each.end)}}}});
  return places;
}

/// Puts \p uri in place of every other one of the tree: all locations are in the main file.
static void setLocations(json::Value &value, llvm::StringRef uri) {
  if (auto *object = value.getAsObject()) {
    for (auto &[key, member] : *object)
      if (llvm::StringRef(key) == "uri")
        member = uri.str();
      else
        setLocations(member, uri);
  } else if (auto *array = value.getAsArray()) {
    for (json::Value &each : *array)
      setLocations(each, uri);
  }
}

std::string kbopt::findingsAsSarif(const ParsedProgram &program,
                                   llvm::ArrayRef<ProgramFinding> findings,
                                   llvm::StringRef version) {
  findings = findings.take_front(mostResults);
  clang::SourceManager &sources = program.context().getSourceManager();
  const clang::SourceLocation start = sources.getLocForStartOfFile(sources.getMainFileID());
  clang::SarifDocumentWriter writer(sources);
  writer.createRun("kb-opt", "kb-opt, a compiler that makes CUDA kernels faster", version);
  std::map<std::string, size_t> indices;
  for (const FindingRule &rule : findingRules())
    indices[rule.id.str()] = writer.createRule(clang::SarifRule::create()
                                                   .setRuleId(("kbopt-" + rule.id).str())
                                                   .setName(("kbopt-" + rule.id).str())
                                                   .setDescription((rule.title + ".").str()));
  for (const ProgramFinding &finding : findings) {
    auto range = clang::CharSourceRange::getCharRange(start.getLocWithOffset(finding.begin),
                                                      start.getLocWithOffset(finding.end));
    writer.appendResult(clang::SarifResult::create(indices[finding.rule])
                            .setRuleId("kbopt-" + finding.rule)
                            .setDiagnosticMessage(json::fixUTF8(finding.message))
                            .addLocations({range})
                            .addPartialFingerprint("kbopt/v1", finding.fingerprint)
                            .setDiagnosticLevel(clang::SarifResultLevel::Warning));
  }
  writer.endRun();
  json::Value document(writer.createDocument());
  const std::string uri = relativeUri(program.command().file);
  json::Object &run = *(*document.getAsObject()->getArray("runs"))[0].getAsObject();
  // LLVM's writer names clang's manual.
  run.getObject("tool")->getObject("driver")->erase("informationUri");
  for (llvm::StringRef part : {"results", "artifacts"})
    if (json::Value *value = run.get(part))
      setLocations(*value, uri);
  if (json::Array *results = run.getArray("results"))
    for (auto [result, finding] : llvm::zip(*results, findings)) {
      if (!finding.replacements.empty())
        (*result.getAsObject())["fixes"] = json::Array{fixOf(program.text(), uri, finding)};
      if (!finding.also.empty())
        (*result.getAsObject())["relatedLocations"] = placesOf(program.text(), uri, finding);
    }
  return llvm::formatv("{0:2}\n", document).str();
}
