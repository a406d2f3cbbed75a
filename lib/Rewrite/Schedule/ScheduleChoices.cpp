//===- ScheduleChoices.cpp - The schedules of a kernel, in order -----------===//
// SPDX-License-Identifier: Apache-2.0

#include "ScheduleChoices.h"
#include "kb-opt/Raise/Phases.h"
#include "kb-opt/Raise/Simplify.h"
#include <map>

using namespace kbopt;
using llvm::StringRef;

llvm::Expected<NestInUse> NestInUse::create(kb::NestOp nest, const Schedule &schedule) {
  NestInUse result(nest);
  if (schedule.integer("simplify")) {
    llvm::Expected<kb::NestOp> simpler = simplifyReductions(nest);
    if (!simpler)
      return simpler.takeError();
    result.nest = result.simpler = *simpler;
  }
  if (StringRef phases = schedule.string("phases"); !phases.empty() && phases != "0") {
    std::optional<FixedValues> fixed = phases == "1" ? FixedValues() : fixedValues(phases);
    if (!fixed)
      return llvm::createStringError("'phases=" + phases.str() +
                                     "' is neither 1 nor like phases=stride:2,padding:1");
    llvm::Expected<kb::NestOp> byPhase = splitPhases(result.nest, *fixed);
    if (!byPhase)
      return byPhase.takeError();
    result.nest = result.byPhase = *byPhase;
  }
  if (const int64_t count = schedule.integer("parts", 1); count != 1) {
    llvm::Expected<PartSums> sums = sumInParts(result.nest, count);
    if (!sums)
      return sums.takeError();
    result.sums = std::move(*sums);
    result.nest = result.sums->nests.front();
  }
  return result;
}

NestInUse::~NestInUse() {
  if (sums)
    sums->erase();
  if (byPhase)
    byPhase.erase();
  if (simpler)
    simpler.erase();
}

std::pair<Schedule, Schedule> kbopt::keysOfNest(const Schedule &schedule) {
  std::pair<Schedule, Schedule> result;
  for (const auto &[key, value] : schedule.all())
    if (bool isFlag = key == "simplify" || key == "phases"; isFlag || key == "parts") {
      if (value != (isFlag ? "0" : "1"))
        result.first.set(key, StringRef(value));
    } else {
      result.second.set(key, StringRef(value));
    }
  return result;
}

/// A copy of \p nest with sums that fewer points form; none where there are no such sums.
static std::optional<NestInUse> withSharedSums(kb::NestOp nest) {
  auto simpler = NestInUse::create(nest, Schedule().set("simplify", int64_t(1)));
  if (!simpler) {
    llvm::consumeError(simpler.takeError());
    return std::nullopt;
  }
  if (simpler->get().getDims().size() == nest.getDims().size())
    return std::nullopt;
  return std::move(*simpler);
}

/// The value of `phases` for \p nest: 1, or the parameters that say which phases there are, with
/// their values. Empty if \p sizes do not tell one.
static std::string phasesOf(kb::NestOp nest, const LaunchSizes &sizes) {
  std::string text;
  for (const std::string &name : phaseParameters(nest)) {
    auto known = sizes.find(name);
    if (known == sizes.end() || StringRef(name).find_first_of(" ,:=") != StringRef::npos)
      return "";
    text += (text.empty() ? "" : ",") + name + ":" + std::to_string(known->second);
  }
  return text.empty() ? "1" : text;
}

/// A copy of \p nest with points by phase; none where no sum depends on a phase.
static std::optional<NestInUse> withPhases(kb::NestOp nest, StringRef phases) {
  if (phases.empty())
    return std::nullopt;
  auto byPhase = NestInUse::create(nest, Schedule().set("phases", phases));
  if (byPhase)
    return std::move(*byPhase);
  llvm::consumeError(byPhase.takeError());
  return std::nullopt;
}

