//===- PtxGates.cpp - Gates G2 and G3 -------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns what a candidate's PTX may have that the original's has not. Reading PTX is
// PtxCensus.cpp's.
//
//===----------------------------------------------------------------------===//
#include "kb-opt/Eval/PtxCensus.h"
#include "llvm/Demangle/Demangle.h"
#include "llvm/Support/FormatVariadic.h"

using namespace llvm;

namespace kbopt {

GateRecord checkDenyList(const PtxCensus &baseline, const PtxCensus &candidate,
                         const std::set<std::string> &declares,
                         std::map<std::string, uint64_t> *counters) {
  std::vector<std::string> details;
  if (!declares.count("global-state"))
    for (const std::string &name : candidate.globals) {
      if (baseline.declared.count(name))
        continue;
      auto number = candidate.numbers.find(name);
      if (counters && number != candidate.numbers.end())
        counters->insert(*number);
      else
        details.push_back(formatv("new mutable global variable {0}", name));
    }
  std::set<std::string> known = declares;
  for (const auto &[name, function] : baseline.functions)
    for (const auto &[construct, count] : function.denied)
      known.insert(construct);
  for (const auto &[name, function] : candidate.functions)
    for (const auto &[construct, count] : function.denied)
      if (!known.count(construct))
        details.push_back(formatv("{0} uses {1} ({2} instruction{3})", name, construct, count,
                                  count == 1 ? "" : "s"));
  if (details.empty())
    return GateRecord::pass(GateId::G2);
  std::string reason = details.front();
  return GateRecord::fail(GateId::G2, FailureClass::Constraints, reason, details);
}

std::string addedSpin(const PtxCensus &baseline, const PtxCensus &candidate) {
  auto spins = [](const auto &function) { return function.second.denied.count("spin") > 0; };
  if (any_of(baseline.functions, spins))
    return "";
  auto found = find_if(candidate.functions, spins);
  return found == candidate.functions.end() ? "" : found->first;
}

static unsigned countOf(const PtxFunction &function, StringRef kind) {
  auto found = function.precision.find(kind.str());
  return found == function.precision.end() ? 0u : found->second;
}

/// Whether \p function has more operations of \p kind than \p base, and fewer of those that they
/// could replace.
static bool replacesPrecise(const PtxFunction &function, const PtxFunction &base, StringRef kind) {
  if (countOf(function, kind) <= countOf(base, kind))
    return false;
  if (kind == "approx")
    return function.exactDivisions < base.exactDivisions;
  return countOf(function, "float") + countOf(function, "double") <
         countOf(base, "float") + countOf(base, "double");
}

static std::string parametersOf(StringRef mangled) {
  std::string name = demangle(mangled);
  return name.substr(std::min(name.find('('), name.size()));
}

/// What a kernel that \p baseline does not have may stand for: its kernels with the same
/// parameters, or else all.
static std::vector<const PtxFunction *> modelsOf(StringRef name, const PtxCensus &baseline) {
  std::vector<const PtxFunction *> same, all;
  for (const auto &[other, function] : baseline.functions) {
    all.push_back(&function);
    if (parametersOf(other) == parametersOf(name))
      same.push_back(&function);
  }
  return same.empty() ? all : same;
}

/// The operation on one half that \p opcode makes on two at once.
static std::string scalarForm(StringRef opcode) {
  std::string scalar = opcode.str();
  for (size_t at; (at = scalar.find("f16x2")) != std::string::npos;)
    scalar.replace(at, 5, "f16");
  return scalar;
}

/// \p census without what replaces a function of the library by another one; G6 holds it to the
/// promise.
static PtxCensus withoutOtherFunctions(PtxCensus census, const std::set<std::string> &declares) {
  auto isLet = [&](StringRef opcode) {
    return opcode.ends_with(".f32") &&
           ((declares.count("ex2") && opcode.starts_with("ex2.approx.")) ||
            (declares.count("rsqrt") && opcode.starts_with("rsqrt.approx.")));
  };
  for (auto &[name, function] : census.functions)
    for (auto entry = function.narrowOpcodes.begin(); entry != function.narrowOpcodes.end();) {
      if (!isLet(entry->first)) {
        ++entry;
        continue;
      }
      unsigned &approximate = function.precision["approx"];
      approximate -= std::min(approximate, entry->second);
      entry = function.narrowOpcodes.erase(entry);
    }
  return census;
}

GateRecord checkPrecision(const PtxCensus &original, const PtxCensus &changed,
                          const std::set<std::string> &declares) {
  const PtxCensus baseline = withoutOtherFunctions(original, declares),
                  candidate = withoutOtherFunctions(changed, declares);
  // Where the opcodes of a new kernel (a split, a schedule, a new instantiation) are looked up.
  PtxFunction whole;
  for (const auto &[name, function] : baseline.functions) {
    for (const auto &[opcode, count] : function.narrowOpcodes)
      whole.narrowOpcodes[opcode] += count;
    whole.widensHalf |= function.widensHalf;
    whole.widensBrain |= function.widensBrain;
  }
  auto kindOf = [](StringRef opcode) -> StringRef {
    if (opcode.contains(".approx") || opcode.starts_with("div.full"))
      return "approx";
    if (opcode.contains("bf16"))
      return "bf16";
    if (opcode.contains("tf32"))
      return "tf32";
    if (opcode.contains("e4m3") || opcode.contains("e5m2"))
      return "fp8";
    return "half";
  };
  std::vector<std::string> details;
  for (const auto &[name, function] : candidate.functions) {
    auto found = baseline.functions.find(name);
    const PtxFunction &base = found == baseline.functions.end() ? whole : found->second;
    for (const auto &[opcode, count] : function.narrowOpcodes) {
      StringRef kind = kindOf(opcode);
      if (declares.count(kind.str()) || base.narrowOpcodes.count(opcode))
        continue;
      if (StringRef(opcode).contains("f16x2") && base.narrowOpcodes.count(scalarForm(opcode)))
        continue;
      if (isExactMatrixProduct(opcode) && (kind == "bf16" ? base.widensBrain : base.widensHalf))
        continue;
      details.push_back(
          formatv("{0} has new {1} operations: {2} x {3}", name, kind, count, opcode));
    }
    for (StringRef kind : {"half", "bf16", "tf32", "fp8", "approx"}) {
      if (declares.count(kind.str()))
        continue;
      std::vector<const PtxFunction *> models{&base};
      if (found == baseline.functions.end())
        models = modelsOf(name, baseline);
      if (!models.empty() && all_of(models, [&](const PtxFunction *model) {
            return replacesPrecise(function, *model, kind);
          }))
        details.push_back(
            formatv("{0} has {1} {2} operations instead of {3}, and fewer precise ones", name,
                    countOf(function, kind), kind, countOf(*models.front(), kind)));
    }
  }
  if (details.empty())
    return GateRecord::pass(GateId::G3);
  std::string reason = details.front();
  return GateRecord::fail(GateId::G3, FailureClass::Constraints, reason, details);
}

} // namespace kbopt
