//===- Scalarize.cpp - Values that need no memory ------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns keeping elements in scalars: an element that a loop only updates, and a value that is loaded
// again right after it was stored.
//
//===----------------------------------------------------------------------===//
#include "Points.h"

namespace kbopt::raise {
namespace {

class Scalarizer {
public:
  explicit Scalarizer(ThreadProgram &program) : program(program), space(program.space) {}

  void run(std::vector<Statement> &body) {
    for (size_t i = 0; i < body.size(); ++i) {
      run(body[i].body);
      if (body[i].kind == Statement::For)
        i += updateInScalar(body, i);
    }
    forward(body);
  }

  /// An element of shared memory that each iteration of a loop without barriers updates, and that
  /// no other element is read beside: the thread's own sum.
  void keepShared(std::vector<Statement> &body) {
    for (size_t i = 0; i < body.size(); ++i) {
      keepShared(body[i].body);
      bool isLoop = body[i].kind == Statement::For;
      walk(body[i].body, [&](Statement &each) {
        isLoop &= each.kind != Statement::Barrier;
        return isLoop;
      });
      if (!isLoop)
        continue;
      size_t added = updateInScalar(body, i, true);
      for (size_t k = 0; k < added; ++k) {
        // What was stored right before is what is loaded.
        size_t load = i + k;
        if (load > 0 && body[load - 1].kind == Statement::Store &&
            isElement(body[load].value.operands[0], body[load - 1].target)) {
          body[load].value = std::move(body[load - 1].value);
          body.erase(body.begin() + load - 1);
          --i;
        }
      }
      i += added;
    }
  }

private:
  static bool isElement(const Operand &operand, const Operand &other) {
    return operand.kind == Operand::Element && operand.base == other.base &&
           operand.offset == other.offset;
  }

  /// Every operand of \p body that is in \p base, also in conditions.
  static void forEachOf(std::vector<Statement> &body, const Base &base,
                        llvm::function_ref<void(Operand &)> visit) {
    walk(body, [&](Statement &each) {
      forEachOperand(each, [&](Operand &operand) {
        if (operand.kind == Operand::Element && operand.base == base)
          visit(operand);
      });
      return true;
    });
  }

  //===-- Updates in a loop -----------------------------------------------===//

  /// An element that every iteration of the loop at \p at reads or writes, and nothing else of its
  /// base: a scalar that is loaded before the loop and stored after it. Returns how many statements
  /// were added before.
  size_t updateInScalar(std::vector<Statement> &body, size_t at, bool onlyShared = false) {
    size_t added = 0;
    std::vector<Operand> targets;
    walk(body[at].body, [&](Statement &each) {
      if (each.kind == Statement::Store &&
          (!onlyShared || each.target.base.memory == Base::Shared) &&
          llvm::none_of(targets, [&](auto &known) { return known.base == each.target.base; }))
        targets.push_back(each.target);
      return true;
    });
    for (const Operand &target : targets) {
      Statement &loop = body[at + added];
      std::set<VarId> inside{loop.variable};
      bool isFixed = true;
      walk(loop.body, [&](Statement &each) {
        if (each.kind == Statement::For)
          inside.insert(each.variable);
        if (each.kind == Statement::Let && each.symbol)
          inside.insert(*each.symbol);
        isFixed &= each.kind != Statement::Atomic || !(each.target.base == target.base);
        return true;
      });
      forEachOf(loop.body, target.base,
                [&](Operand &operand) { isFixed &= operand.offset == target.offset; });
      for (VarId id : inside)
        isFixed &= !space.dependsOn(target.offset, id);
      if (!isFixed || !mayTouch(body, at + added, target))
        continue;
      added += moveOut(body, at + added, target);
    }
    return added;
  }

