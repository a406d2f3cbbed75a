//===- CaseData.h - Plans with other inputs ---------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the writing of a recording's plan with other data than were recorded.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_LIB_CANDIDATE_CASEDATA_H
#define KBOPT_LIB_CANDIDATE_CASEDATA_H

#include "kb-opt/Candidate/CaseRecipes.h"
#include "kb-opt/Candidate/KernelParameters.h"
#include "kb-opt/Candidate/SortedArrays.h"
#include "kb-opt/Plan/BoundaryInputs.h"
#include "kb-opt/Plan/InputFacts.h"
#include "kb-opt/Support/FileSystem.h"

namespace kbopt {

/// What each buffer of \p plan consists of, as far as \p kernelRecords tell, and the bytes alone.
std::vector<RecordLayout> recordLayouts(const kbrt::Plan &plan, const KernelRecords &kernelRecords);
RecordSizes recordSizes(const kbrt::Plan &plan, const KernelRecords &kernelRecords);

/// \p plan, with the fields of records apart where \p distribution puts values among recorded
/// numbers; nothing where it has no such records, or a host that goes by results, unless hosts are
/// run on them.
std::optional<SplitPlan> splitFor(InputDistribution distribution, const kbrt::Plan &plan,
                                  llvm::StringRef data, const KernelRecords &records,
                                  bool runsHosts);

/// Whether the host of \p plan launches something after it has read a result: what it launches may
/// not fit other inputs.
bool goesByResults(const kbrt::Plan &plan);

/// What stays true of the uploads of \p recording when they are varied: what is \p stated, and that
/// those stay in order which are and may be one of the arrays that the program \p sorted. Fails if
/// what is stated does not hold.
llvm::Expected<std::vector<InputFacts>> inputFacts(const std::string &recording,
                                                   llvm::ArrayRef<SortedArray> sorted,
                                                   llvm::ArrayRef<InputFacts> stated);

/// Writes the plan of \p recording with the inputs of \p recipe, lessened so often and held to \p
/// facts, to \p folder. What is sprinkled comes from \p constants as well.
llvm::Error writeVaried(const std::string &recording, const CaseRecipe &recipe, unsigned lessenings,
                        const KernelRecords &records, llvm::ArrayRef<InputFacts> facts,
                        const ProgramConstants &constants, const std::string &folder);

/// Writes the plan of \p recording, a candidate's, to \p folder with what the original, recorded in
/// \p base, uploads in \p varied.
llvm::Error writeVariedLike(FileSystem &files, const std::string &recording,
                            const std::string &base, const std::string &varied,
                            const std::string &folder);

/// Writes the plan of \p again, of a host that has read other results, to \p folder. \p before is
/// its plan with the results that it read first, and \p varied that one with other inputs: uploads
/// that other results did not change are those of \p varied.
llvm::Error writeVariedAgain(FileSystem &files, const std::string &again, const std::string &before,
                             const std::string &varied, const std::string &folder);

} // namespace kbopt

#endif // KBOPT_LIB_CANDIDATE_CASEDATA_H
