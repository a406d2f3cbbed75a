//===- ClangFlags.cpp - Flags that are written for clang ------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "ClangFlags.h"

#include "kb-opt/Source/NvccFlags.h"
#include "kb-opt/Support/Error.h"
#include "clang/Basic/OffloadArch.h"
#include "clang/Options/Options.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Option/ArgList.h"
#include "llvm/Support/Path.h"

using namespace kbopt;
using llvm::StringRef;
namespace options = clang::options;

llvm::Expected<std::string> kbopt::normalizeArch(StringRef name) {
  StringRef digits = name;
  if (!digits.consume_front("sm_") && !digits.consume_front("compute_"))
    digits = name;
  std::string arch = "sm_" + digits.str();
  clang::OffloadArch known = clang::StringToOffloadArch(arch);
  if (!clang::IsNVIDIAOffloadArch(known))
    return llvm::make_error<UsageError>("unknown architecture '" + name.str() + "'",
                                        "name one like sm_90");
  return arch;
}

unsigned kbopt::archNumber(StringRef arch) {
  arch.consume_front("sm_");
  unsigned number = 0;
  arch.consumeInteger(10, number);
  return number;
}

namespace {
/// Where a flag goes.
enum class Place {
  Unknown,
  Both,        ///< both sides, clang only
  BothAndNvcc, ///< both sides, and nvcc spells it the same
  Host,
  Link,
  Drop,
  Output,
  Arch,
  Language,
  OpenMp,
};
} // namespace

static Place placeOf(const llvm::opt::Arg &arg, StringRef token, bool fromHostCompiler) {
  const llvm::opt::Option &option = arg.getOption();
  auto is = [&](auto... ids) { return (option.matches(ids) || ...); };
  if (is(options::OPT_UNKNOWN, options::OPT_INPUT))
    return Place::Unknown;
  if (is(options::OPT_o, options::OPT_c, options::OPT_S, options::OPT_E, options::OPT_emit_llvm,
         options::OPT_fsyntax_only, options::OPT_M_Group, options::OPT__HASH_HASH_HASH,
         options::OPT_v, options::OPT_save_temps_EQ, options::OPT_offload_device_only,
         options::OPT_offload_host_only, options::OPT_offload_host_device))
    return Place::Output;
  if (is(options::OPT_offload_arch_EQ))
    return Place::Arch;
  if (is(options::OPT_x))
    return Place::Language;
  if (is(options::OPT_D, options::OPT_U, options::OPT_I, options::OPT_isystem, options::OPT_include,
         options::OPT_std_EQ))
    return Place::BothAndNvcc;
  if (is(options::OPT_fopenmp, options::OPT_fopenmp_EQ))
    return Place::OpenMp;
  if (is(options::OPT_l, options::OPT_L, options::OPT_Wl_COMMA, options::OPT_Xlinker,
         options::OPT_rdynamic, options::OPT_fuse_ld_EQ, options::OPT_pthread))
    return Place::Link;
  if (is(options::OPT_cuda_path_EQ, options::OPT_no_offload_inc, options::OPT_no_offloadlib,
         options::OPT_fgpu_rdc, options::OPT_fno_gpu_rdc, options::OPT_Xcuda_ptxas,
         options::OPT_Xcuda_fatbinary, options::OPT_g_Group, options::OPT_shared,
         options::OPT_static, options::OPT_pg, options::OPT_w, options::OPT_pedantic,
         options::OPT_pedantic_errors, options::OPT_pipe))
    return Place::Drop;
  // Clang makes errors of some warnings; a user who turned one off needs it
  // off. All other warnings are the build's business.
  if (is(options::OPT_W_Group))
    return token.starts_with("-Wno-") && !fromHostCompiler ? Place::Both : Place::Drop;
  if (is(options::OPT_O_Group, options::OPT_m_Group, options::OPT_mcpu_EQ))
    return Place::Host;
  return fromHostCompiler ? Place::Host : Place::Both;
}

