//===- HeldMemory.h - device memory of a screening ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the device and the four blocks of one screening: the inputs, the memory that
// kernels work in, what they leave as results, and the original's results, which are
// never lent. Fills and compares them; Vault.h says which worker runs what in them.
//
//===----------------------------------------------------------------------===//
#ifndef KBRUN_HELDMEMORY_H
#define KBRUN_HELDMEMORY_H

#include "HeldProgram.h"
#include "kbrt/Turn.h"
#include <nlohmann/json.hpp>

namespace kbrun {

/// Every operation that can fail says by \p problem what did.
class HeldMemory {
public:
  void open(kbrt::cuda::Problem &problem);
  /// Blocks for \p program. \p name is for messages.
  bool allocate(const std::string &name, const HeldProgram &program, kbrt::cuda::Problem &problem);
  bool fillInputs(const HeldProgram &program, kbrt::cuda::Problem &problem);
  /// Makes the block for work larger, which no other process may have mapped. On failure it is as
  /// large as before, or not there any more.
  void growWork(uint64_t bytes, kbrt::cuda::Problem &problem);

  /// Takes the results that lie there for the original's of the next set: copies them to where only
  /// this process has them.
  bool keepReferences(const HeldSet &set, kbrt::cuda::Problem &problem);
  /// Compares the results that lie there with the original's of \p set. \p matches gets an object
  /// for each read (docs/JobFormat.md); figures that are there already stay where they are worse.
  void compare(size_t set, nlohmann::ordered_json &matches, kbrt::cuda::Problem &problem);

  /// In the order of kbrt::cuda::LentBlocks::Block.
  std::vector<const kbrt::cuda::DeviceBlock *> lentBlocks() const {
    return {results.get(), inputs.get(), workBlock.get()};
  }
  const kbrt::cuda::DeviceBlock *work() const { return workBlock.get(); }
  /// For each set, where the bytes of each upload lie in the block of inputs.
  const std::vector<std::vector<uint64_t>> &inputPlaces() const { return uploads; }

private:
  /// One read of the original.
  struct Reference {
    std::string name;
    kbrt::ElementType type = kbrt::ElementType::Unknown;
    uint64_t bytes = 0;
    uint64_t result = 0, reference = 0; ///< offsets in the block of results, and in the set's own
    kbrt::cuda::ReferenceFigures figures;
  };
  /// Gives each of \p list a place in a block of references; what is the same as an earlier one
  /// shares it. The bytes of all places, or nothing with \p problem.
  std::optional<uint64_t> placeReferences(std::vector<Reference> &list,
                                          kbrt::cuda::Problem &problem);

  std::unique_ptr<kbrt::cuda::Device> device;
  std::optional<kbrt::cuda::Turn> turn;
  std::unique_ptr<kbrt::cuda::ResultComparison> comparison;
  std::unique_ptr<kbrt::cuda::DeviceBlock> inputs, workBlock, results;
  std::vector<std::unique_ptr<kbrt::cuda::DeviceBlock>> references; ///< by set
  std::vector<std::vector<uint64_t>> uploads;                       ///< by set
  std::vector<std::vector<Reference>> reads;                        ///< by set
  kbrt::cuda::Problem tooMuch; ///< said where memory does not suffice
};

} // namespace kbrun
#endif
