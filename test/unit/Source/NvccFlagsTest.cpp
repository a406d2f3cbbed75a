//===- NvccFlagsTest.cpp - One case per row of the flag table -------------===//
#include "kb-opt/Source/NvccFlags.h"
#include "SourceTestUtils.h"
#include "llvm/ADT/StringExtras.h"
#include <set>

using namespace kbopt;
using namespace kbopt::test;

namespace {

/// What one command line must turn into.
struct Case {
  const char *row; ///< long name of the row it tests
  std::vector<std::string> line;
  std::vector<std::string> clang, host, link, nvcc;
  const char *arch = "sm_90";
  bool ignored = false;
};

void PrintTo(const Case &c, std::ostream *os) { *os << llvm::join(c.line, " "); }

CompileCommand translated(const std::vector<std::string> &line) {
  CompileCommand command;
  command.directory = "/";
  llvm::cantFail(translateNvccFlags(line, command));
  return command;
}

Case dropped(const char *row, std::vector<std::string> line, bool replayed) {
  Case result{row, line, {}, {}, {}, {}};
  if (replayed)
    result.nvcc = line;
  result.ignored = true;
  return result;
}
Case output(const char *row, std::vector<std::string> line) { return {row, line, {}, {}, {}, {}}; }

const std::vector<Case> &cases() {
  static const std::vector<Case> all = {
      {"define-macro", {"-DX=1"}, {"-DX=1"}, {}, {}, {"-DX=1"}},
      {"define-macro", {"-D", "X"}, {"-DX"}, {}, {}, {"-D", "X"}},
      {"define-macro", {"--define-macro=X=2"}, {"-DX=2"}, {}, {}, {"--define-macro=X=2"}},
      {"undefine-macro", {"-UX"}, {"-UX"}, {}, {}, {"-UX"}},
      {"include-path", {"-Iinc"}, {"-Iinc"}, {}, {}, {"-Iinc"}},
      {"include-path", {"--include-path", "inc"}, {"-Iinc"}, {}, {}, {"--include-path", "inc"}},
      {"system-include", {"-isystem", "a"}, {"-isystem", "a"}, {}, {}, {"-isystem", "a"}},
      {"system-include",
       {"-isystem=a,b"},
       {"-isystem", "a", "-isystem", "b"},
       {},
       {},
       {"-isystem=a,b"}},
      {"pre-include", {"-include", "a.h"}, {"-include", "a.h"}, {}, {}, {"-include", "a.h"}},
      {"std", {"-std=c++17"}, {"-std=c++17"}, {}, {}, {"-std=c++17"}},
      {"std", {"--std", "c++20"}, {"-std=c++20"}, {}, {}, {"--std", "c++20"}},
      {"x", {"-x", "cu"}, {}, {}, {}, {"-x", "cu"}},
      {"x", {"--x=cu"}, {}, {}, {}, {"--x=cu"}},
      {"gpu-architecture", {"-arch=sm_80"}, {}, {}, {}, {}, "sm_80"},
      {"gpu-architecture", {"-arch", "compute_86"}, {}, {}, {}, {}, "sm_86"},
      {"gpu-architecture", {"--gpu-architecture=sm_90a"}, {}, {}, {}, {}, "sm_90a"},
      {"gpu-architecture", {"-arch=native"}, {}, {}, {}, {}, "sm_90", true},
      {"gpu-code", {"-arch=compute_75", "-code=sm_80,sm_75"}, {}, {}, {}, {}, "sm_80"},
      {"generate-code", {"-gencode", "arch=compute_80,code=sm_80"}, {}, {}, {}, {}, "sm_80"},
      {"generate-code",
       {"--generate-code=arch=compute_75,code=[compute_75,sm_75]"},
       {},
       {},
       {},
       {},
       "sm_75"},
      {"generate-code",
       {"-gencode=arch=compute_70,code=sm_70",
        "-gencode=arch=compute_80,code=\"sm_80,compute_80\""},
       {},
       {},
       {},
       {},
       "sm_80"},
      {"default-stream",
       {"--default-stream=per-thread"},
       {"-fgpu-default-stream=per-thread"},
       {},
       {},
       {"--default-stream=per-thread"}},
      {"no-exceptions", {"-noeh"}, {"-fno-exceptions"}, {}, {}, {"-noeh"}},
      {"fmad", {"-fmad=false"}, {"-ffp-contract=off"}, {}, {}, {"-fmad=false"}},
      {"fmad", {"--fmad", "true"}, {"-ffp-contract=fast"}, {}, {}, {"--fmad=true"}},
      {"ftz", {"-ftz=true"}, {"-fgpu-flush-denormals-to-zero"}, {}, {}, {"-ftz=true"}},
      {"ftz", {"--ftz=false"}, {"-fno-gpu-flush-denormals-to-zero"}, {}, {}, {"--ftz=false"}},
      {"prec-div", {"-prec-div=false"}, {}, {}, {}, {"-prec-div=false"}},
      {"prec-sqrt", {"-prec-sqrt=false"}, {}, {}, {}, {"-prec-sqrt=false"}},
      {"use_fast_math",
       {"--use_fast_math"},
       {"-fgpu-flush-denormals-to-zero", "-fgpu-approx-transcendentals"},
       {},
       {},
       {"--use_fast_math"}},
      {"use_fast_math",
       {"-use_fast_math"},
       {"-fgpu-flush-denormals-to-zero", "-fgpu-approx-transcendentals"},
       {},
       {},
       {"-use_fast_math"}},
      dropped("expt-relaxed-constexpr", {"--expt-relaxed-constexpr"}, true),
      dropped("expt-relaxed-constexpr", {"-expt-relaxed-constexpr"}, true),
      dropped("extended-lambda", {"--extended-lambda"}, true),
      dropped("expt-extended-lambda", {"--expt-extended-lambda"}, true),
      dropped("machine", {"--machine", "64"}, true),
      dropped("m64", {"-m64"}, true),
      dropped("restrict", {"-restrict"}, true),
      {"compiler-options",
       {"-Xcompiler", "-fPIC,-O0"},
       {},
       {"-fPIC", "-O0"},
       {},
       {"-Xcompiler", "-fPIC,-O0"}},
      {"compiler-options", {"-Xcompiler=-DY=1"}, {"-DY=1"}, {}, {}, {"-Xcompiler=-DY=1"}},
      {"compiler-options",
       {"--compiler-options", "-Wall -march=native"},
       {},
       {"-march=native"},
       {},
       {"--compiler-options", "-Wall -march=native"},
       "sm_90",
       true},
      {"compiler-options",
       {"-Xcompiler", "-fopenmp"},
       {},
       {},
       {},
       {"-Xcompiler", "-fopenmp"},
       "sm_90",
       true},
      {"compiler-options", {"-Xcompiler", "/W4"}, {}, {}, {}, {"-Xcompiler", "/W4"}, "sm_90", true},
      {"forward-unknown-to-host-compiler",
       {"-forward-unknown-to-host-compiler", "-fopenmp"},
       {},
       {},
       {},
       {"-forward-unknown-to-host-compiler"},
       "sm_90",
       true},
      {"forward-unknown-to-host-compiler",
       {"-fno-such-thing", "--forward-unknown-to-host-compiler"},
       {},
       {},
       {},
       {"-fno-such-thing", "--forward-unknown-to-host-compiler"},
       "sm_90",
       true},
      {"forward-unknown-opts",
       {"--forward-unknown-opts", "-fPIC"},
       {},
       {"-fPIC"},
       {},
       {"--forward-unknown-opts"}},
      dropped("forward-unknown-to-host-linker", {"-forward-unknown-to-host-linker"}, true),
      dropped("compiler-bindir", {"-ccbin", "g++-11"}, true),
      dropped("compiler-bindir", {"-ccbin=g++-11"}, true),
      dropped("allow-unsupported-compiler", {"-allow-unsupported-compiler"}, true),
      {"optimize", {"-O3"}, {}, {"-O3"}, {}, {"-O3"}},
      {"optimize", {"--optimize", "2"}, {}, {"-O2"}, {}, {"--optimize", "2"}},
      dropped("Ofast-compile", {"-Ofc=max"}, true),
      dropped("ptxas-options", {"-Xptxas", "-v,-O3"}, true),
      dropped("ptxas-options", {"--ptxas-options=-v"}, true),
      dropped("nvlink-options", {"-Xnvlink", "-v"}, true),
      dropped("archiver-options", {"-Xarchive", "x"}, false),
      dropped("maxrregcount", {"-maxrregcount=64"}, true),
      dropped("maxrregcount", {"--maxrregcount", "64"}, true),
      dropped("extra-device-vectorization", {"--extra-device-vectorization"}, true),
      dropped("dlink-time-opt", {"-dlto"}, true),
      dropped("gen-opt-lto", {"-gen-opt-lto"}, true),
      dropped("lto", {"-lto"}, true),
      dropped("split-compile", {"--split-compile=4"}, false),
      dropped("split-compile-extended", {"--split-compile-extended=4"}, false),
      dropped("jump-table-density", {"-jtd", "50"}, true),
      dropped("device-stack-protector", {"--device-stack-protector=true"}, true),
      dropped("relocatable-device-code", {"-rdc=true"}, false),
      dropped("relocatable-device-code", {"--relocatable-device-code=false"}, false),
      dropped("static-global-template-stub", {"-static-global-template-stub=false"}, true),
      dropped("compress-mode", {"--compress-mode=size"}, false),
      dropped("no-compress", {"--no-compress"}, false),
      dropped("generate-line-info", {"-lineinfo"}, true),
      dropped("generate-line-info", {"--generate-line-info"}, true),
      dropped("source-in-ptx", {"-src-in-ptx"}, false),
      dropped("debug", {"-g"}, true),
      dropped("device-debug", {"-G"}, false),
      dropped("device-debug", {"--device-debug"}, false),
      dropped("profile", {"-pg"}, false),
      output("output-file", {"-o", "x.o"}),
      output("output-file", {"-ox.o"}),
      output("output-file", {"--output-file=x.o"}),
      output("output-directory", {"-odir", "x"}),
      output("compile", {"-c"}),
      output("device-c", {"-dc"}),
      output("device-w", {"-dw"}),
      output("device-link", {"-dlink"}),
      output("link", {"-link"}),
      output("lib", {"-lib"}),
      output("run", {"-run"}),
      output("cuda", {"-cuda"}),
      output("cubin", {"-cubin"}),
      output("fatbin", {"-fatbin"}),
      output("ptx", {"--ptx"}),
      output("ltoir", {"-ltoir"}),
      output("optix-ir", {"-optix-ir"}),
      output("preprocess", {"-E"}),
      output("shared", {"-shared"}),
      output("generate-dependencies", {"-M"}),
      output("generate-nonsystem-dependencies", {"-MM"}),
      output("generate-dependencies-with-compile", {"-MD"}),
      output("generate-nonsystem-dependencies-with-compile", {"-MMD"}),
      output("generate-dependency-targets", {"-MP"}),
      output("dependency-output", {"-MF", "x.d"}),
      output("dependency-output", {"-MFx.d"}),
      output("dependency-target-name", {"-MT", "x.o"}),
      output("dependency-drive-prefix", {"-MQ", "x"}),
      {"library", {"-lcublas"}, {}, {}, {}, {"-lcublas"}, "sm_90", true},
      {"library", {"-l", "m"}, {}, {}, {"-lm"}, {"-l", "m"}},
      {"library", {"-lcudart"}, {}, {}, {}, {"-lcudart"}, "sm_90", true},
      {"library-path", {"-L/lib"}, {}, {}, {"-L/lib"}, {"-L/lib"}},
      {"library-path", {"--library-path=/lib"}, {}, {}, {"-L/lib"}, {"--library-path=/lib"}},
      {"linker-options",
       {"-Xlinker", "-rpath,/x"},
       {},
       {},
       {"-Xlinker", "-rpath", "-Xlinker", "/x"},
       {"-Xlinker", "-rpath,/x"}},
      dropped("cudart", {"-cudart=static"}, true),
      dropped("cudart", {"--cudart", "none"}, true),
      dropped("cudadevrt", {"-cudadevrt", "none"}, true),
      dropped("host-linker-script", {"-hls=use-lcs"}, false),
      dropped("target-directory", {"-target-dir", "x86_64-linux"}, true),
      dropped("threads", {"-t", "4"}, false),
      dropped("threads", {"-t4"}, false),
      dropped("threads", {"--threads=0"}, false),
      dropped("keep", {"-keep"}, false),
      dropped("keep-dir", {"-keep-dir", "x"}, false),
      dropped("save-temps", {"-save-temps"}, false),
      dropped("time", {"-time", "x.csv"}, false),
      dropped("dryrun", {"--dryrun"}, false),
      dropped("verbose", {"-v"}, false),
      dropped("resource-usage", {"-res-usage"}, false),
      dropped("disable-warnings", {"-w"}, true),
      dropped("Werror", {"-Werror", "all-warnings"}, false),
      dropped("Wno-deprecated-gpu-targets", {"-Wno-deprecated-gpu-targets"}, true),
      dropped("Wno-deprecated-declarations", {"-Wno-deprecated-declarations"}, true),
      dropped("Wreorder", {"-Wreorder"}, false),
      dropped("Wdefault-stream-launch", {"-Wdefault-stream-launch"}, false),
      dropped("Wmissing-launch-bounds", {"-Wmissing-launch-bounds"}, false),
      dropped("Wext-lambda-captures-this", {"-Wext-lambda-captures-this"}, false),
      dropped("diag-error", {"-diag-error", "20"}, false),
      dropped("diag-warn", {"-diag-warn=20"}, false),
      dropped("diag-suppress", {"-diag-suppress", "20,177"}, true),
      dropped("diag-suppress", {"--diag-suppress=20"}, true),
      dropped("display-error-number", {"--display-error-number"}, false),
      dropped("no-display-error-number", {"-no-err-no"}, false),
      dropped("brief-diagnostics", {"-brief-diag=true"}, false),
      {"ftemplate-depth",
       {"-ftemplate-depth=500"},
       {"-ftemplate-depth=500"},
       {},
       {},
       {"-ftemplate-depth=500"}},
      dropped("ftemplate-backtrace-limit", {"-ftemplate-backtrace-limit", "3"}, false),
  };
  return all;
}

class NvccFlagRow : public testing::TestWithParam<Case> {};

} // namespace