/// Whether \p nest is one parallel loop for each point, with scalars before it: points in one more
/// dimension.
static bool isMapOfRows(kb::NestOp nest) {
  mlir::Block &body = nest.getBody().front();
  auto over = body.empty() ? kb::OverOp() : mlir::dyn_cast<kb::OverOp>(body.back());
  bool hasMore = !over || over.getOrder() != kb::LoopOrder::Any || loadsWhatIsStored(body, over) ||
                 llvm::any_of(llvm::drop_end(body),
                              [](mlir::Operation &op) { return !mlir::isa<kb::LetOp>(op); });
  nest.walk([&](mlir::Operation *op) {
    hasMore |=
        mlir::isa<kb::ReduceOp>(op) || (mlir::isa<kb::OverOp>(op) && op != over.getOperation());
  });
  return !hasMore;
}

/// How many terms a point of \p body sums at most, where constants say so.
static std::optional<int64_t> constantTerms(mlir::Block &body) {
  int64_t most = 1;
  for (mlir::Operation &op : body)
    for (mlir::Region &region : op.getRegions())
      for (mlir::Block &inner : region) {
        std::optional<int64_t> terms = constantTerms(inner), length = 1;
        if (auto over = mlir::dyn_cast<kb::OverOp>(op))
          length = over.getExtent().getConstant();
        if (!terms || !length || *length > 1024)
          return std::nullopt;
        most = std::max(most, *terms * std::max<int64_t>(*length, 1));
      }
  return most;
}

/// The sketches, those first that are mostly best where no sizes are known. A thread for each point
/// is best where it sums few terms, of which a team would have less than one for each thread, and
/// for a window of a filter or of pooling, whatever its size.
static std::vector<const Sketch *> sketchesFor(kb::NestOp nest) {
  constexpr int64_t fewTerms = 16, fewRows = 32;
  std::vector<const Sketch *> inOrder(sketches());
  // What surely meets one element combines first.
  auto scatter = llvm::find(inOrder, findSketch("scatter"));
  if ((*scatter)->isSurelyBetter(nest))
    std::rotate(inOrder.begin(), scatter, std::next(scatter));
  auto map = llvm::find(inOrder, findSketch("map"));
  if (isMapOfRows(nest)) { // lanes along the loop need no team
    std::rotate(inOrder.begin(), llvm::find(inOrder, findSketch("transpose")), inOrder.end());
    return inOrder;
  }
  auto first =
      llvm::find_if(inOrder, [&](const Sketch *each) { return each->whyNot(nest).empty(); });
  if (first == inOrder.end() || !llvm::is_contained({"rows", "columns", "scan"}, (*first)->name()))
    return inOrder;
  std::optional<int64_t> terms = constantTerms(nest.getBody().front());
  bool areFew = terms && *terms <= ((*first)->name() == "columns" ? fewRows : fewTerms);
  if ((areFew || (*map)->isSurelyBetter(nest)) && (*map)->whyNot(nest).empty())
    std::rotate(inOrder.begin(), map, std::next(map));
  auto stencil = llvm::find(inOrder, findSketch("stencil"));
  if ((*stencil)->whyNot(nest).empty() && (*stencil)->isSurelyBetter(nest))
    std::rotate(inOrder.begin(), stencil, std::next(stencil));
  return inOrder;
}

/// The first schedule of the first sketch that fits \p nest as it is.
static llvm::Expected<Schedule> mostPromisingOf(const PassContext &context, kb::NestOp nest) {
  std::string reason = "there is no sketch for it";
  std::vector<const Sketch *> inOrder = sketchesFor(nest);
  for (const Sketch *sketch : inOrder) {
    std::string why = sketch->whyNot(nest);
    if (why.empty()) {
      std::vector<Schedule> known =
          sketch->schedules(nest, context.target(), {}, Freedom{true, false});
      if (!known.empty())
        return known.front();
      why = "no schedule '" + sketch->name().str() + "' fits the chip";
    }
    if (sketch == inOrder.front())
      reason = why;
  }
  return llvm::createStringError(reason);
}

