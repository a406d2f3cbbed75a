//===- ThreadProgram.cpp - What one thread of a kernel does ----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns walking, rewriting and printing the tree.
//
//===----------------------------------------------------------------------===//
#include "ThreadProgram.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"

namespace kbopt::raise {

std::string ThreadProgram::uniqueName(llvm::StringRef wish) {
  std::string plain; // `x.data()_index` is no name
  for (char c : wish)
    if (llvm::isAlnum(c) || c == '_')
      plain += c;
    else if (c == '.' || c == '[')
      plain += '_';
  std::string name = plain;
  for (unsigned i = 2; !names.insert(name).second; ++i)
    name = plain + "_" + std::to_string(i);
  return name;
}

void walk(std::vector<Statement> &body, llvm::function_ref<bool(Statement &)> visit) {
  for (Statement &each : body)
    if (visit(each))
      walk(each.body, visit);
}

static void forEachOperand(Text &text, llvm::function_ref<void(Operand &)> visit) {
  for (Operand &operand : text.operands) {
    visit(operand);
    for (Text &argument : operand.arguments)
      forEachOperand(argument, visit);
  }
}

void forEachOperand(Statement &statement, llvm::function_ref<void(Operand &)> visit) {
  forEachOperand(statement.value, visit);
  if (statement.kind == Statement::Store || statement.kind == Statement::Atomic)
    visit(statement.target);
}

void rewritePolys(std::vector<Statement> &body, llvm::function_ref<Poly(const Poly &)> change) {
  walk(body, [&](Statement &each) {
    forEachOperand(each, [&](Operand &operand) { operand.offset = change(operand.offset); });
    if (each.kind == Statement::For)
      for (Poly *poly : {&each.begin, &each.end, &each.step})
        *poly = change(*poly);
    for (Constraint &constraint : each.constraints)
      constraint.poly = change(constraint.poly);
    return true;
  });
}

void substitute(ThreadProgram &program, VarId var, const Poly &value) {
  auto change = [&](const Poly &poly) { return program.space.substitute(poly, var, value); };
  rewritePolys(program.body, change);
  for (Poly &requirement : program.requirements)
    requirement = change(requirement);
  for (Obligation &obligation : program.obligations)
    obligation.poly = change(obligation.poly);
  for (Hint &hint : program.hints)
    hint.poly = change(hint.poly);
  for (auto &[loop, range] : program.given)
    range = {change(range.first), change(range.second)};
}

namespace {

class Printer {
public:
  Printer(const Space &space, llvm::raw_ostream &os) : space(space), os(os) {}

  void body(const std::vector<Statement> &statements, unsigned depth) {
    for (const Statement &each : statements) {
      os.indent(2 * depth);
      statement(each);
      os << '\n';
      body(each.body, depth + 1);
    }
  }

private:
  std::string operand(const Operand &each) {
    switch (each.kind) {
    case Operand::Element:
      return each.base.name + "[" + space.text(each.offset) + "]";
    case Operand::Index:
      return "(" + each.type + ")(" + space.text(each.offset) + ")";
    case Operand::Collective:
      break;
    }
    std::string call = each.function + "(";
    for (const Text &argument : each.arguments)
      call += (&argument == each.arguments.data() ? "" : ", ") + text(argument);
    return call + ")";
  }

  std::string text(const Text &value) {
    std::string result;
    llvm::StringRef rest = value.text;
    for (size_t at; (at = rest.find('$')) != llvm::StringRef::npos;) {
      result += rest.take_front(at);
      rest = rest.drop_front(at + 1);
      unsigned hole = 0;
      rest.consumeInteger(10, hole);
      result += hole < value.operands.size() ? operand(value.operands[hole]) : "$?";
    }
    return result + rest.str();
  }

  void statement(const Statement &each) {
    switch (each.kind) {
    case Statement::Let:
      os << "let " << each.type << " " << each.name << " = " << text(each.value);
      return;
    case Statement::Assign:
      os << each.name << " = " << text(each.value);
      return;
    case Statement::Combine:
      os << each.reduction << " " << each.name << " <- " << text(each.value) << " by "
         << each.combine;
      return;
    case Statement::Store:
      os << operand(each.target) << " = " << text(each.value);
      return;
    case Statement::Atomic:
      os << each.function << " " << operand(each.target) << ", " << text(each.value);
      return;
    case Statement::For: {
      static const char *const words[] = {"+=", "halved to", "doubled to", "-=", "+="};
      os << "for " << space[each.variable].name << " = " << space.text(each.begin) << " to "
         << space.text(each.end) << " " << words[each.progress] << " " << space.text(each.step)
         << (each.team ? " team" : "");
      if (each.progress == Statement::Until)
        os << " while " << text(each.value);
      return;
    }
    case Statement::If:
      os << "if";
      for (const Constraint &constraint : each.constraints)
        os << " [" << space.text(constraint.poly) << (constraint.isEquality ? " == 0]" : " >= 0]");
      if (!each.value.text.empty())
        os << " " << text(each.value);
      return;
    case Statement::Barrier:
      os << "barrier " << each.function;
      return;
    case Statement::Opaque:
      os << "opaque: " << each.reason;
      return;
    }
  }

  const Space &space;
  llvm::raw_ostream &os;
};

} // namespace

std::string print(const ThreadProgram &program) {
  std::string result;
  llvm::raw_string_ostream os(result);
  Printer(program.space, os).body(program.body, 0);
  return result;
}

} // namespace kbopt::raise
