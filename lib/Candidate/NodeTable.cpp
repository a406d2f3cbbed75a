//===- NodeTable.cpp ------------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "NodeTable.h"
#include "kb-opt/Source/DeviceText.h"
#include "kb-opt/Source/ProgramFacts.h"

using namespace kbopt;

NodeTable::NodeTable(const CandidateSetup &setup)
    : setup(setup), emitter(setup.tools.runner, setup.tools.limits),
      rootNode(add({setup.tools.input.text, setup.originalHost, CandidatePromise()})) {}

NodeId NodeTable::add(NodeProgram program) {
  DigestBuilder builder;
  builder.add(program.text).add(promiseName(program.promise.result));
  for (Assumption assumption : program.promise.assumes)
    builder.add(assumptionName(assumption));
  NodeId id = builder.finish();
  std::lock_guard<std::mutex> lock(mutex);
  auto [it, isNew] = nodes.try_emplace(id);
  if (isNew)
    it->second.program = std::move(program);
  return id;
}

NodeTable::Node &NodeTable::node(const NodeId &id) {
  std::lock_guard<std::mutex> lock(mutex);
  return nodes.at(id);
}

//===-- Steps -------------------------------------------------------------===//

std::vector<JudgedStep> NodeTable::stepsTo(const NodeId &id) {
  Node &of = node(id);
  std::lock_guard<std::mutex> lock(of.mutex);
  return of.steps;
}

/// An order of the ways to one program: shorter ones first.
static bool isBefore(llvm::ArrayRef<JudgedStep> a, llvm::ArrayRef<JudgedStep> b) {
  if (a.size() != b.size())
    return a.size() < b.size();
  for (auto [x, y] : llvm::zip(a, b))
    if (std::tie(x.pass, x.before) != std::tie(y.pass, y.before))
      return std::tie(x.pass, x.before) < std::tie(y.pass, y.before);
  return false;
}

void NodeTable::keepSteps(const NodeId &id, std::vector<JudgedStep> steps) {
  if (id == rootNode)
    return;
  Node &of = node(id);
  std::lock_guard<std::mutex> lock(of.mutex);
  if (of.steps.empty() || isBefore(steps, of.steps))
    of.steps = std::move(steps);
}

//===-- Parsed programs ---------------------------------------------------===//

PipelineOptions NodeTable::pipelineOptions() {
  const CandidateTools &tools = setup.tools;
  PipelineOptions options;
  options.registry = &tools.passes;
  options.parser = &tools.parser;
  options.timings = &tools.timings;
  options.replies = tools.replies;
  options.target = setup.chip.name;
  // Lower precision is for owners who say what differences they accept.
  options.weakest = std::min(tools.weakest, setup.workload.tolerance ? Promise::LowerPrecision
                                                                     : Promise::Reassociates);
  options.bitcode = [this](llvm::StringRef text) -> llvm::Expected<std::string> {
    auto path = bitcodeFile(text);
    if (!path)
      return path.takeError();
    return setup.tools.files.read(*path);
  };
  return options;
}

llvm::Expected<RewriteSession &> NodeTable::session(Node &node) {
  if (!node.session) {
    auto created = RewriteSession::create(node.program.text, setup.tools.input.command,
                                          pipelineOptions(), node.program.run);
    if (!created)
      return created.takeError();
    node.session = std::move(*created);
  }
  return *node.session;
}

llvm::Error NodeTable::withSession(const NodeId &id, Look look) {
  Node &of = node(id);
  std::lock_guard<std::mutex> lock(of.mutex);
  auto open = session(of);
  return open ? look(*open) : open.takeError();
}

llvm::Error
NodeTable::withSessions(const NodeId &first, const NodeId &second,
                        llvm::function_ref<llvm::Error(RewriteSession &, RewriteSession &)> look) {
  Node &one = node(first), &other = node(second);
  std::scoped_lock lock(one.mutex, other.mutex);
  auto its = session(one);
  if (!its)
    return its.takeError();
  auto others = session(other);
  return others ? look(*its, *others) : others.takeError();
}

void NodeTable::keepSession(const NodeId &id, std::unique_ptr<RewriteSession> session) {
  Node &of = node(id);
  std::lock_guard<std::mutex> lock(of.mutex);
  if (!of.session)
    of.session = std::move(session);
}

llvm::Expected<std::vector<std::string>> NodeTable::instances(const NodeId &id,
                                                              llvm::StringRef kernel) {
  std::vector<std::string> names;
  if (llvm::Error error = withSession(id, [&](RewriteSession &program) -> llvm::Error {
        for (const KernelFact &fact : findKernels(program.parsed()))
          if (fact.name == kernel)
            for (const KernelFact::Instance &instance : fact.instances)
              names.push_back(instance.mangledName);
        return llvm::Error::success();
      }))
    return std::move(error);
  return names;
}

//===-- What compilers and the judge see ----------------------------------===//

Digest NodeTable::codeWithHost(llvm::StringRef code, const NodeId &id) {
  return DigestBuilder().add(code).add(program(id).host).finish();
}

ProgramArtefacts NodeTable::source(const NodeId &id) {
  ProgramArtefacts artefacts = setup.original;
  if (id == rootNode)
    return artefacts;
  artefacts.text = program(id).text;
  artefacts.bitcodePath = "";
  artefacts.slice = [this, id]() -> std::optional<DeviceSlice> {
    std::optional<DeviceSlice> slice;
    llvm::consumeError(withSession(id, [&](RewriteSession &program) -> llvm::Error {
      slice = deviceSlice(program.parsed());
      return llvm::Error::success();
    }));
    return slice;
  };
  return artefacts;
}

llvm::Expected<ProgramArtefacts> NodeTable::artefacts(const NodeId &id) {
  ProgramArtefacts artefacts = source(id);
  if (llvm::Error error = addBitcode(artefacts))
    return std::move(error);
  return artefacts;
}

llvm::Error NodeTable::addBitcode(ProgramArtefacts &program) {
  auto bitcode = bitcodeFile(program.text);
  if (!bitcode)
    return bitcode.takeError();
  program.bitcodePath = std::move(*bitcode);
  return llvm::Error::success();
}

llvm::Expected<std::string> NodeTable::bitcodeFile(llvm::StringRef text) {
  if (text == setup.original.text)
    return setup.original.bitcodePath;
  Digest digest = digestOf(text);
  auto path = bitcodes.get(digest, [&]() -> llvm::Expected<std::string> {
    std::string path = setup.folder + "/" + digest + ".bc";
    auto bitcode = emitter.emitDeviceBitcode(setup.tools.input.command, text);
    if (!bitcode)
      return bitcode.takeError();
    if (llvm::Error error = setup.tools.files.write(path, *bitcode))
      return std::move(error);
    return path;
  });
  if (!path)
    return path.takeError();
  return *path;
}
