//===- PassContext.cpp - The program as passes see it ----------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "kb-opt/Rewrite/PassContext.h"
#include "kb-opt/Raise/Raise.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"

using namespace kbopt;

PassContext::PassContext(const ParsedProgram &parsed, ImportedProgram &imported, unsigned chip,
                         const ChipInfo &target, RecordedLaunches recorded)
    : program(&parsed), ir(&imported), computeCapability(chip), targetChip(&target),
      recorded(std::move(recorded)) {
  for (const KernelFact &fact : findKernels(parsed)) {
    KernelView view;
    view.launches = findLaunches(parsed, fact.usr);
    if (!fact.inMainFile) {
      bool isLaunched = !view.launches.empty();
      llvm::erase_if(view.launches, [&](const LaunchFact &launch) {
        return lineColumn(parsed, launch.call->getBeginLoc()).line == 0;
      });
      bool isOfToolkit = parsed.sources().isInSystemHeader(fact.function->getLocation());
      if (!isLaunched || isOfToolkit)
        continue;
    }
    for (kb::KernelOp op : imported.kernelsOf(fact))
      view.ops.push_back(op);
    view.fact = fact;
    views.push_back(std::move(view));
  }
}

const RecordedLaunch *PassContext::recordedLaunch(kb::KernelOp kernel) const {
  return recorded ? recorded(kernel.getSymName()) : nullptr;
}

Answer PassContext::forAllInstances(const KernelView &kernel,
                                    llvm::function_ref<Answer(kb::KernelOp)> question) const {
  if (kernel.ops.empty())
    return Answer::dontKnow("kernel '" + kernel.name().str() +
                            "' is not in the device code, so nothing is known about it");
  for (kb::KernelOp op : kernel.ops) {
    Answer answer = question(op);
    if (!answer.proven())
      return answer;
  }
  return Answer::yes();
}

namespace {
/// The words of a program's text, comments and literals among them.
struct Words {
  explicit Words(llvm::StringRef text) {
    auto isWord = [](char c) { return llvm::isAlnum(c) || c == '_'; };
    while (!(text = text.drop_until(isWord)).empty()) {
      llvm::StringRef word = text.take_while(isWord);
      all.insert(word);
      text = text.drop_front(word.size());
    }
  }
  llvm::StringSet<> all;
};
} // namespace

bool PassContext::isUsed(llvm::StringRef name) const {
  return program->derived<Words>([&] { return Words(program->text()); }).all.contains(name);
}

std::string PassContext::freshName(llvm::StringRef base) const {
  std::string name = base.str();
  for (unsigned number = 2;; ++number) {
    bool isTaken = takenBefore.count(name);
    avoided |= isTaken;
    if (!isTaken && !given.count(name) && !isUsed(name))
      break;
    name = (base + llvm::Twine(number)).str();
  }
  given.insert(name);
  return name;
}

void PassContext::startQuestion(std::set<std::string> taken) const {
  takenBefore = std::move(taken);
  given.clear();
  avoided = false;
}

std::string PassContext::unusedName(llvm::StringRef base) const {
  std::string name = base.str();
  for (unsigned number = 2; isUsed(name); ++number)
    name = (base + llvm::Twine(number)).str();
  return name;
}

const Schedule *PassContext::scheduleOf(const KernelView &kernel) const {
  auto found = schedules.find(kernel.fact.usr);
  return found == schedules.end() ? nullptr : &found->second;
}

/// The raised form of \p kernel that \p program has, or a new one.
static mlir::Operation *raisedOp(ImportedProgram &program, kb::KernelOp kernel) {
  for (mlir::Operation &each : program.program.getBody().front())
    if (mlir::isa<kb::NestOp, kb::SequenceOp, kb::UnraisedOp>(each) &&
        each.getAttrOfType<mlir::SymbolRefAttr>("kernel").getLeafReference() == kernel.getSymName())
      return &each;
  return raiseKernel(program, kernel);
}

/// The raised form of \p instance; without a nest, the reason.
static RaisedKernel raisedInstance(ImportedProgram &program, kb::KernelOp instance) {
  mlir::Operation *op = raisedOp(program, instance);
  if (auto nest = mlir::dyn_cast_or_null<kb::NestOp>(op))
    return {instance, nest, ""};
  if (auto sequence = mlir::dyn_cast_or_null<kb::SequenceOp>(op))
    return {instance, sequence.first(), "", sequence.last()};
  auto unraised = mlir::dyn_cast_or_null<kb::UnraisedOp>(op);
  return {instance, nullptr, unraised ? unraised.getReason().str() : "the kernel is not raised"};
}

/// What \p raised computes as text, without the kernel that it is of.
static std::string formOf(const RaisedKernel &raised) {
  std::string text;
  llvm::raw_string_ostream os(text);
  for (kb::NestOp nest : {raised.nest, raised.last}) {
    if (!nest)
      continue;
    mlir::OwningOpRef<kb::NestOp> copy(nest.clone());
    copy->setKernel("kernel");
    copy->print(os, mlir::OpPrintingFlags().enableDebugInfo(false));
  }
  return text;
}

/// The instances of \p kernel that are launched, in the order of the launches; all where none is.
static llvm::SmallVector<kb::KernelOp> launchedInstances(const KernelView &kernel) {
  llvm::SmallVector<kb::KernelOp> launched;
  for (const LaunchFact &launch : kernel.launches)
    for (kb::KernelOp op : kernel.ops)
      if (llvm::is_contained(launch.mangledNames, op.getSymName()) &&
          !llvm::is_contained(launched, op))
        launched.push_back(op);
  if (launched.empty())
    launched.assign(kernel.ops.begin(), kernel.ops.end());
  return launched;
}

/// Whether \p nest holds for one instance of the kernel alone.
static bool isOfOneInstance(kb::NestOp nest) {
  return !nest.getHeader() || nest.getHeader()->empty();
}

RaisedKernel PassContext::raised(const KernelView &kernel) const {
  llvm::SmallVector<kb::KernelOp> launched = launchedInstances(kernel);
  if (launched.empty())
    return {nullptr, nullptr, "nothing is known about the kernel's device code"};
  RaisedKernel result{launched.front(), nullptr, ""};
  std::string reason; ///< why the first instance is not raised
  for (kb::KernelOp instance : launched) {
    RaisedKernel each = raisedInstance(*ir, instance);
    if (!each.nest) {
      if (result.nest)
        return each;
      if (reason.empty())
        reason = each.reason;
      continue; // another instance may be, and a launch can tell them apart
    }
    if (!result.nest && !reason.empty() && !isOfOneInstance(each.nest))
      return {instance, nullptr, reason};
    if (!result.nest)
      result = each;
    else if (formOf(result) != formOf(each))
      return {instance, nullptr,
              "the instances of '" + kernel.name().str() + "' do not compute the same"};
    if (isOfOneInstance(each.nest))
      break;
  }
  if (!result.nest)
    result.reason = reason;
  return result;
}

std::vector<RaisedKernel> PassContext::raisedInstances(const KernelView &kernel) const {
  RaisedKernel first = raised(kernel);
  if (!first.nest)
    return {};
  std::vector<RaisedKernel> all{first};
  if (isOfOneInstance(first.nest))
    for (kb::KernelOp instance : launchedInstances(kernel))
      if (RaisedKernel each = raisedInstance(*ir, instance);
          each.nest && instance != first.instance && isOfOneInstance(each.nest))
        all.push_back(each);
  return all;
}
