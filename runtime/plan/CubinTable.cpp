//===- CubinTable.cpp - what a cubin says of itself -----------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// A cubin is an ELF file. A kernel is a function symbol with the mark "entry"; its
// parameters stand in the section .nv.info.NAME as a list of attributes, the
// registers of all kernels in .nv.info. Layout as nvcc 12 and 13 write it.
//
//===----------------------------------------------------------------------===//
#include "kbrt/CubinTable.h"

#include <algorithm>
#include <cctype>
#include <cstring>
#include <elf.h>
#include <map>

using namespace kbrt;

namespace {

constexpr uint16_t machineCuda = 190; // EM_CUDA
/// Bits of st_other.
constexpr unsigned char symbolIsManaged = 0x04, symbolIsEntry = 0x10;
/// Attributes of .nv.info sections.
enum Attribute : uint8_t {
  maxThreadsAttribute = 0x05,
  parameterAttribute = 0x17,
  registersAttribute = 0x2f
};
/// The attribute is followed by as many bytes as its value says.
constexpr uint8_t formatSized = 4;
/// At the start of a block's shared memory, since compute capability 8.0.
constexpr uint64_t reservedSharedBytes = 1024;

class Reader {
public:
  explicit Reader(std::string_view bytes) : bytes(bytes) {}

  bool read(CubinTable &table) {
    Elf64_Ehdr header;
    if (!get(0, header) || header.e_shentsize != sizeof(Elf64_Shdr))
      return false;
    sections.resize(header.e_shnum);
    for (size_t i = 0; i < sections.size(); ++i)
      if (!get(header.e_shoff + i * sizeof(Elf64_Shdr), sections[i]))
        return false;
    namesAt = header.e_shstrndx;
    for (const Elf64_Shdr &section : sections)
      if (section.sh_type == SHT_SYMTAB && !readSymbols(section, table))
        return false;
    return readAttributes(table);
  }

private:
  template <typename T> bool get(uint64_t at, T &value) const {
    if (at > bytes.size() || sizeof value > bytes.size() - at)
      return false;
    std::memcpy(&value, bytes.data() + at, sizeof value);
    return true;
  }

  std::string text(size_t table, uint64_t offset) const {
    if (table >= sections.size() || sections[table].sh_offset > bytes.size() ||
        offset >= bytes.size() - sections[table].sh_offset)
      return "";
    std::string_view rest = bytes.substr(sections[table].sh_offset + offset);
    return std::string(rest.substr(0, rest.find('\0')));
  }
  std::string nameOf(const Elf64_Shdr &section) const { return text(namesAt, section.sh_name); }

  bool readSymbols(const Elf64_Shdr &table, CubinTable &result) {
    for (uint64_t i = 0; i < table.sh_size / sizeof(Elf64_Sym); ++i) {
      Elf64_Sym symbol;
      if (!get(table.sh_offset + i * sizeof symbol, symbol))
        return false;
      std::string name = text(table.sh_link, symbol.st_name);
      unsigned type = ELF64_ST_TYPE(symbol.st_info);
      if (type == STT_FUNC && symbol.st_other & symbolIsEntry) {
        kernelOf[i] = result.kernels.size();
        result.kernels.push_back({name, {}, 0, 0, 0});
      } else if (type == STT_OBJECT && symbol.st_shndx < sections.size()) {
        std::string place = nameOf(sections[symbol.st_shndx]);
        bool isConstant = place == ".nv.constant3";
        if (isConstant || place == ".nv.global" || place == ".nv.global.init")
          result.variables.push_back(
              {name, symbol.st_size, isConstant, (symbol.st_other & symbolIsManaged) != 0});
      }
    }
    return true;
  }

  bool readAttributes(CubinTable &table) {
    std::map<std::string, CubinKernel *> byName;
    for (CubinKernel &kernel : table.kernels)
      byName[kernel.name] = &kernel;
    auto find = [&](const std::string &section, std::string_view prefix) {
      auto found =
          section.rfind(prefix, 0) == 0 ? byName.find(section.substr(prefix.size())) : byName.end();
      return found == byName.end() ? nullptr : found->second;
    };
    for (const Elf64_Shdr &section : sections) {
      std::string name = nameOf(section);
      if (CubinKernel *kernel = find(name, ".nv.shared."))
        kernel->sharedBytes = section.sh_size - std::min(section.sh_size, reservedSharedBytes);
      CubinKernel *kernel = find(name, ".nv.info.");
      if ((kernel || name == ".nv.info") && !walkAttributes(section, kernel, table))
        return false;
    }
    return true;
  }

