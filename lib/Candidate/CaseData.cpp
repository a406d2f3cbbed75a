//===- CaseData.cpp -------------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "CaseData.h"
#include "CaseKeys.h"
#include "kb-opt/Plan/HostValues.h"
#include "kb-opt/Plan/RecordedPlan.h"
#include "kb-opt/Support/Error.h"
#include "llvm/Support/FileOutputBuffer.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include <cstring>
#include <set>

using namespace kbopt;

std::vector<RecordLayout> kbopt::recordLayouts(const kbrt::Plan &plan,
                                               const KernelRecords &kernelRecords) {
  std::vector<RecordLayout> layouts(plan.buffers.size());
  for (const kbrt::Step &step : plan.steps) {
    const auto *launch = std::get_if<kbrt::LaunchStep>(&step);
    auto known = launch ? kernelRecords.find(launch->kernel) : kernelRecords.end();
    if (known == kernelRecords.end())
      continue;
    for (size_t i = 0; i < launch->arguments.size() && i < known->second.size(); ++i)
      for (const kbrt::PointerWord &word : launch->arguments[i].pointers)
        layouts[word.target.buffer] = known->second[i];
  }
  return layouts;
}

RecordSizes kbopt::recordSizes(const kbrt::Plan &plan, const KernelRecords &kernelRecords) {
  RecordSizes sizes;
  for (const RecordLayout &layout : recordLayouts(plan, kernelRecords))
    sizes.push_back(layout.bytes);
  return sizes;
}

bool kbopt::goesByResults(const kbrt::Plan &plan) {
  auto isRead = [](const kbrt::Step &step) { return std::holds_alternative<kbrt::ReadStep>(step); };
  auto isLaunch = [](const kbrt::Step &step) {
    return std::holds_alternative<kbrt::LaunchStep>(step);
  };
  return std::any_of(llvm::find_if(plan.steps, isRead), plan.steps.end(), isLaunch);
}

std::optional<SplitPlan> kbopt::splitFor(InputDistribution distribution, const kbrt::Plan &plan,
                                         llvm::StringRef data, const KernelRecords &records,
                                         bool runsHosts) {
  if (!isAtBoundaries(distribution) || (!runsHosts && goesByResults(plan)))
    return std::nullopt;
  std::vector<RecordLayout> layouts = recordLayouts(plan, records);
  for (auto [buffer, layout] : llvm::zip(plan.buffers, layouts))
    if (buffer.element != kbrt::ElementType::Unknown)
      layout = {}; // numbers of one type are varied as they are
  return splitRecords(plan, data, layouts);
}

/// Uploads of the same bytes at the same places of the data.
static bool uploadsAlike(const kbrt::Plan &a, const kbrt::Plan &b) {
  auto places = [](const kbrt::Plan &plan) {
    std::vector<std::pair<uint64_t, uint64_t>> all;
    for (const kbrt::Step &step : plan.steps)
      if (const auto *upload = std::get_if<kbrt::UploadStep>(&step))
        all.push_back({upload->data, upload->to.bytes()});
    return all;
  };
  return places(a) == places(b);
}

/// The names of those arrays whose numbers are of \p element, for a sentence; empty if none are.
static std::string namesOf(llvm::ArrayRef<SortedArray> arrays, kbrt::ElementType element) {
  std::string names;
  for (const SortedArray &array : arrays) {
    const std::string name = "'" + array.name + "'";
    if (array.element == element && !llvm::StringRef(names).contains(name))
      names += (names.empty() ? "" : " or ") + name;
  }
  return names;
}

