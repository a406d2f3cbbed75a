//===- CaseRecipes.cpp ----------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "kb-opt/Candidate/CaseRecipes.h"
#include "RecipeSizes.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/bit.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

using namespace kbopt;

/// EVALUATION.md, G7.
static constexpr uint64_t variedSeeds = 5;

static std::string sizeText(const SizeMap &sizes) {
  std::string text;
  for (const auto &[name, value] : sizes)
    text += (text.empty() ? "" : " ") + std::string(name) + "=" + std::to_string(value);
  return text;
}

CaseRecipes::CaseRecipes(Workload given, Signature called)
    : workload(std::move(given)), signature(std::move(called)) {
  const Workload &w = workload;
  CaseRecipe recorded;
  recorded.test.name = "recorded";
  recorded.test.recorded = true;
  recorded.sizes = w.sizes;
  recipes.push_back(recorded);
  auto addSizes = [&](const std::vector<SizeMap> &all, bool unseen) {
    for (const SizeMap &sizes : all) {
      CaseRecipe recipe;
      recipe.sizes = sizes;
      recipe.seed = recipes.size();
      recipe.test.name = sizeText(sizes) + " seed=" + std::to_string(recipe.seed);
      recipe.test.unseen = unseen;
      recipes.push_back(recipe);
    }
  };
  addSizes(w.testSizes, false);
  for (uint64_t seed = 1; seed <= variedSeeds; ++seed)
    for (InputDistribution distribution : allInputDistributions) {
      // Every distribution once, and every seed.
      if (seed > 1 && distribution != InputDistribution::Normal)
        continue;
      CaseRecipe recipe = recorded;
      recipe.test.recorded = false;
      recipe.test.variesRecorded = true;
      recipe.test.mostLessenings = mostLessenings(distribution);
      recipe.test.hasExactSums = distribution == InputDistribution::WholeNumbers;
      recipe.test.hasEqualValues = distribution == InputDistribution::AllEqual;
      recipe.seed = seed;
      recipe.distribution = distribution;
      recipe.test.name = "seed=" + std::to_string(seed) + " " + toString(distribution).str();
      recipes.push_back(recipe);
    }
  addSizes(w.unseenSizes, true);
  addLayouts();
  addOtherResults();
  addTests();
  // What there may be no time for comes last.
  addBoundaries();
  addIntegers();
  addCalls();
  addSources();
  addReplacements();
  addLargeArguments();
  addSingleIntegers();
  addLargeSizes();
  numberRuns();
}

/// It is not known whether the original's host works with other results than its own.
void CaseRecipes::addOtherResults() {
  CaseRecipe recipe = derived("other results for the host");
  recipe.test.asksMore = recipe.test.feedsOtherResults = true;
  recipes.push_back(recipe);
}

CaseRecipe CaseRecipes::derived(llvm::StringRef name) const {
  CaseRecipe recipe = recipes.front();
  recipe.test.name = name.str();
  recipe.test.recorded = false;
  recipe.run.reset();
  return recipe;
}

/// Uploads that are varied one by one.
static constexpr unsigned mostUploads = 6;

CaseRecipe CaseRecipes::varied(llvm::StringRef name, InputDistribution distribution,
                               std::optional<unsigned> upload) const {
  CaseRecipe recipe = derived(name);
  recipe.test.asksMore = recipe.test.variesRecorded = true;
  recipe.test.hasLargeValues = hasLargeValues(distribution);
  recipe.distribution = distribution;
  recipe.upload = upload;
  recipe.seed = 1;
  return recipe;
}

CaseRecipe CaseRecipes::changed(llvm::ArrayRef<InputChange> changes) const {
  CaseRecipe recipe =
      varied("found input: " + describe(changes), InputDistribution::Searched, std::nullopt);
  recipe.changes = changes.vec();
  recipe.test.hasEqualValues = llvm::any_of(changes, [](const InputChange &change) {
    return change.kind == InputChange::Kind::Set && change.every == 1;
  });
  return recipe;
}

