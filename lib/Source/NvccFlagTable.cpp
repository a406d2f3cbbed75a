//===- NvccFlagTable.cpp - The rows of the flag table ---------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the data; NvccFlags.cpp owns what is done with it.
//
//===----------------------------------------------------------------------===//
#include "kb-opt/Source/NvccFlags.h"

using namespace kbopt;

using Form = FlagForm;
using Do = FlagAction;

// Reasons that several rows share.
#define ONLY_TIME "it changes how machine code is made, not what the program means"
#define ONLY_BUILD "it concerns the build, not the program"
#define ONLY_WORDS "it concerns what the compiler prints"
#define ONE_UNIT "the translation unit is compiled and linked as a whole"

// longName, shortName, form, action, clang, replay, reason
static constexpr NvccFlag rows[] = {
    // What the program means.
    {"define-macro", "D", Form::Joined, Do::Pass, "-D", true, ""},
    {"undefine-macro", "U", Form::Joined, Do::Pass, "-U", true, ""},
    {"include-path", "I", Form::Joined, Do::Pass, "-I", true, ""},
    {"system-include", "isystem", Form::Value, Do::Separate, "-isystem", true, ""},
    {"pre-include", "include", Form::Value, Do::Separate, "-include", true, ""},
    {"std", "std", Form::Value, Do::Pass, "-std=", true, ""},
    {"x", "x", Form::Joined, Do::Language, "", true, ""},
    {"gpu-architecture", "arch", Form::Value, Do::Arch, "", false, ""},
    {"gpu-code", "code", Form::Value, Do::Arch, "", false, ""},
    {"generate-code", "gencode", Form::Value, Do::Gencode, "", false, ""},
    {"default-stream", "default-stream", Form::Value, Do::Pass, "-fgpu-default-stream=", true, ""},
    {"no-exceptions", "noeh", Form::Alone, Do::Pass, "-fno-exceptions", true, ""},

    // Floating point. nvcc contracts by default; so does clang for CUDA.
    {"fmad", "fmad", Form::Truth, Do::Either, "-ffp-contract=fast|-ffp-contract=off", true, ""},
    {"ftz", "ftz", Form::Truth, Do::Either,
     "-fgpu-flush-denormals-to-zero|-fno-gpu-flush-denormals-to-zero", true, ""},
    {"prec-div", "prec-div", Form::Truth, Do::Division, "", true, ""},
    {"prec-sqrt", "prec-sqrt", Form::Truth, Do::Root, "", true, ""},
    {"use_fast_math", "use_fast_math", Form::Alone, Do::FastMath,
     "-fgpu-flush-denormals-to-zero -fgpu-approx-transcendentals", true, ""},

    // What clang does anyway.
    {"expt-relaxed-constexpr", "expt-relaxed-constexpr", Form::Alone, Do::Drop, "", true,
     "clang always lets device code call constexpr functions"},
    {"extended-lambda", "extended-lambda", Form::Alone, Do::Drop, "", true,
     "clang always accepts __device__ lambdas"},
    {"expt-extended-lambda", "expt-extended-lambda", Form::Alone, Do::Drop, "", true,
     "clang always accepts __device__ lambdas"},
    {"machine", "m", Form::Joined, Do::Drop, "", true, "the host is a 64-bit machine"},
    {"m64", "m64", Form::Alone, Do::Drop, "", true, "the host is a 64-bit machine"},
    {"restrict", "restrict", Form::Alone, Do::Drop, "", true, ONLY_TIME},

    // Other compilers.
    {"compiler-options", "Xcompiler", Form::Value, Do::Host, "", true, ""},
    {"forward-unknown-to-host-compiler", "forward-unknown-to-host-compiler", Form::Alone,
     Do::Forward, "", true, ""},
    {"forward-unknown-opts", "forward-unknown-opts", Form::Alone, Do::Forward, "", true, ""},
    {"forward-unknown-to-host-linker", "forward-unknown-to-host-linker", Form::Alone, Do::Drop, "",
     true, ONLY_BUILD},
    {"compiler-bindir", "ccbin", Form::Value, Do::Drop, "", true,
     "the host side is compiled by clang"},
    {"allow-unsupported-compiler", "allow-unsupported-compiler", Form::Alone, Do::Drop, "", true,
     "the host side is compiled by clang"},

    // How machine code is made.
    {"optimize", "O", Form::Joined, Do::Optimize, "-O", true, ""},
    {"Ofast-compile", "Ofc", Form::Value, Do::Drop, "", true, ONLY_TIME},
    {"ptxas-options", "Xptxas", Form::Value, Do::Drop, "", true, ONLY_TIME},
    {"nvlink-options", "Xnvlink", Form::Value, Do::Drop, "", true, ONLY_TIME},
    {"archiver-options", "Xarchive", Form::Value, Do::Drop, "", false, ONLY_BUILD},
    {"maxrregcount", "maxrregcount", Form::Value, Do::Drop, "", true, ONLY_TIME},
    {"extra-device-vectorization", "extra-device-vectorization", Form::Alone, Do::Drop, "", true,
     ONLY_TIME},
    {"dlink-time-opt", "dlto", Form::Alone, Do::Drop, "", true, ONLY_TIME},
    {"gen-opt-lto", "gen-opt-lto", Form::Alone, Do::Drop, "", true, ONLY_TIME},
    {"lto", "lto", Form::Alone, Do::Drop, "", true, ONLY_TIME},
    {"split-compile", "split-compile", Form::Value, Do::Drop, "", false, ONLY_BUILD},
    {"split-compile-extended", "split-compile-extended", Form::Value, Do::Drop, "", false,
     ONLY_BUILD},
    {"jump-table-density", "jtd", Form::Value, Do::Drop, "", true, ONLY_TIME},
    {"device-stack-protector", "device-stack-protector", Form::Truth, Do::Drop, "", true,
     ONLY_TIME},
    {"relocatable-device-code", "rdc", Form::Truth, Do::Drop, "", false, ONE_UNIT},
    {"static-global-template-stub", "static-global-template-stub", Form::Truth, Do::Drop, "", true,
     ONE_UNIT},
    {"compress-mode", "compress-mode", Form::Value, Do::Drop, "", false, ONLY_BUILD},
    {"no-compress", "no-compress", Form::Alone, Do::Drop, "", false, ONLY_BUILD},

    // Debugging.
    {"generate-line-info", "lineinfo", Form::Alone, Do::Drop, "", true,
     "line tables are always made"},
    {"source-in-ptx", "src-in-ptx", Form::Alone, Do::Drop, "", false, ONLY_BUILD},
    {"debug", "g", Form::Alone, Do::Drop, "", true, "line tables are always made"},
    {"device-debug", "G", Form::Alone, Do::Drop, "", false,
     "it turns the device compiler's optimizations off"},
    {"profile", "pg", Form::Alone, Do::Drop, "", false, ONLY_BUILD},

    // Input, output and phases.
    {"output-file", "o", Form::Joined, Do::Output, "", false, ""},
    {"output-directory", "odir", Form::Value, Do::Output, "", false, ""},
    {"compile", "c", Form::Alone, Do::Output, "", false, ""},
    {"device-c", "dc", Form::Alone, Do::Output, "", false, ""},
    {"device-w", "dw", Form::Alone, Do::Output, "", false, ""},
    {"device-link", "dlink", Form::Alone, Do::Output, "", false, ""},
    {"link", "link", Form::Alone, Do::Output, "", false, ""},
    {"lib", "lib", Form::Alone, Do::Output, "", false, ""},
    {"run", "run", Form::Alone, Do::Output, "", false, ""},
    {"cuda", "cuda", Form::Alone, Do::Output, "", false, ""},
    {"cubin", "cubin", Form::Alone, Do::Output, "", false, ""},
    {"fatbin", "fatbin", Form::Alone, Do::Output, "", false, ""},
    {"ptx", "ptx", Form::Alone, Do::Output, "", false, ""},
    {"ltoir", "ltoir", Form::Alone, Do::Output, "", false, ""},
    {"optix-ir", "optix-ir", Form::Alone, Do::Output, "", false, ""},
    {"preprocess", "E", Form::Alone, Do::Output, "", false, ""},
    {"shared", "shared", Form::Alone, Do::Output, "", false, ""},
    {"generate-dependencies", "M", Form::Alone, Do::Output, "", false, ""},
    {"generate-nonsystem-dependencies", "MM", Form::Alone, Do::Output, "", false, ""},
    {"generate-dependencies-with-compile", "MD", Form::Alone, Do::Output, "", false, ""},
    {"generate-nonsystem-dependencies-with-compile", "MMD", Form::Alone, Do::Output, "", false, ""},
    {"generate-dependency-targets", "MP", Form::Alone, Do::Output, "", false, ""},
    {"dependency-output", "MF", Form::Joined, Do::Output, "", false, ""},
    {"dependency-target-name", "MT", Form::Joined, Do::Output, "", false, ""},
    {"dependency-drive-prefix", "MQ", Form::Joined, Do::Output, "", false, ""},

    // The host link.
    {"library", "l", Form::Joined, Do::Link, "-l", true, ""},
    {"library-path", "L", Form::Joined, Do::Link, "-L", true, ""},
    {"linker-options", "Xlinker", Form::Value, Do::Linker, "", true, ""},
    {"cudart", "cudart", Form::Value, Do::Drop, "", true,
     "kb-opt's recorder stands for CUDA's runtime"},
    {"cudadevrt", "cudadevrt", Form::Value, Do::Drop, "", true,
     "kb-opt's recorder stands for CUDA's runtime"},
    {"host-linker-script", "hls", Form::Value, Do::Drop, "", false, ONLY_BUILD},
    {"target-directory", "target-dir", Form::Value, Do::Drop, "", true, ONLY_BUILD},

    // How the compiler works and what it prints.
    {"threads", "t", Form::Joined, Do::Drop, "", false, ONLY_BUILD},
    {"keep", "keep", Form::Alone, Do::Drop, "", false, ONLY_BUILD},
    {"keep-dir", "keep-dir", Form::Value, Do::Drop, "", false, ONLY_BUILD},
    {"save-temps", "save-temps", Form::Alone, Do::Drop, "", false, ONLY_BUILD},
    {"time", "time", Form::Value, Do::Drop, "", false, ONLY_WORDS},
    {"dryrun", "dryrun", Form::Alone, Do::Drop, "", false, ONLY_WORDS},
    {"verbose", "v", Form::Alone, Do::Drop, "", false, ONLY_WORDS},
    {"resource-usage", "res-usage", Form::Alone, Do::Drop, "", false, ONLY_WORDS},
    {"disable-warnings", "w", Form::Alone, Do::Drop, "", true, ONLY_WORDS},
    {"Werror", "Werror", Form::Value, Do::Drop, "", false, ONLY_WORDS},
    {"Wno-deprecated-gpu-targets", "Wno-deprecated-gpu-targets", Form::Alone, Do::Drop, "", true,
     ONLY_WORDS},
    {"Wno-deprecated-declarations", "Wno-deprecated-declarations", Form::Alone, Do::Drop, "", true,
     ONLY_WORDS},
    {"Wreorder", "Wreorder", Form::Alone, Do::Drop, "", false, ONLY_WORDS},
    {"Wdefault-stream-launch", "Wdefault-stream-launch", Form::Alone, Do::Drop, "", false,
     ONLY_WORDS},
    {"Wmissing-launch-bounds", "Wmissing-launch-bounds", Form::Alone, Do::Drop, "", false,
     ONLY_WORDS},
    {"Wext-lambda-captures-this", "Wext-lambda-captures-this", Form::Alone, Do::Drop, "", false,
     ONLY_WORDS},
    {"diag-error", "diag-error", Form::Value, Do::Drop, "", false, ONLY_WORDS},
    {"diag-warn", "diag-warn", Form::Value, Do::Drop, "", false, ONLY_WORDS},
    {"diag-suppress", "diag-suppress", Form::Value, Do::Drop, "", true, ONLY_WORDS},
    {"display-error-number", "err-no", Form::Alone, Do::Drop, "", false, ONLY_WORDS},
    {"no-display-error-number", "no-err-no", Form::Alone, Do::Drop, "", false, ONLY_WORDS},
    {"brief-diagnostics", "brief-diag", Form::Truth, Do::Drop, "", false, ONLY_WORDS},
    {"ftemplate-depth", "ftemplate-depth", Form::Value, Do::Pass, "-ftemplate-depth=", true, ""},
    {"ftemplate-backtrace-limit", "ftemplate-backtrace-limit", Form::Value, Do::Drop, "", false,
     ONLY_WORDS},
    {"options-file", "optf", Form::Value, Do::File, "", false, ""},
};

llvm::ArrayRef<NvccFlag> kbopt::nvccFlagTable() { return rows; }

const NvccFlag *kbopt::findNvccFlag(llvm::StringRef name) {
  bool twoDashes = name.consume_front("--");
  if (!twoDashes && !name.consume_front("-"))
    return nullptr;
  for (const NvccFlag &row : rows)
    if ((!twoDashes && row.shortName == name) || row.longName == name)
      return &row;
  return nullptr;
}
