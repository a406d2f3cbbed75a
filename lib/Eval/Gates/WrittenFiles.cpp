//===- WrittenFiles.cpp ---------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// A file is a text, or else bytes, floats or doubles: whichever of the three
// explains it.
//
//===----------------------------------------------------------------------===//
#include "WrittenFiles.h"

#include "Expectation.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include <cmath>
#include <cstring>
#include <limits>

using namespace llvm;

namespace kbopt {
namespace {

GateRecord fail(std::string reason) {
  return GateRecord::fail(GateId::G14, FailureClass::Correctness, std::move(reason));
}

bool isText(StringRef content) { return !content.contains('\0'); }

/// The first byte at which \p content is not one of \p originals' nor among what varies between
/// them.
std::optional<size_t> firstDifference(ArrayRef<StringRef> originals, StringRef content) {
  for (size_t i = 0; i < content.size(); ++i) {
    const char byte = originals.front()[i];
    if (content[i] != byte && all_of(originals, [&](StringRef each) { return each[i] == byte; }))
      return i;
  }
  return std::nullopt;
}

/// Whether both files are numbers of type T which are as near as printed ones must be.
template <typename T> bool areNear(StringRef original, StringRef content) {
  if (content.size() % sizeof(T))
    return false;
  for (size_t i = 0; i < content.size(); i += sizeof(T)) {
    T x, y;
    std::memcpy(&x, original.data() + i, sizeof x);
    std::memcpy(&y, content.data() + i, sizeof y);
    if (std::memcmp(&x, &y, sizeof x) == 0)
      continue;
    auto isNumber = [](T value) {
      return value == 0 || std::isnormal(value);
    }; // small integers look like denormals
    if (!isNumber(x) || !isNumber(y) ||
        std::fabs(x - y) > T(printedTolerance) * std::max(std::fabs(x), std::fabs(y)) +
                               std::numeric_limits<T>::min())
      return false;
  }
  return true;
}

/// Whether no byte is another but by one step, as pixels that were rounded.
bool areSteps(StringRef original, StringRef content) {
  for (size_t i = 0; i < content.size(); ++i)
    if (std::abs(static_cast<unsigned char>(original[i]) - static_cast<unsigned char>(content[i])) >
        1)
      return false;
  return true;
}

std::optional<GateRecord> compareFile(StringRef name, ArrayRef<StringRef> originals,
                                      ArrayRef<StringRef> moved, StringRef content, bool exact) {
  const std::string what = ("the file '" + name + "', which the program writes,").str();
  if (all_of(originals, isText) && isText(content)) {
    Expectation expectation(originals);
    for (StringRef other : moved)
      expectation.addRerounded(other);
    return expectation.compare(content, exact ? Closeness::Exactly : Closeness::Roughly, what);
  }
  const StringRef first = originals.front();
  if (any_of(originals, [&](StringRef each) { return each.size() != first.size(); }))
    return std::nullopt; // of another size each time
  if (content.size() != first.size())
    return fail(
        formatv("{0} has {1} bytes, the original's {2}", what, content.size(), first.size()));
  const std::optional<size_t> at = firstDifference(originals, content);
  if (!at || (!exact && (areNear<float>(first, content) || areNear<double>(first, content) ||
                         areSteps(first, content))))
    return std::nullopt;
  return fail(formatv("byte {0} of {1} differs", *at, what));
}

} // namespace

std::optional<GateRecord> compareFiles(ArrayRef<const CaseSource::WholeRun *> originals,
                                       ArrayRef<const CaseSource::WholeRun *> moved,
                                       const std::map<std::string, std::string> &files,
                                       bool exact) {
  auto of = [](ArrayRef<const CaseSource::WholeRun *> runs, const std::string &name) {
    std::vector<StringRef> contents;
    for (const CaseSource::WholeRun *run : runs)
      if (auto found = run->files.find(name); found != run->files.end())
        contents.push_back(found->second);
    return contents;
  };
  const bool namesVary = any_of(originals, [&](const CaseSource::WholeRun *run) {
    return !std::equal(run->files.begin(), run->files.end(), originals.front()->files.begin(),
                       originals.front()->files.end(),
                       [](const auto &a, const auto &b) { return a.first == b.first; });
  });
  for (const auto &[name, content] : originals.front()->files) {
    const std::vector<StringRef> contents = of(originals, name);
    if (contents.size() != originals.size())
      continue;
    auto found = files.find(name);
    if (found == files.end())
      return fail("the program does not write the file '" + name + "', which the original writes");
    if (auto failure = compareFile(name, contents, of(moved, name), found->second, exact))
      return failure;
  }
  for (const auto &[name, content] : files)
    if (!namesVary && !originals.front()->files.count(name))
      return fail("the program writes the file '" + name + "', which the original does not");
  return std::nullopt;
}

} // namespace kbopt
