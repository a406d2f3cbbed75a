//===- TileOutputs.cpp - Several outputs of a thread as loops ----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the way from a thread that computes several outputs, each written down on its own, to loops
// over them:
//
//   s0 = 0; s1 = 0;
//   for (k) { s0 += a[k] * b[2 * x]; s1 += a[k] * b[2 * x + 1]; }      for (j < 2) {
//   c[2 * x] = s0;                                                 =>     s0 = 0;
//   c[2 * x + 1] = s1;                                                    for (k) s0 += a[k] * b[2
//   * x + j];
//                                                                         c[2 * x + j] = s0;
//                                                                       }
//
//===----------------------------------------------------------------------===//
#include "Tiles.h"

#include "NestScalars.h"
#include "TeamText.h"
#include "llvm/ADT/StringExtras.h"

namespace kbopt::raise {
namespace {

using Body = std::vector<Statement>;

/// The identifiers in \p text.
std::set<std::string> wordsOf(llvm::StringRef text) {
  std::set<std::string> words;
  while (!text.empty()) {
    llvm::StringRef word = text.take_while([](char c) { return llvm::isAlnum(c) || c == '_'; });
    if (!word.empty() && !llvm::isDigit(word[0]))
      words.insert(word.str());
    text = text.drop_front(std::max<size_t>(word.size(), 1));
  }
  return words;
}

bool isStore(const Statement &each) {
  return each.kind == Statement::Store || each.kind == Statement::Atomic;
}

unsigned countStores(Body &body) {
  unsigned count = 0;
  walk(body, [&](Statement &each) {
    count += isStore(each);
    return true;
  });
  return count;
}

class OutputRoller {
public:
  explicit OutputRoller(ThreadProgram &program) : program(program), space(program.space) {}

  /// Leaves outputs that are no rows and columns as they are.
  void run() {
    unsigned stores = countStores(program.body);
    if (stores < 2)
      return;
    std::vector<Body> slices;
    for (size_t i = 0; i < program.body.size(); ++i) {
      unsigned inside = countStores(program.body[i].body) + isStore(program.body[i]);
      if (inside > 1)
        return;
      if (inside)
        slices.push_back(slice(i));
    }
    std::vector<Poly> first = polysOf(slices[0]);
    std::vector<std::vector<Poly>> apart;
    for (Body &each : slices) {
      std::map<std::string, std::string> names;
      std::vector<Poly> polys = polysOf(each);
      if (!isSame(slices[0], each, names) || polys.size() != first.size())
        return;
      for (size_t i = 0; i < polys.size(); ++i)
        polys[i] = polys[i] - first[i];
      apart.push_back(std::move(polys));
    }
    roll(slices[0], apart);
  }

private:
  /// The statements that the store in statement \p at of the program depends on, and that
  /// statement.
  Body slice(size_t at) {
    std::set<std::string> needed;
    auto ask = [&](Statement &each) {
      for (const std::string &word : wordsOf(each.value.text))
        needed.insert(word);
    };
    Body last(1, program.body[at]);
    walk(last, [&](Statement &each) {
      ask(each);
      return true;
    });
    Body before(program.body.begin(), program.body.begin() + at), kept;
    for (size_t known = 0; known != needed.size();) {
      known = needed.size();
      kept = filter(before, needed);
      walk(kept, [&](Statement &each) {
        ask(each);
        return true;
      });
    }
    kept.push_back(last[0]);
    return kept;
  }

  static Body filter(Body &body, const std::set<std::string> &needed) {
    Body kept;
    for (Statement &each : body) {
      bool isScalar = each.kind == Statement::Let || each.kind == Statement::Assign ||
                      each.kind == Statement::Combine;
      if (isScalar && needed.count(each.name))
        kept.push_back(each);
      if (each.kind != Statement::For && each.kind != Statement::If)
        continue;
      if (each.progress == Statement::Until) {
        kept.push_back(each);
        continue;
      }
      Statement copy = each;
      copy.body = filter(each.body, needed);
      if (!copy.body.empty())
        kept.push_back(std::move(copy));
    }
    return kept;
  }

  static std::vector<Poly> polysOf(Body &body) {
    std::vector<Poly> polys;
    rewritePolys(body, [&](const Poly &poly) {
      polys.push_back(poly);
      return poly;
    });
    return polys;
  }