llvm::Expected<unsigned> kbopt::takeClangArgument(StringRef token,
                                                  const std::deque<std::string> &rest,
                                                  CompileCommand &command, bool fromHostCompiler) {
  // No flag of clang takes more words than this.
  std::vector<std::string> words{token.str()};
  for (size_t i = 0; i < rest.size() && i < 3; ++i)
    words.push_back(rest[i]);
  std::vector<const char *> pointers;
  for (const std::string &word : words)
    pointers.push_back(word.c_str());
  llvm::opt::InputArgList list(pointers.data(), pointers.data() + pointers.size());
  unsigned index = 0;
  std::unique_ptr<llvm::opt::Arg> arg = clang::getDriverOptTable().ParseOneArg(
      list, index, llvm::opt::Visibility(options::ClangOption));
  if (!arg)
    return llvm::make_error<UsageError>("flag '" + token.str() + "' needs a value");
  Place place = placeOf(*arg, token, fromHostCompiler);
  words.resize(index);
  auto append = [&](std::vector<std::string> &list) {
    list.insert(list.end(), words.begin(), words.end());
  };
  switch (place) {
  case Place::Unknown:
    return 0;
  case Place::BothAndNvcc:
    if (!fromHostCompiler)
      append(command.nvccFlags);
    append(command.clangFlags);
    break;
  case Place::Both:
    append(command.clangFlags);
    break;
  case Place::Host:
    append(command.hostFlags);
    break;
  case Place::Link:
    if (arg->getOption().matches(options::OPT_l))
      takeLibrary("-l", arg->getValue(), command);
    else
      append(command.linkFlags);
    // It also defines a macro.
    if (arg->getOption().matches(options::OPT_pthread))
      append(command.clangFlags);
    break;
  case Place::Drop:
    command.ignored.push_back({token.str(), "it concerns the build, not the program"});
    break;
  case Place::Output:
    break;
  case Place::Arch: {
    llvm::Expected<std::string> arch = normalizeArch(arg->getValue());
    if (!arch)
      return arch.takeError();
    if (command.archIsDefault || archNumber(*arch) >= archNumber(command.arch))
      command.arch = *arch;
    command.archIsDefault = false;
    break;
  }
  case Place::Language:
    if (StringRef(arg->getValue()) != "cuda" && StringRef(arg->getValue()) != "cu")
      return llvm::make_error<UsageError>("'-x " + std::string(arg->getValue()) + "' is not CUDA",
                                          "kb-opt reads CUDA C++: -x cuda");
    command.languageIsGiven = true;
    break;
  case Place::OpenMp:
    // Without the flag the pragmas mean nothing; omp.h is the one of
    // CompatHeader.cpp.
    command.ignored.push_back({token.str(), "parallel loops of the host run in one thread"});
    break;
  }
  return index;
}

void kbopt::takeHostArguments(llvm::ArrayRef<std::string> items, CompileCommand &command) {
  std::deque<std::string> rest(items.begin(), items.end());
  while (!rest.empty()) {
    std::string token = std::move(rest.front());
    rest.pop_front();
    llvm::Expected<unsigned> taken = takeClangArgument(token, rest, command, true);
    if (!taken)
      llvm::consumeError(taken.takeError());
    if (!taken || !*taken) {
      command.ignored.push_back({token, "the host side is compiled by clang, which lacks it"});
      continue;
    }
    rest.erase(rest.begin(), rest.begin() + (*taken - 1));
  }
}

void kbopt::takeLibrary(StringRef flag, StringRef value, CompileCommand &command) {
  // NVIDIA's own need a GPU and its driver.
  static constexpr StringRef prefixes[] = {
      "cuda", "cublas", "cufft",      "curand",    "cusparse",  "cusolver", "cudnn",
      "nccl", "nvrtc",  "nvToolsExt", "nvidia-ml", "nvJitLink", "cupti"};
  if (flag == "-l" &&
      llvm::any_of(prefixes, [&](StringRef prefix) { return value.starts_with(prefix); })) {
    command.ignored.push_back(
        {(flag + value).str(), "kb-opt's recorder stands for CUDA's libraries"});
    return;
  }
  command.linkFlags.push_back((flag + value).str());
}

void kbopt::takeInput(StringRef token, std::vector<std::string> &inputs, CompileCommand &command) {
  StringRef extension = llvm::sys::path::extension(token);
  if (llvm::is_contained({".o", ".a", ".so", ".obj", ".lib"}, extension))
    command.linkFlags.push_back(token.str());
  else
    inputs.push_back(token.str());
}

std::string kbopt::nearestClangFlag(StringRef name, unsigned &distance) {
  std::string nearest;
  unsigned found = clang::getDriverOptTable().findNearest(
      name, nearest, llvm::opt::Visibility(options::ClangOption), /*MinimumLength=*/4, distance);
  if (found >= distance)
    return "";
  distance = found;
  return nearest;
}

llvm::Expected<std::vector<std::string>>
kbopt::translateClangFlags(llvm::ArrayRef<std::string> arguments, CompileCommand &command) {
  std::deque<std::string> rest(arguments.begin(), arguments.end());
  std::vector<std::string> inputs;
  while (!rest.empty()) {
    std::string token = std::move(rest.front());
    rest.pop_front();
    if (token.empty() || token == "--")
      continue;
    if (token[0] != '-' || token == "-") {
      takeInput(token, inputs, command);
      continue;
    }
    llvm::Expected<unsigned> taken = takeClangArgument(token, rest, command);
    if (!taken)
      return taken.takeError();
    if (!*taken) {
      unsigned distance = std::max<unsigned>(2, token.size() / 3) + 1;
      std::string nearest = nearestClangFlag(token, distance);
      return llvm::make_error<UsageError>("unknown flag '" + token + "'",
                                          nearest.empty() ? "the command is one of clang"
                                                          : "did you mean '" + nearest + "'?");
    }
    rest.erase(rest.begin(), rest.begin() + (*taken - 1));
  }
  return inputs;
}
