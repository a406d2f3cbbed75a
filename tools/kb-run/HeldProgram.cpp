//===- HeldProgram.cpp ----------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "HeldProgram.h"

#ifdef KBRUN_HAS_CUDA
#include <sys/stat.h>

using namespace kbrt;

namespace kbrun {

namespace {

bool isSameFile(const std::string &a, const std::string &b) {
  struct stat first = {}, second = {};
  return stat(a.c_str(), &first) == 0 && stat(b.c_str(), &second) == 0 &&
         first.st_dev == second.st_dev && first.st_ino == second.st_ino;
}

bool isSamePlace(const UploadStep &a, const UploadStep &b) {
  return a.data == b.data && a.to.bytes() == b.to.bytes() && a.pointers.size() == b.pointers.size();
}

/// Whether two uploads have the same bytes; device pointers among them are as each plan has them.
bool isSameUpload(const UploadStep &a, std::string_view dataA, const UploadStep &b,
                  std::string_view dataB) {
  const uint64_t bytes = a.to.bytes();
  if (bytes != b.to.bytes() || a.pointers.size() != b.pointers.size() ||
      a.data + bytes > dataA.size() || b.data + bytes > dataB.size())
    return false;
  uint64_t at = 0;
  for (size_t i = 0; i <= a.pointers.size(); ++i) {
    const uint64_t end = i < a.pointers.size() ? a.pointers[i].at : bytes;
    if (i < a.pointers.size() && b.pointers[i].at != end)
      return false;
    if (end > at && dataA.substr(a.data + at, end - at) != dataB.substr(b.data + at, end - at))
      return false;
    at = end + sizeof(uint64_t);
  }
  return true;
}

} // namespace

bool HeldProgram::load(const std::vector<std::string> &folders, std::string &error) {
  for (const std::string &folder : folders) {
    HeldSet &set = sets.emplace_back();
    set.folder = folder;
    set.inputs = std::make_unique<Inputs>();
    if (!set.inputs->load({folder, "", ""}, "", {}, error))
      return false;
    set.places = cuda::PlanPlaces::of(set.inputs->plan);
  }
  return true;
}

std::vector<std::string> HeldProgram::folders() const {
  std::vector<std::string> result;
  for (const HeldSet &set : sets)
    result.push_back(set.folder);
  return result;
}

std::string whyUnlike(const HeldSet &original, const HeldSet &candidate) {
  const Inputs &mine = *original.inputs, &its = *candidate.inputs;
  auto uploads = stepsOf<UploadStep>(mine.plan), itsUploads = stepsOf<UploadStep>(its.plan);
  if (uploads.size() != itsUploads.size())
    return "its uploads are not the original's: they are " + std::to_string(itsUploads.size()) +
           ", not " + std::to_string(uploads.size());
  // What was recorded once is linked.
  const bool isSame =
      isSameFile(original.folder + "/" + dataFileName, candidate.folder + "/" + dataFileName);
  for (size_t i = 0; i < uploads.size(); ++i)
    if (!(isSame && isSamePlace(*uploads[i], *itsUploads[i])) &&
        !isSameUpload(*uploads[i], mine.payloads.data, *itsUploads[i], its.payloads.data))
      return "its uploads are not the original's: upload " + std::to_string(i) + " has other bytes";
  auto reads = stepsOf<ReadStep>(mine.plan), itsReads = stepsOf<ReadStep>(its.plan);
  bool isAlike = reads.size() == itsReads.size();
  for (size_t i = 0; i < reads.size() && isAlike; ++i)
    isAlike = reads[i]->from.bytes() == itsReads[i]->from.bytes();
  return isAlike ? "" : "its reads are not the original's";
}

std::string whyUnlike(const HeldProgram &original, const HeldProgram &candidate,
                      std::optional<size_t> &set) {
  if (candidate.sets.size() != original.sets.size())
    return "plans: are " + std::to_string(candidate.sets.size()) + ", the original has " +
           std::to_string(original.sets.size());
  for (size_t i = 0; i < original.sets.size(); ++i)
    if (std::string why = whyUnlike(original.sets[i], candidate.sets[i]); !why.empty()) {
      set = i;
      return why;
    }
  return "";
}

} // namespace kbrun
#endif
