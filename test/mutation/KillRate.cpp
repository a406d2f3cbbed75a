//===- KillRate.cpp - Judges wrong programs and counts the survivors ------===//
//
//   kill-rate FOLDER-OR-FILE...      every *.cu in the folders
//
// A program holds the original and its variants behind `#if VARIANT == n`; its
// comments say what each is and which gates may catch it:
//
//   // mutant 3: swapped operands -- G6
//   // exploit 1: calls are counted -- G2
//   // control 9: right, and must pass
//   // survivor 8: wrong, and known not to be caught -- why
//   // promise: reassociates
//   // kb-workload: ...               of a kernel that has no main
//   // host: differs
//   // flags 2: -use_fast_math        variant 2 is compiled with other flags
//   // outside 1: n = 300 => n = 30   and 1 changes more than its anchor covers
//
// Exit status 1 if a wrong variant survives or is caught by a gate that its
// comment does not name, a right one is rejected, or an original is refused.
//
//===----------------------------------------------------------------------===//
#include "VariantCases.h"
#include "kb-opt/Eval/JitCompiler.h"
#include "kb-opt/Support/Error.h"
#include "kb-opt/Support/FileSystem.h"
#include "kb-opt/Support/Installation.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Regex.h"
#include "llvm/Support/raw_ostream.h"
#include <map>
#include <mutex>
#include <thread>

using namespace llvm;
using namespace kbopt;

namespace {

struct Variant {
  unsigned number = 0;
  bool isRight = false, isSurvivor = false;
  std::string title, reason; ///< reason: what follows `--`
  std::vector<std::string> gates;
  std::vector<std::string> flags;              ///< besides the original's
  std::pair<std::string, std::string> outside; ///< replaced outside the anchor
};

struct Suite {
  std::string path, text;
  CandidatePromise promise;
  bool hostDiffers = false;
  std::vector<Variant> variants;
};

std::mutex outputMutex; ///< also guards the counts
unsigned wrong = 0, killed = 0, right = 0, accepted = 0, problems = 0;
std::map<GateId, unsigned> killedBy;

void say(const Twine &line) {
  std::lock_guard<std::mutex> lock(outputMutex);
  outs() << line << '\n';
  outs().flush();
}
void complain(const Twine &line) {
  std::lock_guard<std::mutex> lock(outputMutex);
  ++problems;
  outs() << line << '\n';
}

Suite readSuite(StringRef path, StringRef text) {
  Suite suite;
  suite.path = path.str();
  suite.text = text.str();
  Regex variant("^// (mutant|exploit|control|survivor) ([0-9]+): (.*)$");
  Regex more("^// (flags|outside) ([0-9]+): (.*)$");
  auto variantOf = [&](StringRef number) -> Variant & {
    return *find_if(suite.variants,
                    [&](const Variant &v) { return std::to_string(v.number) == number; });
  };
  SmallVector<StringRef, 64> lines;
  text.split(lines, '\n');
  for (StringRef line : lines) {
    SmallVector<StringRef, 4> match;
    if (line.consume_front("// promise: "))
      suite.promise.result = promiseFromName(line).value_or(Promise::Bitwise);
    else if (line == "// host: differs")
      suite.hostDiffers = true;
    else if (variant.match(line, &match)) {
      Variant v;
      match[2].getAsInteger(10, v.number);
      v.isRight = match[1] == "control";
      v.isSurvivor = match[1] == "survivor";
      auto [title, gates] = match[3].split(" -- ");
      v.title = title.str();
      v.reason = gates.str();
      SmallVector<StringRef, 4> names;
      gates.split(names, ' ', -1, false);
      for (StringRef name : names)
        v.gates.push_back(name.str());
      suite.variants.push_back(std::move(v));
    } else if (more.match(line, &match) && match[1] == "flags") {
      variantOf(match[2]).flags.push_back(match[3].str());
    } else if (more.match(line, &match)) {
      auto [before, after] = match[3].split(" => ");
      variantOf(match[2]).outside = {before.str(), after.str()};
    }
  }
  return suite;
}

/// How a variant ended, for people; counts it.
void report(const Suite &suite, const Variant &variant, const Verdict &verdict) {
  std::string who =
      formatv("{0} {1} ({2})", sys::path::stem(suite.path), variant.number, variant.title);
  if (variant.isRight) {
    {
      std::lock_guard<std::mutex> lock(outputMutex);
      ++right;
      accepted += verdict.isCorrect();
    }
    if (verdict.isCorrect())
      say(who + ": passes");
    else
      complain(who + ": WRONGLY REJECTED, " + verdict.summary());
    return;
  }
  bool caught = verdict.kind == VerdictKind::Incorrect;
  {
    std::lock_guard<std::mutex> lock(outputMutex);
    ++wrong;
    killed += caught;
    if (caught && verdict.gate)
      ++killedBy[*verdict.gate];
  }
  std::string gate = verdict.gate ? toString(*verdict.gate).str() : "";
  if (variant.isSurvivor && !caught)
    say(who + ": known to survive: " + variant.reason);
  else if (variant.isSurvivor)
    complain(who + ": is caught now, its comment is stale, " + verdict.summary());
  else if (!caught)
    complain(who + ": SURVIVES, " + verdict.summary());
  else if (!is_contained(variant.gates, gate))
    complain(who + ": caught by another gate than its comment names, " + verdict.summary());
  else
    say(who + ": " + verdict.summary());
}

Error runSuite(const Suite &suite, const CudaToolkit &toolkit, StringRef scratch) {
  std::string folder = (scratch + "/" + sys::path::stem(suite.path)).str();
  if (Error error = realFileSystem().createDirectories(folder))
    return error;
  CommandQuery query;
  query.file = suite.path;
  query.flags = {"-I" + (sys::path::parent_path(suite.path) + "/Inputs").str(),
                 "-I" + (sys::path::parent_path(suite.path) + "/../mutation/Inputs").str(),
                 "-I" + (sys::path::parent_path(suite.path) + "/../../mutation/Inputs").str()};
  Expected<CompileCommand> command = findCompileCommand(query, toolkit);
  if (!command)
    return command.takeError();
  CpuDeviceOptions deviceOptions;
  deviceOptions.directory = folder + "/images";
  deviceOptions.sandboxed = false; // the programs are this project's own
  deviceOptions.staysRunning = true;
  Expected<std::unique_ptr<CpuDevice>> device =
      CpuDevice::create(realProcessRunner(), deviceOptions);
  if (!device)
    return device.takeError();
  NvccCompiler nvcc(realProcessRunner(), folder);
  JitCompiler compiler(nvcc, realProcessRunner(), findKbRun().value_or(""), folder,
                       /*sandboxed=*/false);
  VariantCases cases(*command, **device, folder);
  Expected<std::optional<Workload>> workload = workloadInComment(suite.text, suite.path);
  if (!workload)
    return workload.takeError();
  if (*workload)
    cases.setWorkload(std::move(**workload));
  Expected<ProgramArtefacts> original = cases.artefacts(suite.text);
  if (!original)
    return original.takeError();
  cases.setOriginal(*original);
  compiler.setOriginal(*original);
  cases.hostDiffers = suite.hostDiffers;
  JudgeOptions options;
  options.determinismRuns = 6;
  options.secondsPerRun = 10;
  options.exactCode = false; // NVRTC gives the same code sooner
  Judge judge(*original, compiler, **device, cases, realClock(), options);
  Expected<const BaselineReport &> baseline = judge.baseline();
  if (!baseline)
    return baseline.takeError();
  if (baseline->problem) {
    complain(suite.path + ": " + baseline->problem->reason);
    return Error::success();
  }
  for (const Variant &variant : suite.variants) {
    // A variant is a rewrite of one edit: what it defines, before the first line.
    std::string defined = formatv("#define VARIANT {0}\n#line 1\n", variant.number).str();
    std::string text = defined + suite.text;
    if (const auto &[before, after] = variant.outside; !before.empty())
      text.replace(text.rfind(before), before.size(), after);
    Expected<ProgramArtefacts> candidate = cases.artefacts(text);
    if (!candidate)
      return candidate.takeError();
    candidate->flags.insert(candidate->flags.end(), variant.flags.begin(), variant.flags.end());
    if (!variant.flags.empty())
      candidate->slice = {}; // which has the original's flags
    JudgedStep step{"variant", suite.text, text, {{0, 0, "file's start", 0, 0}}};
    Expected<Verdict> verdict = judge.judge(*candidate, step, suite.promise);
    if (!verdict)
      return verdict.takeError();
    report(suite, variant, *verdict);
  }
  return Error::success();
}

} // namespace

