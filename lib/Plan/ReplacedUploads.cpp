//===- ReplacedUploads.cpp ------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "ReplacedUploads.h"
#include "kb-opt/Support/Error.h"

using namespace kbopt;

/// So few bytes are a size, a factor or a counter that begins anew.
static constexpr size_t factorBytes = 64;

static bool isUniform(llvm::StringRef bytes) { return bytes.drop_front() == bytes.drop_back(); }

llvm::Error ReplacedUploads::read(const UploadReplacement &replacement) {
  auto own = readRecordedPlan(replacement.recorded), other = readRecordedPlan(replacement.varied);
  if (!own || !other)
    return llvm::joinErrors(own.takeError(), other.takeError());
  recorded = std::move(*own);
  varied = std::move(*other);
  bool hasRead = false;
  for (const auto &[step, its] : llvm::zip(recorded.plan.steps, varied.plan.steps)) {
    hasRead |= std::holds_alternative<kbrt::ReadStep>(step);
    const auto *upload = std::get_if<kbrt::UploadStep>(&step),
               *otherUpload = std::get_if<kbrt::UploadStep>(&its);
    if (!upload || !otherUpload || upload->to.bytes() <= factorBytes)
      continue;
    const llvm::StringRef bytes = recorded.data().substr(upload->data, upload->to.bytes()),
                          others = varied.data().substr(otherUpload->data, bytes.size());
    if (bytes.size() != upload->to.bytes() || others.size() != bytes.size())
      return llvm::make_error<StoreError>("the plan in '" + replacement.varied +
                                          "' is not that in '" + replacement.recorded + "'");
    if (hasRead) {
      hasLater |= !isUniform(bytes);
    } else if (isUniform(bytes)) {
      uniform.insert(bytes);
    } else {
      before.push_back(bytes);
      after.push_back(others);
    }
  }
  return llvm::Error::success();
}

std::optional<std::vector<KnownPiece>> ReplacedUploads::findPart(llvm::StringRef bytes) const {
  std::vector<KnownPiece> places;
  constexpr size_t most = 64;
  for (auto [number, upload] : llvm::enumerate(before)) {
    if (upload.size() == bytes.size() && upload == bytes)
      return std::vector<KnownPiece>{{number, 0, bytes.size()}};
    for (size_t at = upload.find(bytes); at != llvm::StringRef::npos && places.size() < most;
         at = upload.find(bytes, at + 1))
      places.push_back({number, at, bytes.size()});
  }
  if (places.empty())
    return std::nullopt;
  for (const KnownPiece &place : places)
    if (place.number == last.number && place.offset && place.offset == last.offset + last.bytes)
      return std::vector<KnownPiece>{place};
  if (places.size() == 1 || llvm::count_if(places, [](auto &place) { return !place.offset; }) == 1)
    return std::vector<KnownPiece>{
        *llvm::find_if(places, [&](auto &place) { return places.size() == 1 || !place.offset; })};
  return std::vector<KnownPiece>();
}

std::optional<std::string> ReplacedUploads::take(llvm::StringRef bytes, bool hasRead) {
  if (bytes.size() <= factorBytes || uniform.count(bytes))
    return std::nullopt;
  auto pieces = findPart(bytes);
  if (!pieces)
    pieces = findPieces(before, bytes);
  if (!pieces || pieces->empty()) {
    // What comes later may be inputs as well as results.
    isUnknown |= (!hasRead || hasLater) && !isUniform(bytes);
    return std::nullopt;
  }
  last = pieces->back();
  std::string others;
  for (const KnownPiece &piece : *pieces)
    others += after[piece.number].substr(piece.offset, piece.bytes);
  return others;
}
