//===- VariantCases.h - Test cases of the suites' programs ------*- C++ -*-===//
//
// Owns how a program of the suites is compiled and exercised: its own run under
// the recorder, and that run with other inputs.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_TEST_MUTATION_VARIANTCASES_H
#define KBOPT_TEST_MUTATION_VARIANTCASES_H

#include "kb-opt/Eval/CpuDevice.h"
#include "kb-opt/Eval/Judge.h"
#include "kb-opt/Plan/GeneratedMain.h"
#include "kb-opt/Plan/PlanTransform.h"
#include "kb-opt/Plan/Recorder.h"
#include "kb-opt/Source/CodeEmission.h"
#include "kb-opt/Source/ParsedProgram.h"

namespace kbopt {

class VariantCases : public CaseSource {
public:
  VariantCases(CompileCommand command, Device &device, std::string folder)
      : command(std::move(command)), device(device), folder(std::move(folder)),
        emitter(realProcessRunner()) {}

  /// Text with its bitcode on disk; an error where clang rejects it.
  llvm::Expected<ProgramArtefacts> artefacts(llvm::StringRef text);
  /// Must be called before anything else.
  void setOriginal(ProgramArtefacts program) { first = std::move(program); }
  /// How to call the programs, if they have no main.
  void setWorkload(Workload given);
  /// Whether candidates' host code must be run (it differs from the original's).
  bool hostDiffers = false;

  std::vector<TestCase> cases() override;
  llvm::Expected<std::string> original(const TestCase &test) override;
  llvm::Expected<std::string> candidate(const ProgramArtefacts &program,
                                        const TestCase &test) override;
  std::optional<llvm::Expected<WholeRun>> wholeProgram(const ProgramArtefacts &, llvm::StringRef,
                                                       Rounding) override {
    return std::nullopt;
  }
  std::optional<TestCase> reseeded(const TestCase &test) override;
  void lessen(const TestCase &test) override;

private:
  llvm::Expected<std::string> record(const ProgramArtefacts &program, BufferLayout layout,
                                     llvm::StringRef oracle);
  /// The candidate's plan in \p base with the values that the original's uploads have in \p varied.
  llvm::Expected<std::string> varyAs(llvm::StringRef base, llvm::StringRef recorded,
                                     llvm::StringRef varied);
  llvm::Expected<std::string> vary(llvm::StringRef base, const TestCase &test);
  std::string newFolder() { return folder + "/case" + std::to_string(count++); }

  CompileCommand command;
  Device &device;
  std::string folder;
  CodeEmitter emitter;
  ProgramParser parser;
  ProgramArtefacts first;
  Workload workload;
  Signature signature;
  std::map<std::string, std::string> done;
  std::map<std::string, unsigned> lessened;
  unsigned count = 0;
};

} // namespace kbopt

#endif // KBOPT_TEST_MUTATION_VARIANTCASES_H
