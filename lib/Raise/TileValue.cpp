//===- TileValue.cpp - What an element of a shared array holds --------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the choice among stores: by ranges that are read off the index, and by the conditions around
// the stores. Stores that copy one place of memory, as the halo and the middle of a tile do, become
// one value again.
//
//===----------------------------------------------------------------------===//
#include "TileValue.h"

#include "TeamText.h"

namespace kbopt::raise {
namespace {

using Body = std::vector<Statement>;

/// A store that may have written the element, with the writer's numbers put in.
struct Source {
  TileFill fill;
  std::vector<Poly> writers;
  Constraints range;              ///< under which there is such a writer
  std::optional<unsigned> elseOf; ///< the condition of which it is the other side
  std::vector<unsigned> open;     ///< conditions of which it is not known whether they hold
};

/// `condition ? value : otherwise`; the latter does not matter where it is missing.
struct Choice {
  Constraints condition;
  Text value;
  std::optional<Text> otherwise;
};

/// Stores of which the first one whose conditions hold has written the element.
struct Piece {
  Constraints range;
  std::vector<Source> sources;
  bool isTotal = false; ///< the last source writes wherever the range holds
};

class TileReader {
public:
  TileReader(ThreadProgram &program, const Operand &element, const Constraints &context, Body &out)
      : program(program), space(program.space), element(element), context(context),
        facts(space, context), out(out) {}

  std::optional<Text> run(llvm::ArrayRef<const TileFill *> fills, bool isStale) {
    Narrowed narrowed(space, context);
    const std::string &name = element.base.name;
    if (!findSources(fills)) {
      program.refuse("which thread filled the element of '" + name +
                     "' that is read is not understood");
      return std::nullopt;
    }
    bool isSure = false;
    if (sources.empty() || !formPieces(isSure) || (!isSure && !isCovered(isStale))) {
      program.refuse("'" + name + "' is read where no thread may have filled it");
      return std::nullopt;
    }
    return valueOfPieces();
  }

private:
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

  //===-- Stores that may have written ------------------------------------===//

  /// The last store first. False where one is not understood.
  bool findSources(llvm::ArrayRef<const TileFill *> fills) {
    std::vector<Poly> strides = stridesOf(fills);
    for (const TileFill *known : llvm::reverse(fills)) {
      bool isNever = false;
      std::optional<TileWriters> writers =
          writersOf(space, facts, *known, strides, element.offset, isNever);
      if (!writers && isNever)
        continue;
      if (!writers)
        return false;
      Source source{*known, writers->values, writers->range, std::nullopt, {}};
      for (auto [digit, value] : llvm::zip(known->digits, writers->values))
        source.fill.rewrite(
            [&](const Poly &poly) { return space.substitute(poly, digit.variable, value); });
      if (decideGuards(source))
        sources.push_back(std::move(source));
    }
    return true;
  }

  /// Decides what can be decided of the conditions around \p source; false if it does not store to
  /// the element.
  bool decideGuards(Source &source) {
    bool applies = true;
    Facts here = facts.with(source.range);
    for (TileGuard &guard : source.fill.guards) {
      if (guard.isElse) {
        if (source.elseOf)
          source.open.push_back(guard.choice);
        source.elseOf = guard.choice;
        continue;
      }
      if (llvm::any_of(guard.constraints,
                       [&](const Constraint &each) { return here.excludes(each); })) {
        excluded[guard.choice] = source.writers;
        applies = false;
      }
      guard.constraints = here.open(guard.constraints);
      if (!guard.constraints.empty() || !guard.text.text.empty())
        source.open.push_back(guard.choice);
    }
    return applies;
  }

