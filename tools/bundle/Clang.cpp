//===- Clang.cpp - clang's driver and frontend over its libraries ---------===//
// SPDX-License-Identifier: Apache-2.0
//
// The driver runs a lone compile job inside this process; of several jobs it
// starts the executable again with -cc1 first.
//
//===----------------------------------------------------------------------===//
#include "Clang.h"
#include "kb-opt/Support/Installation.h"
#include "clang/Basic/DiagnosticOptions.h"
#include "clang/CodeGen/CodeGenAction.h"
#include "clang/Driver/Compilation.h"
#include "clang/Driver/Driver.h"
#include "clang/Frontend/CompilerInstance.h"
#include "clang/Frontend/CompilerInvocation.h"
#include "clang/Frontend/FrontendActions.h"
#include "clang/Frontend/TextDiagnosticBuffer.h"
#include "clang/Frontend/TextDiagnosticPrinter.h"
#include "clang/Options/OptionUtils.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/CrashRecoveryContext.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Signals.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Support/VirtualFileSystem.h"
#include "llvm/TargetParser/Host.h"

using namespace clang;
using llvm::StringRef;

// The functions that llvm/Support/TargetSelect.h declares for these two alone.
#define KBOPT_FOR_BUNDLED_TARGETS(DO) DO(X86) DO(NVPTX)

static void initializeTargets() {
#define INITIALIZE(TARGET)                                                                         \
  LLVMInitialize##TARGET##TargetInfo();                                                            \
  LLVMInitialize##TARGET##Target();                                                                \
  LLVMInitialize##TARGET##TargetMC();                                                              \
  LLVMInitialize##TARGET##AsmPrinter();
  KBOPT_FOR_BUNDLED_TARGETS(INITIALIZE)
#undef INITIALIZE
  LLVMInitializeX86AsmParser();
}

/// The path by which the executable is clang, whatever name it was started by.
static std::string clangPath(const char *argv0) {
  static int anchor;
  llvm::SmallString<128> path(llvm::sys::fs::getMainExecutable(argv0, &anchor));
  llvm::sys::path::remove_filename(path);
  llvm::sys::path::append(path, kbopt::bundledClangName);
  return path.str().str();
}

static std::unique_ptr<FrontendAction> createAction(frontend::ActionKind kind) {
  switch (kind) {
  case frontend::EmitAssembly:
    return std::make_unique<EmitAssemblyAction>();
  case frontend::EmitBC:
    return std::make_unique<EmitBCAction>();
  case frontend::EmitLLVM:
    return std::make_unique<EmitLLVMAction>();
  case frontend::EmitObj:
    return std::make_unique<EmitObjAction>();
  case frontend::GeneratePCH:
    return std::make_unique<GeneratePCHAction>();
  case frontend::ParseSyntaxOnly:
    return std::make_unique<SyntaxOnlyAction>();
  case frontend::PrintPreprocessedInput:
    return std::make_unique<PrintPreprocessedAction>();
  default:
    return nullptr;
  }
}

/// clang -cc1 with \p arguments, which begin after "-cc1".
static int runFrontend(llvm::ArrayRef<const char *> arguments, const std::string &path) {
  auto invocation = std::make_shared<CompilerInvocation>();
  // The options say how to print, and may be wrong themselves.
  DiagnosticOptions early;
  TextDiagnosticBuffer complaints;
  DiagnosticsEngine engine(DiagnosticIDs::create(), early, &complaints, /*ShouldOwnClient=*/false);
  bool understood =
      CompilerInvocation::CreateFromArgs(*invocation, arguments, engine, path.c_str());
  if (invocation->getHeaderSearchOpts().ResourceDir.empty())
    invocation->getHeaderSearchOpts().ResourceDir = GetResourcesPath(path);

  CompilerInstance compiler(invocation);
  compiler.createVirtualFileSystem();
  compiler.createDiagnostics();
  complaints.FlushDiagnostics(compiler.getDiagnostics());
  if (!understood)
    return 1;
  FrontendOptions &options = compiler.getFrontendOpts();
  if (!options.LLVMArgs.empty()) {
    std::vector<const char *> words{kbopt::bundledClangName.data()};
    for (const std::string &argument : options.LLVMArgs)
      words.push_back(argument.c_str());
    llvm::cl::ParseCommandLineOptions(words.size(), words.data());
  }
  std::unique_ptr<FrontendAction> action = createAction(options.ProgramAction);
  if (!action) {
    llvm::errs() << kbopt::bundledClangName << ": error: no such action in the bundle\n"
                 << "note: put a whole clang++ 22 into PATH for it\n";
    return 1;
  }
  return !compiler.ExecuteAction(*action);
}

static int runDriver(llvm::SmallVectorImpl<const char *> &arguments, const std::string &path) {
  arguments[0] = path.c_str();
  arguments.insert(arguments.begin() + 1, "--driver-mode=g++");
  IntrusiveRefCntPtr<llvm::vfs::FileSystem> files = llvm::vfs::getRealFileSystem();
  std::unique_ptr<DiagnosticOptions> options = CreateAndPopulateDiagOpts(arguments);
  TextDiagnosticPrinter printer(llvm::errs(), *options);
  printer.setPrefix(kbopt::bundledClangName.str());
  DiagnosticsEngine engine(DiagnosticIDs::create(), *options, &printer, /*ShouldOwnClient=*/false);
  ProcessWarningOptions(engine, *options, *files, /*ReportDiags=*/false);

  driver::Driver driver(path, llvm::sys::getDefaultTargetTriple(), engine, "kb-opt's clang", files);
  auto frontend = [&](llvm::SmallVectorImpl<const char *> &words) {
    return runFrontend(llvm::ArrayRef(words).drop_front(2), path);
  };
  driver.CC1Main = frontend;
  llvm::CrashRecoveryContext::Enable();

  std::unique_ptr<driver::Compilation> compilation(driver.BuildCompilation(arguments));
  if (!compilation || compilation->containsError())
    return 1;
  llvm::SmallVector<std::pair<int, const driver::Command *>, 4> failures;
  int status = driver.ExecuteCompilation(*compilation, failures);
  // A crash is 70 or above or a negative status, as of clang itself.
  for (auto &[failed, command] : failures)
    if (status == 0)
      status = failed;
  engine.getClient()->finish();
  return status < 0 ? 1 : status;
}

int kbopt::runClang(int argc, char **argv) {
  llvm::sys::PrintStackTraceOnErrorSignal(argv[0], /*DisableCrashReporting=*/true);
  initializeTargets();
  llvm::SmallVector<const char *, 256> arguments(argv, argv + argc);
  llvm::BumpPtrAllocator allocator;
  if (llvm::Error error =
          driver::expandResponseFiles(arguments, /*ClangCLMode=*/false, allocator)) {
    llvm::errs() << bundledClangName << ": error: " << llvm::toString(std::move(error)) << "\n";
    return 1;
  }
  std::string path = clangPath(argv[0]);
  if (argc > 1 && StringRef(argv[1]) == "-cc1")
    return runFrontend(llvm::ArrayRef(arguments).drop_front(2), path);
  return runDriver(arguments, path);
}
