//===- Online.cpp - Maximum and rescaled sum in one loop, told apart --------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the symbolic run of one iteration: after it, each sum must be what it was, times exp(old -
// new maximum), plus terms with exp(x - new maximum).
//
//===----------------------------------------------------------------------===//
#include "Online.h"

#include "NestScalars.h"
#include "OnlineSplit.h"
#include "TeamText.h"
#include "Terms.h"

namespace kbopt::raise {

using Body = std::vector<Statement>;

static bool changesIn(const Statement &each, llvm::StringRef name) {
  bool isChange = each.kind == Statement::Let || each.kind == Statement::Assign ||
                  each.kind == Statement::Combine;
  return (isChange && each.name == name) ||
         llvm::any_of(each.body, [&](const Statement &inner) { return changesIn(inner, name); });
}

/// The text of the value that \p name has before statement \p at of \p body; empty where it is not
/// known.
static std::string startOf(Body &body, size_t at, llvm::StringRef name) {
  while (at-- > 0) {
    Statement &each = body[at];
    if ((each.kind == Statement::Let || each.kind == Statement::Assign) && each.name == name)
      return each.value.isPlain() ? each.value.text : "";
    if (changesIn(each, name))
      return "";
  }
  return "";
}

/// Whether \p text is a number, `FLT_MAX` or the like.
static bool isFiniteNumber(llvm::StringRef text) {
  TermRef term = parseTerm(text);
  if (!term)
    return false;
  Form form = Form::of(*term);
  for (const char *atom : {"FLT_MAX", "DBL_MAX"})
    form = form.substitute(atom, Form(1));
  return llvm::all_of(form.all(), [](const auto &each) {
    return each.second.atoms.empty() && each.second.exponentials.empty();
  });
}

/// Removes what no other statement of \p body needs. \p kept are names that count afterwards.
static void prune(Body &body, Body &whole, const std::set<std::string> &kept, const Space &space) {
  auto isNeeded = [&](Statement &asked) {
    bool needed = kept.count(asked.name);
    walk(whole, [&](Statement &other) {
      if (&other == &asked)
        return true;
      forEachText(other, [&](Text &text) { needed |= mentions(text.text, asked.name); });
      if (asked.symbol) {
        forEachOperand(other, [&](Operand &operand) {
          needed |= space.dependsOn(operand.offset, *asked.symbol);
        });
        for (Constraint &constraint : other.constraints)
          needed |= space.dependsOn(constraint.poly, *asked.symbol);
        for (const Poly *poly : {&other.begin, &other.end, &other.step})
          needed |= other.kind == Statement::For && space.dependsOn(*poly, *asked.symbol);
      }
      return true;
    });
    return needed;
  };
  for (size_t i = body.size(); i-- > 0;) {
    Statement &each = body[i];
    bool isNested = each.kind == Statement::For || each.kind == Statement::If;
    if (isNested)
      prune(each.body, whole, kept, space);
    bool isScalar = each.kind == Statement::Let || each.kind == Statement::Assign ||
                    each.kind == Statement::Combine;
    isScalar &= !llvm::StringRef(each.name).contains('['); // an element of an array
    if ((isNested && each.body.empty()) || (isScalar && !isNeeded(each)))
      body.erase(body.begin() + i);
  }
}

static size_t countStatements(Body &body) {
  size_t count = 0;
  walk(body, [&](Statement &) { return ++count, true; });
  return count;
}

static void pruneAll(Body &body, const std::set<std::string> &kept, const Space &space) {
  for (size_t before = 0; before != countStatements(body);) {
    before = countStatements(body);
    prune(body, body, kept, space);
  }
}

/// Gives what \p body declares new names and variables.
static void makeCopy(ThreadProgram &program, Body &body) {
  Space &space = program.space;
  std::vector<std::string> lets;
  std::vector<VarId> variables;
  auto unique = [&](const std::string &wish) {
    std::string name = wish;
    for (unsigned i = 2; !program.names.insert(name).second; ++i)
      name = wish + "_" + std::to_string(i);
    return name;
  };
  walk(body, [&](Statement &each) {
    if (each.kind == Statement::Let)
      lets.push_back(each.name);
    if (each.kind == Statement::For)
      variables.push_back(each.variable);
    return true;
  });
  auto replace = [&](VarId from, const std::string &name) {
    Space::Variable known = space[from];
    known.name = name;
    VarId to = space.add(known);
    auto change = [&](const Poly &poly) {
      return space.substitute(poly, from, Poly::variable(to));
    };
    rewritePolys(body, change);
    if (auto at = program.given.find(from); at != program.given.end())
      program.given[to] = at->second;
    return to;
  };
  std::map<VarId, VarId> loops;
  for (VarId variable : variables)
    loops[variable] = replace(variable, unique(space[variable].name));
  for (const std::string &name : lets) {
    std::string fresh = unique(name);
    renameIn(body, name, fresh);
    walk(body, [&](Statement &each) {
      if (each.kind == Statement::Let && each.name == fresh && each.symbol)
        each.symbol = replace(*each.symbol, fresh);
      return true;
    });
  }
  walk(body, [&](Statement &each) {
    if (each.kind == Statement::For)
      each.variable = loops[each.variable];
    return true;
  });
}

namespace {

class Splitter {
public:
  explicit Splitter(ThreadProgram &program) : program(program) {
    walk(program.body, [&](Statement &each) {
      if (each.kind == Statement::Let && !each.type.empty())
        types[each.name] = each.type;
      return true;
    });
  }

  void run(Body &body) {
    for (size_t i = 0; i < body.size(); ++i) {
      if (body[i].kind == Statement::For && split(body, i)) {
        changed = true;
        continue;
      }
      run(body[i].body);
    }
  }
  bool changed = false;

private:
  ThreadProgram &program;
  std::map<std::string, std::string> types;

