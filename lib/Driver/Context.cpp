//===- Context.cpp --------------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "Modes.h"
#include "kb-opt/Knowledge/KnowledgeBase.h"
#include "kb-opt/Source/LinkedMain.h"
#include "kb-opt/Source/ProgramFacts.h"
#include "kb-opt/Support/Error.h"
#include "kb-opt/Target/ChipInfo.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace kbopt;

/// Puts the program from stdin into a file that compilers can read; it includes from the current
/// folder.
static llvm::Error receiveInput(Context &context, CommandQuery &query) {
  auto buffer = llvm::MemoryBuffer::getSTDIN();
  if (!buffer)
    return llvm::make_error<UsageError>("cannot read stdin: " + buffer.getError().message(),
                                        "name a CUDA file", ExitStatus::Diagnostics);
  auto folder = TemporaryDirectory::create("kb-opt-stdin");
  if (!folder)
    return folder.takeError();
  context.received = std::move(*folder);
  query.file = context.received->file("stdin.cu");
  llvm::SmallString<128> current;
  llvm::sys::fs::current_path(current);
  if (!query.flags)
    query.flags.emplace();
  query.flags->insert(query.flags->begin(), {"-I", current.str().str()});
  return context.files.write(query.file, (*buffer)->getBuffer());
}

/// What earlier runs made, in \p folder.
static std::unique_ptr<CompileCache> openCache(Context &context, std::string what,
                                               std::string folder, uint64_t mostMiB) {
  CompileCache::Options options;
  options.what = std::move(what);
  options.folder = std::move(folder);
  options.maxBytes = mostMiB << 20;
  options.digests = &context.digests;
  options.onTrouble = [&context](const std::string &message) {
    context.err << "kb-opt: warning: " << message << "\n";
  };
  return std::make_unique<CompileCache>(std::move(options));
}

/// Whether the user's cache folder can be written. A run does without it, which is said.
static bool findCache(Context &context) {
  const std::string folder = userCacheDirectory();
  std::error_code code = llvm::sys::fs::create_directories(folder);
  if (!code)
    code = llvm::sys::fs::access(folder, llvm::sys::fs::AccessMode::Write);
  static bool isSaid = false; // of several files once
  if (code && !std::exchange(isSaid, true))
    context.err << "kb-opt: warning: cannot write to the cache folder '" << folder
                << "': " << code.message()
                << "; nothing is kept for later runs (XDG_CACHE_HOME names another folder)\n";
  return !code;
}

llvm::StringRef kbopt::modelledChip(const Options &options) {
  return options.chip.empty() ? llvm::StringRef(defaultChip) : llvm::StringRef(options.chip);
}

llvm::Error kbopt::openInput(Context &context) {
  context.hasCache = findCache(context);
  Options &options = context.options;
  if (!context.hasCache)
    options.compileCacheMiB = options.recordingCacheMiB = 0;
  context.compiles =
      openCache(context, "compiles", userCacheDirectory() + "/compiles", options.compileCacheMiB);
  context.recordings =
      openCache(context, "recordings", recordingsDirectory(), options.recordingCacheMiB);
  auto toolkit = findCudaToolkit(ToolkitSearch::fromEnvironment());
  if (!toolkit)
    return toolkit.takeError();
  CommandQuery query;
  query.file = context.options.input;
  query.flags = context.options.flags;
  query.databaseFolder = context.options.databaseFolder;
  query.object = context.options.object;
  query.arch = context.options.arch;
  const bool isStdin = query.file == "-";
  if (isStdin)
    if (llvm::Error error = receiveInput(context, query))
      return error;
  auto command = findCompileCommand(query, *toolkit);
  if (!command)
    return command.takeError();
  context.command = std::move(*command);
  // Of several architectures that of the chip for which times are modelled.
  if (!context.command.archIsDefault && !options.hasGpu()) {
    auto chip = loadChip(modelledChip(options));
    if (!chip)
      return chip.takeError();
    context.command.chooseArch(chip->arch());
  }
  if (isStdin)
    context.command.shownFile = "<stdin>";
  auto text = readSource(context.command);
  if (!text)
    return text.takeError();
  context.text = std::move(*text);
  return checkOutputs(context);
}

std::string kbopt::repliesFolder(const Context &context) {
  const Options &options = context.options;
  if (!options.repliesFolder.empty())
    return options.repliesFolder;
  return knowledgeFolder(options.knowledgeDirectory) + "/replies";
}

CompileLimits kbopt::compileLimits(const Context &context) {
  CompileLimits limits;
  limits.sandboxed = context.options.sandbox;
  limits.compiles = context.compiles.get();
  return limits;
}

CandidateTools kbopt::candidateTools(Context &context) {
  return {{context.command, context.text},
          context.passes,
          context.parser,
          context.files,
          context.runner,
          context.timings,
          context.progress,
          context.digests,
          context.recordings.get(),
          compileLimits(context),
          repliesFolder(context),
          context.options.sandbox,
          context.options.device == DeviceKind::Cuda,
          context.options.jobs,
          context.options.budgetSeconds,
          context.options.isAuto() ? context.options.promise.value_or(Promise::LowerPrecision)
                                   : Promise::LowerPrecision};
}