void CaseRecipes::addFilled(const CaseRecipe &far) {
  // What the workload states of uploads is known for the recorded sizes.
  if (!workload.uploadFacts.empty())
    return;
  for (InputDistribution distribution : {InputDistribution::AllEqual, InputDistribution::EndRuns}) {
    CaseRecipe recipe = far;
    recipe.variedCase = far.test.name;
    recipe.run.reset();
    recipe.test.name += (" " + toString(distribution)).str();
    recipe.test.asksMore = recipe.test.variesOther = true;
    recipe.test.hasOtherSources = false;
    recipe.test.hasEqualValues = distribution == InputDistribution::AllEqual;
    recipe.test.hasLargeValues = hasLargeValues(distribution);
    recipe.distribution = distribution;
    recipe.seed = 1;
    recipes.push_back(std::move(recipe));
  }
}

void CaseRecipes::addBoundaries() {
  auto add = [&](const llvm::Twine &name, InputDistribution distribution,
                 std::optional<unsigned> upload) {
    recipes.push_back(varied(name.str(), distribution, upload));
  };
  add("sprinkled", InputDistribution::SprinkledNumbers, std::nullopt);
  add("integers sprinkled", InputDistribution::SprinkledIntegers, std::nullopt);
  add("not finite", InputDistribution::NotFinite, std::nullopt);
  for (InputDistribution distribution :
       {InputDistribution::FewSpecial, InputDistribution::ZeroRuns, InputDistribution::EndRuns,
        InputDistribution::SprinkledIntegers})
    for (unsigned upload = 0; upload < mostUploads; ++upload)
      add("upload " + llvm::Twine(upload + 1) + " " + toString(distribution), distribution, upload);
}

/// Integers and records are not any numbers: the original is asked first whether it stands others.
void CaseRecipes::addIntegers() {
  for (InputDistribution distribution : recordedDistributions)
    recipes.push_back(
        varied(("integers " + toString(distribution)).str(), distribution, std::nullopt));
}

/// One by one: indices among them, which a program stands in another order or not at all, keep the
/// rest from it.
void CaseRecipes::addSingleIntegers() {
  for (InputDistribution distribution :
       {InputDistribution::Shuffled, InputDistribution::AnyBits, InputDistribution::AnyIndex})
    for (unsigned upload = 0; upload < mostUploads; ++upload)
      recipes.push_back(
          varied(llvm::formatv("upload {0} {1}", upload + 1, toString(distribution)).str(),
                 distribution, upload));
}

/// The largest tile of a power of two that sizes of \p workload are tried without a tail of. With
/// more sizes than one the work would grow.
static uint64_t mostTile(const Workload &workload) {
  return workload.sizes.size() == 1 ? 1024 : 128;
}

/// The next size at which tiles of a power of two have no tail: the largest power that is no more
/// than \p size, and no more than \p most.
static int64_t wholeTiles(int64_t size, uint64_t most) {
  if (size <= 0)
    return size;
  const uint64_t tile = std::min(most, llvm::bit_floor(static_cast<uint64_t>(size)));
  return static_cast<int64_t>(llvm::alignTo(static_cast<uint64_t>(size), tile));
}

int64_t CaseRecipes::admissible(const std::string &name, int64_t size) const {
  auto known = workload.admissible.find(name);
  return known == workload.admissible.end() ? size : known->second.nearest(size);
}

int64_t CaseRecipes::nextAdmissible(const std::string &name, int64_t size) const {
  auto known = workload.admissible.find(name);
  if (known == workload.admissible.end())
    return size + 1;
  const AdmissibleSize &limits = known->second;
  // Of a power of two the next one is twice as large, else it is one step away.
  const int64_t next = limits.isPowerOfTwo ? 2 * size : size + limits.multiple;
  return limits.admits(next) ? next : size;
}