  /// Whether a statement outside \p loop reads \p name.
  bool isReadOutside(const Statement &loop, llvm::StringRef name) {
    bool found = false;
    walk(program.body, [&](Statement &each) {
      if (&each == &loop)
        return false;
      forEachText(each, [&](Text &text) { found |= mentions(text.text, name); });
      return true;
    });
    return found;
  }

  bool split(Body &body, size_t at) {
    std::set<std::string> inside, carried;
    bool hasMaximum = false, hasExponential = false;
    Statement &loop = body[at];
    walk(loop.body, [&](Statement &each) {
      if (each.kind == Statement::Let)
        inside.insert(each.name);
      else if (each.kind == Statement::Assign || each.kind == Statement::Combine)
        carried.insert(each.name);
      hasMaximum |= each.kind == Statement::Assign || each.reduction == "max";
      forEachText(
          each, [&](Text &text) { hasExponential |= llvm::StringRef(text.text).contains("exp"); });
      return true;
    });
    for (const std::string &name : inside)
      carried.erase(name);
    if (!hasMaximum || !hasExponential || carried.size() < 2)
      return false;
    std::set<std::string> results;
    for (const std::string &name : carried)
      if (isReadOutside(loop, name) || llvm::any_of(loop.body, [&](Statement &each) {
            return each.kind == Statement::Combine && each.name == name;
          }))
        results.insert(name);
    for (const std::string &top : carried)
      if ((types[top] == "float" || types[top] == "double") &&
          splitBy(body, at, top, inside, carried, results))
        return true;
    return false;
  }

  bool splitBy(Body &body, size_t at, const std::string &top, const std::set<std::string> &inside,
               const std::set<std::string> &carried, const std::set<std::string> &results) {
    OnlineSplit parts(types, top, inside, carried, results);
    Statement &loop = body[at];
    if (!parts.run(loop))
      return false;
    std::set<std::string> sums = parts.sums();
    Statement first = loop, second = loop;
    first.body = std::move(parts.maxima);
    second.body = std::move(parts.terms);
    if (parts.exchanges()) {
      first.body.insert(first.body.end(), second.body.begin(), second.body.end());
      body[at] = std::move(first);
      return true;
    }
    for (const std::string &sum : sums)
      if (!isIdentity(startOf(body, at, sum), "add"))
        return false;
    // From a finite start, exp(-INFINITY - m) is 0 at once; from -INFINITY it is NaN where it comes
    // first.
    std::string start = startOf(body, at, top);
    bool isFinite = isFiniteNumber(start);
    if (!isFinite && (!isIdentity(start, "max") || !parts.isFaithful))
      return false;
    if (isFinite)
      dropFirsts(second.body);
    std::set<std::string> others = carried;
    for (const std::string &sum : sums)
      others.erase(sum);
    Body single;
    single.push_back(std::move(second));
    dropChanges(single, others);
    pruneAll(single, sums, program.space);
    // Work that is done twice is loads and what is computed from single elements.
    bool isLight = true;
    walk(single, [&](Statement &each) {
      isLight &= (each.kind != Statement::Combine && each.kind != Statement::Assign) ||
                 sums.count(each.name);
      return true;
    });
    if (!isLight || single.empty())
      return false;
    Body firsts;
    firsts.push_back(std::move(first));
    pruneAll(firsts, others, program.space);
    if (firsts.empty())
      return false;
    makeCopy(program, single);
    body[at] = std::move(firsts[0]);
    body.insert(body.begin() + at + 1, std::move(single[0]));
    return true;
  }

  /// Removes the conditions on the first iteration.
  static void dropFirsts(Body &body) {
    llvm::erase_if(body, [](Statement &each) {
      return each.kind == Statement::If && each.body.size() == 1 && !each.body[0].basis.empty() &&
             llvm::any_of(each.constraints,
                          [](const Constraint &constraint) { return constraint.isEquality; });
    });
    for (Statement &each : body)
      dropFirsts(each.body);
  }

  static void dropChanges(Body &body, const std::set<std::string> &names) {
    llvm::erase_if(body, [&](Statement &each) {
      return (each.kind == Statement::Combine || each.kind == Statement::Assign) &&
             names.count(each.name);
    });
    for (Statement &each : body)
      dropChanges(each.body, names);
  }
};

} // namespace

void splitOnlineLoops(ThreadProgram &program) {
  if (program.reason.empty())
    Splitter(program).run(program.body);
}

std::optional<std::pair<std::string, std::string>>
rescaling(llvm::StringRef text, llvm::StringRef sum, llvm::StringRef scale) {
  TermRef term = parseTerm(text);
  if (!term)
    return std::nullopt;
  Form form = Form::of(*term);
  std::optional<Form> factor = form.coefficientOf(sum);
  if (!factor || !form.without(sum).isZero() || factor->all().size() != 1)
    return std::nullopt;
  const Form::Product &product = factor->all().begin()->second;
  if (product.factor != 1 || !product.atoms.empty() || product.exponentials.size() != 1)
    return std::nullopt;
  const auto &[function, argument] = *product.exponentials.begin();
  // Two names with opposite coefficients, the first of which is the scale's.
  std::set<std::string> names;
  mentionsLeaf(*term, [&](llvm::StringRef leaf) { return names.insert(leaf.str()), false; });
  for (const std::string &from : names)
    for (const std::string &to : names) {
      std::optional<Form> c = from == to ? std::nullopt : argument.coefficientOf(from);
      if (c && scaleKey(function, *c) == scale &&
          argument == *c * Form::atom(from) - *c * Form::atom(to))
        return std::pair(from, to);
    }
  return std::nullopt;
}

} // namespace kbopt::raise