static Signature signatureOf(const ParsedProgram &program, const clang::FunctionDecl *function,
                             bool isKernel) {
  Signature signature;
  signature.name = function->getQualifiedNameAsString();
  signature.isKernel = isKernel;
  auto policy = program.context().getPrintingPolicy();
  signature.returnType = function->getReturnType().getAsString(policy);
  for (const clang::ParmVarDecl *parameter : function->parameters())
    signature.parameters.push_back(
        {parameter->getNameAsString(), parameter->getType().getAsString(policy)});
  LineColumn place = lineColumn(program, function->getLocation());
  signature.place =
      (program.shownFile() + ":" + llvm::Twine(place.line) + ":" + llvm::Twine(place.column)).str();
  return signature;
}

/// Whether a workload can call \p function: a method needs an object, or its class may hide it.
static bool isCallable(const clang::FunctionDecl *function) {
  const auto *method = llvm::dyn_cast<clang::CXXMethodDecl>(function);
  return !method || (method->isStatic() && method->getAccess() == clang::AS_public &&
                     !method->getParent()->isLambda());
}

std::vector<Signature> kbopt::possibleEntries(const ParsedProgram &program) {
  std::vector<Signature> entries;
  std::set<const clang::FunctionDecl *> seen;
  for (const LaunchFact &launch : findLaunches(program))
    if (launch.host && !launch.host->isMain() && isCallable(launch.host) &&
        seen.insert(launch.host).second)
      entries.push_back(signatureOf(program, launch.host, false));
  for (const KernelFact &kernel : findKernels(program))
    if (kernel.inMainFile)
      entries.push_back(signatureOf(program, kernel.function, true));
  return entries;
}

/// The definition of the function \p name in \p scope and its namespaces; null if there is none.
static const clang::FunctionDecl *findFunction(const clang::DeclContext &scope,
                                               llvm::StringRef name) {
  for (const clang::Decl *declaration : scope.decls()) {
    const auto *function = llvm::dyn_cast<clang::FunctionDecl>(declaration);
    if (function && function->isThisDeclarationADefinition() &&
        function->getQualifiedNameAsString() == name)
      return function;
    if (llvm::isa<clang::NamespaceDecl, clang::LinkageSpecDecl>(declaration))
      if (function = findFunction(*llvm::cast<clang::DeclContext>(declaration), name); function)
        return function;
  }
  return nullptr;
}

std::optional<Signature> kbopt::findSignature(const ParsedProgram &program, llvm::StringRef name) {
  for (Signature &entry : possibleEntries(program))
    if (entry.name == name)
      return entry;
  // An entry may launch through others.
  if (const auto *function = findFunction(*program.context().getTranslationUnitDecl(), name))
    return signatureOf(program, function, false);
  return std::nullopt;
}

/// The program as the first of the build's tests that runs it does, or without arguments.
static Workload ownRun(const Context &context) {
  Workload workload;
  workload.tests = context.tests;
  auto own =
      llvm::find_if(workload.tests, [](const ProgramRun &run) { return run.program.empty(); });
  if (own == workload.tests.end())
    return workload;
  workload.arguments = own->arguments;
  workload.environment = own->environment;
  workload.workingDirectory = own->workingDirectory;
  workload.tests.erase(own);
  return workload;
}

llvm::Expected<Workload> kbopt::openWorkload(const Context &context, const ParsedProgram &program,
                                             Signature &signature) {
  auto found = findWorkload(context.command.file, context.options.workload);
  if (!found)
    return found.takeError();
  if (!*found) {
    if (hasMain(program) || linksMain(context.command) || !context.command.program.empty())
      return ownRun(context);
    return llvm::make_error<UsageError>(
        "'" + context.options.input + "' has no main, and no workload says how to run it",
        "name with -p the build folder that links it, or write a workload from this skeleton: "
        "kb-opt --emit=workload " +
            context.options.input,
        ExitStatus::Diagnostics);
  }
  Workload workload = std::move(**found);
  if (!context.options.target.empty() && workload.kind != WorkloadKind::Program)
    return ownRun(context); // the whole program was asked for
  if (workload.kind == WorkloadKind::Program) {
    if (hasMain(program) || linksMain(context.command) || !context.command.program.empty()) {
      workload.tests = context.tests;
      return workload;
    }
    return llvm::make_error<UsageError>("workload '" + workload.file + "' runs a program, but '" +
                                            context.options.input + "' has no main",
                                        "name the function to call with 'entry:', or with -p the "
                                        "build folder that links the program",
                                        ExitStatus::Diagnostics);
  }
  auto entry = findSignature(program, workload.entryName());
  if (!entry)
    return llvm::make_error<UsageError>(
        workload.place + ": no function '" + workload.entryName().str() + "' in '" +
            context.options.input + "'",
        "kb-opt --emit=workload " + context.options.input + " lists what can be called",
        ExitStatus::Diagnostics);
  signature = std::move(*entry);
  if (llvm::Error error = checkWorkload(workload, signature))
    return std::move(error);
  return workload;
}