int main(int argc, char **argv) {
  FileSystem &files = realFileSystem();
  std::vector<Suite> suites;
  for (int i = 1; i < argc; ++i) {
    std::vector<std::string> paths = {argv[i]};
    if (!StringRef(argv[i]).ends_with(".cu")) {
      paths.clear();
      for (const std::string &name : files.list(argv[i]))
        if (StringRef(name).ends_with(".cu"))
          paths.push_back(std::string(argv[i]) + "/" + name);
    }
    for (const std::string &path : paths) {
      Expected<std::string> text = files.read(path);
      if (!text)
        return static_cast<int>(reportError(errs(), "kill-rate", text.takeError()));
      suites.push_back(readSuite(path, *text));
    }
  }
  if (suites.empty()) {
    errs() << "usage: kill-rate FOLDER...\n";
    return static_cast<int>(ExitStatus::Usage);
  }
  Expected<CudaToolkit> toolkit = findCudaToolkit(ToolkitSearch::fromEnvironment());
  if (!toolkit)
    return static_cast<int>(reportError(errs(), "kill-rate", toolkit.takeError()));
  Expected<TemporaryDirectory> scratch = TemporaryDirectory::create("kill-rate");
  if (!scratch)
    return static_cast<int>(reportError(errs(), "kill-rate", scratch.takeError()));
  std::mutex next;
  size_t index = 0;
  auto work = [&] {
    while (true) {
      const Suite *suite;
      {
        std::lock_guard<std::mutex> lock(next);
        if (index == suites.size())
          return;
        suite = &suites[index++];
      }
      if (Error error = runSuite(*suite, *toolkit, scratch->path())) {
        std::string text;
        raw_string_ostream stream(text);
        reportError(stream, suite->path, std::move(error));
        complain(text);
      }
    }
  };
  std::thread second(work);
  work();
  second.join();
  outs() << "killed by:";
  for (const auto &[gate, count] : killedBy)
    outs() << ' ' << toString(gate) << ' ' << count;
  outs() << "\nright rewrites accepted: " << accepted << " of " << right
         << "\nkill rate: " << killed << " of " << wrong << '\n';
  return problems ? 1 : 0;
}
