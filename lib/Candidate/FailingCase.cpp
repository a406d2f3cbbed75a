//===- FailingCase.cpp ----------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "FailingCase.h"
#include "kb-opt/Eval/Comparator.h"
#include "kbrt/CubinTable.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Demangle/Demangle.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"
#include <cmath>

using namespace kbopt;

/// So many uploads and launches are told, the first ones, and so many values of each upload.
static constexpr size_t shownUploads = 6, shownLaunches = 4, shownValues = 6;
/// So many ways of launching a kernel, likewise.
static constexpr size_t shownShapes = 12;
/// The range of an upload is that of so many of its elements.
static constexpr size_t rangedElements = 1 << 20;

const TestCase *kbopt::caseNamedIn(llvm::StringRef words, llvm::ArrayRef<TestCase> cases) {
  const TestCase *found = nullptr;
  for (const TestCase &test : cases)
    if (words.contains("case " + test.name) && (!found || test.name.size() > found->name.size()))
      found = &test;
  return found;
}

static std::string shapeText(const kbrt::Dim3 &dim) {
  return llvm::formatv("({0}, {1}, {2})", dim.x, dim.y, dim.z);
}

static std::string numberText(double value) {
  std::string text;
  llvm::raw_string_ostream(text) << llvm::format("%.6g", value);
  return text;
}

/// "4096 f32, from -3.1 to 2.9: 0.5, -1.25, …".
static std::string valuesText(kbrt::ElementType type, llvm::ArrayRef<uint8_t> bytes) {
  const size_t count = bytes.size() / kbrt::elementBytes(type);
  std::string text = llvm::formatv("{0} {1}", count, kbrt::elementTypeName(type)), values;
  double least = HUGE_VAL, most = -HUGE_VAL;
  size_t unordered = 0;
  for (size_t i = 0; i < std::min(count, rangedElements); ++i) {
    const double value = elementAsDouble(type, bytes, i);
    unordered += std::isnan(value);
    least = std::fmin(least, value);
    most = std::fmax(most, value);
    if (i < shownValues)
      values += (i ? ", " : "") + numberText(value);
  }
  if (least <= most)
    text += ", from " + numberText(least) + " to " + numberText(most);
  if (unordered)
    text += llvm::formatv(", {0} not a number", unordered);
  return text + ": " + values + (count > shownValues ? ", …" : "");
}

static std::string uploadText(const kbrt::Plan &plan, const kbrt::UploadStep &upload,
                              llvm::StringRef data) {
  const kbrt::ElementType type = kbrt::elementOf(plan, upload.to);
  std::string text = llvm::formatv("buffer {0} is given ", upload.to.at.buffer);
  if (!kbrt::elementBytes(type) || upload.data + upload.to.bytes() > data.size())
    return text + std::to_string(upload.to.bytes()) + " bytes";
  llvm::StringRef bytes = data.substr(upload.data, upload.to.bytes());
  return text + valuesText(type, {bytes.bytes_begin(), bytes.size()});
}

/// A scalar whose type the plan does not have: four bytes are a float where they are a normal one,
/// which integers of a usual size are not.
static std::string scalarText(llvm::ArrayRef<uint8_t> bytes) {
  using kbrt::ElementType;
  if (bytes.size() == 4) {
    const double number = elementAsDouble(ElementType::F32, bytes, 0);
    const bool isNumber = std::isfinite(number) && std::fabs(number) > 1e-30;
    return numberText(isNumber ? number : elementAsDouble(ElementType::I32, bytes, 0));
  }
  if (bytes.size() == 8)
    return std::to_string(static_cast<int64_t>(elementAsDouble(ElementType::I64, bytes, 0)));
  if (bytes.size() == 1)
    return std::to_string(bytes[0]);
  return std::to_string(bytes.size()) + " bytes";
}

static std::string launchText(const kbrt::Plan &plan, const kbrt::LaunchStep &launch) {
  std::string text = llvm::demangle(launch.kernel);
  text += "<<<" + shapeText(launch.grid) + ", " + shapeText(launch.block) + ">>>(";
  for (auto [place, argument] : llvm::enumerate(launch.arguments)) {
    text += place ? ", " : "";
    if (argument.pointers.empty()) {
      text += scalarText(argument.bytes);
      continue;
    }
    const kbrt::Location &target = argument.pointers.front().target;
    text += llvm::formatv("buffer {0} ({1} bytes of {2})", target.buffer,
                          plan.buffers[target.buffer].bytes,
                          kbrt::elementTypeName(plan.buffers[target.buffer].element));
  }
  return text + ")";
}

std::vector<std::string> kbopt::describeInputs(const RecordedPlan &recorded) {
  std::vector<std::string> lines;
  size_t uploads = 0, launches = 0;
  for (const kbrt::Step &step : recorded.plan.steps) {
    if (const auto *upload = std::get_if<kbrt::UploadStep>(&step);
        upload && uploads++ < shownUploads)
      lines.push_back(uploadText(recorded.plan, *upload, recorded.data()));
    if (const auto *launch = std::get_if<kbrt::LaunchStep>(&step);
        launch && launches++ < shownLaunches)
      lines.push_back(launchText(recorded.plan, *launch));
  }
  auto addRest = [&](size_t all, size_t shown, llvm::StringRef what) {
    if (all > shown)
      lines.push_back(llvm::formatv("{0} more {1} are not shown", all - shown, what));
  };
  addRest(uploads, shownUploads, "uploads");
  addRest(launches, shownLaunches, "launches");
  return lines;
}

std::vector<std::string> kbopt::describeLaunches(const kbrt::Plan &plan) {
  std::vector<std::pair<std::string, size_t>> shapes; ///< with how often each is launched
  for (const kbrt::Step &step : plan.steps) {
    const auto *launch = std::get_if<kbrt::LaunchStep>(&step);
    if (!launch)
      continue;
    llvm::StringRef name(launch->kernel);
    std::string text = llvm::demangle(name);
    text = text.substr(0, text.find('(')) + "<<<" + shapeText(launch->grid) + ", " +
           shapeText(launch->block) + ">>>";
    if (launch->sharedBytes)
      text += llvm::formatv(", {0} bytes of shared memory", launch->sharedBytes);
    auto known = llvm::find_if(shapes, [&](const auto &shape) { return shape.first == text; });
    if (known == shapes.end())
      shapes.emplace_back(std::move(text), 1);
    else
      ++known->second;
  }
  std::vector<std::string> lines;
  for (const auto &[text, count] : llvm::ArrayRef(shapes).take_front(shownShapes))
    lines.push_back(text + (count > 1 ? ", " + std::to_string(count) + " times" : ""));
  if (shapes.size() > shownShapes)
    lines.push_back(llvm::formatv("{0} more are not shown", shapes.size() - shownShapes));
  return lines;
}