llvm::Expected<std::vector<InputFacts>> kbopt::inputFacts(const std::string &recording,
                                                          llvm::ArrayRef<SortedArray> sorted,
                                                          llvm::ArrayRef<InputFacts> stated) {
  auto recorded = readRecordedPlan(recording);
  if (!recorded)
    return recorded.takeError();
  const kbrt::Plan &plan = recorded->plan;
  const llvm::StringRef data = recorded->data();
  std::vector<InputFacts> all(stated.begin(), stated.end());
  auto broken = [](const InputFacts &facts, const std::string &why, llvm::StringRef note) {
    return llvm::make_error<UsageError>((facts.place.empty() ? "" : facts.place + ": ") + why,
                                        note.str(), ExitStatus::Diagnostics);
  };
  std::vector<const kbrt::UploadStep *> uploads;
  for (const kbrt::Step &step : plan.steps)
    if (const auto *upload = std::get_if<kbrt::UploadStep>(&step))
      uploads.push_back(upload);
  if (!sorted.empty())
    for (InputFacts &facts : orderedUploads(plan, data))
      if (std::string names =
              namesOf(sorted, plan.buffers[uploads[facts.upload]->to.at.buffer].element);
          !names.empty()) {
        facts.reason = "the original's host sorts " + names + ", and uploads it so";
        all.push_back(std::move(facts));
      }
  for (InputFacts &facts : llvm::MutableArrayRef(all).take_front(stated.size())) {
    const std::string name = "upload " + std::to_string(facts.upload);
    if (facts.upload >= uploads.size())
      return broken(facts,
                    "the workload speaks of " + name + ", but the program has " +
                        std::to_string(uploads.size()) + " uploads",
                    "the first one is upload 0");
    const kbrt::UploadStep &upload = *uploads[facts.upload];
    const llvm::StringRef bytes = data.substr(upload.data, upload.to.bytes());
    const kbrt::ElementType element = plan.buffers[upload.to.at.buffer].element;
    const llvm::ArrayRef<uint8_t> values(reinterpret_cast<const uint8_t *>(bytes.data()),
                                         bytes.size());
    if (!fulfils(values, element, facts))
      return broken(facts, "the program does not keep what the workload states: " + describe(facts),
                    "only integers, float32 and float64 are held to statements");
    facts.total = lastValue(values, element);
  }
  return all;
}

/// The data of the recording \p from as those of \p folder, too: one file under two names, which is
/// not written to. False where the file system has no such links.
static bool sharesData(llvm::StringRef from, llvm::StringRef folder) {
  return !llvm::sys::fs::create_hard_link(joinPath(from, kbrt::dataFileName),
                                          joinPath(folder, kbrt::dataFileName));
}

llvm::Error kbopt::writeVariedLike(FileSystem &files, const std::string &recording,
                                   const std::string &base, const std::string &varied,
                                   const std::string &folder) {
  auto original = readRecordedPlan(base), other = readRecordedPlan(varied),
       own = readRecordedPlan(recording);
  if (!original || !other || !own)
    return llvm::joinErrors(llvm::joinErrors(original.takeError(), other.takeError()),
                            own.takeError());
  kbrt::Plan &plan = own->plan;
  const llvm::StringRef before = original->data(), after = other->data();
  std::string problem;
  varyArgumentsLike(original->plan, before, after, plan);
  // Where a candidate uploads what the original does, its varied data are the original's.
  if (uploadsAlike(original->plan, plan) && before == own->data() && sharesData(varied, folder)) {
    if (!kbrt::writePlan(plan, folder, problem))
      return llvm::make_error<StoreError>(problem);
    return llvm::Error::success();
  }
  auto changed = varyLike(original->plan, before, after, plan, own->data());
  if (!changed)
    return changed.takeError();
  if (!kbrt::writePlan(plan, folder, problem))
    return llvm::make_error<StoreError>(problem);
  return files.write(joinPath(folder, kbrt::dataFileName), *changed);
}

llvm::Error kbopt::writeVariedAgain(FileSystem &files, const std::string &again,
                                    const std::string &before, const std::string &varied,
                                    const std::string &folder) {
  auto own = readRecordedPlan(again), old = readRecordedPlan(before),
       other = readRecordedPlan(varied);
  if (!own || !old || !other)
    return llvm::joinErrors(llvm::joinErrors(own.takeError(), old.takeError()), other.takeError());
  auto uploadsOf = [](const kbrt::Plan &plan) {
    std::vector<const kbrt::UploadStep *> all;
    for (const kbrt::Step &step : plan.steps)
      if (const auto *upload = std::get_if<kbrt::UploadStep>(&step))
        all.push_back(upload);
    return all;
  };
  kbrt::Plan plan = own->plan;
  const std::vector<const kbrt::UploadStep *> recorded = uploadsOf(old->plan),
                                              replaced = uploadsOf(other->plan);
  // So few bytes behind a result are a factor that was made from it, which may be the same again.
  constexpr uint64_t factorBytes = 64;
  std::string data = own->data().str();
  std::set<uint64_t> taken; // places of data
  size_t number = 0;
  bool hasRead = false;
  for (kbrt::Step &step : plan.steps) {
    hasRead |= std::holds_alternative<kbrt::ReadStep>(step);
    auto *upload = std::get_if<kbrt::UploadStep>(&step);
    if (!upload)
      continue;
    const size_t at = number++;
    const uint64_t bytes = upload->to.bytes();
    llvm::StringRef now = own->data().substr(upload->data, bytes);
    if (at < recorded.size() && at < replaced.size() && !(hasRead && bytes <= factorBytes) &&
        recorded[at]->to.bytes() == bytes && replaced[at]->to.bytes() == bytes &&
        old->data().substr(recorded[at]->data, bytes) == now)
      now = other->data().substr(replaced[at]->data, bytes);
    // Equal bytes of two uploads are recorded once; what takes their places may differ.
    if (!taken.insert(upload->data).second &&
        llvm::StringRef(data).substr(upload->data, bytes) != now) {
      upload->data = data.size();
      data += now;
    } else {
      std::memcpy(data.data() + upload->data, now.data(), now.size());
    }
  }
  std::string problem;
  if (!kbrt::writePlan(plan, folder, problem))
    return llvm::make_error<StoreError>(problem);
  return files.write(joinPath(folder, kbrt::dataFileName), data);
}

