//===- PlanTransform.h - Comparing and changing plans -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
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

/// The first step or buffer in which \p left and \p right, plans of one run, differ but for
/// addresses, types of elements and how the run ended, as two lines of plan.json; nothing if they
/// are the same.
std::optional<std::string> firstPlanDifference(kbrt::Plan left, kbrt::Plan right);

/// Writes \p plan to \p folder, which is made, with the data.bin of \p from if there is one: the
/// same file under another name, or a copy where the file system has no such links.
llvm::Error writePlanWithData(const kbrt::Plan &plan, llvm::StringRef from, llvm::StringRef folder);

/// Input values of gate G7.
enum class InputDistribution : uint8_t {
  Normal,         ///< mean 0, deviation 1
  ScaledShifted,  ///< mean 3, deviation 10
  AllEqual,       ///< one value everywhere
  OutlierRows,    ///< normal, with runs of 32 elements a thousand times larger
  Denormal,       ///< subnormal numbers of both signs, +0 and -0
  LargeMagnitude, ///< of the order of the square root of the type's largest; lessened, of a smaller
                  ///< root
  NonFinite,      ///< normal, with a few NaN, +Inf and -Inf
  FewValues,      ///< -1, -0, +0, 1 and 2
  Negative,       ///< minus the magnitude of normal
  Offset,         ///< mean 300, deviation 0.1
  WholeNumbers,   ///< from -4 to 4: sums and products of them round nowhere
  // Of every type, from the recorded values. Not every program stands them.
  Shuffled,   ///< in another order
  FewOfThem,  ///< the first over and over, in the last eighth two others
  SomeOther,  ///< of the integers one in eight is another: negative, zero, beyond the others
  AnyInteger, ///< integers of either sign, so large that their products leave 32 bits
  AnyBits,    ///< integers of all their width, the ends of their range among them
  Moved, ///< every integer of every upload 64 times itself and a number: those that were equal stay
         ///< equal
  AnyIndex, ///< where none is negative, half of the integers are any below the length of an array
            ///< that is longer
  // Most stays as recorded, and a few values at which programs branch stand among it
  // (BoundaryInputs.h).
  SprinkledNumbers,  ///< floating point: each up to twice as large, one in eight a tie, a zero, a
                     ///< subnormal or a constant of the program
  SprinkledIntegers, ///< one in eight the end of its type, around zero or a constant of the program
  FewSpecial, ///< one upload has a few numbers of the order of the square root of the largest;
              ///< the others are zero at both ends
  NotFinite,  ///< floating point: a few are NaN, +Inf or -Inf
  ZeroRuns,   ///< one upload has zeros at both ends and in the middle; the others are larger
  EndRuns,    ///< one upload has the largest value at both ends and the lowest in the middle
  Searched    ///< as single changes say (ChangedInputs.h)
};
/// Those of floating-point values, which every program is held to.
inline constexpr InputDistribution allInputDistributions[] = {
    InputDistribution::Normal,      InputDistribution::ScaledShifted,
    InputDistribution::AllEqual,    InputDistribution::OutlierRows,
    InputDistribution::Denormal,    InputDistribution::LargeMagnitude,
    InputDistribution::NonFinite,   InputDistribution::FewValues,
    InputDistribution::Negative,    InputDistribution::Offset,
    InputDistribution::WholeNumbers};
/// Those that take the recorded values; `fillDistribution` does not make them.
inline constexpr InputDistribution recordedDistributions[] = {
    InputDistribution::Shuffled, InputDistribution::FewOfThem,  InputDistribution::SomeOther,
    InputDistribution::Moved,    InputDistribution::AnyInteger, InputDistribution::AnyBits,
    InputDistribution::AnyIndex};
inline constexpr InputDistribution boundaryDistributions[] = {
    InputDistribution::SprinkledNumbers, InputDistribution::SprinkledIntegers,
    InputDistribution::FewSpecial,       InputDistribution::NotFinite,
    InputDistribution::ZeroRuns,         InputDistribution::EndRuns};
