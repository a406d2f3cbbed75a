//===- Tiles.cpp - Copies of memory in shared arrays -------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the walk over a block's statements in which stores to shared arrays are noted, and loads
// after a barrier become what was stored.
//
//===----------------------------------------------------------------------===//
#include "Tiles.h"

#include "NestScalars.h"
#include "TeamText.h"
#include "TileScan.h"
#include "TileValue.h"

namespace kbopt::raise {
namespace {

using Body = std::vector<Statement>;

class TileForwarder {
public:
  TileForwarder(ThreadProgram &program, const analysis::LaunchRanges &launches, TileBlock &block)
      : program(program), space(program.space), launches(launches), block(block) {}

  void run() {
    fixBlock();
    walk(program.body, [&](Statement &each) {
      if (each.kind == Statement::Store || each.kind == Statement::Atomic)
        storedBases.push_back(each.target.base);
      if (each.kind == Statement::Assign || each.kind == Statement::Combine)
        ++changes[each.name];
      return true;
    });
    Constraints common = commonGuard();
    context = common;
    Body body = rewrite(program.body);
    if (failed())
      return;
    program.body = std::move(body);
    if (common.empty())
      return;
    // Nothing is seen of a thread that does not fulfil it.
    Statement guard;
    guard.kind = Statement::If;
    guard.constraints = common;
    guard.body = std::move(program.body);
    dropKnown(guard.body, common);
    program.body.clear();
    program.body.push_back(std::move(guard));
  }

private:
  /// A loop or condition around what is read, since the loop that the whole block runs together.
  struct Around {
    Statement loop; ///< without its body; or a guard
    TileGuard guard;
    bool isLoop = false;
  };

  void refuse(const std::string &why) { program.refuse(why); }
  bool failed() const { return !program.reason.empty(); }
  static bool isShared(const Operand &operand) {
    return operand.kind == Operand::Element && operand.base.memory == Base::Shared;
  }

  //===-- The block -------------------------------------------------------===//

  /// Makes the size of a block a number, which the launch must have, where the launch or the kernel
  /// says one.
  void fixBlock() {
    for (unsigned axis = 0; axis < 3; ++axis) {
      VarId extent = analysis::BdimVar + axis;
      auto range = launches.block[axis];
      int64_t size = range.low == range.high ? int64_t(range.high) : meantSize(axis);
      block.threads[axis] = size;
      if (!size)
        continue;
      substitute(program, extent, Poly::constant(size));
      space[analysis::TidVar + axis].high = size - 1;
    }
  }

  /// How many threads a block has along \p axis.
  Poly threadsAlong(unsigned axis) const {
    return block.threads[axis] ? Poly::constant(block.threads[axis])
                               : Poly::variable(analysis::BdimVar + axis);
  }

  /// The size that the kernel's own numbers mean: `blockIdx.x * 16 + threadIdx.x`, also times
  /// something else. With a loop in steps that are smaller, `blockIdx.x * 32 + threadIdx.x + i` for
  /// `i += 8`, its step. One where the axis is not used.
  int64_t meantSize(unsigned axis) {
    constexpr int64_t mostThreads = 1024;
    VarId thread = analysis::TidVar + axis, block = analysis::BidVar + axis;
    std::map<VarId, int64_t> steps;
    walk(program.body, [&](Statement &each) {
      if (each.kind == Statement::For && each.progress == Statement::Add && each.step.isConstant())
        steps[each.variable] = each.step.constantTerm();
      return true;
    });
    int64_t size = 0, step = 0;
    bool isUsed = false;
    rewritePolys(program.body, [&](const Poly &poly) {
      isUsed |= space.dependsOn(poly, thread);
      Poly stride = poly.coefficientOf(thread), ofBlock = poly.coefficientOf(block);
      if (stride.monomials().size() != 1 || ofBlock.monomials().size() != 1)
        return poly;
      int64_t one = stride.monomials().begin()->second, all = ofBlock.monomials().begin()->second;
      if (one < 1 || all % one || all <= one || all / one > mostThreads ||
          !(ofBlock == stride * Poly::constant(all / one)))
        return poly;
      size = std::max(size, all / one);
      for (auto &[variable, each] : steps)
        if (each > 1 && all / one > each && all / one % each == 0 &&
            poly.coefficientOf(variable) == stride)
          step = step ? std::min(step, each) : each;
      return poly;
    });
    return isUsed ? (step ? step : size) : 1;
  }