  /// Whether the element may be loaded and stored although the loop might not run.
  bool mayTouch(std::vector<Statement> &body, size_t at, const Operand &target) {
    for (size_t i = 0; i < at; ++i)
      if (body[i].kind == Statement::Store && isElement(body[i].target, target))
        return true;
    Poly length = body[at].end - Poly::constant(1);
    bool isUnconditional = llvm::any_of(body[at].body, [&](Statement &each) {
      return each.kind == Statement::Store && isElement(each.target, target);
    });
    if (!isUnconditional || !space.isUniform(length))
      return false;
    if (!length.isConstant() && !llvm::is_contained(program.requirements, length))
      program.requirements.push_back(length);
    return !length.isConstant() || length.constantTerm() >= 0;
  }

  size_t moveOut(std::vector<Statement> &body, size_t at, Operand target) {
    Statement load, store;
    load.kind = Statement::Let;
    load.name = program.uniqueName(target.base.name + "_value");
    load.type = target.type;
    load.value = {"$0", {target}};
    store.kind = Statement::Store;
    store.target = target;
    store.value.text = load.name;
    toScalar(body[at].body, target, load.name);
    body.insert(body.begin() + at + 1, std::move(store));
    body.insert(body.begin() + at, std::move(load));
    return 1;
  }

  void toScalar(std::vector<Statement> &body, const Operand &target, const std::string &name) {
    walk(body, [&](Statement &each) {
      if (each.kind == Statement::Store && isElement(each.target, target)) {
        each.kind = Statement::Assign;
        each.name = name;
        each.type = target.type;
        becomeCombine(each, target);
      }
      replace(each.value, target, name);
      return true;
    });
  }

  /// What \p text adds to or multiplies the hole \p own with: the operator and the other side, of
  /// `$0 + a * b`, `a * b + $0` or `fmaf(a, b, $0)`. Nothing for other forms.
  static std::optional<std::pair<char, std::string>> updateOf(llvm::StringRef text,
                                                              const std::string &own) {
    if (text.count(own) != 1)
      return std::nullopt;
    llvm::StringRef rest = text;
    if (rest.consume_front(own + " ")) {
      char op = rest.front();
      bool isKnown = (op == '+' || op == '*' || op == '-') && rest.drop_front().consume_front(" ");
      rest = rest.drop_front(2);
      if (isKnown && (isOneOperand(rest) || (op != '*' && isProduct(rest))))
        return std::pair(op, rest.str());
      return std::nullopt;
    }
    if (rest.consume_back(" + " + own) && isProduct(rest))
      return std::pair('+', rest.str());
    if ((rest.consume_front("fmaf(") || rest.consume_front("fma(")) &&
        rest.consume_back(", " + own + ")")) {
      int depth = 0;
      for (size_t i = 0; i < rest.size(); ++i) {
        depth += rest[i] == '(' ? 1 : rest[i] == ')' ? -1 : 0;
        if (depth == 0 && rest[i] == ',')
          return std::pair('+', closed(rest.take_front(i)) + " * " +
                                    closed(rest.drop_front(i + 1).trim()));
      }
    }
    return std::nullopt;
  }

  static std::string closed(llvm::StringRef text) {
    return isOneOperand(text) ? text.str() : "(" + text.str() + ")";
  }

  /// Whether no operator outside of parentheses in \p text binds weaker than a product.
  static bool isProduct(llvm::StringRef text) {
    int depth = 0;
    bool isAfterOperand = false;
    for (char c : text) {
      depth += c == '(' || c == '[' ? 1 : c == ')' || c == ']' ? -1 : 0;
      if (depth < 0 || (depth == 0 && llvm::StringRef("<>=?:&|^,%").contains(c)) ||
          (depth == 0 && isAfterOperand && (c == '+' || c == '-')))
        return false;
      if (c != ' ')
        isAfterOperand = llvm::isAlnum(c) || llvm::StringRef("_.)]").contains(c);
    }
    return depth == 0;
  }

