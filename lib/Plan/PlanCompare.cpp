//===- PlanCompare.cpp - Differences between plans, and renaming ------------===//
// SPDX-License-Identifier: Apache-2.0
#include "kb-opt/Plan/PlanTransform.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Twine.h"
#include <set>

using namespace kbopt;
using namespace kbrt;

namespace {

std::string text(const kbrt::Dim3 &dim) {
  return std::to_string(dim.x) + " x " + std::to_string(dim.y) + " x " + std::to_string(dim.z);
}

std::string against(const std::string &what, const std::string &left, const std::string &right) {
  return what + " " + left + " against " + right;
}

std::optional<std::string> difference(const Argument &left, const Argument &right) {
  if (left.bytes.size() != right.bytes.size())
    return against("size", std::to_string(left.bytes.size()), std::to_string(right.bytes.size()));
  if (left.pointers != right.pointers)
    return std::string("points elsewhere");
  // Arena addresses may differ between runs; what they point to may not.
  std::vector<uint8_t> a = left.bytes, b = right.bytes;
  for (const PointerWord &word : left.pointers)
    for (uint32_t i = 0; i < 8; ++i)
      a[word.at + i] = b[word.at + i] = 0;
  return a == b ? std::nullopt : std::optional<std::string>("another value");
}

std::optional<std::string> difference(const LaunchStep &left, const LaunchStep &right) {
  if (left.kernel != right.kernel)
    return against("kernel", left.kernel, right.kernel);
  if (left.grid != right.grid)
    return against("grid", text(left.grid), text(right.grid));
  if (left.block != right.block)
    return against("block", text(left.block), text(right.block));
  if (left.sharedBytes != right.sharedBytes)
    return against("shared bytes", std::to_string(left.sharedBytes),
                   std::to_string(right.sharedBytes));
  if (left.stream != right.stream)
    return against("stream", std::to_string(left.stream), std::to_string(right.stream));
  if (left.arguments.size() != right.arguments.size())
    return against("number of arguments", std::to_string(left.arguments.size()),
                   std::to_string(right.arguments.size()));
  for (auto [index, pair] : llvm::enumerate(llvm::zip_equal(left.arguments, right.arguments)))
    if (auto found = difference(std::get<0>(pair), std::get<1>(pair)))
      return "argument " + std::to_string(index) + ": " + *found;
  return std::nullopt;
}

std::vector<const LaunchStep *> launches(const Plan &plan) {
  std::vector<const LaunchStep *> all;
  for (const Step &step : plan.steps)
    if (auto *launch = std::get_if<LaunchStep>(&step))
      all.push_back(launch);
  return all;
}

/// What the host asks for besides launching, in one line per step; payloads are
/// named by their size.
std::string hostLine(const Step &step) {
  auto region = [](const Region &region) {
    return " buffer " + std::to_string(region.at.buffer) + "+" + std::to_string(region.at.offset) +
           ", " + std::to_string(region.width) + " x " + std::to_string(region.height) +
           " bytes (pitch " + std::to_string(region.pitch) + ")";
  };
  std::string line = stepName(step);
  if (auto *alloc = std::get_if<AllocStep>(&step))
    line += " buffer " + std::to_string(alloc->buffer);
  else if (auto *free = std::get_if<FreeStep>(&step))
    line += " buffer " + std::to_string(free->buffer);
  else if (auto *upload = std::get_if<UploadStep>(&step))
    line += region(upload->to);
  else if (auto *fill = std::get_if<FillStep>(&step))
    line += region(fill->to) + " with " + std::to_string(fill->value);
  else if (auto *copy = std::get_if<CopyStep>(&step))
    line += region(copy->to) + " from" + region(copy->from);
  else if (auto *read = std::get_if<ReadStep>(&step))
    line += region(read->from);
  else if (auto *product = std::get_if<MatmulStep>(&step))
    line += " of " + std::to_string(product->batch) + " x (" + std::to_string(product->m) + " x " +
            std::to_string(product->k) + " by " + std::to_string(product->k) + " x " +
            std::to_string(product->n) + ") into buffer " + std::to_string(product->c.at.buffer) +
            "+" + std::to_string(product->c.at.offset);
  else if (auto *error = std::get_if<ErrorStep>(&step))
    line += " " + error->name + " of " + error->call;
  else
    return "";
  return line;
}

std::vector<std::string> hostLines(const Plan &plan) {
  std::vector<std::string> lines;
  for (auto [index, buffer] : llvm::enumerate(plan.buffers))
    lines.push_back("buffer " + std::to_string(index) + " of " + std::to_string(buffer.bytes) +
                    " bytes " + buffer.symbol);
  for (const Step &step : plan.steps)
    if (std::string line = hostLine(step); !line.empty())
      lines.push_back(line);
  return lines;
}

} // namespace

