//===- Image.cpp - loading an image and placing its variables -------------===//
// SPDX-License-Identifier: Apache-2.0
#include "Shadow.h"
#include "kbrt/CpuRuntime.h"
#include <cstring>
#include <dlfcn.h>
#include <link.h>

namespace kbrt {

namespace {
std::string plainName(std::string_view display) {
  // "void ns::k<int>(float*)" → "k"
  size_t end = display.find('(');
  // An anonymous namespace is written in brackets, too.
  while (end != std::string_view::npos && display.substr(end).starts_with("(anonymous namespace)"))
    end = display.find('(', end + 1);
  std::string_view head = display.substr(0, end);
  if (size_t angle = head.find('<'); angle != std::string_view::npos)
    head = head.substr(0, angle);
  if (size_t colon = head.rfind("::"); colon != std::string_view::npos)
    head = head.substr(colon + 2);
  if (size_t space = head.rfind(' '); space != std::string_view::npos)
    head = head.substr(space + 1);
  return std::string(head);
}

const void *codeOf(const KernelInfo &kernel) {
  if (kernel.split)
    return reinterpret_cast<const void *>(kernel.split->regions[0]);
  return kernel.body ? reinterpret_cast<const void *>(kernel.body)
                     : reinterpret_cast<const void *>(kernel.loop);
}

struct SegmentQuery {
  const void *inside;
  std::vector<std::pair<uint64_t, uint64_t>> *segments;
};

int collectSegments(dl_phdr_info *object, size_t, void *data) {
  auto *query = static_cast<SegmentQuery *>(data);
  std::vector<std::pair<uint64_t, uint64_t>> segments;
  bool isThis = false;
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const auto &header = object->dlpi_phdr[i];
    if (header.p_type != PT_LOAD)
      continue;
    uint64_t start = object->dlpi_addr + header.p_vaddr, end = start + header.p_memsz;
    uint64_t inside = reinterpret_cast<uint64_t>(query->inside);
    isThis |= inside >= start && inside < end;
    segments.emplace_back(start, end);
  }
  if (!isThis)
    return 0;
  *query->segments = std::move(segments);
  return 1;
}
} // namespace

std::unique_ptr<Image> Image::load(const std::string &path, std::string &error) {
  dlerror();
  void *handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle) {
    const char *why = dlerror();
    error = "cannot load the image: " + std::string(why ? why : path);
    return nullptr;
  }
  auto *info = static_cast<const ImageInfo *>(dlsym(handle, imageSymbol));
  if (!info) {
    error = "'" + path + "' is no image: it has no symbol " + imageSymbol;
    dlclose(handle);
    return nullptr;
  }
  auto image = fromInfo(*info, error);
  if (image)
    image->handle = handle;
  else
    dlclose(handle);
  return image;
}

std::unique_ptr<Image> Image::fromInfo(const ImageInfo &info, std::string &error) {
  if (info.abiVersion != imageAbiVersion) {
    error = "the image was built for version " + std::to_string(info.abiVersion) +
            " of the device ABI, this runtime has version " + std::to_string(imageAbiVersion);
    return nullptr;
  }
  DeviceLock lock;
  if (info.mode == ImageMode::Check && !shadow::enable()) {
    error = "cannot map the shadow memory of check mode";
    return nullptr;
  }
  std::unique_ptr<Image> image(new Image(info));
  // The tables of an image and its code lie in one object, except in tests.
  std::vector<const void *> insides{&info};
  if (info.kernelCount)
    insides.push_back(codeOf(info.kernels[0]));
  for (const void *inside : insides) {
    SegmentQuery query{inside, &image->segments};
    dl_iterate_phdr(collectSegments, &query);
  }
  if (!image->placeSymbols(error))
    return nullptr;
  image->resetSymbols();
  return image;
}

Image::~Image() {
  DeviceLock lock;
  for (const SymbolInfo &symbol : symbols)
    if (symbol.address)
      DeviceMemory::get().free(reinterpret_cast<void *>(symbol.address));
  if (handle)
    dlclose(handle);
}

bool Image::placeSymbols(std::string &error) {
  for (uint32_t i = 0; i < info.variableCount; ++i) {
    const VariableInfo &variable = info.variables[i];
    SymbolInfo symbol{variable.name, 0, variable.bytes, variable.kind, variable.elementType};
    if (variable.kind == VariableKind::Image) {
      symbols.push_back(symbol);
      continue;
    }
    MemoryKind kind = variable.kind == VariableKind::Constant  ? MemoryKind::Constant
                      : variable.kind == VariableKind::Managed ? MemoryKind::Managed
                                                               : MemoryKind::Symbol;
    void *place = DeviceMemory::get().allocateSymbol(variable.name, variable.bytes, kind);
    if (!place) {
      error = DeviceMemory::get().lastError();
      return false;
    }
    *variable.slot = place;
    symbol.address = reinterpret_cast<uint64_t>(place);
    symbols.push_back(symbol);
  }
  return true;
}

void Image::resetSymbols() {
  for (uint32_t i = 0; i < info.variableCount; ++i) {
    const VariableInfo &variable = info.variables[i];
    if (variable.kind == VariableKind::Image)
      continue;
    auto *place = reinterpret_cast<char *>(symbols[i].address);
    if (variable.initial)
      memcpy(place, variable.initial, variable.bytes);
    else
      memset(place, 0, variable.bytes);
    for (uint32_t r = 0; r < variable.relocationCount; ++r) {
      const VariableRelocation &relocation = variable.relocations[r];
      char *target =
          static_cast<char *>(*info.variables[relocation.variable].slot) + relocation.addend;
      memcpy(place + relocation.offset, &target, sizeof target);
    }
    DeviceMemory::get().noteHostWrite(place, variable.bytes);
  }
}

const KernelInfo *Image::findKernel(std::string_view name) const {
  for (uint32_t i = 0; i < info.kernelCount; ++i)
    if (name == info.kernels[i].name || name == info.kernels[i].displayName)
      return &info.kernels[i];
  const KernelInfo *found = nullptr;
  for (uint32_t i = 0; i < info.kernelCount; ++i)
    if (plainName(info.kernels[i].displayName) == name) {
      if (found)
        return nullptr;
      found = &info.kernels[i];
    }
  return found;
}

const SymbolInfo *Image::findSymbol(std::string_view name) const {
  for (const SymbolInfo &symbol : symbols)
    if (symbol.name == name && symbol.address)
      return &symbol;
  return nullptr;
}

bool Image::contains(const void *p, uint64_t bytes) const {
  uint64_t start = reinterpret_cast<uint64_t>(p);
  for (auto [from, to] : segments)
    if (start >= from && start + bytes <= to)
      return true;
  return false;
}

} // namespace kbrt
