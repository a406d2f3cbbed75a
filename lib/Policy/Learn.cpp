//===- Learn.cpp - The end of a batch -------------------------------------===//
#include "kb-opt/Policy/Explorer.h"
#include "llvm/ADT/STLExtras.h"

using namespace kbopt;

void Explorer::credit(const NodeId &parent, const Move &move, double later) {
  auto found = evidenceAt.find({parent, move});
  if (found == evidenceAt.end())
    return;
  Evidence &record = result.evidence[found->second];
  if (record.creditGain)
    record.creditGain = std::max(*record.creditGain, *record.achievedGain + later);
}


llvm::Error Explorer::learn() {
  if (llvm::Error error = reflect())
    return error;
  if (!options.memory)
    return llvm::Error::success();
  believed = initial;
  EvidenceSet set;
  for (const Evidence &record : result.evidence)
    set.insert(record);
  believed.learn(set);
  return llvm::Error::success();
}

llvm::Error Explorer::reflect() { return llvm::Error::success(); }
llvm::Error Explorer::suggestFor(const ExplorerNode &) { return llvm::Error::success(); }
