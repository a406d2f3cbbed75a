//===- ModelTimes.cpp - The cost model on saved counts --------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Saves what the CPU device counts of a program, and evaluates the model on such
// files in milliseconds: for bench/calibration.py and for work on the model.
//
//   ModelTimes count FILE.cu CHIP COUNTS.json [OPTIONS]
//                                               counts, and the compiler's resources; options as
//                                               kb-opt has them
//   ModelTimes model CHIP COUNTS.json …         one line of JSON per file
//
//===----------------------------------------------------------------------===//
#include "Session.h"
#include "kb-opt/Eval/CostModel.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace kbopt;
namespace json = llvm::json;

static const std::pair<const char *, std::optional<unsigned> KernelResources::*> resourceFields[] =
    {{"registers", &KernelResources::registers},
     {"sharedBytes", &KernelResources::sharedBytes},
     {"stackBytes", &KernelResources::stackBytes},
     {"spillStoreBytes", &KernelResources::spillStoreBytes},
     {"spillLoadBytes", &KernelResources::spillLoadBytes}};

static int fail(const llvm::Twine &message) {
  llvm::errs() << "ModelTimes: " << message << "\n";
  return 1;
}

static llvm::Error countProgram(const char *source, llvm::StringRef chip, llvm::StringRef output,
                                llvm::ArrayRef<const char *> more) {
  Progress progress(llvm::errs(), false, true);
  Context context(progress, llvm::outs(), llvm::errs());
  std::vector<const char *> arguments{source, "--emit=profile-json"};
  llvm::append_range(arguments, more);
  auto options = parseOptions(arguments);
  if (!options)
    return options.takeError();
  context.options = std::move(*options);
  context.options.chip = chip.str();
  auto session = openSession(context);
  if (!session)
    return session.takeError();
  auto code = (*session)->judge->code((*session)->original);
  if (!code)
    return code.takeError();
  auto run = (*session)->judge->count((*session)->original, countOptions((*session)->chip));
  if (!run)
    return run.takeError();
  json::Array launches;
  for (const LaunchRecord &record : run->launches) {
    auto counters = json::parse(record.counters ? kbrt::toJson(*record.counters) : "null");
    if (!counters)
      return counters.takeError();
    launches.push_back(json::Object{{"kernel", record.kernel},
                                    {"grid", json::Array(record.grid)},
                                    {"block", json::Array(record.block)},
                                    {"dynamicSharedBytes", record.dynamicSharedBytes},
                                    {"repeats", record.repeats},
                                    {"counters", std::move(*counters)}});
  }
  json::Object kernels;
  for (const auto &[name, resources] : code->kernels) {
    json::Object entry{{"code", resources.code}};
    for (const auto &[key, field] : resourceFields)
      if (resources.*field)
        entry[key] = *(resources.*field);
    kernels[name] = std::move(entry);
  }
  json::Object file{{"launches", std::move(launches)}, {"kernels", std::move(kernels)}};
  return context.files.write(output, llvm::formatv("{0}\n", json::Value(std::move(file))).str());
}

/// What `countProgram` wrote, as the device and the compiler gave it.
static llvm::Error readCounts(llvm::StringRef path, RunResult &run, DeviceCode &code) {
  auto text = realFileSystem().read(path);
  if (!text)
    return text.takeError();
  auto value = json::parse(*text);
  if (!value)
    return value.takeError();
  const json::Object &file = *value->getAsObject();
  json::Path::Root root(path);
  for (const json::Value &entry : *file.getArray("launches")) {
    const json::Object &object = *entry.getAsObject();
    LaunchRecord &record = run.launches.emplace_back();
    record.kernel = object.getString("kernel")->str();
    for (unsigned i = 0; i < 3; ++i) {
      record.grid[i] = *(*object.getArray("grid"))[i].getAsInteger();
      record.block[i] = *(*object.getArray("block"))[i].getAsInteger();
    }
    record.dynamicSharedBytes = *object.getInteger("dynamicSharedBytes");
    record.repeats = *object.getInteger("repeats");
    if (!fromJSON(*object.get("counters"), record.counters.emplace(), root))
      return root.getError();
  }
  for (const auto &[name, entry] : *file.getObject("kernels")) {
    KernelResources &resources = code.kernels[name.str()];
    for (const auto &[key, field] : resourceFields)
      if (auto number = entry.getAsObject()->getInteger(key))
        resources.*field = *number;
    resources.code = entry.getAsObject()->getString("code")->str();
  }
  return llvm::Error::success();
}

static llvm::Error modelProgram(llvm::StringRef path, const ChipInfo &chip) {
  RunResult run;
  DeviceCode code;
  if (llvm::Error error = readCounts(path, run, code))
    return error;
  auto plan = modelPlan(run, code, chip);
  if (!plan)
    return plan.takeError();
  llvm::outs() << json::Value(toJSON(*plan)) << "\n";
  return llvm::Error::success();
}

int main(int argc, char **argv) {
  llvm::ArrayRef<const char *> arguments(argv + 1, argc - 1);
  llvm::StringRef command = arguments.empty() ? "" : arguments.front();
  if (command == "count" && arguments.size() >= 4) {
    llvm::Error error =
        countProgram(arguments[1], arguments[2], arguments[3], arguments.drop_front(4));
    return error ? fail(llvm::toString(std::move(error))) : 0;
  }
  if (command != "model" || arguments.size() < 3)
    return fail("see the head of bench/ModelTimes.cpp");
  auto chip = loadChip(arguments[1]);
  if (!chip)
    return fail(llvm::toString(chip.takeError()));
  for (const char *path : arguments.drop_front(2))
    if (llvm::Error error = modelProgram(path, *chip))
      return fail(llvm::Twine(path) + ": " + llvm::toString(std::move(error)));
  return 0;
}