  /// The conditions under which the kernel stores anything.
  Constraints commonGuard() {
    std::optional<Constraints> common;
    std::function<void(Body &, Constraints)> look = [&](Body &body, const Constraints &around) {
      for (Statement &each : body) {
        bool stores = (each.kind == Statement::Store && !isShared(each.target)) ||
                      each.kind == Statement::Atomic;
        if (stores && !common)
          common = around;
        else if (stores)
          llvm::erase_if(*common, [&](const Constraint &known) {
            return llvm::none_of(around, [&](const Constraint &other) {
              return other.isEquality == known.isEquality && other.poly == known.poly;
            });
          });
        Constraints inside = around;
        for (const Constraint &constraint : each.constraints) {
          bool isFixed = llvm::all_of(space.variables(constraint.poly), [&](VarId var) {
            return space[var].kind != Space::Loop && space[var].kind != Space::Varying;
          });
          if (isFixed)
            inside.push_back(constraint);
        }
        look(each.body, inside);
      }
    };
    look(program.body, {});
    return common.value_or(Constraints());
  }

  //===-- Statements ------------------------------------------------------===//

  static bool contains(Body &body, llvm::function_ref<bool(Statement &)> wanted) {
    bool found = false;
    walk(body, [&](Statement &each) {
      found |= wanted(each);
      return !found;
    });
    return found;
  }
  static bool hasBarrier(Body &body) {
    return contains(body, [](Statement &each) { return each.kind == Statement::Barrier; });
  }

  Body rewrite(Body &body) {
    Body out;
    unsigned choice = 0;
    scopes.push_back(&out);
    for (Statement &each : body) {
      if (failed())
        break;
      if (each.kind == Statement::If && !each.isElse)
        choice = ++choices;
      statement(each, choice, out);
    }
    scopes.pop_back();
    return out;
  }

  void statement(Statement &each, unsigned choice, Body &out) {
    if (each.kind == Statement::Opaque)
      return refuse(each.reason);
    if (each.kind == Statement::Barrier) {
      if (each.function != "__syncthreads" && each.function != "sync")
        return;
      for (TileFill &fill : fills)
        fill.isPublished = true;
      read.clear();
      return;
    }
    if (llvm::any_of(each.value.operands, isShared)) {
      if (each.kind == Statement::Store && isShared(each.target))
        return refuse("'" + each.target.base.name + "' is filled from a shared array");
      fromTiles.insert(each.name);
    }
    if (!each.value.text.empty())
      resolve(each.value, out);
    if (failed())
      return;
    if (each.kind == Statement::Store && isShared(each.target))
      return note(each);
    if (each.kind == Statement::Atomic && isShared(each.target))
      return refuse("an atomic on the shared array '" + each.target.base.name + "'");
    if (each.kind != Statement::For && each.kind != Statement::If) {
      out.push_back(each);
      return;
    }
    Statement copy = each;
    copy.body.clear();
    if (hasBarrier(each.body))
      together(each, copy);
    else
      alone(each, choice, copy);
    if (!copy.body.empty())
      out.push_back(std::move(copy));
  }