  /// `$0 + x` stored to where $0 comes from.
  void becomeCombine(Statement &each, const Operand &target) {
    Text &value = each.value;
    std::optional<size_t> own;
    for (size_t i = 0; i < value.operands.size(); ++i)
      if (isElement(value.operands[i], target)) {
        if (own)
          return;
        own = i;
      }
    auto update = own ? updateOf(value.text, "$" + std::to_string(*own)) : std::nullopt;
    bool isFloat = each.type == "float" || each.type == "double";
    if (!update || (!isFloat && each.type != "int" && each.type != "unsigned int"))
      return;
    auto [op, term] = *update;
    // An integer is rounded after each step, and a fused product before it.
    bool isFused = llvm::StringRef(value.text).starts_with("fma");
    bool isAlike = llvm::all_of(value.operands, [&](const Operand &operand) {
      llvm::StringRef type = operand.type;
      type.consume_front("const ");
      bool isOther =
          type == "float" || type == "double" || type.contains("half") || type.contains("bfloat");
      return isFloat ? !isFused || type == each.type : !isOther;
    });
    if (!isAlike || (!isFloat && term.find('.') != std::string::npos))
      return;
    std::string digit = op == '*' ? "1" : "0";
    each.kind = Statement::Combine;
    each.reduction = op == '*' ? "mul" : "add";
    each.combine = op == '*' ? "%a * %b" : "%a + %b";
    each.identity = !isFloat ? digit : digit + (each.type == "float" ? ".0f" : ".0");
    if (llvm::StringRef(term).starts_with("(") && closes(term) == term.size() - 1)
      term = term.substr(1, term.size() - 2);
    value.text = op == '-' ? "-(" + term + ")" : term;
    dropHole(value, *own);
  }

  /// Where the parenthesis closes that \p text starts with.
  static size_t closes(llvm::StringRef text) {
    int depth = 0;
    for (size_t i = 0; i < text.size(); ++i) {
      depth += text[i] == '(' ? 1 : text[i] == ')' ? -1 : 0;
      if (depth == 0)
        return i;
    }
    return text.size();
  }

  /// A name, hole, number or something in parentheses.
  static bool isOneOperand(llvm::StringRef text) {
    if (text.starts_with("("))
      return closes(text) == text.size() - 1;
    return llvm::all_of(
        text, [](char c) { return llvm::isAlnum(c) || c == '_' || c == '$' || c == '.'; });
  }

  /// Removes \p gone, a hole that is not mentioned any more.
  static void dropHole(Text &value, size_t gone) {
    value.operands.erase(value.operands.begin() + gone);
    std::string result;
    llvm::StringRef rest = value.text;
    for (size_t at; (at = rest.find('$')) != llvm::StringRef::npos;) {
      result += rest.take_front(at + 1);
      rest = rest.drop_front(at + 1);
      unsigned hole = 0;
      rest.consumeInteger(10, hole);
      result += std::to_string(hole - (hole > gone));
    }
    value.text = result + rest.str();
  }

  /// \p name in the place of holes that are \p target.
  static void replace(Text &value, const Operand &target, const std::string &name) {
    std::string result;
    std::vector<Operand> kept;
    llvm::StringRef rest = value.text;
    std::map<unsigned, unsigned> numbers;
    for (size_t at; (at = rest.find('$')) != llvm::StringRef::npos;) {
      result += rest.take_front(at);
      rest = rest.drop_front(at + 1);
      unsigned hole = 0;
      rest.consumeInteger(10, hole);
      if (isElement(value.operands[hole], target)) {
        result += name;
        continue;
      }
      auto [number, isNew] = numbers.try_emplace(hole, kept.size());
      if (isNew)
        kept.push_back(value.operands[hole]);
      result += "$" + std::to_string(number->second);
    }
    value.text = result + rest.str();
    value.operands = std::move(kept);
  }

  //===-- Loads after stores ----------------------------------------------===//

  static bool loads(Statement &each, const Operand &target, bool &loadsOther) {
    bool found = false;
    std::vector<Statement> one;
    auto look = [&](Operand &operand) {
      if (operand.kind != Operand::Element || !(operand.base == target.base))
        return;
      (operand.offset == target.offset ? found : loadsOther) = true;
    };
    for (Operand &operand : each.value.operands)
      look(operand);
    walk(each.body, [&](Statement &inner) {
      for (Operand &operand : inner.value.operands)
        look(operand);
      return true;
    });
    return found;
  }

