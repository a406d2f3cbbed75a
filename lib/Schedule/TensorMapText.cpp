//===- TensorMapText.cpp ----------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "kb-opt/Schedule/TensorMapText.h"
#include "llvm/Support/FormatVariadic.h"

using namespace kbopt;
using llvm::StringRef;

std::string kbopt::tensorMapFunctions(StringRef name) {
  constexpr const char *text =
      R"(// The tensor map of matrices, from which boxes of 64 x `box` elements of 16 bits are copied; its first word is zero where the driver has none. Its function is found at run time, so that nothing more has to be linked.
static inline CUtensorMap {0}{1}(const void *first, CUtensorMapDataType type, unsigned long long inner, unsigned long long outer, unsigned long long outerBytes, unsigned long long batches, unsigned long long batchBytes, unsigned box) {{
  using Encode = decltype(&cuTensorMapEncodeTiled);
  static const Encode encode = [] {{
    void *found = nullptr;
    cudaDriverEntryPointQueryResult status;
    const bool isKnown = cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &found, 12000, cudaEnableDefault, &status) == cudaSuccess;
    return isKnown ? (Encode)found : nullptr;
  }();
  CUtensorMap map = {{};
  const cuuint64_t extents[] = {{inner, outer, batches}, strides[] = {{outerBytes, batchBytes};
  const cuuint32_t boxes[] = {{64, box, 1}, steps[] = {{1, 1, 1};
  if (!encode || encode(&map, type, 3, const_cast<void *>(first), extents, strides, boxes, steps, CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE) != CUDA_SUCCESS)
    map.opaque[0] = 0;
  return map;
}

static inline bool {0}{2}(const void *first, CUtensorMapDataType type, unsigned long long inner, unsigned long long outer, unsigned long long outerBytes, unsigned long long batches, unsigned long long batchBytes, unsigned box) {{
  return {0}{1}(first, type, inner, outer, outerBytes, batches, batchBytes, box).opaque[0] != 0;
}

)";
  return llvm::formatv(text, name, tensorMapSuffix, hasTensorMapSuffix).str();
}

std::string TensorMapText::call(StringRef name, StringRef suffix) const {
  std::string text = (name + suffix + "(" + first).str();
  for (const std::string *each :
       {&type, &inner, &outer, &outerBytes, &batches, &batchBytes, &boxOuter})
    text += ", " + *each;
  return text + ")";
}
