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
#include "TileFill.h"

namespace kbopt::raise {
namespace {

using Body = std::vector<Statement>;
using Constraints = std::vector<Constraint>;

class TileForwarder {
public:
  TileForwarder(ThreadProgram &program, const analysis::LaunchRanges &launches, TileBlock &block)
      : program(program), space(program.space), launches(launches), block(block) {}

  void run() {
    if (!fixBlock())
      return;
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

  /// Makes the size of a block a number, which the launch must have.
  bool fixBlock() {
    for (unsigned axis = 0; axis < 3; ++axis) {
      VarId extent = analysis::BdimVar + axis;
      auto range = launches.block[axis];
      int64_t size = range.low == range.high ? int64_t(range.high) : meantSize(axis);
      if (!size) {
        refuse("how many threads of a block fill the array '" + program.shared.front().name +
               "' is not known");
        return false;
      }
      substitute(program, extent, Poly::constant(size));
      space[analysis::TidVar + axis].high = size - 1;
      block.threads[axis] = size;
    }
    return true;
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
    if (each.kind == Statement::For)
      forget();
    copy.body = rewrite(each.body);
    forget();
    context.resize(known);
    // The next iteration stores while other threads still read.
    if (each.kind == Statement::For && storesFirst)
      for (const std::string &name : stored)
        if (read.count(name))
          refuse("'" + name + "' is filled again without a barrier after it was read");
  }

  /// A loop or condition of each thread.
  void alone(Statement &each, unsigned choice, Statement &copy) {
    size_t known = context.size();
    Around here;
    here.isLoop = each.kind == Statement::For;
    here.loop = copy;
    here.guard = {each.constraints, each.value, choice, each.isElse};
    if (!here.isLoop)
      context.insert(context.end(), each.constraints.begin(), each.constraints.end());
    around.push_back(std::move(here));
    copy.body = rewrite(each.body);
    around.pop_back();
    context.resize(known);
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
    if (!numberWriters(space, fill, loops, block.threads))
      return refuse("which thread fills which element of '" + name + "' is not understood");
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
    // What was there before is gone only where this covers it.
    if (isPublished)
      llvm::erase_if(fills, [&](TileFill &other) {
        return other.target.base == fill.target.base && other.isPublished;
      });
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

  bool isImplied(const Constraint &constraint) {
    auto isAlways = [&](const Poly &poly) {
      auto range = rangeOf(space, poly);
      return space.isWithin(poly, 0, INT64_MAX) || (range && range->first >= 0);
    };
    if (constraint.isEquality)
      return constraint.poly == Poly();
    return isAlways(constraint.poly) || llvm::any_of(context, [&](const Constraint &known) {
             return !known.isEquality && isAlways(constraint.poly - known.poly);
           });
  }
  bool isExcluded(const Constraint &constraint) {
    if (constraint.isEquality) {
      auto range = rangeOf(space, constraint.poly);
      return range && (range->first > 0 || range->second < 0);
    }
    return isImplied({Poly::constant(-1) - constraint.poly});
  }

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

  /// A store that may have written an element, with the writer's numbers put in.
  struct Source {
    TileFill fill;
    std::vector<Poly> writers;
    std::optional<unsigned> elseOf; ///< the condition of which it is the other side
    std::vector<unsigned> open;     ///< conditions of which it is not known whether they hold
  };

  /// What conditions around the reader say of single variables, noted as their ranges while it
  /// lives.
  class Narrowed {
  public:
    Narrowed(Space &space, const Constraints &context) : space(space) {
      for (const Constraint &known : context) {
        auto &monomials = known.poly.monomials();
        if (known.isEquality || monomials.empty() || monomials.rbegin()->first.size() != 1 ||
            monomials.size() > 2 || (monomials.size() == 2 && !monomials.begin()->first.empty()))
          continue;
        VarId var = monomials.rbegin()->first[0];
        int64_t slope = monomials.rbegin()->second, rest = known.poly.constantTerm();
        before.push_back({var, space[var].low, space[var].high});
        if (slope == 1)
          space[var].low = std::max(space[var].low.value_or(INT64_MIN), -rest);
        else if (slope == -1)
          space[var].high = std::min(space[var].high.value_or(INT64_MAX), rest);
      }
    }
    ~Narrowed() {
      for (auto &[var, low, high] : llvm::reverse(before)) {
        space[var].low = low;
        space[var].high = high;
      }
    }

  private:
    Space &space;
    std::vector<std::tuple<VarId, std::optional<int64_t>, std::optional<int64_t>>> before;
  };

  std::optional<Text> valueOf(const Operand &element, Body &out) {
    Narrowed narrowed(space, context);
    const std::string &name = element.base.name;
    read.insert(name);
    std::vector<Source> sources; // the last store first
    std::map<unsigned, std::vector<Poly>> excluded;
    bool isAny = false;
    for (TileFill &known : llvm::reverse(fills)) {
      if (!(known.target.base == element.base))
        continue;
      isAny = true;
      if (!known.isPublished) {
        refuse("'" + name + "' is read without a barrier after it was filled");
        return std::nullopt;
      }
      bool isNever = false;
      std::optional<std::vector<Poly>> writers = writersOf(space, known, element.offset, isNever);
      if (!writers && isNever)
        continue;
      if (!writers) {
        refuse("which thread filled the element of '" + name + "' that is read is not understood");
        return std::nullopt;
      }
      Source source{known, *writers, std::nullopt, {}};
      for (auto [digit, value] : llvm::zip(known.digits, *writers))
        source.fill.rewrite(
            [&](const Poly &poly) { return space.substitute(poly, digit.variable, value); });
      if (!decideGuards(source, excluded))
        continue;
      sources.push_back(std::move(source));
    }
    if (!isAny) {
      refuse("'" + name + "' is read before it is filled");
      return std::nullopt;
    }
    // From the last store back to one that surely stored to the element.
    for (size_t i = 0; i < sources.size(); ++i) {
      Source &source = sources[i];
      if (source.elseOf) {
        auto other = llvm::find_if(sources, [&](Source &each) {
          return !each.elseOf && llvm::is_contained(each.open, *source.elseOf);
        });
        auto isOf = [&](Source &each) {
          return !each.elseOf && each.writers == source.writers &&
                 llvm::any_of(each.fill.guards,
                              [&](TileGuard &guard) { return guard.choice == *source.elseOf; });
        };
        auto never = excluded.find(*source.elseOf);
        bool isOther =
            other == sources.end() && (never == excluded.end() || never->second != source.writers);
        if (isOther && llvm::any_of(sources, isOf)) {
          sources.erase(sources.begin() + i--); // the first side always does it
          continue;
        }
        bool isPair = other != sources.end() && other->open.size() == 1 &&
                      other->writers == source.writers && size_t(other - sources.begin()) > i;
        if (!source.open.empty() || isOther || (other != sources.end() && !isPair))
          break;
        if (!isPair)
          return combine(element, sources, i, out);
        std::rotate(sources.begin() + i, sources.begin() + i + 1, other + 1);
        return combine(element, sources, other - sources.begin(), out);
      }
      if (source.open.empty())
        return combine(element, sources, i, out);
    }
    refuse("'" + name + "' is read where no thread may have filled it");
    return std::nullopt;
  }

  /// Decides what can be decided of the conditions around \p source; false if it does not store to
  /// the element.
  bool decideGuards(Source &source, std::map<unsigned, std::vector<Poly>> &excluded) {
    bool applies = true;
    for (TileGuard &guard : source.fill.guards) {
      if (guard.isElse) {
        if (source.elseOf)
          source.open.push_back(guard.choice);
        source.elseOf = guard.choice;
        continue;
      }
      if (llvm::any_of(guard.constraints,
                       [&](const Constraint &each) { return isExcluded(each); })) {
        excluded[guard.choice] = source.writers;
        applies = false;
      }
      llvm::erase_if(guard.constraints, [&](const Constraint &each) { return isImplied(each); });
      if (!guard.constraints.empty() || !guard.text.text.empty())
        source.open.push_back(guard.choice);
    }
    return applies;
  }

  /// The value of the element, of which \p sources[last] surely has stored one and those before it
  /// may have stored another later: as text, with statements before it where conditions are left.
  std::optional<Text> combine(const Operand &element, std::vector<Source> &sources, size_t last,
                              Body &out) {
    if (last == 0)
      return converted(element, place(sources[0].fill, out));
    Statement let;
    let.kind = Statement::Let;
    let.name = uniqueName(element.base.name + "Value");
    let.type = element.type;
    let.value = place(sources[last].fill, out);
    out.push_back(let);
    for (size_t i = last; i-- > 0;) {
      Body inner;
      Statement set;
      set.kind = Statement::Assign;
      set.name = let.name;
      set.value = place(sources[i].fill, inner);
      inner.push_back(std::move(set));
      for (TileGuard &guard : llvm::reverse(sources[i].fill.guards)) {
        if (guard.constraints.empty() && guard.text.text.empty())
          continue;
        Statement condition;
        condition.kind = Statement::If;
        condition.constraints = guard.constraints;
        condition.value = guard.text;
        condition.body = std::move(inner);
        inner.clear();
        inner.push_back(std::move(condition));
      }
      out.insert(out.end(), std::make_move_iterator(inner.begin()),
                 std::make_move_iterator(inner.end()));
    }
    return Text{let.name, {}};
  }

  /// \p fill's value, after the scalars that it needs.
  Text place(TileFill &fill, Body &out) {
    Body scalars = fill.scalars;
    Text value = fill.value;
    for (Statement &each : fill.scalars)
      if (each.kind == Statement::Let) {
        std::string fresh = uniqueName(each.name);
        renameIn(scalars, each.name, fresh);
        renameIn(value, each.name, fresh);
        for (TileGuard &guard : fill.guards)
          renameIn(guard.text, each.name, fresh);
      }
    bool isTaken = false;
    for (Statement &each : scalars) {
      if (each.kind == Statement::If) {
        if (each.isElse && isTaken)
          continue;
        llvm::erase_if(each.constraints,
                       [&](const Constraint &constraint) { return isImplied(constraint); });
        isTaken = each.constraints.empty() && each.value.text.empty();
        if (isTaken) {
          out.insert(out.end(), each.body.begin(), each.body.end());
          continue;
        }
      }
      out.push_back(each);
    }
    return value;
  }

  /// \p value as the shared array's type holds it.
  Text converted(const Operand &element, Text value) {
    bool isSame = isName(bare(value.text));
    if (Operand *only = onlyOperand(value))
      isSame = only->type == element.type;
    if (!isSame && !element.type.empty())
      value.text = "(" + element.type + ")(" + value.text + ")";
    return value;
  }

  std::string uniqueName(const std::string &wish) {
    std::string name = wish;
    for (unsigned i = 2; !program.names.insert(name).second; ++i)
      name = wish + "_" + std::to_string(i);
    return name;
  }

  ThreadProgram &program;
  Space &space;
  const analysis::LaunchRanges &launches;
  TileBlock &block;
  std::vector<TileFill> fills;
  std::vector<Around> around;
  std::vector<Body *> scopes; ///< what has been written, outermost first
  Constraints context;        ///< that hold where the reader is
  std::set<std::string> read; ///< shared arrays, since the last barrier
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