  static bool stores(Statement &each, const Base &base) {
    bool found = (each.kind == Statement::Store || each.kind == Statement::Atomic) &&
                 each.target.base == base;
    walk(each.body, [&](Statement &inner) {
      found |= (inner.kind == Statement::Store || inner.kind == Statement::Atomic) &&
               inner.target.base == base;
      return true;
    });
    return found;
  }

  /// A store, then loads of the same element in the same sequence: the value gets a name. A store
  /// that the next one to the same element replaces is dropped.
  void forward(std::vector<Statement> &body) {
    for (size_t i = 0; i < body.size(); ++i) {
      if (body[i].kind != Statement::Store)
        continue;
      Operand target = body[i].target;
      size_t end = i + 1;
      bool isLoaded = false, isOtherLoaded = false, isReplaced = false;
      for (; end < body.size(); ++end) {
        isLoaded |= loads(body[end], target, isOtherLoaded);
        if (stores(body[end], target.base)) {
          isReplaced = body[end].kind == Statement::Store && isElement(body[end].target, target);
          break;
        }
      }
      bool isDead = isReplaced && !isOtherLoaded;
      if (!isLoaded && !isDead)
        continue;
      if (isLoaded && !isInSight(body, i, end, target))
        continue;
      forwardOne(body, i, end, isLoaded, isDead);
    }
  }

  /// Whether loads of \p target below statements (i, end] do not come after a store inside of one
  /// of them.
  bool isInSight(std::vector<Statement> &body, size_t i, size_t end, const Operand &target) {
    if (end < body.size() && body[end].kind != Statement::Store) {
      // A condition is read before what it guards stores; anything else loads and stores in some
      // order.
      bool isReadInside = false;
      walk(body[end].body, [&](Statement &inner) {
        for (Operand &operand : inner.value.operands)
          isReadInside |= operand.kind == Operand::Element && operand.base == target.base;
        return true;
      });
      if (body[end].kind != Statement::If || isReadInside)
        return false;
    }
    for (size_t k = i + 1; k < std::min(end, body.size()); ++k)
      if (body[k].kind == Statement::Let && body[k].symbol &&
          space.dependsOn(target.offset, *body[k].symbol))
        return false;
    return true;
  }

  void forwardOne(std::vector<Statement> &body, size_t i, size_t end, bool isLoaded, bool isDead) {
    Operand target = body[i].target;
    std::string name = isLoaded ? program.uniqueName(target.base.name + "_value") : "";
    if (isLoaded) {
      for (size_t k = i + 1; k <= end && k < body.size(); ++k) {
        replace(body[k].value, target, name);
        walk(body[k].body, [&](Statement &inner) {
          replace(inner.value, target, name);
          return true;
        });
      }
      Statement let;
      let.kind = Statement::Let;
      let.name = name;
      let.type = target.type;
      let.value = std::move(body[i].value);
      body[i].value = {name, {}};
      body.insert(body.begin() + i, std::move(let));
      ++i;
    }
    if (isDead)
      body.erase(body.begin() + i);
    // What was loaded from there in a let of its own needs no second name.
    if (isDead && isLoaded && i < body.size() && body[i].kind == Statement::Let &&
        body[i].type == body[i - 1].type && body[i].value.text == name &&
        !isNamed(body, i + 1, name)) {
      body[i].value = std::move(body[i - 1].value);
      body.erase(body.begin() + i - 1);
    }
  }

  static bool isNamed(std::vector<Statement> &body, size_t from, const std::string &name) {
    bool found = false;
    for (size_t i = from; i < body.size(); ++i) {
      found |= body[i].value.text.find(name) != std::string::npos;
      walk(body[i].body, [&](Statement &inner) {
        found |= inner.value.text.find(name) != std::string::npos;
        return true;
      });
    }
    return found;
  }

  ThreadProgram &program;
  Space &space;
};

} // namespace

void keepOwnSums(ThreadProgram &program) { Scalarizer(program).keepShared(program.body); }

void scalarize(ThreadProgram &program) { Scalarizer(program).run(program.body); }

} // namespace kbopt::raise
