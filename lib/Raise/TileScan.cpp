//===- TileScan.cpp - Prefix sums in shared memory --------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the reading of one step of a scan: what a thread stores that is far enough from the start,
// and one that is not.
//
//===----------------------------------------------------------------------===//
#include "TileScan.h"

#include "NestScalars.h"
#include "TeamText.h"

namespace kbopt::raise {
namespace {

using Body = std::vector<Statement>;

/// What a thread does in one step, where its conditions hold or do not.
class ScanStep {
public:
  ScanStep(const Space &space, const Statement &loop)
      : space(space), distance(Poly::variable(loop.variable)) {}

  /// What the thread leaves in its element: `$0` is what it had, `$1` the one before by the
  /// distance. Nothing where the step is no scan's.
  std::optional<std::string> run(const Body &body, bool isFar) {
    values.clear();
    stored = "$0";
    hasLoaded = hasStored = waits = false;
    return walk(body, isFar) ? std::optional(stored) : std::nullopt;
  }

  Operand own; ///< the element that is stored

private:
  bool walk(const Body &body, bool isFar) {
    for (const Statement &each : body) {
      switch (each.kind) {
      case Statement::Barrier:
        waits |= hasLoaded && !hasStored;
        break;
      case Statement::If: {
        // i >= distance, or its opposite.
        bool isOne = each.constraints.size() == 1 && each.value.text.empty() &&
                     !each.constraints[0].isEquality;
        if (!isOne)
          return false;
        Poly thread = Poly::variable(analysis::TidVar);
        bool isFarGuard = each.constraints[0].poly == thread - distance;
        if (!isFarGuard && !(each.constraints[0].poly == distance - thread - Poly::constant(1)))
          return false;
        if (isFarGuard == isFar && !walk(each.body, isFar))
          return false;
        break;
      }
      case Statement::Let:
      case Statement::Assign: {
        std::optional<std::string> text = textOf(each.value);
        if (!text)
          return false;
        values[each.name] = *text;
        break;
      }
      case Statement::Combine: {
        std::optional<std::string> text = textOf(each.value);
        if (!text || each.reduction != "add" || !values.count(each.name))
          return false;
        values[each.name] = "(" + values[each.name] + " + " + *text + ")";
        break;
      }
      case Statement::Store: {
        bool isFirst = !hasStored;
        if (each.target.base.memory != Base::Shared ||
            (own.base.memory == Base::Shared &&
             !(own.base == each.target.base && own.offset == each.target.offset)))
          return false;
        own = each.target;
        std::optional<std::string> text = textOf(each.value);
        if (!isFirst || !text)
          return false;
        hasStored = true;
        // What the others load must have been loaded.
        if (text->find("$1") != std::string::npos && !waits)
          return false;
        stored = *text;
        break;
      }
      default:
        return false;
      }
    }
    return true;
  }

  /// \p text over `$0` and `$1`.
  std::optional<std::string> textOf(const Text &text) {
    std::string result;
    llvm::StringRef rest = text.text;
    while (!rest.empty()) {
      if (rest.consume_front("$")) {
        unsigned hole = 0;
        if (rest.consumeInteger(10, hole) || hole >= text.operands.size())
          return std::nullopt;
        const Operand &operand = text.operands[hole];
        if (operand.kind == Operand::Index) { // an integer that a Let declares
          auto known = values.find(space.text(operand.offset));
          if (known == values.end())
            return std::nullopt;
          result += known->second;
          continue;
        }
        if (operand.kind != Operand::Element || operand.base.memory != Base::Shared ||
            !(operand.base == own.base))
          return std::nullopt;
        bool isOwn = operand.offset == own.offset;
        if (!isOwn && !(operand.offset == own.offset - distance))
          return std::nullopt;
        hasLoaded |= !isOwn;
        result += isOwn ? "$0" : "$1";
        continue;
      }
      llvm::StringRef word =
          rest.take_while([](char c) { return llvm::isAlnum(c) || c == '_' || c == '.'; });
      if (word.empty()) {
        result += rest.front();
        rest = rest.drop_front();
        continue;
      }
      rest = rest.drop_front(word.size());
      auto known = values.find(word.str());
      result += known == values.end() ? word.str() : known->second;
    }
    return result;
  }

  const Space &space;
  Poly distance;
  std::map<std::string, std::string> values;
  std::string stored;
  bool hasLoaded = false, hasStored = false, waits = false;
};

/// \p text without parentheses, spaces and zeros that are added.
std::string tight(llvm::StringRef text) {
  std::string all;
  for (char c : text)
    if (c != ' ' && c != '(' && c != ')')
      all += c;
  for (llvm::StringRef zero : {"+0.0f", "+0.0", "+0.f", "+0"})
    if (llvm::StringRef(all).ends_with(zero))
      all.resize(all.size() - zero.size());
  return all;
}

} // namespace

std::optional<TileScan> scanIn(const Space &space, const Statement &loop, const Poly &threads) {
  if (loop.kind != Statement::For || loop.progress != Statement::Double ||
      !(loop.begin == Poly::constant(1)) || loop.body.empty())
    return std::nullopt;
  ScanStep step(space, loop);
  // The element that is stored, first of all.
  Body body = loop.body;
  const Statement *store = nullptr;
  walk(body, [&](Statement &each) {
    if (each.kind == Statement::Store)
      store = &each;
    return !store;
  });
  if (!store || store->target.base.memory != Base::Shared)
    return std::nullopt;
  step.own = store->target;
  std::optional<std::string> far = step.run(body, true), near = step.run(body, false);
  std::string sum = far ? tight(*far) : "";
  TileScan scan{step.own.base,
                step.own.offset - Poly::variable(analysis::TidVar),
                loop.end,
                step.own.type,
                body.front().kind == Statement::Barrier,
                body.back().kind == Statement::Barrier};
  bool isSum = (sum == "$0+$1" || sum == "$1+$0") && near && tight(*near) == "$0";
  // Every thread has an element, and the last distance is the last one that matters.
  bool isApart = scan.start.isConstant() && loop.end == threads;
  if (!isSum || !isApart || (!scan.waitsBefore && !scan.waitsAfter))
    return std::nullopt;
  return scan;
}

} // namespace kbopt::raise