  /// A loop or condition that all threads of a block enter.
  void together(Statement &each, Statement &copy) {

    if (std::optional<TileScan> scan = scanIn(space, each, threadsAlong(0)))
      return noteScan(*scan);
    bool isSame = each.value.text.empty();
    auto look = [&](const Poly &poly) {
      for (VarId var : space.variables(poly))
        isSame &= var > analysis::TidVar + 2 && space[var].kind != Space::Varying;
    };
    for (Constraint &constraint : each.constraints)
      look(constraint.poly);
    if (each.kind == Statement::For)
      for (Poly *poly : {&each.begin, &each.end, &each.step})
        look(*poly);
    if (!isSame || !around.empty())
      return refuse("threads of a block wait for each other where some of them may not be");
    std::set<std::string> stored;
    bool storesFirst = false, sawBarrier = false;
    walk(each.body, [&](Statement &inner) {
      sawBarrier |= inner.kind == Statement::Barrier;
      if (inner.kind == Statement::Store && isShared(inner.target)) {
        stored.insert(inner.target.base.name);
        storesFirst |= !sawBarrier;
      }
      return true;
    });
    auto forget = [&] {
      llvm::erase_if(fills, [&](TileFill &fill) { return stored.count(fill.target.base.name); });
    };
    size_t known = context.size();
    context.insert(context.end(), each.constraints.begin(), each.constraints.end());
    if (each.kind == Statement::For) {
      forget();
      stale.insert(stored.begin(), stored.end());
      addRange(each);
    }
    copy.body = rewrite(each.body);
    forget();
    stale.insert(stored.begin(), stored.end());
    context.resize(known);
    // The next iteration stores while other threads still read.
    if (each.kind == Statement::For && storesFirst)
      for (const std::string &name : stored)
        if (read.count(name))
          refuse("'" + name + "' is filled again without a barrier after it was read");
  }

  /// From now on, elements of the array are the sums of those up to them.
  void noteScan(const TileScan &scan) {
    const std::string &name = scan.base.name;
    bool isFilled = false, isOne = block.threads[1] == 1 && block.threads[2] == 1;
    for (TileFill &fill : fills)
      if (fill.target.base == scan.base) {
        isFilled = true;
        fill.isPublished |= scan.waitsBefore;
        isOne &= fill.isPublished;
        fill.isPublished = scan.waitsAfter;
      }
    if (!isFilled || !isOne || !around.empty() || scans.count(name))
      return refuse("'" + name + "' is scanned in a way that is not understood");
    scans[name] = scan;
  }

  /// The sum of the elements up to \p element.
  std::optional<Text> prefixOf(const TileScan &scan, Operand element,
                               llvm::ArrayRef<const TileFill *> known, Body &out) {
    Statement sum, loop, step;
    sum.kind = Statement::Let;
    sum.name = program.uniqueName(element.base.name + "Sum");
    sum.type = element.type;
    sum.value.text = zeroOf(element.type);
    Space::Variable counter;
    counter.kind = Space::Loop;
    counter.name = "before";
    counter.low = 0;
    loop.kind = Statement::For;
    loop.variable = space.add(counter);
    loop.team = true; // another order than the threads add in
    loop.step = Poly::constant(1);
    loop.end = element.offset - scan.start + Poly::constant(1);
    step.kind = Statement::Combine;
    step.name = sum.name;
    step.type = sum.type;
    step.reduction = "add";
    step.combine = "%a + %b";
    step.identity = sum.value.text;
    size_t before = context.size();
    addRange(loop);
    context.push_back({scan.length - loop.end, false}); // it lies in the array
    element.offset = scan.start + Poly::variable(loop.variable);
    std::optional<Text> value =
        tileValue(program, element, known, context, stale.count(element.base.name), loop.body);
    context.resize(before);
    if (!value)
      return std::nullopt;
    step.value = *value;
    loop.body.push_back(std::move(step));
    program.given[loop.variable] = {loop.begin, loop.end};
    out.push_back(std::move(sum));
    out.push_back(std::move(loop));
    return Text{out[out.size() - 2].name, {}};
  }

  static std::string zeroOf(const std::string &type) {
    return type == "float" ? "0.0f" : type == "double" ? "0.0" : "0";
  }

  /// A loop or condition of each thread.
  void alone(Statement &each, unsigned choice, Statement &copy) {
    size_t known = context.size();
    Around here;
    here.isLoop = each.kind == Statement::For;
    here.loop = copy;
    here.guard = {each.constraints, each.value, choice, each.isElse};
    if (here.isLoop)
      addRange(each);
    context.insert(context.end(), each.constraints.begin(), each.constraints.end());
    around.push_back(std::move(here));
    copy.body = rewrite(each.body);
    around.pop_back();
    context.resize(known);
  }

