//===- HostRefusals.cpp - Functions that a host program lacks -------------===//
// SPDX-License-Identifier: Apache-2.0
#include "HostRefusals.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Object/ArchiveWriter.h"
#include "llvm/Object/ELFObjectFile.h"
#include "llvm/Object/ObjectFile.h"
#include "llvm/Support/raw_ostream.h"
#include <set>

using namespace kbopt;
using llvm::StringRef;
using llvm::object::ObjectFile;
using llvm::object::SymbolRef;

/// Whether \p name is one of CUDA's: cublasCreate_v2, cuInit, ncclSend. A
/// C++ name is the user's own.
static bool isCudaName(StringRef name) {
  if (name.consume_front("cu"))
    return !name.empty() && llvm::isAlpha(name.front());
  for (StringRef prefix : {"nccl", "nvtx", "nvml", "nvrtc", "nvJitLink", "cupti"})
    if (name.starts_with(prefix))
      return true;
  return false;
}

static llvm::Error collect(StringRef path, std::set<std::string> &defined,
                           std::set<std::string> *undefined) {
  llvm::Expected<llvm::object::OwningBinary<ObjectFile>> file = ObjectFile::createObjectFile(path);
  if (!file)
    return file.takeError();
  auto take = [&](const SymbolRef &symbol) -> llvm::Error {
    llvm::Expected<StringRef> name = symbol.getName();
    if (!name)
      return name.takeError();
    llvm::Expected<uint32_t> flags = symbol.getFlags();
    if (!flags)
      return flags.takeError();
    if (!(*flags & SymbolRef::SF_Undefined))
      defined.insert(name->str());
    else if (undefined)
      undefined->insert(name->str());
    return llvm::Error::success();
  };
  for (const SymbolRef &symbol : file->getBinary()->symbols())
    if (llvm::Error error = take(symbol))
      return error;
  if (const auto *elf = llvm::dyn_cast<llvm::object::ELFObjectFileBase>(file->getBinary()))
    for (const SymbolRef &symbol : elf->getDynamicSymbolIterators())
      if (llvm::Error error = take(symbol))
        return error;
  return llvm::Error::success();
}

llvm::Expected<std::vector<std::string>>
kbopt::missingCudaFunctions(llvm::ArrayRef<std::string> objects, StringRef runtimeLibrary) {
  std::set<std::string> defined, undefined;
  for (const std::string &object : objects)
    if (llvm::Error error = collect(object, defined, &undefined))
      return std::move(error);
  if (llvm::Error error = collect(runtimeLibrary, defined, nullptr))
    return std::move(error);
  std::vector<std::string> missing;
  for (const std::string &name : undefined)
    if (isCudaName(name) && !defined.count(name))
      missing.push_back(name);
  return missing;
}

std::string kbopt::refusalSource(llvm::ArrayRef<std::string> names) {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << "#include <stdio.h>\n"
        "#include <stdlib.h>\n"
        "__attribute__((weak)) void kbrecord_unsupported(const char *);\n"
        "static void refuse(const char *name) {\n"
        "  if (kbrecord_unsupported)\n"
        "    kbrecord_unsupported(name);\n"
        "  fflush(stdout);\n"
        "  fprintf(stderr, \"%s is not supported by the recorder\\n\", name);\n"
        "  _Exit(70);\n"
        "}\n";
  for (const std::string &name : names)
    os << "void " << name << "(void) { refuse(\"" << name << "\"); }\n";
  return text;
}

llvm::Error kbopt::archiveOf(StringRef object, StringRef archive) {
  llvm::Expected<llvm::NewArchiveMember> member =
      llvm::NewArchiveMember::getFile(object, /*Deterministic=*/true);
  if (!member)
    return member.takeError();
  std::vector<llvm::NewArchiveMember> members;
  members.push_back(std::move(*member));
  return llvm::writeArchive(archive, members, llvm::SymtabWritingMode::NormalSymtab,
                            llvm::object::Archive::K_GNU, /*Deterministic=*/true, /*Thin=*/false);
}
