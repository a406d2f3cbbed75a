//===- Image.cpp - A CPU image written by hand ------------------------------===//
//
// Owns the device side of Programs.cpp as ordinary functions, so that the
// recorder is tested without a CUDA toolkit.
//
//===----------------------------------------------------------------------===//
#include "kbrt/DeviceAbi.h"
#include "kbrt/ImageInfo.h"

using namespace kbrt;

namespace {

void *tableSlot;
constexpr int tableInitial[4] = {1, 2, 3, 4};

uint32_t index(const Block *block, const Thread *thread) {
  return block->ctaid.x * block->ntid.x + thread->tid.x;
}

template <typename T> T argument(void **args, int i) { return *static_cast<T *>(args[i]); }

/// scale(float *x, int n, float a): x[i] *= a
void scale(void **args, const Block *block, Thread *thread) {
  uint32_t i = index(block, thread);
  if (i < argument<uint32_t>(args, 1))
    argument<float *>(args, 0)[i] *= argument<float>(args, 2);
}

/// lookUp(int *x, int n): x[i] = table[i % 4]
void lookUp(void **args, const Block *block, Thread *thread) {
  uint32_t i = index(block, thread);
  if (i < argument<uint32_t>(args, 1))
    argument<int *>(args, 0)[i] = static_cast<int *>(tableSlot)[i % 4];
}

/// follow(float **p): **p += 1, a pointer kept in memory
void follow(void **args, const Block *, Thread *) { **argument<float **>(args, 0) += 1; }

/// trap(float *x)
void trap(void **, const Block *, Thread *) { kbrt_trap(0); }

constexpr ParamInfo pointerTo(const char *type, const char *element, uint32_t bytes) {
  return {"x", type, element, 0, 8, 8, bytes, 1, 0, 0, 0, nullptr, 0};
}
constexpr ParamInfo scalar(const char *type, uint32_t offset) {
  return {"v", type, "", offset, 4, 4, 0, 0, 0, 0, 0, nullptr, 0};
}

constexpr ParamInfo scaleParams[] = {pointerTo("float *", "float", 4), scalar("int", 8),
                                     scalar("float", 12)};
constexpr ParamInfo lookUpParams[] = {pointerTo("int *", "int", 4), scalar("int", 8)};
constexpr ParamInfo followParams[] = {pointerTo("float **", "", 0)};
constexpr ParamInfo trapParams[] = {pointerTo("float *", "float", 4)};

constexpr KernelInfo kernel(const char *name, const char *display, BodyFunction body,
                            const ParamInfo *params, uint32_t count, uint32_t bytes) {
  KernelInfo info{};
  info.name = name;
  info.displayName = display;
  info.body = body;
  info.params = params;
  info.paramCount = count;
  info.paramBytes = bytes;
  info.file = "programs.cu";
  info.line = 1;
  return info;
}

const KernelInfo kernels[] = {
    kernel("_Z5scalePfif", "scale(float*, int, float)", scale, scaleParams, 3, 16),
    kernel("lookUp", "lookUp", lookUp, lookUpParams, 2, 12),
    kernel("_Z6followPPf", "follow(float**)", follow, followParams, 1, 8),
    kernel("_Z4trapPf", "trap(float*)", trap, trapParams, 1, 8),
};
const VariableInfo variables[] = {{"table", VariableKind::Device, 0, 4, sizeof tableInitial,
                                   tableInitial, &tableSlot, nullptr, 0, "int", 1}};
const SiteInfo sites[] = {
    {AccessKind::Trap, MemorySpace::Generic, 0, 0, 0, 3, 7, 3, "programs.cu", "", "trap"}};

} // namespace

extern "C" __attribute__((visibility("default"))) const ImageInfo kbrt_image = {imageAbiVersion,
                                                                                ImageMode::Plain,
                                                                                kernels,
                                                                                variables,
                                                                                sites,
                                                                                nullptr,
                                                                                nullptr,
                                                                                nullptr,
                                                                                nullptr,
                                                                                nullptr,
                                                                                nullptr,
                                                                                4,
                                                                                1,
                                                                                1,
                                                                                0,
                                                                                0,
                                                                                0,
                                                                                0,
                                                                                0,
                                                                                0,
                                                                                "programs.cu"};
