//===- Image.cpp - kernels for the tests of kb-run ------------------------===//
//
// Owns a CPU image written by hand, so that kb-run is tested without the image
// compiler: kernels that work, go wrong in each way, and depend on their order.
//
//===----------------------------------------------------------------------===//
#include "kbrt/DeviceAbi.h"
#include <iterator>

using namespace kbrt;

namespace {

uint32_t index(const Block *block, const Thread *thread) {
  return block->ctaid.x * block->ntid.x + thread->tid.x;
}

/// x[i] += 1
void increment(void **args, const Block *block, Thread *thread) {
  (*static_cast<int **>(args[0]))[index(block, thread)] += 1;
}

/// The thread that comes last wins.
void last(void **args, const Block *, Thread *thread) {
  (*static_cast<int **>(args[0]))[0] = int(thread->tid.x);
}

void outside(void **args, const Block *, Thread *) {
  (*static_cast<volatile int **>(args[0]))[64] = 1;
}

void trap(void **, const Block *, Thread *) { kbrt_trap(0); }

void die(void **, const Block *, Thread *) { __builtin_trap(); }

long getpidBySyscall() {
  long result;
  asm volatile("syscall" : "=a"(result) : "a"(39) : "rcx", "r11", "memory");
  return result;
}

/// Ends the process behind the runtime's back.
void vanish(void **, const Block *, Thread *) {
  long result;
  asm volatile("syscall"
               : "=a"(result)
               : "a"(62), "D"(getpidBySyscall()), "S"(9)
               : "rcx", "r11", "memory"); // kill(self, SIGKILL)
}

void forever(void **, const Block *, Thread *) {
  for (volatile int i = 0;; i = i + 1)
    ;
}

constexpr ParamInfo parameters[] = {{"x", "int *", "int", 0, 8, 8, 4, 1, 0, 0, 0, nullptr, 0}};

constexpr KernelInfo kernel(const char *name, BodyFunction body) {
  KernelInfo info{};
  info.name = info.displayName = name;
  info.body = body;
  info.params = parameters;
  info.paramCount = 1;
  info.paramBytes = 8;
  info.needsFibers = 1;
  info.file = "k.cu";
  return info;
}
constexpr KernelInfo kernels[] = {
    kernel("increment", increment), kernel("last", last), kernel("outside", outside),
    kernel("trap", trap),           kernel("die", die),   kernel("vanish", vanish),
    kernel("forever", forever)};
constexpr SiteInfo sites[] = {
    {AccessKind::Trap, MemorySpace::Generic, 0, 0, 0, 0, 12, 3, "k.cu", "", "trap"}};

constexpr ImageInfo image() {
  ImageInfo info = {};
  info.abiVersion = imageAbiVersion;
  info.mode = ImageMode::Plain;
  info.kernels = kernels;
  info.kernelCount = std::size(kernels);
  info.sites = sites;
  info.siteCount = std::size(sites);
  info.mainFile = "k.cu";
  return info;
}

} // namespace

extern "C" const ImageInfo kbrt_image = image();
