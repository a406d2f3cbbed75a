//===- JudgeFile.cpp - --judge=FILE ---------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns judging programs that no pass made: files of the user's, whatever wrote them,
// through the gates that a search's candidates pass. The original is recorded and
// judged once for all of them.
//
//===----------------------------------------------------------------------===//
#include "JudgeRewrite.h"
#include "Modes.h"
#include "Session.h"
#include "kb-opt/Candidate/HostText.h"
#include "kb-opt/Rewrite/Assisted/FileRules.h"
#include "kb-opt/Source/DeviceText.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"
#include <thread>

using namespace kbopt;

llvm::Expected<ProgramArtefacts> kbopt::compileCandidate(Session &session, const std::string &text,
                                                         const std::string &name,
                                                         std::vector<std::string> &breaches) {
  Context &context = session.context;
  auto parsed = context.parser.parse(context.command, text);
  if (!parsed)
    return parsed.takeError();
  session.cases->setHostDigest(text, digestOf(hostText(**parsed)));
  breaches = newBreaches(context.text, **parsed, session.workload.kind != WorkloadKind::Program);
  auto bitcode =
      CodeEmitter(context.runner, compileLimits(context)).emitDeviceBitcode(context.command, text);
  if (!bitcode)
    return bitcode.takeError();
  ProgramArtefacts candidate = session.original;
  candidate.text = text;
  candidate.exactly = true; // the final check judges nvcc's code
  candidate.slice = [slice = deviceSlice(**parsed)] { return slice; };
  candidate.bitcodePath = session.folder.file(name);
  if (llvm::Error error = context.files.write(candidate.bitcodePath, *bitcode))
    return std::move(error);
  return candidate;
}

/// A candidate that does not compile is a verdict; any other error stays one.
static llvm::Expected<Verdict> refusedByCompiler(llvm::Error error) {
  Verdict verdict;
  llvm::Error rest =
      llvm::handleErrors(std::move(error), [&](std::unique_ptr<KbError> refusal) -> llvm::Error {
        if (refusal->status != ExitStatus::Diagnostics)
          return llvm::Error(std::move(refusal));
        verdict.add(GateRecord::fail(GateId::G1, FailureClass::Compile, refusal->message));
        return llvm::Error::success();
      });
  if (rest)
    return std::move(rest);
  return verdict;
}

/// \p text with the name of \p candidate where it names the file \p original with a line or in
/// quotes.
static std::string namingCandidate(llvm::StringRef text, llvm::StringRef original,
                                   llvm::StringRef candidate) {
  const llvm::StringRef file = llvm::sys::path::filename(original);
  std::string result;
  for (size_t at; (at = text.find(file)) != llvm::StringRef::npos;) {
    const llvm::StringRef before = text.take_front(at), after = text.drop_front(at + file.size());
    const size_t begin = before.find_last_of(" \n\t'\"(") + 1; // of its path
    const bool isPlace =
        after.starts_with("'") || (after.size() > 1 && after[0] == ':' && llvm::isDigit(after[1]));
    const bool isWhole = begin == before.size() || before.ends_with("/");
    result +=
        isPlace && isWhole ? (before.take_front(begin) + candidate).str() : (before + file).str();
    text = after;
  }
  return result + text.str();
}

/// A candidate is compiled in the original's place. What a gate says of its code names the file
/// that was handed over.
static void nameCandidate(Verdict &verdict, llvm::StringRef original, llvm::StringRef candidate) {
  auto rename = [&](std::string &text) {
    if (!llvm::StringRef(text).contains("the original is left alone"))
      text = namingCandidate(text, original, candidate);
  };
  rename(verdict.reason);
  for (GateRecord &record : verdict.gates) {
    rename(record.reason);
    if (!llvm::StringRef(record.reason).contains("the original is left alone"))
      llvm::for_each(record.details, rename);
  }
}

/// How G7 says that a candidate's host has a branch of its own that no case takes.
static constexpr llvm::StringLiteral branchNotTaken =
    "no case takes both ways of the candidate's host";