TEST_P(NvccFlagRow, Translates) {
  const Case &expected = GetParam();
  CompileCommand command = translated(expected.line);
  EXPECT_EQ(command.clangFlags, expected.clang);
  EXPECT_EQ(command.hostFlags, expected.host);
  EXPECT_EQ(command.linkFlags, expected.link);
  EXPECT_EQ(command.nvccFlags, expected.nvcc);
  EXPECT_EQ(command.arch, expected.arch);
  EXPECT_EQ(!command.ignored.empty(), expected.ignored);
  for (const IgnoredFlag &flag : command.ignored)
    EXPECT_FALSE(flag.reason.empty()) << flag.flag;
}

INSTANTIATE_TEST_SUITE_P(NvccFlags, NvccFlagRow, testing::ValuesIn(cases()));

TEST(NvccFlagsTest, EveryRowHasACase) {
  std::set<std::string> tested{"options-file"}; // it needs a file: below
  for (const Case &one : cases()) {
    const NvccFlag *row = findNvccFlag(std::string("--") + one.row);
    ASSERT_TRUE(row) << one.row;
    tested.insert(one.row);
  }
  for (const NvccFlag &row : nvccFlagTable())
    EXPECT_TRUE(tested.count(row.longName.str())) << row.longName.str();
}

TEST(NvccFlagsTest, RowsAreConsistent) {
  std::set<std::string> names;
  for (const NvccFlag &row : nvccFlagTable()) {
    EXPECT_TRUE(names.insert("--" + row.longName.str()).second) << row.longName.str();
    if (row.shortName != row.longName) {
      EXPECT_TRUE(names.insert("-" + row.shortName.str()).second) << row.shortName.str();
    }
    EXPECT_EQ(row.action == FlagAction::Drop, !row.reason.empty()) << row.longName.str();
  }
}