  /// Whether \p a and \p b differ in places only; \p names of one are those of the other.
  bool isSame(Body &a, Body &b, std::map<std::string, std::string> &names) {
    if (a.size() != b.size())
      return false;
    for (size_t i = 0; i < a.size(); ++i) {
      Statement &left = a[i], &right = b[i];
      if (left.kind == Statement::Let)
        names[left.name] = right.name;
      bool isLoop = left.kind == Statement::For;
      if (left.kind != right.kind || left.type != right.type || left.symbol || right.symbol ||
          left.reduction != right.reduction || left.combine != right.combine ||
          left.function != right.function || left.constraints.size() != right.constraints.size() ||
          (isLoop && left.variable != right.variable) || left.progress != right.progress ||
          !isSame(left.value, right.value, names) ||
          (!left.name.empty() && names[left.name] != right.name) ||
          (isStore(left) && !isSame(left.target, right.target)))
        return false;
      for (size_t k = 0; k < left.constraints.size(); ++k)
        if (left.constraints[k].isEquality != right.constraints[k].isEquality)
          return false;
      if (!isSame(left.body, right.body, names))
        return false;
    }
    return true;
  }

  static bool isSame(const Operand &a, const Operand &b) {
    return a.kind == b.kind && a.kind != Operand::Collective && a.base == b.base &&
           a.type == b.type;
  }

  static bool isSame(const Text &a, const Text &b,
                     const std::map<std::string, std::string> &names) {
    if (a.isPlain() && b.isPlain() && isIdentity(a.text, "add") && isIdentity(b.text, "add"))
      return true; // zeros that are written in two ways
    Text renamed = a;
    // Through names that nothing has, so that exchanged ones do not meet.
    for (const auto &[from, to] : names)
      renameIn(renamed, from, "_rolled_" + to);
    for (const auto &[from, to] : names)
      renameIn(renamed, "_rolled_" + to, to);
    if (renamed.text != b.text || a.operands.size() != b.operands.size())
      return false;
    for (size_t i = 0; i < a.operands.size(); ++i)
      if (!isSame(a.operands[i], b.operands[i]))
        return false;
    return true;
  }

  static std::vector<Poly> combined(const std::vector<Poly> &a, int64_t i,
                                    const std::vector<Poly> &b, int64_t j) {
    std::vector<Poly> sum;
    for (size_t k = 0; k < a.size(); ++k)
      sum.push_back(a[k] * Poly::constant(i) + b[k] * Poly::constant(j));
    return sum;
  }

  /// Puts loops around \p body in place of the outputs, which lie \p apart from the first.
  void roll(Body body, const std::vector<std::vector<Poly>> &apart) {
    size_t width = 1;
    while (width < apart.size() && apart[width] == combined(apart[1], int64_t(width), apart[1], 0))
      ++width;
    bool isLine = width == apart.size();
    const std::vector<Poly> &column = apart[1], &row = isLine ? apart[0] : apart[width];
    if (apart.size() % width)
      return;
    for (size_t u = 0; u < apart.size(); ++u)
      if (!(apart[u] == combined(row, int64_t(u / width), column, int64_t(u % width))))
        return;
    Statement outer = loopOf("row", apart.size() / width), inner = loopOf("column", width);
    size_t at = 0;
    Poly i = Poly::variable(outer.variable), j = Poly::variable(inner.variable);
    rewritePolys(body, [&](const Poly &poly) {
      Poly moved = poly + row[at] * i + column[at] * j;
      ++at;
      return moved;
    });
    // What is not stored need not be computed.
    if (body.back().kind == Statement::If && body.back().value.text.empty()) {
      Statement guard = std::move(body.back());
      body.pop_back();
      for (Statement &each : guard.body)
        body.push_back(std::move(each));
      guard.body = std::move(body);
      dropKnown(guard.body, guard.constraints);
      body.clear();
      body.push_back(std::move(guard));
    }
    inner.body = std::move(body);
    program.body.clear();
    if (isLine) {
      program.body.push_back(std::move(inner));
      return;
    }
    outer.body.push_back(std::move(inner));
    program.body.push_back(std::move(outer));
  }

  Statement loopOf(const std::string &wish, size_t count) {
    Space::Variable counter;
    counter.kind = Space::Loop;
    counter.name = program.uniqueName(wish);
    counter.low = 0;
    counter.high = int64_t(count) - 1;
    Statement loop;
    loop.kind = Statement::For;
    loop.variable = space.add(counter);
    loop.end = Poly::constant(int64_t(count));
    loop.step = Poly::constant(1);
    program.given[loop.variable] = {loop.begin, loop.end};
    return loop;
  }

  ThreadProgram &program;
  Space &space;
};

} // namespace

void dropKnown(std::vector<Statement> &body, llvm::ArrayRef<Constraint> known) {
  for (Statement &each : body) {
    llvm::erase_if(each.constraints, [&](const Constraint &constraint) {
      return llvm::any_of(known, [&](const Constraint &other) {
        return other.isEquality == constraint.isEquality && other.poly == constraint.poly;
      });
    });
    dropKnown(each.body, known);
  }
}

void rollOutputs(ThreadProgram &program) {
  program.isPointWhole = false;
  OutputRoller(program).run();
}

} // namespace kbopt::raise