  /// Orders the sources as pieces, up to one that surely wrote the element, of which \p isSure
  /// tells. False where it is not known which side of a condition has written.
  bool formPieces(bool &isSure) {
    for (size_t i = 0; i < sources.size() && !isSure; ++i) {
      Source &source = sources[i];
      Piece piece{source.range, {}, source.open.empty()};
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
        if (isOther && llvm::any_of(sources, isOf))
          continue; // the first side always does it
        bool isPair = other != sources.end() && other->open.size() == 1 && source.open.empty() &&
                      other->writers == source.writers && size_t(other - sources.begin()) > i;
        if (isPair) {
          piece.sources.push_back(*other);
          sources.erase(other);
        } else if (!source.open.empty() || isOther || other != sources.end()) {
          std::optional<bool> isAlways = askOtherSide(source);
          if (!isAlways)
            return false;
          piece.isTotal = *isAlways;
        }
      }
      piece.sources.push_back(sources[i]);
      isSure = piece.isTotal && piece.range.empty();
      pieces.push_back(std::move(piece));
    }
    return !pieces.empty();
  }

  /// Takes the other side of a condition for one of its own, where constraints say it; then whether
  /// all its conditions hold.
  std::optional<bool> askOtherSide(Source &source) {
    bool isAlways = source.open.empty();
    for (TileGuard &guard : source.fill.guards) {
      if (!guard.isElse)
        continue;
      if (!guard.text.text.empty())
        return std::nullopt;
      guard.isElse = false;
      guard.constraints = facts.with(source.range).open(guard.constraints);
      isAlways &= guard.constraints.empty();
    }
    return isAlways;
  }

  /// The constraints under which \p piece surely wrote; nothing where texts take part.
  static std::optional<Constraints> domainOf(const Piece &piece) {
    Constraints all = piece.range;
    if (!piece.isTotal)
      for (const TileGuard &guard : piece.sources.front().fill.guards) {
        if (!guard.text.text.empty() || guard.isElse)
          return std::nullopt;
        llvm::append_range(all, guard.constraints);
      }
    return all;
  }

  /// Whether one of the pieces has written the element, or what is read would not be defined.
  bool isCovered(bool isStale) {
    std::vector<Constraints> domains;
    for (const Piece &piece : pieces)
      if (std::optional<Constraints> domain = domainOf(piece))
        domains.push_back(std::move(*domain));
    if (facts.impliesOneOf(domains))
      return true;
    if (!isStale)
      program.assumedFilled.insert(element.base.name);
    return !isStale;
  }

  //===-- The value -------------------------------------------------------===//

  /// All pieces as one choice.
  std::optional<Choice> joinPieces() {
    std::optional<Choice> all = choiceOf(pieces.back(), true);
    std::vector<Facts> places; // where its value is read
    if (all)
      places.push_back(facts.with(*domainOf(pieces.back())));
    for (const Piece &above : llvm::drop_begin(llvm::reverse(pieces))) {
      std::optional<Choice> next = all ? choiceOf(above, false) : std::nullopt;
      if (!next)
        return std::nullopt;
      places.push_back(facts.with(*domainOf(above)));
      all = join(*next, places.back(), *all, llvm::ArrayRef(places).drop_back());
    }
    return all;
  }

  std::optional<Text> valueOfPieces() {
    std::optional<Choice> all = joinPieces();
    if (all && all->condition.empty())
      return converted(all->value);
    Piece &last = pieces.back();
    // Of several pieces, each may only load where it is the one.
    bool isKnown = last.isTotal && (pieces.size() == 1 || last.range.empty());
    if (!all && pieces.size() == 1 && isKnown && last.sources.size() == 1)
      return converted(place(last.sources[0].fill, out));
    std::string name = program.uniqueName(element.base.name + "Value");
    if (all) {
      out.push_back(let(name, all->otherwise.value_or(Text())));
      out.push_back(when(all->condition, {}, {assign(name, all->value)}));
      return Text{name, {}};
    }
    Text first;
    if (isKnown) {
      first = place(last.sources.back().fill, out);
      last.sources.pop_back();
    }
    out.push_back(let(name, first));
    for (Piece &piece : llvm::reverse(pieces)) {
      Body inner = attempts(name, piece);
      if (piece.range.empty() || pieces.size() == 1)
        llvm::append_range(out, std::move(inner));
      else
        out.push_back(when(piece.range, {}, std::move(inner)));
    }
    return Text{name, {}};
  }