TEST(NvccFlagsTest, PrecisionFollowsNvcc) {
  CompileCommand plain = translated({});
  EXPECT_TRUE(plain.preciseDivision);
  EXPECT_TRUE(plain.preciseRoot);
  CompileCommand division = translated({"-prec-div=false"});
  EXPECT_FALSE(division.preciseDivision);
  EXPECT_TRUE(division.preciseRoot);
  CompileCommand root = translated({"--prec-sqrt", "false"});
  EXPECT_TRUE(root.preciseDivision);
  EXPECT_FALSE(root.preciseRoot);
  CompileCommand fast = translated({"-use_fast_math"});
  EXPECT_FALSE(fast.preciseDivision);
  EXPECT_FALSE(fast.preciseRoot);
}

TEST(NvccFlagsTest, OptionsFilesAndResponseFiles) {
  TemporaryDirectory folder = makeFolder();
  writeFile(folder.file("a.rsp"), "-DA=\"1 2\" -lineinfo @b.rsp\n");
  writeFile(folder.file("b.rsp"), "-Iinc\n");
  for (std::vector<std::string> line : {std::vector<std::string>{"@a.rsp", "-DZ"},
                                        {"--options-file", "a.rsp", "-DZ"},
                                        {"-optf=a.rsp", "-DZ"}}) {
    CompileCommand command;
    command.directory = folder.path().str();
    llvm::cantFail(translateNvccFlags(line, command));
    EXPECT_EQ(command.clangFlags, (std::vector<std::string>{"-DA=1 2", "-Iinc", "-DZ"}));
  }
  CompileCommand command;
  command.directory = folder.path().str();
  EXPECT_NE(
      messageOf(translateNvccFlags({std::string("@missing.rsp")}, command)).find("missing.rsp"),
      std::string::npos);
  writeFile(folder.file("loop.rsp"), "@loop.rsp");
  EXPECT_NE(messageOf(translateNvccFlags({std::string("@loop.rsp")}, command)).find("nested"),
            std::string::npos);
}