void CaseRecipes::addCalls() {
  if (workload.kind == WorkloadKind::Program)
    return;
  const SizeMap base = workload.sizes;
  auto add = [&](CaseRecipe recipe, bool asksMore) {
    recipe.test.asksMore = asksMore;
    if (auto text = generateMain(workload, signature, "k.cu", recipe.driverRun()))
      recipes.push_back(std::move(recipe));
    else
      llvm::consumeError(text.takeError()); // the workload has nothing of that size
  };
  CaseRecipe again = derived("called three times");
  again.calls = {{base, 11}, {base, 12}, {base, 13}};
  again.test.calls = 3;
  add(again, false);
  if (hasOtherScalars(workload)) {
    CaseRecipe scalars = derived("other scalars");
    scalars.calls = {{base, 14, true}};
    add(scalars, true);
  }
  if (takesStream(workload, signature)) {
    CaseRecipe stream = derived("a stream of its own");
    stream.ownStream = true;
    add(stream, false);
  }
  if (base.empty())
    return;
  SizeMap more = base, prime = base, twice = base, whole = base;
  for (auto &[name, value] : more)
    value = nextAdmissible(name, value);
  for (auto &[name, value] : twice) // and two over in fours
    value = admissible(name, 2 * (value + (value % 2 == 0)));
  for (auto &[name, value] : whole)
    value = admissible(name, wholeTiles(value, mostTile(workload)));
  int64_t limit = std::numeric_limits<int64_t>::max();
  for (auto &[name, value] : prime) { // different ones, as far as there are any
    limit = primeBelow(std::min(value * 3 / 4, limit - 1));
    value = admissible(name, limit);
  }
  auto addSizes = [&](const SizeMap &sizes, BufferLayout layout = BufferLayout::Separate,
                      uint64_t timesRecorded = 1) {
    CaseRecipe recipe =
        derived(sizeText(sizes) + (layout == BufferLayout::Misaligned ? " misaligned" : ""));
    recipe.sizes = sizes;
    recipe.seed = 20 + recipes.size();
    recipe.layout = layout;
    recipe.test.timesRecorded = timesRecorded;
    const bool isKnown = (sizes == base && layout == BufferLayout::Separate) ||
                         llvm::any_of(recipes, [&](const CaseRecipe &other) {
                           return other.test.name == recipe.test.name;
                         });
    if (isKnown)
      return;
    add(recipe, true);
    if (timesRecorded > 1)
      addFilled(recipe);
  };
  addSizes(prime);
  addSizes(more);
  addSizes(more, BufferLayout::Misaligned);
  if (whole != base) // else the recorded case has no part of a tile
    addSizes(whole);
  constexpr size_t mostDoubled = 2, mostAlone = 3;
  if (base.size() <= mostDoubled)
    addSizes(twice);
  // Once far more of it: an index that a narrow product stands for ends somewhere.
  constexpr int64_t manyTimes = 16;
  if (base.size() <= mostAlone)
    for (const auto &[name, value] : base) {
      SizeMap far = base;
      far[name] = admissible(name, value * manyTimes + 1);
      addSizes(far, BufferLayout::Separate, manyTimes);
    }
  // A host may take another way where there is little to do, or nothing.
  constexpr int64_t few = 5;
  for (int64_t least : {few, int64_t(0)})
    for (const auto &[name, value] : base)
      if (SizeMap other = base; base.size() <= mostAlone && value > least) {
        other[name] = admissible(name, least);
        addSizes(other);
      }
  CaseRecipe growing = derived("called with other sizes");
  growing.calls = {{prime, 15}, {more, 16}, {prime, 17}, {base, 18}};
  add(growing, true);
}

