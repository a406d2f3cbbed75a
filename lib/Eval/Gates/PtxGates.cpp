//===- PtxGates.cpp - Gates G2 and G3 -------------------------------------===//
//
// Owns what a candidate's PTX may have that the original's has not. Reading PTX is
// PtxCensus.cpp's.
//
//===----------------------------------------------------------------------===//
#include "kb-opt/Eval/PtxCensus.h"
#include "llvm/Support/FormatVariadic.h"

using namespace llvm;

namespace kbopt {

GateRecord checkDenyList(const PtxCensus &baseline, const PtxCensus &candidate,
                         const std::set<std::string> &declares) {
  std::vector<std::string> details;
  if (!declares.count("global-state"))
    for (const std::string &name : candidate.globals)
      if (!baseline.globals.count(name))
        details.push_back(formatv("new mutable global variable {0}", name));
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

GateRecord checkPrecision(const PtxCensus &baseline, const PtxCensus &candidate,
                          const std::set<std::string> &declares) {
  auto countOf = [](const PtxFunction &function, StringRef kind) {
    auto found = function.precision.find(kind.str());
    return found == function.precision.end() ? 0u : found->second;
  };
  // What a new kernel (a split or a new instantiation) is compared with.
  PtxFunction whole;
  for (const auto &[name, function] : baseline.functions) {
    for (const auto &[kind, count] : function.precision)
      whole.precision[kind] += count;
    for (const auto &[opcode, count] : function.narrowOpcodes)
      whole.narrowOpcodes[opcode] += count;
    whole.exactDivisions += function.exactDivisions;
    whole.widensHalf |= function.widensHalf;
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
      if (base.widensHalf && isExactMatrixProduct(opcode))
        continue;
      details.push_back(formatv("{0} has new {1} operations: {2} x {3}", name, kind, count, opcode));
    }
    for (StringRef kind : {"half", "bf16", "tf32", "fp8", "approx"}) {
      if (declares.count(kind.str()) || countOf(function, kind) <= countOf(base, kind))
        continue;
      bool fewer = kind == "approx" ? function.exactDivisions < base.exactDivisions
                                    : countOf(function, "float") + countOf(function, "double") <
                                          countOf(base, "float") + countOf(base, "double");
      if (fewer)
        details.push_back(formatv("{0} has {1} {2} operations instead of {3}, and fewer precise ones",
                                  name, countOf(function, kind), kind, countOf(base, kind)));
    }
  }
  if (details.empty())
    return GateRecord::pass(GateId::G3);
  std::string reason = details.front();
  return GateRecord::fail(GateId::G3, FailureClass::Constraints, reason, details);
}

} // namespace kbopt