/// What the user can do about \p record, which decided against a candidate.
/// \p callsFunction: the cases are calls with the sizes of a workload.
static llvm::StringRef nextStep(const GateRecord &record, bool callsFunction) {
  const bool failed = record.outcome == GateOutcome::Failed;
  switch (record.gate) {
  case GateId::G0:
    return failed ? "hand over a file that differs from the original in its text alone"
                  : "take out what the rule names, or give the original it as well";
  case GateId::G1:
    return "fix what the compiler reports";
  case GateId::G2:
    return "write the kernel without the construct that is named";
  case GateId::G3:
    return "keep the original's types, or declare a tolerance in a workload and pass "
           "--promise=lower-precision";
  case GateId::G4:
    if (llvm::StringRef advice = adviceOnProgram(record.reason); !advice.empty())
      return failed && callsFunction
                 ? "make the candidate run with the sizes that are named; if callers never pass "
                   "them, say so in the workload: admissible: {n: {multiple: 4, minimum: 16}}"
                 : advice;
    if (llvm::StringRef(record.reason).starts_with("the original itself"))
      return "mend the original, or leave out the size on which it does this";
    if (llvm::StringRef(record.reason).contains("the original is left alone"))
      return "fix in the original what is named; no candidate is compared with a program that has "
             "it";
    return failed ? "order, initialise or bound the access that is named; compute-sanitizer shows "
                    "it on a GPU"
                  : "write the host without what is named, or judge on a GPU with --device=cuda";
  case GateId::G5:
    return "give a workload inputs on which wrong results differ";
  case GateId::G6:
    if (failed && llvm::is_contained(record.details, withinReassociation))
      return "compute the element that is named, or pass --promise=reassociates if sums may have "
             "another order";
    return failed ? "compute the element that is named"
                  : "make the original run through on the case that is named";
  case GateId::G7:
    if (llvm::StringRef(record.reason).starts_with(branchNotTaken))
      return "give a workload whose calls or sizes lead there, or take the branch out; for a file "
             "that "
             "kb-opt made pass --by-passes";
    [[fallthrough]];
  case GateId::G15:
    return "run the candidate on the case that is named: it is right on the recorded inputs alone";
  case GateId::G8:
    return "write every element that the original writes, and no other memory";
  case GateId::G9:
    return "fix the place that compute-sanitizer names";
  case GateId::G10:
    return "make results independent of the order of threads, or pass --promise=reassociates";
  case GateId::G11:
  case GateId::G12:
  case GateId::G13:
    return "do the work in the launches that are timed";
  case GateId::G14:
    return "compare what both programs print and write, and how they end";
  }
  return "";
}

static std::string verdictText(const Verdict &verdict, bool callsFunction) {
  std::string text;
  llvm::raw_string_ostream os(text);
  for (const GateRecord &record : verdict.gates) {
    os << llvm::formatv("{0,-4}{1,-19}{2}", toString(record.gate), gateTitle(record.gate),
                        toString(record.outcome));
    if (!record.reason.empty())
      os << ": " << record.reason;
    os << "\n";
    for (const std::string &detail : record.details)
      os << "      " << detail << "\n";
    if (record.stops())
      os << "      next: " << nextStep(record, callsFunction) << "\n";
  }
  os << llvm::StringRef(verdict.summary()).split('\n').first << "\n"; // the rest stands above
  if (!verdict.timing || verdict.timing->status != RunStatus::Ok)
    return text;
  const TimingSeries &cold = verdict.timing->cold;
  os << llvm::formatv("{0}: {1:f2} us, the original {2:f2} us, {3:f2} x (at least {4:f2} x)\n",
                      toString(cold.decision), cold.candidate.medianUs, cold.baseline.medianUs,
                      cold.ratio, cold.ratioLowerBound);
  return text;
}

