//===- InputProposals.cpp -------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "InputProposals.h"
#include "llvm/ADT/STLExtras.h"
#include <bit>
#include <cmath>

using namespace llvm;

namespace kbopt {

using Kind = InputChange::Kind;

static constexpr size_t mostUploads = 6, mostChanges = 6;

InputProposals::InputProposals(std::vector<ChangeableUpload> all) : uploads(std::move(all)) {
  if (uploads.size() > mostUploads)
    uploads.resize(mostUploads);
  proposed.insert(describe(base));
}

/// Whether \p change leaves nothing of what its upload was.
static bool replacesAll(const InputChange &change) {
  return change.every == 1 && (change.kind == Kind::Set || change.kind == Kind::CountUp);
}

/// Whether the last of \p changes is of one number that may be moved.
static bool isNumber(ArrayRef<InputChange> changes) {
  return !changes.empty() && (changes.back().kind == Kind::Add || replacesAll(changes.back()));
}

/// \p changes, and \p change after them.
static std::vector<InputChange> extended(std::vector<InputChange> changes,
                                         const InputChange &change) {
  if (replacesAll(change))
    erase_if(changes, [&](const InputChange &old) { return old.upload == change.upload; });
  if (!changes.empty() && change.kind == Kind::Add) {
    InputChange &last = changes.back();
    const bool isMovable = last.kind == Kind::Add || last.kind == Kind::Set ||
                           (last.kind == Kind::CountUp && change.every == 1);
    if (last.upload == change.upload && last.every == change.every && isMovable) {
      last.value += change.value;
      return changes;
    }
  }
  changes.push_back(change);
  return changes;
}

void InputProposals::propose(InputChange change) {
  const auto upload =
      find_if(uploads, [&](const ChangeableUpload &each) { return each.number == change.upload; });
  if (change.kind == Kind::Add && !kbrt::isFloatingPoint(upload->element))
    change.value = std::trunc(change.value);
  if (change.kind == Kind::Add && change.value == 0)
    return;
  std::vector<InputChange> changes = extended(base, change);
  if (changes.size() <= mostChanges)
    pending.push_back(std::move(changes));
}

static constexpr double mostInteger = 2147483648.0; // 2^31

/// The float32 number whose bits are those of \p integer, below `mostInteger`.
static double numberOf(double integer) {
  return std::bit_cast<float>(static_cast<int32_t>(integer));
}

void InputProposals::proposeComparedNumbers(const kbrt::NearPlace &near) {
  for (auto [from, to] : {std::pair(near.left, near.right), std::pair(near.right, near.left)})
    for (const ChangeableUpload &upload : uploads)
      for (double value :
           {to, nextNumber(to, upload.element, true), nextNumber(to, upload.element, false)})
        propose({upload.number, Kind::Replace, value, from});
  // Bits of a number may have been compared as an integer.
  for (const ChangeableUpload &upload : uploads)
    if (upload.element == kbrt::ElementType::F32 && near.left == std::trunc(near.left) &&
        near.right == std::trunc(near.right) && std::fabs(near.left) < mostInteger &&
        std::fabs(near.right) < mostInteger)
      propose({upload.number, Kind::Replace, numberOf(near.right), numberOf(near.left)});
  for (uint64_t every : {1, 2, 0})
    for (const ChangeableUpload &upload : uploads)
      for (double value : {near.right, nextNumber(near.right, upload.element, true),
                           nextNumber(near.right, upload.element, false)})
        propose({upload.number, Kind::Set, value, 0, every});
  for (uint64_t every : {1, 0})
    for (const ChangeableUpload &upload : uploads)
      propose({upload.number, Kind::Add, near.right - near.left, 0, every});
}

void InputProposals::proposeExtremes() {
  for (double value : {0.0, 1.0}) {
    std::vector<InputChange> together;
    for (const ChangeableUpload &upload : uploads)
      together.push_back({upload.number, Kind::Set, value});
    pending.push_back(std::move(together));
  }
  auto forEach = [&](auto make) {
    for (const ChangeableUpload &upload : uploads)
      propose(make(upload));
  };
  auto setAll = [&](double value) {
    forEach([&](const ChangeableUpload &u) { return InputChange{u.number, Kind::Set, value}; });
  };
  setAll(0);
  forEach([](const ChangeableUpload &u) { return InputChange{u.number, Kind::Set, u.first}; });
  forEach([](const ChangeableUpload &u) {
    return InputChange{u.number, Kind::Set, rangeOf(u.element).second};
  });
  forEach([](const ChangeableUpload &u) { return InputChange{u.number, Kind::CountUp, 0, 1}; });
  setAll(1);
  setAll(-1);
  forEach([](const ChangeableUpload &u) { return InputChange{u.number, Kind::Ascend}; });
  forEach([](const ChangeableUpload &u) { return InputChange{u.number, Kind::Descend}; });
  forEach([](const ChangeableUpload &u) {
    return InputChange{u.number, Kind::CountUp, -static_cast<double>(u.count / 2), 1};
  });
  forEach([](const ChangeableUpload &u) { return InputChange{u.number, Kind::Set, 0, 0, 2}; });
  forEach([](const ChangeableUpload &u) {
    return InputChange{u.number, Kind::Set, rangeOf(u.element).first};
  });
  for (const ChangeableUpload &upload : uploads)
    if (kbrt::isFloatingPoint(upload.element))
      for (double value : {std::nan(""), HUGE_VAL, -HUGE_VAL})
        for (uint64_t every : {1, 0})
          propose({upload.number, Kind::Set, value, 0, every});
}

void InputProposals::proposeMoves() {
  constexpr int mostDoublings = 24;
  const bool goesOn = isNumber(base);
  for (int doublings = 0; doublings <= mostDoublings; doublings += goesOn ? 1 : 4)
    for (const ChangeableUpload &upload : uploads)
      for (int sign : {1, -1})
        if (!goesOn || base.back().upload == upload.number)
          propose({upload.number, Kind::Add, sign * std::ldexp(1, doublings), 0,
                   goesOn ? base.back().every : 1});
}

/// By how much the number of the last change differs in \p before and \p now, where they differ in
/// nothing else.
static std::optional<double> moveBetween(ArrayRef<InputChange> before, ArrayRef<InputChange> now) {
  if (now.empty())
    return std::nullopt;
  const InputChange &last = now.back();
  if (before.size() + 1 == now.size() && last.kind == Kind::Add)
    return last.value;
  if (before.size() != now.size())
    return std::nullopt;
  const InputChange &old = before.back();
  if (old.upload != last.upload || old.kind != last.kind || old.every != last.every)
    return std::nullopt;
  return last.value - old.value;
}

void InputProposals::startFrom(ArrayRef<InputChange> changes, const kbrt::NearPlace &near) {
  const std::optional<double> move = moveBetween(base, changes);
  // Where what is compared becomes equal if it goes on like that.
  const double was = nearest.left - nearest.right, is = near.left - near.right,
               rest = move && near.branches == nearest.branches ? is * *move / (was - is) : NAN;
  base = changes.vec();
  nearest = near;
  pending.clear();
  auto moveOn = [&](double by) {
    propose({base.back().upload, Kind::Add, by, 0, base.back().every});
  };
  if (std::isfinite(rest))
    for (double by : {std::round(rest), std::floor(rest), std::ceil(rest), rest})
      moveOn(by);
  if (move)
    for (double part : {2.0, 0.5, -0.5, 0.125, -0.125, 0.03125, -0.03125})
      moveOn(part * *move);
  proposeComparedNumbers(near);
  if (isNumber(base))
    proposeMoves();
  proposeExtremes();
  proposeMoves();
}

InputChange InputProposals::randomChange() {
  constexpr uint64_t mostEvery = 64;
  const ChangeableUpload &upload = uploads[random.below(uploads.size())];
  InputChange change{upload.number};
  const auto [least, most] = rangeOf(upload.element);
  const double values[] = {nearest.right,
                           nextNumber(nearest.right, upload.element, true),
                           nextNumber(nearest.right, upload.element, false),
                           nearest.left,
                           upload.first,
                           0,
                           least,
                           most,
                           std::trunc(random.normal() * 1000),
                           random.normal()};
  change.value = values[random.below(std::size(values))];
  change.every = random.below(2) ? 1 + random.below(mostEvery) : random.below(3);
  if (random.below(4) == 0) {
    change.kind = Kind::CountUp;
    change.other = random.below(2) ? 1 : std::trunc(random.normal() * 100);
  }
  return change;
}

std::optional<std::vector<InputChange>> InputProposals::next() {
  constexpr unsigned mostDrawn = 1000;
  while (!uploads.empty()) {
    if (pending.empty()) {
      if (++drawn > mostDrawn)
        return std::nullopt;
      propose(randomChange());
      continue;
    }
    std::vector<InputChange> changes = std::move(pending.front());
    pending.pop_front();
    if (proposed.insert(describe(changes)).second)
      return changes;
  }
  return std::nullopt;
}

std::vector<std::vector<InputChange>> spread(ArrayRef<InputChange> changes) {
  std::vector<std::vector<InputChange>> all;
  for (uint64_t every : {2, 3, 5}) {
    std::vector<InputChange> apart = changes.vec();
    for (InputChange &change : apart)
      if (change.kind == Kind::Set || change.kind == Kind::Replace)
        change = {change.upload, Kind::Set, change.value, 0, every};
    if (describe(apart) != describe(changes))
      all.push_back(std::move(apart));
  }
  return all;
}

} // namespace kbopt
