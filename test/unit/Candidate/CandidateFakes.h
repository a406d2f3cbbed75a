//===- CandidateFakes.h - A search among fakes ------------------*- C++ -*-===//
//
// Owns a CandidateSetup around the judge's fakes, for programs that need no compiler.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_TEST_UNIT_CANDIDATE_CANDIDATEFAKES_H
#define KBOPT_TEST_UNIT_CANDIDATE_CANDIDATEFAKES_H

#include "../Eval/JudgeFakes.h"
#include "kb-opt/Candidate/CandidateSetup.h"
#include "kb-opt/Candidate/JournaledAnswers.h"

namespace kbopt {

/// The original is the fakes' "original"; its text is that of the input file.
struct CandidateTest : JudgeTest {
  CompileCommand command;
  const std::string text = "original";
  PassRegistry passes;
  ProgramParser parser;
  Timings timings;
  Progress progress{llvm::nulls(), /*isTerminal=*/false};
  FileDigests digests;
  CandidateTools tools{{command, text},
                       passes,
                       parser,
                       realFileSystem(),
                       realProcessRunner(),
                       timings,
                       progress,
                       digests,
                       nullptr,
                       {},
                       ""};
  ChipInfo chip;
  Workload workload;
  ProgramArtefacts original = artefacts("original");
  RecordedCases recorded{tools, device, original, workload, Signature(), "/nowhere"};
  std::unique_ptr<Journal> journal = Journal::inMemory();
  JournaledAnswers answers{*journal, "run"};

  CandidateSetup setup(Judge &judge) {
    return {tools, chip, workload,   original, "host", recorded,
            judge, gpu,  GpuFacts(), *journal, "run",  temporary->path().str()};
  }
  std::unique_ptr<Judge> makeJudge() {
    return std::make_unique<Judge>(original, compiler, device, cases, clock, options, gpu);
  }
};

} // namespace kbopt

#endif // KBOPT_TEST_UNIT_CANDIDATE_CANDIDATEFAKES_H