  /// Notes between which values the variable of \p loop is.
  void addRange(const Statement &loop) {
    if (loop.progress != Statement::Add)
      return;
    Poly variable = Poly::variable(loop.variable);
    context.push_back({variable - loop.begin, false});
    context.push_back({loop.end - variable - Poly::constant(1), false});
  }

  //===-- Stores ----------------------------------------------------------===//

  void note(Statement &store) {
    const std::string &name = store.target.base.name;
    if (read.count(name))
      return refuse("'" + name + "' is filled again without a barrier after it was read");
    TileFill fill;
    fill.target = store.target;
    fill.value = store.value;
    std::vector<Statement> loops;
    for (Around &each : around) {
      if (each.isLoop)
        loops.push_back(each.loop);
      else
        fill.guards.push_back(each.guard);
    }
    std::string why;
    if (!collectScalars(fill, why))
      return refuse(why);
    if (!numberWriters(space, fill, loops, {threadsAlong(0), threadsAlong(1), threadsAlong(2)}))
      return refuse("which thread fills which element of '" + name + "' is not understood");
    if (!pinDigits(space, fill))
      return;
    for (const TileDigit &digit : fill.digits) {
      if (fill.target.offset.contains(digit.variable))
        continue;
      bool matters = false;
      fill.rewrite([&](const Poly &poly) {
        matters |= space.dependsOn(poly, digit.variable);
        return poly;
      });
      if (matters)
        return refuse("several threads fill the same element of '" + name + "'");
    }
    bool isPublished = llvm::any_of(fills, [&](TileFill &other) {
      return other.target.base == fill.target.base && other.isPublished;
    });
    if (scans.erase(name) && !isPublished)
      return refuse("'" + name + "' is filled in part after it was scanned");
    // What was there before is gone only where this covers it.
    if (isPublished) {
      stale.insert(name);
      llvm::erase_if(fills, [&](TileFill &other) {
        return other.target.base == fill.target.base && other.isPublished;
      });
    }
    fills.push_back(std::move(fill));
  }

  /// Gathers the scalars from which \p fill's value and conditions are computed.
  bool collectScalars(TileFill &fill, std::string &why) {
    std::vector<std::string> open;
    std::set<std::string> done;
    auto ask = [&](const Text &text) {
      for (const auto &[name, statement] : declarations())
        if (mentions(text.text, name) && done.insert(name).second)
          open.push_back(name);
    };
    auto isFixed = [&](Text &text) {
      for (Operand &operand : text.operands)
        if (operand.kind == Operand::Collective || isShared(operand) ||
            (operand.kind == Operand::Element && llvm::is_contained(storedBases, operand.base))) {
          why = "'" + fill.target.base.name + "' keeps elements of '" + operand.base.name +
                "', which the kernel changes";
          return false;
        }
      return true;
    };
    if (!isFixed(fill.value))
      return false;
    ask(fill.value);
    for (TileGuard &guard : fill.guards) {
      if (!isFixed(guard.text))
        return false;
      ask(guard.text);
    }
    std::set<std::string> wanted;
    while (!open.empty()) {
      std::string name = open.back();
      open.pop_back();
      wanted.insert(name);
      if (fromTiles.count(name)) {
        why = "'" + fill.target.base.name + "' is filled from a shared array";
        return false;
      }
      unsigned changed = 0;
      for (Body *scope : scopes)
        for (Statement &each : *scope) {
          bool isOwn = each.kind == Statement::Let && each.name == name;
          bool isChange = each.kind == Statement::Assign && each.name == name;
          if (each.kind == Statement::If && llvm::all_of(each.body, [&](Statement &inner) {
                return inner.kind == Statement::Assign && inner.name == name;
              })) {
            changed += each.body.size();
            isOwn = true;
            for (Statement &inner : each.body) {
              if (!isFixed(inner.value))
                return false;
              ask(inner.value);
            }
          }
          changed += isChange;
          if (!isOwn && !isChange)
            continue;
          if (each.symbol || !isFixed(each.value)) {
            if (why.empty())
              why = "'" + fill.target.base.name +
                    "' is filled with what is loaded at places that are loaded";
            return false;
          }
          ask(each.value);
        }
      if (changed != changes[name]) {
        why = "'" + fill.target.base.name + "' is filled with '" + name +
              "', which each thread has for itself";
        return false;
      }
    }
    for (Body *scope : scopes)
      for (Statement &each : *scope) {
        bool isWanted = (each.kind == Statement::Let || each.kind == Statement::Assign) &&
                        wanted.count(each.name);
        if (each.kind == Statement::If && !each.body.empty())
          isWanted = llvm::all_of(each.body, [&](Statement &inner) {
            return inner.kind == Statement::Assign && wanted.count(inner.name);
          });
        if (isWanted)
          fill.scalars.push_back(each);
      }
    return isPolynomial(fill, why);
  }

