//===- CubinDigest.cpp - Naming machine code by its content ---------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the digest of a cubin's kernels: instruction bytes, literal constants
// and relocations by the name of what they point at, so that line tables, file
// names and the addresses of variables do not matter.
//
//===----------------------------------------------------------------------===//
#include "kb-opt/Eval/NvccImage.h"
#include "kb-opt/Eval/PtxCensus.h"
#include "kb-opt/Support/Error.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Object/ELF.h"

using namespace llvm;
using namespace llvm::object;

namespace kbopt {
namespace {

using File = ELFFile<ELF64LE>;

Error badCubin(Error error) {
  return make_error<ToolError>("the cubin cannot be read: " + llvm::toString(std::move(error)),
                               std::vector<std::string>{}, 0, "");
}

/// Bytes of \p section and, by offset, what its relocations refer to.
Expected<Digest> digestSection(const File &elf, const File::Elf_Shdr &section,
                               ArrayRef<File::Elf_Shdr> sections) {
  DigestBuilder builder;
  Expected<ArrayRef<uint8_t>> bytes = elf.getSectionContents(section);
  if (!bytes)
    return bytes.takeError();
  builder.add(toStringRef(*bytes));
  const uint32_t index = &section - sections.begin();
  auto addRelocation = [&](const File::Elf_Shdr &table, uint64_t offset, uint32_t type,
                           uint32_t symbolIndex, int64_t addend) -> Error {
    Expected<const File::Elf_Shdr *> symbols = elf.getSection(table.sh_link);
    if (!symbols)
      return symbols.takeError();
    Expected<const File::Elf_Sym *> symbol = elf.getEntry<File::Elf_Sym>(**symbols, symbolIndex);
    Expected<StringRef> strings = elf.getStringTableForSymtab(**symbols);
    if (!symbol || !strings)
      return joinErrors(symbol.takeError(), strings.takeError());
    Expected<StringRef> name = (*symbol)->getName(*strings);
    if (!name)
      return name.takeError();
    builder.add(offset).add(type).add(withoutModuleHash(*name)).add(static_cast<uint64_t>(addend));
    return Error::success();
  };
  for (const File::Elf_Shdr &table : sections) {
    if (table.sh_info != index)
      continue;
    if (table.sh_type == ELF::SHT_RELA) {
      auto entries = elf.relas(table);
      if (!entries)
        return entries.takeError();
      for (const auto &entry : *entries)
        if (Error error = addRelocation(table, entry.r_offset, entry.getType(false),
                                        entry.getSymbol(false), entry.r_addend))
          return std::move(error);
    } else if (table.sh_type == ELF::SHT_REL) {
      auto entries = elf.rels(table);
      if (!entries)
        return entries.takeError();
      for (const auto &entry : *entries)
        if (Error error = addRelocation(table, entry.r_offset, entry.getType(false),
                                        entry.getSymbol(false), 0))
          return std::move(error);
    }
  }
  return builder.finish();
}

/// Sections with initial values of variables, or their addresses.
bool isVariables(StringRef section) {
  return section == ".nv.constant3" || section == ".nv.constant4" || section == ".nv.global.init";
}

} // namespace

Expected<bool> hasVariables(StringRef elfBytes) {
  Expected<File> elf = File::create(elfBytes);
  if (!elf)
    return badCubin(elf.takeError());
  auto sections = elf->sections();
  if (!sections)
    return badCubin(sections.takeError());
  for (const File::Elf_Shdr &section : *sections) {
    Expected<StringRef> name = elf->getSectionName(section);
    if (!name)
      return badCubin(name.takeError());
    if (isVariables(*name) && section.sh_size)
      return true;
  }
  return false;
}

Expected<Digest> digestCubin(StringRef elfBytes, std::map<std::string, KernelResources> &kernels,
                             bool withVariables) {
  Expected<File> elf = File::create(elfBytes);
  if (!elf)
    return badCubin(elf.takeError());
  auto sections = elf->sections();
  if (!sections)
    return badCubin(sections.takeError());
  // Sections by name: code (.text.NAME), the kernels' literal constants
  // (.nv.constant2.NAME) and the variables' initial values.
  std::map<std::string, Digest> code, functions, data;
  for (const File::Elf_Shdr &section : *sections) {
    Expected<StringRef> name = elf->getSectionName(section);
    if (!name)
      return badCubin(name.takeError());
    bool isText = name->starts_with(".text.");
    bool isVariable = isVariables(*name);
    bool isData = name->starts_with(".nv.constant2.") || (withVariables && isVariable);
    if ((!isText && !isData) || section.sh_type == ELF::SHT_NOBITS)
      continue;
    Expected<Digest> digest = digestSection(*elf, section, *sections);
    if (!digest)
      return badCubin(digest.takeError());
    if (!isText)
      data[withoutModuleHash(*name)] = *digest;
    else if (kernels.count(name->drop_front(6).str()))
      code[name->drop_front(6).str()] = *digest;
    else
      functions[withoutModuleHash(name->drop_front(6))] = *digest;
  }
  DigestBuilder whole;
  for (auto &[name, kernel] : kernels) {
    auto found = code.find(name);
    if (found == code.end())
      return make_error<ToolError>("the cubin has no code for kernel " + name,
                                   std::vector<std::string>{}, 0, "");
    DigestBuilder builder;
    builder.add(found->second);
    // Which function a kernel calls is in its relocations, by name; a call's
    // target is small and rare, so all of them belong to every kernel.
    for (const auto &[function, digest] : functions)
      builder.add(function).add(digest);
    for (const auto &[section, digest] : data)
      if (!StringRef(section).starts_with(".nv.constant2.") || StringRef(section).ends_with(name))
        builder.add(section).add(digest);
    builder.add(kernel.sharedBytes.value_or(0)).add(kernel.registers.value_or(0));
    kernel.code = builder.finish();
    whole.add(withoutModuleHash(name)).add(kernel.code);
  }
  return whole.finish();
}

} // namespace kbopt