  /// \p piece as one choice, if it is one. Where it \p isLast, it does not matter what holds
  /// outside its conditions.
  std::optional<Choice> choiceOf(const Piece &piece, bool isLast) {
    if (piece.sources.size() != 1)
      return std::nullopt;
    const Source &source = piece.sources[0];
    std::optional<Constraints> domain = domainOf(piece);
    if (!domain)
      return std::nullopt;
    std::optional<Choice> choice = ownChoice(source.fill, facts.with(*domain));
    if (choice && isLast && !piece.isTotal)
      for (const TileGuard &guard : source.fill.guards)
        llvm::append_range(choice->condition, guard.constraints);
    return choice;
  }

  /// What \p fill stores: its text, or with `type name = z; if (c) name = v;` before it a choice.
  std::optional<Choice> ownChoice(const TileFill &fill, const Facts &here) {
    if (fill.scalars.empty())
      return Choice{{}, fill.value, std::nullopt};
    const Statement &declared = fill.scalars[0];
    Text stored = fill.value;
    if (declared.kind != Statement::Let || bare(stored.text) != declared.name ||
        declared.type != element.type || declared.symbol)
      return std::nullopt;
    Choice choice{{}, {}, std::nullopt};
    if (!declared.value.text.empty())
      choice.otherwise = declared.value;
    bool isChosen = false;
    for (const Statement &each : llvm::drop_begin(fill.scalars)) {
      if (each.kind != Statement::If || each.body.size() != 1 || each.body[0].name != declared.name)
        return std::nullopt;
      if (each.isElse && isChosen && !choice.otherwise) {
        choice.otherwise = each.body[0].value;
        continue;
      }
      if (isChosen || !each.value.text.empty())
        return std::nullopt;
      isChosen = true;
      choice.condition = here.open(each.constraints);
      choice.value = each.body[0].value;
    }
    if (!isChosen)
      return std::nullopt;
    return choice;
  }

  static bool areEqual(const Facts &facts, const Text &a, const Text &b) {
    return a.text == b.text && a.operands.size() == b.operands.size() &&
           llvm::all_of(llvm::zip(a.operands, b.operands), [&](auto pair) {
             auto &[x, y] = pair;
             return x.kind == y.kind && x.kind != Operand::Collective && x.base == y.base &&
                    x.type == y.type && facts.areEqual(x.offset, y.offset);
           });
  }

  /// One choice that is \p a where \p inA holds and \p b where one of \p inB does.
  static std::optional<Choice> join(const Choice &a, const Facts &inA, const Choice &b,
                                    llvm::ArrayRef<Facts> inB) {
    Choice joined{a.condition, a.value, b.otherwise ? b.otherwise : a.otherwise};
    if (a.otherwise && b.otherwise && !areEqual(inA, *a.otherwise, *b.otherwise))
      return std::nullopt;
    // Of places that an equation makes one, the one that holds without it.
    if (!llvm::all_of(inB, [&](const Facts &in) { return areEqual(in, a.value, b.value); })) {
      if (!areEqual(inA, a.value, b.value))
        return std::nullopt;
      joined.value = b.value;
    }
    // What one asks and the other does not must hold there anyway.
    Constraints own = withoutEquations(a.condition, inA, b.condition, inB);
    for (const Constraint &each : b.condition)
      if (lacks(own, each) && !inA.implies(each))
        return std::nullopt;
    for (const Constraint &each : own)
      if (lacks(b.condition, each) &&
          !llvm::all_of(inB, [&](const Facts &in) { return in.implies(each); }))
        return std::nullopt;
    joined.condition = std::move(own);
    for (const Constraint &each : b.condition)
      if (lacks(joined.condition, each))
        joined.condition.push_back(each);
    return joined;
  }