TEST(NvccFlagsTest, UnknownFlagNamesTheNearest) {
  auto fail = [](std::string flag) {
    CompileCommand command;
    return failureOf(translateNvccFlags({flag}, command));
  };
  Failure failure = fail("-gencod=arch=compute_90");
  EXPECT_EQ(failure.message, "unknown flag '-gencod=arch=compute_90'");
  EXPECT_EQ(failure.note, "did you mean '-gencode'?");
  EXPECT_EQ(failure.status, ExitStatus::Usage);
  EXPECT_EQ(fail("--use_fast_mth").note, "did you mean '--use_fast_math'?");
  EXPECT_EQ(fail("--expt-relaxed-constexp").note, "did you mean '--expt-relaxed-constexpr'?");
  EXPECT_EQ(fail("-fno-exception").note, "did you mean '-fno-exceptions'?");
  EXPECT_EQ(fail("--qqqqqqqqqqqqqqqqqq").note, "flags after -- are those of nvcc or clang");
}

TEST(NvccFlagsTest, BadValues) {
  CompileCommand command;
  EXPECT_EQ(messageOf(translateNvccFlags({std::string("-arch")}, command)),
            "flag '-arch' needs a value");
  EXPECT_EQ(messageOf(translateNvccFlags({std::string("-arch=sm_1x")}, command)),
            "unknown architecture 'sm_1x'");
  EXPECT_EQ(messageOf(translateNvccFlags({std::string("-fmad=maybe")}, command)),
            "flag '-fmad' takes true or false, not 'maybe'");
  EXPECT_EQ(messageOf(translateNvccFlags({std::string("-x"), std::string("c++")}, command)),
            "'-x c++' is not CUDA");
}

