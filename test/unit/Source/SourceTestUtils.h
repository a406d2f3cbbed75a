//===- SourceTestUtils.h - Programs from text for the tests ----*- C++ -*-===//
//
// Owns parsing a piece of text as a CUDA file that exists nowhere.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_TEST_SOURCETESTUTILS_H
#define KBOPT_TEST_SOURCETESTUTILS_H

#include "kb-opt/Source/ParsedProgram.h"
#include "kb-opt/Support/Error.h"
#include "kb-opt/Support/FileSystem.h"
#include "gtest/gtest.h"

namespace kbopt::test {

/// The machine's toolkit; tests that need one cannot run without.
inline const CudaToolkit &toolkit() {
  static const CudaToolkit found =
      llvm::cantFail(findCudaToolkit(ToolkitSearch::fromEnvironment()));
  return found;
}

/// A folder for the test's files.
inline TemporaryDirectory makeFolder() {
  return llvm::cantFail(TemporaryDirectory::create("kb-opt-source-test"));
}

inline void writeFile(const std::string &path, llvm::StringRef text) {
  llvm::cantFail(realFileSystem().write(path, text));
}

/// One parser for all tests of a process: texts that begin with the same
/// directives (best: none) share a preamble.
inline ProgramParser &sharedParser() {
  static ProgramParser parser;
  return parser;
}

/// A command for `kernel.cu` in a folder of its own, the same for all tests.
inline const CompileCommand &sharedCommand() {
  static const TemporaryDirectory folder = makeFolder();
  static const CompileCommand command = [] {
    writeFile(folder.file("kernel.cu"), "");
    CommandQuery query;
    query.file = "kernel.cu";
    query.workingDirectory = folder.path().str();
    query.flags.emplace();
    return llvm::cantFail(findCompileCommand(query, toolkit()));
  }();
  return command;
}

inline std::unique_ptr<ParsedProgram> parse(llvm::StringRef text) {
  return llvm::cantFail(sharedParser().parse(sharedCommand(), text));
}

/// The message of a failure, and of success nothing.
template <class T> std::string messageOf(llvm::Expected<T> result) {
  return result ? "" : llvm::toString(result.takeError());
}
inline std::string messageOf(llvm::Error error) { return llvm::toString(std::move(error)); }

/// The parts of one `KbError`.
struct Failure {
  std::string message, note;
  ExitStatus status = ExitStatus::Success;
};
inline Failure failureOf(llvm::Error error) {
  Failure failure;
  llvm::handleAllErrors(std::move(error),
                        [&](const KbError &e) { failure = {e.message, e.note, e.status}; });
  return failure;
}
template <class T> Failure failureOf(llvm::Expected<T> result) {
  return failureOf(result.takeError());
}

} // namespace kbopt::test

#endif // KBOPT_TEST_SOURCETESTUTILS_H