void CaseRecipes::addLargeSizes() {
  // The kernel's own grid is the workload's.
  if (workload.kind != WorkloadKind::Entry)
    return;
  // What the recorder's device has, and what an `int` holds together with the threads of a block.
  constexpr uint64_t mostBytes = uint64_t(48) << 30;
  constexpr int64_t mostSize = INT32_MAX - 65535;
  constexpr int64_t wholeTile = 128;
  constexpr size_t mostAlone = 3;
  auto fits = [&](const SizeMap &sizes) {
    llvm::Expected<uint64_t> bytes = bufferBytes(workload, signature, sizes);
    if (!bytes)
      llvm::consumeError(bytes.takeError());
    return bytes && *bytes <= mostBytes;
  };
  auto add = [&](const SizeMap &sizes) {
    CaseRecipe recipe = derived(sizeText(sizes) + ", launches alone");
    recipe.sizes = sizes;
    recipe.isDry = true;
    recipes.push_back(recipe);
  };
  SizeMap all = workload.sizes;
  for (auto &[name, value] : all)
    value = admissible(name, value * leastGrowth);
  if (!all.empty() && fits(all))
    add(all);
  for (const auto &[name, value] : workload.sizes) {
    SizeMap sizes = workload.sizes;
    if (sizes.size() > mostAlone || value <= 0)
      continue;
    int64_t low = value, high = mostSize;
    while (low < high) {
      const int64_t middle = low + (high - low + 1) / 2;
      sizes[name] = middle;
      (fits(sizes) ? low : high) = fits(sizes) ? middle : middle - 1;
    }
    // The largest, with whole tiles and vectors; and a smaller one without.
    for (int64_t size : {low - low % wholeTile, low / leastGrowth | 1})
      if (sizes[name] = admissible(name, size); sizes[name] >= leastGrowth * value && fits(sizes))
        add(sizes);
  }
}

void CaseRecipes::numberRuns() {
  if (workload.kind == WorkloadKind::Program)
    return;
  size_t count = 0;
  for (CaseRecipe &recipe : recipes) {
    if (recipe.distribution || recipe.test.feedsOtherResults)
      continue;
    if (auto text = generateMain(workload, signature, "k.cu", recipe.driverRun()))
      recipe.run = count++;
    else
      llvm::consumeError(text.takeError()); // reported when the case is requested
  }
  for (CaseRecipe &recipe : recipes)
    if (recipe.test.feedsOtherResults)
      recipe.run = recorded().run;
}

/// Where the workload stands for a caller, that caller may hand over any pointers.
/// A whole program's own host code has chosen them.
void CaseRecipes::addLayouts() {
  if (workload.kind == WorkloadKind::Program)
    return;
  auto add = [&](llvm::StringRef name, BufferLayout layout, Assumption broken) {
    CaseRecipe recipe = derived(name);
    recipe.test.breaks = broken;
    recipe.layout = layout;
    recipes.push_back(recipe);
  };
  add("misaligned buffers", BufferLayout::Misaligned, Assumption::Aligned);
  auto pairs = overlappingBuffers(workload, signature, workload.sizes);
  if (!pairs)
    llvm::consumeError(pairs.takeError()); // the recorded case says it, with its place
  else if (!pairs->empty())
    add("results in the place of inputs", BufferLayout::Overlapping, Assumption::NoAlias);
}

std::vector<DriverRun> CaseRecipes::runsOf(llvm::ArrayRef<CaseRecipe> all) {
  std::vector<DriverRun> runs;
  for (const CaseRecipe &recipe : all)
    if (recipe.run && *recipe.run == runs.size()) // and not what is a run of another case, too
      runs.push_back(recipe.driverRun());
  return runs;
}

