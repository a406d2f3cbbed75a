//===- FakeCubin.h - A cubin without machine code ----------------*- C++ -*-===//
//
// Owns the writing of the tables that kbrt/CubinTable.h reads, as nvcc lays them
// out, so that tests need no toolkit.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_TEST_UNIT_PLAN_FAKECUBIN_H
#define KBOPT_TEST_UNIT_PLAN_FAKECUBIN_H

#include "kbrt/CubinTable.h"
#include <cstring>
#include <elf.h>

namespace kbopt {

/// A cubin for sm_90 (CUDA 13's layout) with \p table's kernels and variables.
inline std::string makeCubin(const kbrt::CubinTable &table) {
  std::string file(sizeof(Elf64_Ehdr), 0), names(1, 0);
  std::vector<Elf64_Shdr> sections(1);
  auto nameOf = [&](const std::string &name) {
    names += name + '\0';
    return static_cast<uint32_t>(names.size() - name.size() - 1);
  };
  auto add = [&](const std::string &name, uint32_t type, const std::string &bytes,
                 uint64_t size = 0) {
    Elf64_Shdr section = {};
    section.sh_name = nameOf(name);
    section.sh_type = type;
    section.sh_offset = file.size();
    section.sh_size = size ? size : bytes.size();
    section.sh_link = 1;
    file += bytes;
    sections.push_back(section);
    return static_cast<uint16_t>(sections.size() - 1);
  };
  auto append = [](std::string &to, const auto &value) {
    to.append(reinterpret_cast<const char *>(&value), sizeof value);
  };
  auto attribute = [&](std::string &to, uint8_t kind, std::initializer_list<uint32_t> words) {
    append(to, uint8_t{4});
    append(to, kind);
    append(to, static_cast<uint16_t>(words.size() * 4));
    for (uint32_t word : words)
      append(to, word);
  };
  add(".strtab", SHT_STRTAB, "");
  uint16_t variables = add(".nv.global", SHT_NOBITS, "", 64),
           constants = add(".nv.constant3", SHT_PROGBITS, "");
  std::string symbols(sizeof(Elf64_Sym), 0), common;
  uint32_t symbolCount = 1;
  auto symbol = [&](const std::string &name, unsigned type, uint8_t other, uint16_t section,
                    uint64_t bytes) {
    Elf64_Sym entry = {};
    entry.st_name = nameOf(name);
    entry.st_info = static_cast<uint8_t>(ELF64_ST_INFO(STB_GLOBAL, type));
    entry.st_other = other;
    entry.st_shndx = section;
    entry.st_size = bytes;
    append(symbols, entry);
    return symbolCount++;
  };
  for (const kbrt::CubinKernel &kernel : table.kernels) {
    uint32_t number = symbol(kernel.name, STT_FUNC, 0x10, 1, 256);
    attribute(common, 0x2f, {number, kernel.registers});
    std::string own;
    for (uint32_t i = static_cast<uint32_t>(kernel.parameterBytes.size()); i--;)
      attribute(own, 0x17, {0, i, kernel.parameterBytes[i] << 18 | 0x1f000});
    append(own, uint32_t{0x00ff1b03}); // MAXREG_COUNT, whose value stands in the head
    if (kernel.maxThreads)
      attribute(own, 0x05, {kernel.maxThreads, 1, 1});
    add(".nv.info." + kernel.name, SHT_LOPROC, own);
    if (kernel.sharedBytes)
      add(".nv.shared." + kernel.name, SHT_NOBITS, "", 1024 + kernel.sharedBytes);
  }
  for (const kbrt::CubinVariable &variable : table.variables)
    symbol(variable.name, STT_OBJECT, variable.isManaged ? 4 : 0,
           variable.isConstant ? constants : variables, variable.bytes);
  add(".nv.info", SHT_LOPROC, common);
  add(".symtab", SHT_SYMTAB, symbols);
  sections[1].sh_offset = file.size();
  sections[1].sh_size = names.size();
  file += names;
  Elf64_Ehdr header = {};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_ident[EI_ABIVERSION] = 8;
  header.e_machine = 190;
  header.e_flags = 0x5a04;
  header.e_shoff = file.size();
  header.e_shentsize = sizeof(Elf64_Shdr);
  header.e_shnum = static_cast<uint16_t>(sections.size());
  header.e_shstrndx = 1;
  for (const Elf64_Shdr &section : sections)
    append(file, section);
  std::memcpy(file.data(), &header, sizeof header);
  return file;
}

} // namespace kbopt

#endif // KBOPT_TEST_UNIT_PLAN_FAKECUBIN_H