inline bool isAtBoundaries(InputDistribution distribution) {
  return distribution >= InputDistribution::SprinkledNumbers;
}
/// Whether the recorded values are what \p distribution starts from.
inline bool keepsRecorded(InputDistribution distribution) {
  return distribution >= InputDistribution::Shuffled;
}
/// "normal", "scaled-shifted", …
llvm::StringRef toString(InputDistribution distribution);
/// How often the values of \p distribution can be made smaller where a program overflows on them.
unsigned mostLessenings(InputDistribution distribution);

struct VariedUploads {
  unsigned uploadsVaried = 0; ///< uploads whose values changed
  unsigned uploadsKept = 0;   ///< uploads of integers or of an unknown type
};
struct VariedInputs : VariedUploads {
  std::string data; ///< takes the place of data.bin; the same size
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
/// The same into \p out, which is as large as \p data; all of it is written. The uploads are \p
/// alike: draws begin anew with each of them.
llvm::Expected<VariedUploads> varyInputs(const kbrt::Plan &plan, llvm::StringRef data,
                                         llvm::MutableArrayRef<uint8_t> out, uint64_t seed,
                                         InputDistribution distribution, unsigned lessenings = 0,
                                         bool alike = false);

/// \p data with each normal float32 and float64 element of the uploads one unit in the last place
/// larger or smaller, as
/// \p seed draws. Other bytes stay. Fails as `varyInputs` does.
llvm::Expected<std::string> nudgeInputs(const kbrt::Plan &plan, llvm::StringRef data,
                                        uint64_t seed);

/// Bytes of the records that buffers of no known element hold, by buffer; 0 where that is not
/// known.
using RecordSizes = std::vector<uint64_t>;

/// The recorded values of \p data changed in the way of \p distribution, which keeps the recorded
/// ones: in every upload, or in the one of that number (from 0) alone. Uploads of floating point,
/// those that hold device pointers, or records of unknown size, keep their bytes.
llvm::Expected<VariedInputs> varyRecorded(const kbrt::Plan &plan, llvm::StringRef data,
                                          uint64_t seed, InputDistribution distribution,
                                          std::optional<unsigned> only, const RecordSizes &records);
/// The same into \p out, which is as large as \p data; all of it is written.
llvm::Expected<VariedUploads> varyRecorded(const kbrt::Plan &plan, llvm::StringRef data,
                                           llvm::MutableArrayRef<uint8_t> out, uint64_t seed,
                                           InputDistribution distribution,
                                           std::optional<unsigned> only,
                                           const RecordSizes &records);

/// What an upload holds that can be varied.
enum class UploadWords : uint8_t { Kept, Integers, Records, Numbers };
/// By number of the upload.
std::vector<UploadWords> uploadWords(const kbrt::Plan &plan, const RecordSizes &records);

/// Bytes of the upload of that number.
struct KnownPiece {
  size_t number = 0;
  uint64_t offset = 0, bytes = 0;
};
/// Where \p known has \p bytes: in one of them, or as several whole ones beside each other.
std::optional<std::vector<KnownPiece>> findPieces(llvm::ArrayRef<llvm::StringRef> known,
                                                  llvm::StringRef bytes);

/// \p data of \p plan with the bytes that \p original's uploads carry in \p before replaced by
/// those that they carry in \p after. A plan may upload in another order, in pieces and several at
/// once; bytes that
/// \p original does not upload stay.
/// \p plan's uploads get other places where equal bytes are replaced by different ones.
llvm::Expected<std::string> varyLike(const kbrt::Plan &original, llvm::StringRef before,
                                     llvm::StringRef after, kbrt::Plan &plan, llvm::StringRef data);

/// Fills \p bytes, which hold elements of the floating-point type \p element.
void fillDistribution(llvm::MutableArrayRef<uint8_t> bytes, kbrt::ElementType element,
                      InputDistribution distribution, uint64_t seed, unsigned lessenings = 0);

} // namespace kbopt

#endif // KBOPT_PLAN_PLANTRANSFORM_H