static llvm::Error cannotWrite(const std::string &path, llvm::Error why) {
  return llvm::make_error<StoreError>("cannot write '" + path +
                                          "': " + llvm::toString(std::move(why)),
                                      "free some space, or name another folder with TMPDIR");
}

static void holdUploadsTo(llvm::ArrayRef<InputFacts> facts, const kbrt::Plan &plan,
                          llvm::MutableArrayRef<uint8_t> bytes) {
  unsigned number = 0;
  for (const kbrt::Step &step : plan.steps)
    if (const auto *upload = std::get_if<kbrt::UploadStep>(&step)) {
      for (const InputFacts &each : facts)
        if (each.upload == number)
          holdTo(bytes.slice(upload->data, upload->to.bytes()),
                 plan.buffers[upload->to.at.buffer].element, each);
      ++number;
    }
}

/// Other values for what \p plan uploads of \p data, into \p bytes.
static llvm::Expected<VariedUploads> varyAs(const CaseRecipe &recipe, unsigned lessenings,
                                            const KernelRecords &records,
                                            const ProgramConstants &constants,
                                            const kbrt::Plan &plan, llvm::StringRef data,
                                            llvm::MutableArrayRef<uint8_t> bytes) {
  const InputDistribution distribution = *recipe.distribution;
  if (distribution == InputDistribution::Searched)
    return changeInputs(plan, data, bytes, recipe.changes);
  if (isAtBoundaries(distribution))
    return varyAtBoundaries(plan, data, bytes, recipe.seed, distribution, recipe.upload, constants);
  if (keepsRecorded(distribution))
    return varyRecorded(plan, data, bytes, recipe.seed, distribution, recipe.upload,
                        recordSizes(plan, records));
  // What a host uploads again, or in other pieces, stays the same.
  const bool alike = !recipe.variedCase.empty();
  auto uploads = varyInputs(plan, data, bytes, recipe.seed, distribution, lessenings, alike);
  if (uploads && alike && distribution == InputDistribution::AllEqual) {
    llvm::Expected<unsigned> filled = fillIntegers(plan, bytes);
    if (!filled)
      return filled.takeError();
    uploads->uploadsVaried += *filled;
    uploads->uploadsKept -= *filled;
  }
  return uploads;
}

llvm::Error kbopt::writeVaried(const std::string &recording, const CaseRecipe &recipe,
                               unsigned lessenings, const KernelRecords &records,
                               llvm::ArrayRef<InputFacts> facts, const ProgramConstants &constants,
                               const std::string &folder) {
  auto recorded = readRecordedPlan(recording);
  if (!recorded)
    return recorded.takeError();
  const kbrt::Plan &plan = recorded->plan;
  const llvm::StringRef data = recorded->data();
  std::string problem;
  if (!kbrt::writePlan(plan, folder, problem))
    return llvm::make_error<StoreError>(problem);
  // The values are made where they stay: a program may upload gigabytes.
  const std::string path = joinPath(folder, kbrt::dataFileName);
  auto out = llvm::FileOutputBuffer::create(path, data.size());
  if (!out)
    return cannotWrite(path, out.takeError());
  const llvm::MutableArrayRef<uint8_t> bytes((*out)->getBufferStart(), data.size());
  const std::optional<SplitPlan> split =
      splitFor(*recipe.distribution, plan, data, records, recipe.replacement.has_value());
  std::string apart(split ? split->data.size() : 0, '\0');
  const llvm::MutableArrayRef<uint8_t> fields(reinterpret_cast<uint8_t *>(apart.data()),
                                              apart.size());
  auto uploads =
      split ? varyAs(recipe, lessenings, records, constants, split->plan, split->data, fields)
            : varyAs(recipe, lessenings, records, constants, plan, data, bytes);
  if (!uploads)
    return uploads.takeError();
  if (split)
    split->join(fields, bytes);
  holdUploadsTo(facts, plan, bytes);
  if (!uploads->uploadsVaried && recorded->file && sharesData(recording, folder))
    return llvm::Error::success();
  if (llvm::Error error = (*out)->commit())
    return cannotWrite(path, std::move(error));
  return llvm::Error::success();
}