  bool walkAttributes(const Elf64_Shdr &section, CubinKernel *kernel, CubinTable &table) {
    struct Head {
      uint8_t format, attribute;
      uint16_t value;
    } head;
    for (uint64_t at = section.sh_offset, end = at + section.sh_size; at < end;) {
      if (!get(at, head))
        return false;
      at += sizeof head;
      if (head.format != formatSized)
        continue;
      if (kernel && head.attribute == parameterAttribute) {
        struct {
          uint32_t index;
          uint16_t ordinal, offset;
          uint32_t packed; ///< the size in bytes stands in the upper 14 bits
        } parameter;
        if (!get(at, parameter))
          return false;
        if (kernel->parameterBytes.size() <= parameter.ordinal)
          kernel->parameterBytes.resize(parameter.ordinal + 1u);
        kernel->parameterBytes[parameter.ordinal] = parameter.packed >> 18;
      } else if (kernel && head.attribute == maxThreadsAttribute) {
        uint32_t sizes[3];
        if (!get(at, sizes))
          return false;
        kernel->maxThreads = sizes[0] * sizes[1] * sizes[2];
      } else if (!kernel && head.attribute == registersAttribute) {
        uint32_t pair[2]; // symbol, registers
        if (!get(at, pair))
          return false;
        if (auto found = kernelOf.find(pair[0]); found != kernelOf.end())
          table.kernels[found->second].registers = pair[1];
      }
      at += head.value;
    }
    return true;
  }

  std::string_view bytes;
  std::vector<Elf64_Shdr> sections;
  size_t namesAt = 0;
  std::map<uint64_t, size_t> kernelOf; ///< number of the symbol
};

template <typename T> const T *findIn(const std::vector<T> &all, std::string_view name) {
  for (const T &one : all)
    if (one.name == name)
      return &one;
  std::string wanted = linkageFreeName(name);
  const T *found = nullptr;
  for (const T &one : all)
    if (linkageFreeName(one.name) == wanted) {
      if (found)
        return nullptr;
      found = &one;
    }
  return found;
}

/// Appends the source name that starts at \p text, without `L` before it; what is left, or nothing
/// if no source name starts there.
std::optional<std::string_view> takeSourceName(std::string_view text, std::string &name) {
  if (!text.empty() && text.front() == 'L')
    text.remove_prefix(1);
  size_t digits = 0, length = 0;
  while (digits < text.size() && std::isdigit(static_cast<unsigned char>(text[digits])))
    length = std::min<size_t>(length * 10 + static_cast<size_t>(text[digits++] - '0'), 1 << 20);
  if (!digits || length > text.size() - digits)
    return std::nullopt;
  std::string_view source = text.substr(digits, length);
  constexpr std::string_view unnamed = "_GLOBAL__N_";
  if (source.substr(0, unnamed.size()) == unnamed)
    source = "_GLOBAL__N_1"; // clang's; nvcc's has a hash of the file
  name += std::to_string(source.size()) + std::string(source);
  return text.substr(digits + length);
}

} // namespace

bool kbrt::isCubin(std::string_view bytes) {
  Elf64_Ehdr header;
  if (bytes.size() < sizeof header)
    return false;
  std::memcpy(&header, bytes.data(), sizeof header);
  return std::memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 && header.e_machine == machineCuda;
}

std::optional<CubinTable> kbrt::readCubin(std::string_view bytes, std::string &error) {
  CubinTable table;
  if (!isCubin(bytes))
    error = "is no cubin";
  else if (!Reader(bytes).read(table))
    error = "is a cubin that ends too early";
  else
    return table;
  return std::nullopt;
}

std::string kbrt::linkageFreeName(std::string_view mangled) {
  std::string_view rest = mangled;
  if (rest.substr(0, 2) != "_Z")
    return std::string(mangled);
  rest.remove_prefix(2);
  bool isNested = !rest.empty() && rest.front() == 'N';
  std::string name = "_Z";
  if (isNested) {
    name += 'N';
    rest.remove_prefix(1);
  }
  bool isAny = false;
  while (auto left = takeSourceName(rest, name)) {
    rest = *left;
    isAny = true;
    if (!isNested)
      break;
  }
  if (!isAny)
    return std::string(mangled);
  // A variable outside all namespaces has its plain name, unless it has internal linkage.
  if (!isNested && rest.empty())
    return name.substr(name.find_first_not_of("0123456789", 2));
  return name + std::string(rest);
}

const CubinKernel *CubinTable::findKernel(std::string_view name) const {
  return findIn(kernels, name);
}

const CubinVariable *CubinTable::findVariable(std::string_view name) const {
  return findIn(variables, name);
}