std::optional<std::string> kbopt::firstLaunchDifference(const Plan &left, const Plan &right) {
  auto a = launches(left), b = launches(right);
  for (size_t i = 0; i < std::min(a.size(), b.size()); ++i)
    if (auto found = difference(*a[i], *b[i]))
      return "launch " + std::to_string(i + 1) + ": " + *found;
  if (a.size() != b.size())
    return against("number of launches", std::to_string(a.size()), std::to_string(b.size()));
  return std::nullopt;
}

std::optional<std::string> kbopt::firstHostDifference(const Plan &left, const Plan &right) {
  auto a = hostLines(left), b = hostLines(right);
  for (size_t i = 0; i < std::max(a.size(), b.size()); ++i) {
    std::string one = i < a.size() ? a[i] : "nothing more",
                other = i < b.size() ? b[i] : "nothing more";
    if (one != other)
      return against("", one, other).substr(1);
  }
  return std::nullopt;
}

std::vector<std::string> kbopt::launchedKernels(const Plan &plan) {
  std::set<std::string> names;
  for (const LaunchStep *launch : launches(plan))
    names.insert(launch->kernel);
  return {names.begin(), names.end()};
}

Plan kbopt::replaceKernels(Plan plan, const std::map<std::string, std::string> &names) {
  for (Step &step : plan.steps)
    if (auto *launch = std::get_if<LaunchStep>(&step))
      if (auto found = names.find(launch->kernel); found != names.end())
        launch->kernel = found->second;
  return plan;
}

/// \p plan without what two recordings of one run may differ in, line by line.
static std::vector<std::string> comparableLines(Plan plan) {
  plan.outcome = {};
  for (Buffer &buffer : plan.buffers) {
    buffer.address = 0;
    buffer.element = ElementType::Unknown;
  }
  for (Step &step : plan.steps) {
    if (auto *launch = std::get_if<LaunchStep>(&step))
      for (Argument &argument : launch->arguments)
        for (const PointerWord &word : argument.pointers)
          std::fill_n(argument.bytes.begin() + static_cast<ptrdiff_t>(word.at), 8, uint8_t(0));
    if (auto *upload = std::get_if<UploadStep>(&step))
      upload->source = std::nullopt; // of host memory
  }
  llvm::SmallVector<llvm::StringRef> lines;
  const std::string text = planToJson(plan);
  llvm::StringRef(text).split(lines, '\n');
  return {lines.begin(), lines.end()};
}

std::optional<std::string> kbopt::firstPlanDifference(Plan left, Plan right) {
  const std::vector<std::string> a = comparableLines(std::move(left)),
                                 b = comparableLines(std::move(right));
  for (size_t i = 0; i < std::max(a.size(), b.size()); ++i) {
    const std::string one = i < a.size() ? a[i] : "nothing more",
                      other = i < b.size() ? b[i] : "nothing more";
    if (one != other)
      return llvm::StringRef(one).trim().str() + "\nagainst\n" +
             llvm::StringRef(other).trim().str();
  }
  return std::nullopt;
}