/// The verdict on \p text, which stands in the user's file \p file; the work on the original that
/// \p original does is waited for when the candidate is compiled. \p artefacts, if given: gets the
/// candidate's.
static llvm::Expected<Verdict> judgeText(Session &session, const std::string &text,
                                         const std::string &file, const std::string &bitcodeName,
                                         std::thread &original, const CandidatePromise &promise,
                                         ProgramArtefacts *artefacts = nullptr) {
  Context &context = session.context;
  // It is unknown how the file was made: all of it may have changed.
  std::vector<JudgedStep> steps;
  if (text != context.text)
    steps.push_back({"by hand",
                     context.text,
                     text,
                     {{0, context.text.size(), "whole file", 0, context.text.size()}}});
  std::vector<std::string> breaches;
  auto candidate = [&] {
    TimedPart timed(&context.timings, "judgement", "compiling the candidate");
    auto compiled = compileCandidate(session, text, bitcodeName, breaches);
    if (compiled)
      session.judge->prepare(*compiled);
    return compiled;
  }();
  if (original.joinable())
    original.join();
  if (candidate && artefacts)
    *artefacts = *candidate;
  auto judged = candidate ? session.judge->judge(*candidate, steps, promise)
                          : refusedByCompiler(candidate.takeError());
  if (!judged)
    return judged.takeError();
  for (const GateRecord &record : judged->gates)
    context.timings.add("judgement", (toString(record.gate) + " " + gateTitle(record.gate)).str(),
                        record.seconds);
  // What was run may not be what the user's compiler makes of it, or not what it does elsewhere.
  if (judged->isCorrect() && !breaches.empty())
    judged->add(GateRecord::undecided(
        GateId::G0, "the candidate breaks the rule " + breaches.front(), breaches));
  // Passes prove the ways that they add to a host; of a file nothing is known but what was run.
  if (!promise.guardsItsWays && candidate && judged->isCorrect()) {
    auto open = session.cases->branchesNotTaken(*candidate);
    if (!open)
      return open.takeError();
    if (!open->empty())
      judged->add(
          GateRecord::undecided(GateId::G7, (branchNotTaken + ", " + open->front()).str(), *open));
  }
  nameCandidate(*judged, context.command.file, file);
  return judged;
}

llvm::Expected<Verdict> kbopt::judgeRewrite(Session &session, const std::string &text,
                                            CandidatePromise promise, ProgramArtefacts &artefacts) {
  std::thread nothing;
  promise.guardsItsWays = true;
  return judgeText(session, text, session.context.command.file, "candidate.bc", nothing, promise,
                   &artefacts);
}

llvm::Expected<ExitStatus> kbopt::runJudge(Context &context) {
  const double startSeconds = context.clock.monotonicSeconds();
  const std::vector<std::string> &files = context.options.judge;
  std::vector<std::string> texts;
  for (const std::string &file : files) {
    if (!llvm::sys::fs::exists(file))
      return noSuchFile(file);
    auto text = context.files.read(file);
    if (!text)
      return text.takeError();
    texts.push_back(std::move(*text));
  }
  auto opened = openSession(context);
  if (!opened)
    return opened.takeError();
  Session &session = **opened;
  // What the judge must know of the original does not wait for the candidates' compilers.
  std::thread original([&] {
    TimedPart timed(&context.timings, "judgement", "the original");
    if (auto report = session.judge->baseline(); !report)
      llvm::consumeError(report.takeError()); // said again by `judge`
  });
  std::string shown;
  bool areCorrect = true;
  CandidatePromise promise;
  promise.result = context.options.promise.value_or(Promise::Bitwise);
  promise.guardsItsWays = context.options.judgedByPasses;
  for (auto [file, text, index] : llvm::zip_equal(files, texts, llvm::seq<size_t>(files.size()))) {
    auto judged = judgeText(session, text, file, "candidate" + std::to_string(index) + ".bc",
                            original, promise);
    if (!judged)
      return judged.takeError();
    areCorrect &= judged->isCorrect();
    shown += (files.size() > 1 ? file + ":\n" : "") +
             verdictText(*judged, session.workload.kind != WorkloadKind::Program);
  }
  if (context.options.timePasses)
    context.timings.print(context.err, context.clock.monotonicSeconds() - startSeconds);
  if (llvm::Error error = writeResult(context, shown))
    return std::move(error);
  return areCorrect ? ExitStatus::Success : ExitStatus::Diagnostics;
}
