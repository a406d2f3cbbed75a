//===- PlanTransform.h - Comparing and changing plans -----------*- C++ -*-===//
//
// Owns what kb-opt does to plans as data: compare, rename kernels, and put
// other input values in the place of the recorded ones.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_PLAN_PLANTRANSFORM_H
#define KBOPT_PLAN_PLANTRANSFORM_H

#include "kbrt/Plan.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <map>
#include <optional>

namespace kbopt {

/// The first respect in which the launches of \p left and \p right differ, in
/// words ("launch 3: grid 4 x 1 x 1 against 8 x 1 x 1"); nothing if they are
/// the same kernels with the same configurations and arguments in the same order.
std::optional<std::string> firstLaunchDifference(const kbrt::Plan &left, const kbrt::Plan &right);

/// The same for everything the host does besides launching: buffers, uploads,
/// fills, copies and reads, in their order.
std::optional<std::string> firstHostDifference(const kbrt::Plan &left, const kbrt::Plan &right);

/// Names of the kernels that \p plan launches, sorted.
std::vector<std::string> launchedKernels(const kbrt::Plan &plan);

/// \p plan with every kernel of \p names (old mangled name to new) renamed.
kbrt::Plan replaceKernels(kbrt::Plan plan, const std::map<std::string, std::string> &names);

/// Input values of gate G7.
enum class InputDistribution : uint8_t {
  Normal,         ///< mean 0, deviation 1
  ScaledShifted,  ///< mean 3, deviation 10
  AllEqual,       ///< one value everywhere
  OutlierRows,    ///< normal, with runs of 32 elements a thousand times larger
  Denormal,       ///< subnormal numbers of both signs, +0 and -0
  LargeMagnitude, ///< of the order of the square root of the type's largest; lessened, of a smaller root
  NonFinite       ///< normal, with a few NaN, +Inf and -Inf
};
inline constexpr InputDistribution allInputDistributions[] = {
    InputDistribution::Normal,   InputDistribution::ScaledShifted,
    InputDistribution::AllEqual, InputDistribution::OutlierRows,
    InputDistribution::Denormal, InputDistribution::LargeMagnitude,
    InputDistribution::NonFinite};
/// "normal", "scaled-shifted", …
llvm::StringRef toString(InputDistribution distribution);
/// How often the values of \p distribution can be made smaller where a program overflows on them.
unsigned mostLessenings(InputDistribution distribution);

struct VariedInputs {
  std::string data;           ///< takes the place of data.bin; the same size
  unsigned uploadsVaried = 0; ///< uploads whose values changed
  unsigned uploadsKept = 0;   ///< uploads of integers or of an unknown type
};

/// New values from \p seed for every upload into a buffer of floating-point
/// elements; integers and what has no known type keep their bytes. \p data is
/// the content of data.bin. The values of the n-th upload depend on the seed, the
/// distribution and n alone, so that plans of the same uploads get the same
/// inputs; uploads that share their bytes share the values of the first of them, or
/// keep their bytes if buffers of different types share them. The values are made
/// smaller \p lessenings times. Fails if the plan reaches beyond \p data.
llvm::Expected<VariedInputs> varyInputs(const kbrt::Plan &plan, llvm::StringRef data, uint64_t seed,
                                        InputDistribution distribution, unsigned lessenings = 0);

/// Fills \p bytes, which hold elements of the floating-point type \p element.
void fillDistribution(llvm::MutableArrayRef<uint8_t> bytes, kbrt::ElementType element,
                      InputDistribution distribution, uint64_t seed, unsigned lessenings = 0);

} // namespace kbopt

#endif // KBOPT_PLAN_PLANTRANSFORM_H