  static bool lacks(const Constraints &all, const Constraint &each) {
    return llvm::none_of(all, [&](const Constraint &other) {
      return other.isEquality == each.isEquality && other.poly == each.poly;
    });
  }

  /// The constraints \p own as they would stand without the equations that hold in \p inA alone:
  /// `tid == 0` may have made `16 * bid >= 1` of `16 * bid + tid >= 1`.
  static Constraints withoutEquations(Constraints own, const Facts &inA, const Constraints &others,
                                      llvm::ArrayRef<Facts> inB) {
    for (Constraint &each : own) {
      auto same = llvm::find_if(others, [&](const Constraint &other) {
        return other.isEquality == each.isEquality && inA.areEqual(each.poly, other.poly);
      });
      if (same != others.end()) {
        each = *same;
        continue;
      }
      for (const Poly &zero : inA.equations())
        for (int64_t factor : {1, -1}) {
          Constraint wide{each.poly + zero * Poly::constant(factor), each.isEquality};
          if (!each.isEquality &&
              llvm::all_of(inB, [&](const Facts &in) { return in.implies(wide); }))
            each = wide;
        }
    }
    return own;
  }

  //===-- Statements ------------------------------------------------------===//

  Statement let(const std::string &name, Text value) {
    Statement each;
    each.kind = Statement::Let;
    each.name = name;
    each.type = element.type;
    each.value = std::move(value);
    return each;
  }
  static Statement assign(const std::string &name, Text value) {
    Statement each;
    each.kind = Statement::Assign;
    each.name = name;
    each.value = std::move(value);
    return each;
  }
  static Statement when(const Constraints &constraints, const Text &text, Body body) {
    Statement each;
    each.kind = Statement::If;
    each.constraints = constraints;
    each.value = text;
    each.body = std::move(body);
    return each;
  }

  /// Assigns to \p name what each source of \p piece stores under its conditions, the first one
  /// last.
  Body attempts(const std::string &name, Piece &piece) {
    Body all;
    for (Source &source : llvm::reverse(piece.sources)) {
      Body inner;
      Text value = place(source.fill, inner);
      inner.push_back(assign(name, std::move(value)));
      for (TileGuard &guard : llvm::reverse(source.fill.guards))
        if (!guard.isElse && (!guard.constraints.empty() || !guard.text.text.empty())) {
          Body around{when(guard.constraints, guard.text, std::move(inner))};
          inner = std::move(around);
        }
      llvm::append_range(all, std::move(inner));
    }
    return all;
  }

  /// \p fill's value, after the scalars that it needs.
  Text place(TileFill &fill, Body &to) {
    Body scalars = fill.scalars;
    Text value = fill.value;
    for (Statement &each : fill.scalars)
      if (each.kind == Statement::Let) {
        std::string fresh = program.uniqueName(each.name);
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
        each.constraints = facts.open(each.constraints);
        isTaken = each.constraints.empty() && each.value.text.empty();
        if (isTaken) {
          to.insert(to.end(), each.body.begin(), each.body.end());
          continue;
        }
      }
      to.push_back(each);
    }
    return value;
  }

  /// \p value as the shared array's type holds it.
  Text converted(Text value) {
    bool isSame = isName(bare(value.text));
    if (Operand *only = onlyOperand(value))
      isSame = only->type == element.type;
    if (!isSame && !element.type.empty())
      value.text = "(" + element.type + ")(" + value.text + ")";
    return value;
  }

  ThreadProgram &program;
  Space &space;
  const Operand &element;
  const Constraints &context;
  Facts facts;
  Body &out;
  std::vector<Source> sources;
  std::map<unsigned, std::vector<Poly>> excluded;
  std::vector<Piece> pieces;
};

} // namespace

std::optional<Text> tileValue(ThreadProgram &program, const Operand &element,
                              llvm::ArrayRef<const TileFill *> fills, const Constraints &context,
                              bool isStale, Body &out) {
  return TileReader(program, element, context, out).run(fills, isStale);
}

} // namespace kbopt::raise
