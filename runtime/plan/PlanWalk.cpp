//===- PlanWalk.cpp - executing a plan, whatever the device ---------------===//
// SPDX-License-Identifier: Apache-2.0
#include "kbrt/PlanWalk.h"

#include <algorithm>
#include <cstring>

using namespace kbrt;

bool PlanWalk::fail(LaunchStatus why, std::string what) {
  if (status == LaunchStatus::Ok) {
    status = why;
    message = std::move(what);
  }
  return false;
}

bool PlanWalk::leaveOut(const Repetition &repetition, size_t periods) {
  for (; index < repetition.end(); ++index) {
    const size_t like = repetition.begin + (periods - 1) * repetition.period +
                        (index - repetition.begin) % repetition.period;
    auto *read = std::get_if<ReadStep>(&plan.steps[index]);
    if (read && keepsObservables) {
      const uint64_t end = read->observable + read->from.bytes();
      if (observables.size() < end)
        observables.resize(end);
      std::memmove(observables.data() + read->observable,
                   observables.data() + std::get<ReadStep>(plan.steps[like]).observable,
                   read->from.bytes());
    }
    if (!repeat(index, like))
      return false;
  }
  return true;
}

bool PlanWalk::walk() {
  auto next = repetitions.begin();
  for (index = 0; index < plan.steps.size(); ++index) {
    while (next != repetitions.end() && index >= next->end())
      ++next;
    if (next != repetitions.end() && index > next->begin &&
        (index - next->begin) % next->period == 0) {
      const size_t periods = (index - next->begin) / next->period;
      const bool ends = endsAfter(*next, periods);
      if (status != LaunchStatus::Ok || (ends && !leaveOut(*next, periods)))
        return false;
      if (ends) {
        --index; // the loop goes on behind the repetition
        continue;
      }
    }
    if (inputs.onStep)
      inputs.onStep(index);
    if (!perform(plan.steps[index]) || !performed(plan.steps[index]))
      return false;
  }
  return true;
}

bool PlanWalk::perform(const Step &step) {
  if (auto *s = std::get_if<AllocStep>(&step))
    return allocate(s->buffer);
  if (auto *s = std::get_if<FreeStep>(&step)) {
    if (address[s->buffer])
      release(s->buffer);
    address[s->buffer] = 0;
    return true;
  }
  if (auto *s = std::get_if<UploadStep>(&step))
    return performUpload(*s);
  if (auto *s = std::get_if<FillStep>(&step)) {
    auto to = resolve(s->to.at);
    return to && fill(*to, s->to, s->value);
  }
  if (auto *s = std::get_if<CopyStep>(&step)) {
    auto to = resolve(s->to.at);
    auto from = to ? resolve(s->from.at) : std::nullopt;
    return from && copy(*to, s->to, *from, s->from);
  }
  if (auto *s = std::get_if<LaunchStep>(&step))
    return performLaunch(*s);
  if (auto *s = std::get_if<ReadStep>(&step))
    return performRead(*s);
  if (auto *s = std::get_if<MatmulStep>(&step))
    return performMatmul(*s);
  return order(step);
}

std::optional<uint64_t> PlanWalk::resolve(const Location &at) {
  uint32_t id = at.buffer;
  if (!address[id] && plan.buffers[id].kind == BufferKind::Symbol) {
    address[id] = findSymbol(plan.buffers[id]);
    if (!address[id])
      return std::nullopt;
  }
  if (!address[id]) {
    fail(LaunchStatus::InvalidLaunch,
         "the plan uses buffer " + std::to_string(id) + " while it is not allocated");
    return std::nullopt;
  }
  return address[id] + at.offset;
}

bool PlanWalk::relocate(char *bytes, size_t count, const std::vector<PointerWord> &pointers) {
  for (const PointerWord &word : pointers) {
    auto target = resolve(word.target);
    if (!target)
      return false;
    if (word.at + sizeof *target > count)
      return fail(LaunchStatus::InvalidLaunch, "a pointer of the plan lies outside its argument");
    std::memcpy(bytes + word.at, &*target, sizeof *target);
  }
  return true;
}

std::optional<std::string_view> PlanWalk::payloadOf(const UploadStep &step) {
  std::string_view payload;
  auto it = std::find_if(inputs.overrides.begin(), inputs.overrides.end(),
                         [&](const auto &entry) { return entry.first == index; });
  if (it != inputs.overrides.end())
    payload = it->second;
  else if (step.data + step.to.bytes() <= inputs.data.size())
    payload = inputs.data.substr(step.data, step.to.bytes());
  if (payload.size() == step.to.bytes())
    return payload;
  fail(LaunchStatus::InvalidLaunch, "step " + std::to_string(index) + " uploads " +
                                        std::to_string(step.to.bytes()) + " bytes, its data has " +
                                        std::to_string(payload.size()));
  return std::nullopt;
}

bool PlanWalk::performUpload(const UploadStep &step) {
  auto to = resolve(step.to.at);
  auto payload = to ? payloadOf(step) : std::nullopt;
  if (!payload)
    return false;
  if (step.pointers.empty())
    return upload(*to, step.to, *payload);
  std::string relocated(*payload);
  return relocate(relocated.data(), relocated.size(), step.pointers) &&
         upload(*to, step.to, relocated);
}

bool PlanWalk::performLaunch(const LaunchStep &step) {
  std::vector<std::vector<uint8_t>> arguments;
  for (const Argument &argument : step.arguments) {
    arguments.push_back(argument.bytes);
    if (!relocate(reinterpret_cast<char *>(arguments.back().data()), arguments.back().size(),
                  argument.pointers))
      return false;
  }
  return launch(step, arguments);
}

bool PlanWalk::performRead(const ReadStep &step) {
  auto from = resolve(step.from.at);
  if (!from)
    return false;
  if (!keepsObservables)
    return read(*from, step.from, nullptr);
  uint64_t end = step.observable + step.from.bytes();
  if (observables.size() < end)
    observables.resize(end);
  return read(*from, step.from, observables.data() + step.observable);
}

bool PlanWalk::performMatmul(const MatmulStep &step) {
  auto a = resolve(step.a.at);
  auto b = a ? resolve(step.b.at) : std::nullopt;
  auto c = b ? resolve(step.c.at) : std::nullopt;
  return c && matmul(step, *a, *b, *c);
}
