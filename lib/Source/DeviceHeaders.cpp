//===- DeviceHeaders.cpp --------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "DeviceHeaders.h"

#include "kb-opt/Source/DeviceText.h"
#include "kb-opt/Source/NvccFlags.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Regex.h"

using namespace kbopt;
using llvm::StringRef;
namespace path = llvm::sys::path;

/// nvcc puts CUDA's runtime header before every program, and with it come GCC's <math.h>,
/// <stdint.h> and <limits.h>. What of them device code can use beside integers of a given width:
static constexpr llvm::StringLiteral standard = R"(#pragma once
typedef unsigned int uint;
#define CHAR_BIT 8
#define INT_MAX 2147483647
#define INT_MIN (-INT_MAX - 1)
#define UINT_MAX 4294967295u
#define LONG_MAX 9223372036854775807L
#define LLONG_MAX 9223372036854775807LL
#define ULLONG_MAX 18446744073709551615ULL
#define INFINITY __int_as_float(0x7f800000)
#define NAN __int_as_float(0x7fffffff)
#define HUGE_VALF __int_as_float(0x7f800000)
#define HUGE_VAL __longlong_as_double(0x7ff0000000000000LL)
#define FLT_MAX 3.40282346638528859811704183484516925e+38F
#define FLT_MIN 1.17549435082228750796873653722224568e-38F
#define FLT_EPSILON 1.19209289550781250000000000000000000e-7F
#define DBL_MAX 1.79769313486231570814527423731704357e+308
#define DBL_MIN 2.22507385850720138309023271733240406e-308
#define DBL_EPSILON 2.22044604925031308084726333618164062e-16
#define M_E 2.7182818284590452354
#define M_LOG2E 1.4426950408889634074
#define M_LN2 0.69314718055994530942
#define M_PI 3.14159265358979323846
#define M_PI_2 1.57079632679489661923
#define M_2_SQRTPI 1.12837916709551257390
#define M_SQRT2 1.41421356237309504880
#define M_SQRT1_2 0.70710678118654752440
)";
static constexpr llvm::StringLiteral standardName = "kb-opt-standard.h";

/// Headers of the toolkit that are for device code and that NVRTC compiles.
static bool isForDevices(StringRef name) {
  return name.starts_with("cooperative_groups") || name.starts_with("cuda/std/") ||
         llvm::StringSwitch<bool>(name)
             .Cases({"cuda_fp16.h", "cuda_bf16.h", "cuda_fp8.h", "mma.h", "cuda_pipeline.h"}, true)
             .Cases({"cuda_pipeline_primitives.h", "cuComplex.h", "math_constants.h"}, true)
             .Default(false);
}

/// Whether \p text names types like uint32_t, for which NVRTC needs a header.
static bool namesSizedIntegers(StringRef text) {
  static const llvm::Regex sized("u?int(8|16|32|64|ptr)_t");
  return sized.match(text);
}

/// Libraries of the host whose headers bring types for devices with them.
static bool bringsSmallFloats(StringRef name) {
  return name.starts_with("cublas") || name.starts_with("cudnn") || name == "library_types.h";
}

HeaderSlices::HeaderSlices(const CompileCommand &command,
                           std::function<std::string(StringRef, StringRef)> slice)
    : slice(std::move(slice)) {
  headers.emplace(standardName, standard);
  for (size_t i = 0; i < command.clangFlags.size(); ++i) {
    StringRef flag = command.clangFlags[i];
    if (!flag.consume_front("-I"))
      continue;
    llvm::SmallString<256> folder(flag.empty() && i + 1 < command.clangFlags.size()
                                      ? StringRef(command.clangFlags[i + 1])
                                      : flag);
    path::make_absolute(command.directory, folder);
    searched.push_back(folder.str().str());
  }
}