llvm::Expected<Schedule> kbopt::mostPromising(const PassContext &context, kb::NestOp nest) {
  if (std::optional<NestInUse> simpler = withSharedSums(nest)) {
    llvm::Expected<Schedule> schedule = mostPromisingOf(context, simpler->get());
    if (schedule)
      return schedule->set("simplify", int64_t(1));
    llvm::consumeError(schedule.takeError());
  }
  // Phases are for tiles: neighbouring points of one are no neighbours in memory.
  if (std::optional<NestInUse> byPhase = withPhases(nest, phasesOf(nest, {}))) {
    llvm::Expected<Schedule> schedule = mostPromisingOf(context, byPhase->get());
    if (schedule && schedule->sketch() == "contraction")
      return schedule->set("phases", int64_t(1));
    llvm::consumeError(schedule.takeError());
  }
  return mostPromisingOf(context, nest);
}

llvm::Expected<Schedule> kbopt::simplified(const PassContext &context, kb::NestOp nest,
                                           const Schedule *before) {
  if (before)
    return completed(context, nest, Schedule(*before).set("simplify", int64_t(1)));
  llvm::Expected<NestInUse> simpler =
      NestInUse::create(nest, Schedule().set("simplify", int64_t(1)));
  if (!simpler)
    return simpler.takeError();
  llvm::Expected<Schedule> schedule = mostPromisingOf(context, simpler->get());
  if (schedule)
    schedule->set("simplify", int64_t(1));
  return schedule;
}

/// The schedules of all sketches for \p nest: those that should be tried early, and the rest.
static std::pair<std::vector<Schedule>, std::vector<Schedule>> choicesOf(const PassContext &context,
                                                                         kb::NestOp nest,
                                                                         const LaunchSizes &sizes,
                                                                         const Freedom &freedom) {
  // A search judges few of them. The first sketch that fits is mostly the best one, but not where,
  // say, each point sums four elements: the best of every sketch comes early.
  constexpr size_t beforeOthers = 3;
  std::vector<Schedule> choices, rest;
  bool isFirst = true;
  for (const Sketch *sketch : sketchesFor(nest)) {
    if (!sketch->whyNot(nest).empty())
      continue;
    size_t early = isFirst ? beforeOthers : 1;
    for (auto &&[number, schedule] :
         llvm::enumerate(sketch->schedules(nest, context.target(), sizes, freedom)))
      (number < early ? choices : rest).push_back(std::move(schedule));
    isFirst = false;
  }
  return {std::move(choices), std::move(rest)};
}

/// Whether the launch of \p sizes fails a condition of \p nest, so that it would run the given
/// kernel whatever the schedule.
static bool isRefusedAt(kb::NestOp nest, const LaunchSizes &sizes) {
  std::optional<mlir::ArrayAttr> requirements = nest.getRequirements();
  return requirements &&
         llvm::any_of(requirements->getAsRange<kb::ExprAttr>(),
                      [&](kb::ExprAttr each) { return valueAt(each, sizes).value_or(0) < 0; });
}

/// Schedules of lower precision and the others in turns, these first: a search that judges few of
/// them learns what the lower precision gains, and has a schedule if it is refused.
static std::vector<RankedSchedule> inTurns(llvm::ArrayRef<RankedSchedule> ranked) {
  std::vector<RankedSchedule> parts[2], result;
  for (const RankedSchedule &each : ranked)
    parts[each.schedule.string("core") == "tf32"].push_back(each);
  for (size_t i = 0; i < std::max(parts[0].size(), parts[1].size()); ++i)
    for (const std::vector<RankedSchedule> &part : parts)
      if (i < part.size())
        result.push_back(part[i]);
  return result;
}