  /// Whether all places in \p fill are polynomials in threads, loops and parameters.
  bool isPolynomial(TileFill &fill, std::string &why) {
    bool isLoaded = false;
    fill.rewrite([&](const Poly &poly) {
      for (VarId var : space.variables(poly))
        isLoaded |= space[var].kind == Space::Varying;
      return poly;
    });
    if (isLoaded)
      why =
          "'" + fill.target.base.name + "' is filled with what is loaded at places that are loaded";
    return !isLoaded;
  }

  /// The scalars that are in scope, by name.
  std::map<std::string, Statement *> declarations() {
    std::map<std::string, Statement *> all;
    for (Body *scope : scopes)
      for (Statement &each : *scope)
        if (each.kind == Statement::Let)
          all[each.name] = &each;
    return all;
  }

  //===-- Loads -----------------------------------------------------------===//

  void resolve(Text &text, Body &out) {
    for (unsigned i = 0; i < text.operands.size() && !failed();) {
      Operand operand = text.operands[i];
      if (operand.kind == Operand::Collective)
        return refuse("what '" + operand.function + "' gives the threads is not understood");
      if (!isShared(operand)) {
        ++i;
        continue;
      }
      std::optional<Text> value = valueOf(operand, out);
      if (failed())
        return;
      fillHole(text, i, *value);
    }
    mergeEqualOperands(text);
  }

  std::optional<Text> valueOf(const Operand &element, Body &out) {
    const std::string &name = element.base.name;
    read.insert(name);
    std::vector<const TileFill *> known;
    for (TileFill &fill : fills)
      if (fill.target.base == element.base)
        known.push_back(&fill);
    if (known.empty()) {
      refuse("'" + name + "' is read before it is filled");
      return std::nullopt;
    }
    if (llvm::any_of(known, [](const TileFill *fill) { return !fill->isPublished; })) {
      refuse("'" + name + "' is read without a barrier after it was filled");
      return std::nullopt;
    }
    if (auto scan = scans.find(name); scan != scans.end())
      return prefixOf(scan->second, element, known, out);
    return tileValue(program, element, known, context, stale.count(name), out);
  }

  ThreadProgram &program;
  Space &space;
  const analysis::LaunchRanges &launches;
  TileBlock &block;
  std::vector<TileFill> fills;
  std::vector<Around> around;
  std::vector<Body *> scopes;  ///< what has been written, outermost first
  Constraints context;         ///< that hold where the reader is
  std::set<std::string> read;  ///< shared arrays, since the last barrier
  std::set<std::string> stale; ///< shared arrays that may hold what was stored before `fills`
  std::map<std::string, TileScan> scans; ///< by shared array
  std::vector<Base> storedBases;
  std::map<std::string, unsigned> changes;
  std::set<std::string> fromTiles; ///< scalars that are computed from shared arrays
  unsigned choices = 0;
};

} // namespace

void forwardTiles(ThreadProgram &program, const analysis::LaunchRanges &launches,
                  TileBlock &block) {
  TileForwarder(program, launches, block).run();
}

} // namespace kbopt::raise