std::vector<CaseRecipe> CaseRecipes::around(const ProgramConstants &constants) const {
  const std::string group = describe(constants);
  std::vector<CaseRecipe> all;
  for (InputDistribution distribution :
       {InputDistribution::SprinkledNumbers, InputDistribution::SprinkledIntegers}) {
    CaseRecipe recipe =
        varied((toString(distribution) + " with " + group).str(), distribution, std::nullopt);
    recipe.constants = constants;
    all.push_back(std::move(recipe));
  }
  if (workload.kind == WorkloadKind::Program)
    return all;
  // A multiple of each, one less and one more. Sizes around tiles of a power of two are cases of
  // every workload.
  constexpr size_t mostSizes = 3, mostConstants = 4;
  constexpr int64_t mostTimes = 16;
  size_t runs = 0, taken = 0;
  auto add = [&](const SizeMap &sizes, uint64_t timesRecorded) {
    CaseRecipe recipe = derived(sizeText(sizes) + " for " + group);
    recipe.sizes = sizes;
    auto isSame = [&](const CaseRecipe &other) { return other.test.name == recipe.test.name; };
    if (sizes == workload.sizes || find(sizeText(sizes)) || llvm::any_of(all, isSame))
      return;
    recipe.test.asksMore = true;
    recipe.test.timesRecorded = timesRecorded;
    recipe.seed = 20 + runs;
    if (auto text = generateMain(workload, signature, "k.cu", recipe.driverRun())) {
      recipe.run = runs++;
      recipe.group = group;
      all.push_back(std::move(recipe));
    } else {
      llvm::consumeError(text.takeError()); // the workload has nothing of that size
    }
  };
  // What a candidate does behind a limit of its own is seen where a size is beyond it.
  constexpr size_t mostBeyond = 6;
  for (int64_t constant : llvm::reverse(constants.integers))
    for (const auto &[name, value] : workload.sizes)
      if (runs < mostBeyond)
        if (std::optional<SizeMap> sizes = sizesBeyond(name, constant))
          add(*sizes, /*timesRecorded=*/1);
  if (workload.sizes.size() > mostSizes)
    return all;
  for (int64_t constant : llvm::reverse(constants.integers))
    for (const auto &[name, value] : workload.sizes) {
      if (constant < 3 || value < 1 || constant > value * mostTimes || taken >= mostConstants ||
          (llvm::isPowerOf2_64(static_cast<uint64_t>(constant)) &&
           static_cast<uint64_t>(constant) <= mostTile(workload)))
        continue;
      const int64_t multiple = static_cast<int64_t>(
          llvm::alignTo(static_cast<uint64_t>(value) + 1, static_cast<uint64_t>(constant)));
      ++taken;
      for (int64_t size : {multiple - 1, multiple, multiple + 1}) {
        SizeMap sizes = workload.sizes;
        sizes[name] = size;
        if (admissible(name, size) == size)
          add(sizes, llvm::divideCeil(static_cast<uint64_t>(size), static_cast<uint64_t>(value)));
      }
    }
  return all;
}

std::optional<SizeMap> CaseRecipes::sizesBeyond(const std::string &name, int64_t limit) const {
  constexpr int64_t mostLimit = 1 << 16, small = 33;
  constexpr uint64_t mostBytes = 16 << 20, mostWork = 1 << 26;
  const int64_t given = workload.sizes.at(name);
  if (limit < 3 || limit > mostLimit || given > limit)
    return std::nullopt;
  // The largest sizes that the owner tests have what belongs together.
  SizeMap sizes = workload.sizes;
  if (workload.testSizes.empty())
    for (auto &[other, value] : sizes)
      value = admissible(other, std::min(value, small));
  else
    sizes = workload.testSizes.back();
  // Values that go up to the size are beyond the limit in half of the places.
  sizes[name] = admissible(name, 2 * limit + 1);
  uint64_t work = 1;
  for (const auto &[other, value] : sizes)
    work = llvm::SaturatingMultiply(work, static_cast<uint64_t>(std::max<int64_t>(1, value)));
  llvm::Expected<uint64_t> bytes = bufferBytes(workload, signature, sizes);
  if (!bytes)
    llvm::consumeError(bytes.takeError());
  if (!bytes || *bytes > mostBytes || work > mostWork || sizes[name] <= limit)
    return std::nullopt;
  return sizes;
}

const CaseRecipe *CaseRecipes::find(llvm::StringRef name) const {
  for (const CaseRecipe &recipe : recipes)
    if (recipe.test.name == name)
      return &recipe;
  return nullptr;
}