/// Puts those of \p ranked whose time is modelled in the order of these times, in the places that
/// they have. Those that take about as long as the launch itself on \p chip stay in order. Among
/// the first few is one of another sketch, if it may be as good: what the model does not see of one
/// sketch is the same for all of its schedules.
static void sortByTime(std::vector<RankedSchedule> &ranked, const ChipInfo &chip) {
  constexpr size_t few = 4;
  constexpr double mayBeAsGood = 2, ofLaunch = 1.5;
  std::multimap<double, RankedSchedule> byTime; // equal times stay in order
  for (const RankedSchedule &each : ranked)
    if (each.estimate)
      byTime.emplace(std::max(each.estimate->us, ofLaunch * chip.launchOverheadUs), each);
  std::vector<RankedSchedule> modelled;
  for (const auto &[time, each] : byTime)
    modelled.push_back(each);
  auto isOther = [&](const RankedSchedule &each) {
    return each.schedule.sketch() != modelled.front().schedule.sketch();
  };
  if (modelled.size() > few && llvm::none_of(llvm::ArrayRef(modelled).take_front(few), isOther)) {
    auto other = llvm::find_if(modelled, isOther);
    if (other != modelled.end() &&
        other->estimate->us < mayBeAsGood * modelled.front().estimate->us)
      std::rotate(modelled.begin() + few - 1, other, std::next(other));
  }
  modelled = inTurns(modelled);
  auto next = modelled.begin();
  for (RankedSchedule &each : ranked)
    if (each.estimate)
      each = std::move(*next++);
}

llvm::Expected<Schedule> kbopt::scheduleAfter(const PassContext &context, kb::NestOp nest,
                                              int64_t vector) {
  llvm::Expected<Schedule> schedule = mostPromising(context, nest);
  if (schedule && schedule->has("vector"))
    schedule->set("vector", std::min(vector, schedule->integer("vector")));
  return schedule;
}

/// What the launches after the first one take that do not form parts, with accesses of at most
/// \p vector elements.
static std::optional<double> timeOfSums(const PassContext &context, const PartSums &sums,
                                        const LaunchSizes &sizes, int64_t vector) {
  double us = 0;
  for (size_t i = 1; i < sums.nests.size(); ++i) {
    if (sums.formsParts(i))
      continue;
    llvm::Expected<Schedule> schedule = scheduleAfter(context, sums.nests[i], vector);
    if (!schedule) {
      llvm::consumeError(schedule.takeError());
      return std::nullopt;
    }
    auto estimate = estimateLaunch(sums.nests[i], *schedule, sizes, context.target());
    if (!estimate)
      return std::nullopt;
    us += estimate->us;
  }
  return us;
}

/// What the launches that form parts take with \p schedule, if that is below \p most, and what the
/// first of them is limited by.
static std::optional<LaunchEstimate> estimateParts(const PassContext &context, const PartSums &sums,
                                                   const Schedule &schedule,
                                                   const LaunchSizes &sizes, double most) {
  std::optional<LaunchEstimate> all;
  for (size_t i = 0; i < sums.nests.size(); ++i) {
    if (i > 0 && !sums.formsParts(i))
      continue;
    auto estimate = estimateLaunch(sums.nests[i], schedule, sizes, context.target());
    if (!estimate)
      return std::nullopt;
    all = {estimate->us + (all ? all->us : 0), all ? all->limiter : estimate->limiter};
    if (all->us >= most)
      return std::nullopt;
  }
  return all;
}

