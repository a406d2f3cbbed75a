//===- Session.cpp --------------------------------------------------------===//
#include "Session.h"
#include "HostText.h"
#include "Modes.h"
#include "kb-opt/Eval/CpuDevice.h"
#include "kb-opt/Source/DeviceText.h"
#include "kb-opt/Source/ProgramFacts.h"

using namespace kbopt;

/// The original as the judge sees it, with its bitcode on disk.
static llvm::Error compileOriginal(Session &session) {
  Context &context = session.context;
  auto bitcode = CodeEmitter(context.runner).emitDeviceBitcode(context.command, context.text);
  if (!bitcode)
    return bitcode.takeError();
  ProgramArtefacts &original = session.original;
  original.name = context.command.shownFile;
  original.sourcePath = context.command.file;
  original.text = context.text;
  original.workingDirectory = context.command.directory;
  original.flags = context.command.nvccFlags;
  original.arch = context.command.arch;
  original.bitcodePath = session.folder.file("original.bc");
  return context.files.write(original.bitcodePath, *bitcode);
}

/// What the parameters of kernels point to, where the mangled name does not tell it.
static KernelTypes kernelTypes(const ParsedProgram &program) {
  KernelTypes types;
  for (const KernelFact &kernel : findKernels(program))
    for (const KernelFact::Instance &instance : kernel.instances) {
      if (llvm::StringRef(instance.mangledName).starts_with("_Z"))
        continue;
      auto &known = types[instance.mangledName];
      for (const clang::ParmVarDecl *parameter : instance.function->parameters())
        known.push_back(pointedElement(parameter->getType().getCanonicalType().getAsString(
                                           program.context().getPrintingPolicy()))
                            .value_or(kbrt::ElementType::Unknown));
    }
  return types;
}

static llvm::Error parseOriginal(Session &session) {
  Context &context = session.context;
  auto parsed = context.parser.parse(context.command, context.text);
  if (!parsed)
    return parsed.takeError();
  if (findKernels(**parsed).empty())
    return llvm::make_error<UsageError>("no kernels in '" + context.options.input + "'",
                                        "kb-opt optimizes __global__ functions",
                                        ExitStatus::Diagnostics);
  auto workload = openWorkload(context, **parsed, session.signature);
  if (!workload)
    return workload.takeError();
  session.workload = std::move(*workload);
  session.original.slice = [slice = deviceSlice(**parsed)] { return slice; };
  session.originalHost = digestOf(hostText(**parsed));
  session.kernelTypes = kernelTypes(**parsed);
  return llvm::Error::success();
}

llvm::Expected<std::unique_ptr<Session>> kbopt::openSession(Context &context) {
  if (llvm::Error error = openInput(context))
    return std::move(error);
  if (!context.options.sandbox)
    context.err << "kb-opt: warning: no sandbox: the program and its candidates run with all your "
                   "rights\n";
  else if (llvm::Error error = checkSandbox(context.runner))
    return std::move(error);
  auto chip = loadChip(context.options.chip);
  if (!chip)
    return chip.takeError();
  auto folder = TemporaryDirectory::create("kb-opt");
  if (!folder)
    return folder.takeError();
  auto session = std::make_unique<Session>(context, std::move(*folder));
  session->chip = std::move(*chip);
  if (llvm::Error error = parseOriginal(*session))
    return std::move(error);
  std::string path = context.options.journalPath;
  if (path.empty())
    path = userCacheDirectory() + "/journal.sqlite";
  auto journal = Journal::open(path);
  if (!journal)
    return journal.takeError();
  session->journal = std::move(*journal);
  if (llvm::Error error = compileOriginal(*session))
    return std::move(error);

  session->compiler.setOriginal(session->original);
  CpuDeviceOptions deviceOptions;
  deviceOptions.directory = session->folder.file("images");
  deviceOptions.sandboxed = context.options.sandbox;
  deviceOptions.timings = &context.timings;
  auto device = CpuDevice::create(context.runner, deviceOptions);
  if (!device)
    return device.takeError();
  session->device = std::move(*device);
  session->cases = std::make_unique<RecordedCases>(context, *session->device, session->original,
                                                   session->workload, session->signature,
                                                   session->folder.file("cases"));
  session->cases->setHostDigest(context.text, session->originalHost);
  session->cases->setKernelTypes(session->kernelTypes);
  session->judge = std::make_unique<Judge>(session->original, session->compiler, *session->device,
                                           *session->cases, context.clock);
  session->judge->onProgress = [&context](llvm::StringRef text) { context.progress.status(text); };
  return session;
}

Digest kbopt::workloadDigest(const Session &session) {
  const Workload &w = session.workload;
  DigestBuilder builder;
  builder.add(static_cast<uint64_t>(w.kind)).add(w.entry).add(w.standardInput);
  for (const std::string &argument : w.arguments)
    builder.add(argument);
  if (!w.file.empty()) {
    if (auto text = session.context.files.read(w.file))
      builder.add(*text);
    else
      llvm::consumeError(text.takeError());
  }
  return builder.finish();
}