bool HeaderSlices::addUserHeader(StringRef name, StringRef folder, bool quoted) {
  std::vector<std::string> folders = searched;
  if (quoted)
    folders.insert(folders.begin(), folder.str());
  for (StringRef from : folders) {
    llvm::SmallString<256> candidate(from), real;
    path::append(candidate, name);
    if (llvm::sys::fs::real_path(candidate, real) || llvm::sys::fs::is_directory(real))
      continue;
    auto [entry, isNew] = headers.try_emplace(name.str());
    if (!isNew)
      return true;
    auto buffer = llvm::MemoryBuffer::getFile(real);
    if (!buffer)
      return false;
    std::string text = slice(real, (*buffer)->getBuffer());
    headers[name.str()] = withDeviceIncludes(std::move(text), path::parent_path(real));
    return true;
  }
  return false;
}

std::string HeaderSlices::withDeviceIncludes(std::string text, StringRef folder) {
  if (namesSizedIntegers(text))
    headers[standardName.str()] = ("#include <cuda/std/cstdint>\n" + standard).str();
  llvm::SmallVector<StringRef, 256> lines;
  StringRef(text).split(lines, '\n');
  std::string result;
  for (StringRef line : lines) {
    StringRef rest = line.ltrim();
    bool isInclude = rest.consume_front("#") && (rest = rest.ltrim()).consume_front("include");
    rest = rest.ltrim();
    bool quoted = rest.starts_with("\"");
    if (isInclude && (quoted || rest.starts_with("<"))) {
      StringRef name = rest.drop_front().take_until([](char c) { return c == '"' || c == '>'; });
      bool stays = addUserHeader(name, folder, quoted) || isForDevices(name);
      if (!stays)
        line = bringsSmallFloats(name) ? "#include <cuda_bf16.h>" : ""; // includes cuda_fp16.h
    }
    result += line;
    result += '\n';
  }
  return result;
}

std::optional<std::vector<std::string>> kbopt::nvrtcOptions(llvm::ArrayRef<std::string> nvccFlags) {
  std::vector<std::string> options = {("--pre-include=" + standardName).str(), "-w"};
  for (size_t i = 0; i < nvccFlags.size(); ++i) {
    auto [name, value] = StringRef(nvccFlags[i]).split('=');
    const NvccFlag *flag = findNvccFlag(name);
    StringRef joined;
    if (!flag && name.size() > 2) { // -DX
      flag = findNvccFlag(name.take_front(2));
      joined = StringRef(nvccFlags[i]).drop_front(2);
    }
    if (!flag)
      return std::nullopt;
    bool takesNext = flag->form != FlagForm::Alone && flag->form != FlagForm::Truth &&
                     joined.empty() && value.empty() && i + 1 < nvccFlags.size();
    std::string argument = takesNext ? nvccFlags[++i] : joined.empty() ? value.str() : joined.str();
    StringRef longName = flag->longName;
    using Kind = llvm::StringSwitch<int>;
    switch (
        Kind(longName)
            .Cases({"define-macro", "undefine-macro"}, 1)
            .Cases({"fmad", "ftz", "prec-div", "prec-sqrt"}, 2)
            .Cases({"use_fast_math", "generate-line-info", "extra-device-vectorization"}, 3)
            .Cases({"std", "maxrregcount", "ptxas-options"}, 4)
            .Cases({"include-path", "system-include"}, 5) // their headers travel with the slice
            .Cases({"optimize", "compiler-options", "expt-relaxed-constexpr", "linker-options"}, 5)
            .Cases({"extended-lambda", "expt-extended-lambda", "machine", "m64"}, 5)
            .Cases({"library", "library-path", "disable-warnings", "Werror", "threads"}, 5)
            .Default(0)) {
    case 1:
      options.push_back((longName == "define-macro" ? "-D" : "-U") + argument);
      break;
    case 2:
      options.push_back(("--" + longName + "=" + (argument.empty() ? "true" : argument)).str());
      break;
    case 3:
      options.push_back(("--" + longName).str());
      break;
    case 4:
      options.push_back(("--" + longName + "=" + argument).str());
      break;
    case 5:
      break;
    default:
      return std::nullopt;
    }
  }
  return options;
}