TEST(NvccFlagsTest, ClangFlagsAreTakenWhereNvccHasNone) {
  CompileCommand command = translated(
      {"--cuda-gpu-arch=sm_86", "-ffast-math", "-Wno-c++11-narrowing", "-Wall", "-pthread"});
  EXPECT_EQ(command.arch, "sm_86");
  EXPECT_EQ(command.clangFlags,
            (std::vector<std::string>{"-ffast-math", "-Wno-c++11-narrowing", "-pthread"}));
  EXPECT_EQ(command.linkFlags, (std::vector<std::string>{"-pthread"}));
}

TEST(NvccFlagsTest, ClangCommandLine) {
  CompileCommand command;
  std::vector<std::string> inputs = llvm::cantFail(translateClangFlags(
      {"-x", "cuda", "--cuda-path=/opt/cuda", "--offload-arch=sm_80", "-O3", "-g", "-DX", "-I",
       "inc", "-march=native", "-MD", "-MF", "x.d", "-o", "k.o", "-c", "k.cu", "lib.a"},
      command));
  EXPECT_EQ(inputs, (std::vector<std::string>{"k.cu"}));
  EXPECT_EQ(command.arch, "sm_80");
  EXPECT_TRUE(command.languageIsGiven);
  EXPECT_EQ(command.clangFlags, (std::vector<std::string>{"-DX", "-I", "inc"}));
  EXPECT_EQ(command.hostFlags, (std::vector<std::string>{"-O3", "-march=native"}));
  EXPECT_EQ(command.linkFlags, (std::vector<std::string>{"lib.a"}));
  EXPECT_EQ(failureOf(translateClangFlags({std::string("-fsyntax-onli")}, command)).note,
            "did you mean '-fsyntax-only'?");
}