/// Adds schedules of \p nest, which \p ofNest makes of the raised one, with its sums in parts to
/// \p choices, those that are modelled faster than all others: few outputs with long sums do not
/// fill a chip.
static void addParts(const PassContext &context, kb::NestOp nest, const Schedule &ofNest,
                     const LaunchSizes &sizes, const Freedom &freedom,
                     std::vector<RankedSchedule> &choices) {
  constexpr int64_t outputsOfBlock = 64 * 64; // of which a chip has one for each multiprocessor
  constexpr int64_t mostParts = 1024, waves = 8, pointsOfBlock = 4;
  constexpr size_t most = 4, mostOfCount = 2;
  size_t added = 0;
  int64_t outputs = 1;
  for (auto extent : nest.getExtents().getAsRange<kb::ExprAttr>())
    outputs *= std::clamp<int64_t>(valueAt(extent, sizes).value_or(0), 0, 1 << 24);
  double best = 0;
  for (const RankedSchedule &each : choices)
    if (each.estimate && (best == 0 || each.estimate->us < best))
      best = each.estimate->us;
  if (!freedom.reassociate || best == 0 || outputs == 0 ||
      outputs > outputsOfBlock * context.target().smCount)
    return;
  // A block has a tile of outputs, or a few of them.
  const bool hasTiles = findSketch("contraction")->whyNot(nest).empty();
  const int64_t blocks = context.target().smCount,
                mostSums = waves * blocks * (hasTiles ? outputsOfBlock : pointsOfBlock);
  std::multimap<double, RankedSchedule> faster;
  for (int64_t count = 2; count <= mostParts && count * outputs <= mostSums; count *= 2) {
    if (2 * count * outputs < blocks)
      continue;
    auto inUse = NestInUse::create(nest, Schedule().set("parts", count));
    if (!inUse) {
      llvm::consumeError(inUse.takeError());
      continue;
    }
    const PartSums &sums = *inUse->parts();
    if (llvm::any_of(sums.nests, [&](kb::NestOp each) { return isRefusedAt(each, sizes); }))
      continue;
    std::map<int64_t, std::optional<double>> byVector;
    std::multimap<double, RankedSchedule> ofCount;
    for (const Sketch *sketch : sketches()) {
      if (!sketch->whyNot(inUse->get()).empty())
        continue;
      for (Schedule &each : sketch->schedules(inUse->get(), context.target(), sizes, freedom)) {
        const int64_t vector = each.integer("vector", 1);
        auto [others, isNew] = byVector.try_emplace(vector);
        if (isNew)
          others->second = timeOfSums(context, sums, sizes, vector);
        auto estimate = others->second
                            ? estimateParts(context, sums, each, sizes, best - *others->second)
                            : std::nullopt;
        if (!estimate)
          continue;
        estimate->us += *others->second;
        for (const auto &[key, value] : ofNest.all())
          each.set(key, StringRef(value));
        ofCount.emplace(estimate->us, RankedSchedule{each.set("parts", count), estimate});
      }
    }
    auto last = ofCount.begin();
    std::advance(last, std::min(mostOfCount, ofCount.size()));
    faster.insert(ofCount.begin(), last);
  }
  for (auto &[us, each] : faster)
    if (added++ < most)
      choices.push_back(std::move(each));
}

std::vector<RankedSchedule> kbopt::rankedSchedules(const PassContext &context,
                                                   const KernelView &kernel,
                                                   const LaunchSizes &sizes,
                                                   const Freedom &freedom) {
  std::vector<RankedSchedule> choices, rest;
  RaisedKernel raised = context.raised(kernel);
  if (!raised.nest || isRefusedAt(raised.nest, sizes))
    return choices;
  auto add = [&](kb::NestOp nest, StringRef key, StringRef value) {
    auto [early, late] = choicesOf(context, nest, sizes, freedom);
    for (auto &[list, ranked] : {std::pair(&early, &choices), std::pair(&late, &rest)})
      for (Schedule &each : *list) {
        if (key == "phases" && each.sketch() != "contraction")
          continue;
        auto estimate = estimateLaunch(nest, each, sizes, context.target());
        ranked->push_back({key.empty() ? each : each.set(key, value), estimate});
      }
  };
  std::optional<NestInUse> simpler =
      freedom.reassociate ? withSharedSums(raised.nest) : std::nullopt;
  if (simpler)
    add(simpler->get(), "simplify", "1");
  const std::string phases = phasesOf(raised.nest, sizes);
  if (std::optional<NestInUse> byPhase = withPhases(raised.nest, phases))
    add(byPhase->get(), "phases", phases);
  add(raised.nest, "", "");
  std::move(rest.begin(), rest.end(), std::back_inserter(choices));
  if (!raised.last)
    addParts(context, raised.nest, {}, sizes, freedom, choices);
  if (simpler && !raised.last)
    addParts(context, simpler->get(), Schedule().set("simplify", int64_t(1)), sizes, freedom,
             choices);
  sortByTime(choices, context.target());
  return choices;
}
