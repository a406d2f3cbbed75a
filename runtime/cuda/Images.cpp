//===- Images.cpp - what an image file is, and compiling one --------------===//
// SPDX-License-Identifier: Apache-2.0
#include "Libraries.h"

#include <cstdlib>
#include <cstring>

using namespace kbrt;
using namespace kbrt::cuda;

namespace {

constexpr uint16_t machineCuda = 190; // EM_CUDA

/// "90" or "90a" after \p key in PTX text.
std::string afterTarget(std::string_view text) {
  size_t at = text.find(".target");
  size_t sm = at == std::string_view::npos ? at : text.find("sm_", at);
  if (sm == std::string_view::npos || sm - at > 32)
    return "";
  size_t end = sm + 3;
  while (end < text.size() && std::isalnum(static_cast<unsigned char>(text[end])))
    ++end;
  return std::string(text.substr(sm, end - sm));
}

unsigned numberOf(const std::string &arch) {
  return arch.size() > 3 ? static_cast<unsigned>(std::strtoul(arch.c_str() + 3, nullptr, 10)) : 0;
}

} // namespace

ImageKind kbrt::cuda::imageKind(std::string_view bytes) {
  ImageKind kind;
  auto at = [&](size_t i) { return static_cast<unsigned char>(bytes[i]); };
  if (bytes.size() >= 64 && bytes.substr(0, 4) == "\177ELF") {
    if ((at(18) | at(19) << 8) != machineCuda)
      return kind;
    kind.format = ImageKind::Cubin;
    uint32_t flags;
    std::memcpy(&flags, bytes.data() + 48, sizeof flags);
    // Version 8 of the ABI (CUDA 13) moved the architecture one byte up.
    unsigned sm = at(8) >= 8 ? flags >> 8 & 0xff : flags & 0xff;
    kind.arch = "sm_" + std::to_string(sm);
    return kind;
  }
  if (bytes.size() >= 4 && bytes.substr(0, 4) == std::string_view("\x50\xed\x55\xba", 4)) {
    kind.format = ImageKind::Fatbin;
    return kind;
  }
  std::string_view head = bytes.substr(0, 4096);
  if (head.find(".version") != std::string_view::npos &&
      head.find(".target") != std::string_view::npos) {
    kind.format = ImageKind::Ptx;
    kind.arch = afterTarget(head);
  }
  return kind;
}

bool kbrt::cuda::canLaunchFromDevice(std::string_view image) {
  // Of the device runtime: both generations of dynamic parallelism, and graphs.
  for (std::string_view name : {"__cudaCDP2Launch", "cudaLaunchDevice", "cudaGraphLaunch"})
    if (image.find(name) != std::string_view::npos)
      return true;
  return false;
}

bool kbrt::cuda::checkImage(std::string_view bytes, const std::string &path,
                            const DeviceFacts &facts, Problem &problem) {
  ImageKind kind = imageKind(bytes);
  auto wrong = [&](std::string message, std::string note) {
    problem = {LaunchStatus::Environment, path + ": " + message, std::move(note)};
    return false;
  };
  if (kind.format == ImageKind::Unknown)
    return wrong("is neither a cubin, PTX nor a fatbin",
                 "an image for a CUDA device is made by nvcc -cubin -arch=" + facts.arch());
  if (kind.arch.empty())
    return true;
  unsigned image = numberOf(kind.arch), device = facts.major * 10 + facts.minor;
  // Machine code runs on its own major version from its minor version on; PTX on all later ones.
  bool fits = kind.format == ImageKind::Ptx
                  ? image <= device
                  : image / 10 == facts.major && image % 10 <= facts.minor;
  if (fits)
    return true;
  return wrong("is for " + kind.arch + ", the device (" + facts.name + ") is " + facts.arch(),
               "compile with -arch=" + facts.arch() + ", or send the job to another machine");
}
