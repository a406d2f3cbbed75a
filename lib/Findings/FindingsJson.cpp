//===- FindingsJson.cpp - Findings as JSON --------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "kb-opt/Findings/Printers.h"
#include "kb-opt/Source/ParsedProgram.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"

using namespace kbopt;
namespace json = llvm::json;

std::string kbopt::findingsAsJson(const ParsedProgram &program,
                                  llvm::ArrayRef<ProgramFinding> findings) {
  json::Array all;
  for (const ProgramFinding &finding : findings) {
    json::Array replacements;
    for (const FindingReplacement &each : finding.replacements)
      replacements.push_back(json::Object{
          {"offset", each.offset}, {"length", each.length}, {"text", json::fixUTF8(each.text)}});
    json::Array also;
    for (const FindingPlace &each : finding.also)
      also.push_back(json::Object{{"line", each.line},
                                  {"column", each.column},
                                  {"offset", each.begin},
                                  {"length", each.end - each.begin}});
    all.push_back(json::Object{
        {"rule", "kbopt-" + finding.rule},
        {"file", json::fixUTF8(program.shownFile())},
        {"kernel", finding.kernel},
        {"line", finding.line},
        {"column", finding.column},
        {"offset", finding.begin},
        {"length", finding.end - finding.begin},
        {"message", json::fixUTF8(finding.message)},
        {"also", std::move(also)},
        {"proof", finding.proof == FindingProof::Proven ? "proven" : "estimated"},
        {"pipeline", finding.pipeline()},
        {"unlaunchedPass", finding.unlaunchedPass},
        {"assistedPass", finding.assistedPass},
        {"summary", json::fixUTF8(finding.summary)},
        {"promise", promiseName(finding.promise)},
        {"replacements", std::move(replacements)},
        {"fingerprint", finding.fingerprint},
    });
  }
  return llvm::formatv("{0:2}\n", json::Value(std::move(all))).str();
}
