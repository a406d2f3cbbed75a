//===- DeviceText.cpp -----------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Declarations that no kernel reaches are blanked out, and includes of headers
// that only the host needs with them. What is left keeps its lines and columns.
//
//===----------------------------------------------------------------------===//
#include "kb-opt/Source/DeviceText.h"

#include "DeviceHeaders.h"
#include "kb-opt/Source/Mentions.h"
#include "kb-opt/Source/ProgramFacts.h"
#include "clang/Lex/Lexer.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/Support/FileSystem.h"

using namespace kbopt;
using namespace clang;
using llvm::StringRef;

namespace {

/// A declaration of namespace scope, without the namespace around it: kept or blanked as a whole.
using Unit = const Decl *;

struct Range {
  size_t begin = 0, end = 0;
  bool isNeeded = false;
};

class Slicer {
public:
  explicit Slicer(const ParsedProgram &program) : program(program), sources(program.sources()) {}
  std::optional<DeviceSlice> slice();

private:
  void addUnits(const Decl *declaration);
  void addRoots();
  void need(Unit unit) {
    if (unit && units.count(unit) && needed.insert(unit).second)
      pending.push_back(unit);
  }
  void reach();
  std::map<FileID, std::vector<Range>> ranges() const;
  std::optional<Range> rangeOf(Unit unit, FileID &file) const;

  const ParsedProgram &program;
  const SourceManager &sources;
  llvm::MapVector<Unit, bool> units;
  llvm::DenseSet<Unit> needed;
  std::vector<Unit> pending;
  DeviceSlice result;
};

} // namespace

void Slicer::addUnits(const Decl *declaration) {
  const auto *linkage = llvm::dyn_cast<LinkageSpecDecl>(declaration);
  if (const auto *space = llvm::dyn_cast<NamespaceDecl>(declaration)) {
    for (const Decl *inner : space->decls())
      addUnits(inner);
  } else if (linkage && linkage->hasBraces()) {
    for (const Decl *inner : linkage->decls())
      addUnits(inner);
  } else if (!declaration->isImplicit()) {
    units.insert({declaration, true});
  }
}

/// Kernels, variables that live on the device, and what names things for them.
void Slicer::addRoots() {
  for (auto &[unit, known] : units) {
    const Decl *declaration = unit;
    if (const auto *linkage = llvm::dyn_cast<LinkageSpecDecl>(unit))
      declaration = linkage->decls_begin() == linkage->decls_end() ? unit : *linkage->decls_begin();
    if (const auto *described = llvm::dyn_cast<FunctionTemplateDecl>(declaration))
      declaration = described->getTemplatedDecl();
    bool isKernel = declaration->hasAttr<CUDAGlobalAttr>();
    bool isVariable =
        llvm::isa<VarDecl>(declaration) &&
        (declaration->hasAttr<CUDADeviceAttr>() || declaration->hasAttr<CUDAConstantAttr>() ||
         declaration->hasAttr<HIPManagedAttr>());
    const auto *directive = llvm::dyn_cast<UsingDirectiveDecl>(declaration);
    bool namesSpace = llvm::isa<NamespaceAliasDecl>(declaration) ||
                      (directive && !directive->getNominatedNamespace()->isStdNamespace());
    if (isKernel || isVariable || namesSpace)
      need(unit);
  }
  PrintingPolicy policy(program.language());
  for (const KernelFact &kernel : findKernels(program))
    for (const KernelFact::Instance &instance : kernel.instances)
      if (kernel.isTemplate) {
        std::string name;
        llvm::raw_string_ostream stream(name);
        instance.function->getNameForDiagnostic(stream, policy, true);
        result.instances.push_back(name);
        // Types that only the launch mentions.
        forEachMention(instance.function, [&](const Decl *each) { need(unitOf(each)); });
      }
}

void Slicer::reach() {
  auto found = [&](const Decl *each) {
    need(unitOf(each));
    // Every declaration of it: a prototype before its use may be the one that matters.
    for (const Decl *other : each->redecls())
      need(unitOf(other));
  };
  while (!pending.empty()) {
    Unit unit = pending.back();
    pending.pop_back();
    forEachMention(unit, found);
  }
}

std::optional<Range> Slicer::rangeOf(Unit unit, FileID &file) const {
  CharSourceRange range = sources.getExpansionRange(unit->getSourceRange());
  SourceLocation last = range.getEnd();
  if (range.isTokenRange())
    last = Lexer::getLocForEndOfToken(last, 0, sources, program.language());
  if (range.getBegin().isInvalid() || last.isInvalid())
    return std::nullopt;
  auto [first, begin] = sources.getDecomposedLoc(range.getBegin());
  auto [second, end] = sources.getDecomposedLoc(last);
  if (first != second || end < begin)
    return std::nullopt;
  file = first;
  // Its semicolon goes with it.
  StringRef text = sources.getBufferData(file);
  size_t next = text.find_first_not_of(" \t\r\n", end);
  if (next != StringRef::npos && text[next] == ';')
    end = next + 1;
  return Range{begin, end, needed.contains(unit)};
}

/// By file; declarations that share text (`int a, b;`) share their fate.
std::map<FileID, std::vector<Range>> Slicer::ranges() const {
  std::map<FileID, std::vector<Range>> all;
  for (auto &[unit, known] : units) {
    FileID file;
    if (std::optional<Range> range = rangeOf(unit, file))
      all[file].push_back(*range);
  }
  for (auto &[file, list] : all) {
    llvm::sort(list, [](const Range &a, const Range &b) { return a.begin < b.begin; });
    std::vector<Range> merged;
    for (const Range &range : list) {
      if (merged.empty() || range.begin >= merged.back().end) {
        merged.push_back(range);
        continue;
      }
      merged.back().end = std::max(merged.back().end, range.end);
      merged.back().isNeeded |= range.isNeeded;
    }
    list = std::move(merged);
  }
  return all;
}

/// \p text with \p ranges that are not needed as blanks.
static std::string blanked(StringRef text, llvm::ArrayRef<Range> ranges) {
  std::string result = text.str();
  for (const Range &range : ranges)
    if (!range.isNeeded)
      for (size_t i = range.begin; i < range.end && i < result.size(); ++i)
        if (result[i] != '\n')
          result[i] = ' ';
  return result;
}

std::optional<DeviceSlice> Slicer::slice() {
  std::optional<std::vector<std::string>> options = nvrtcOptions(program.command().nvccFlags);
  if (!options)
    return std::nullopt;
  result.options = std::move(*options);
  for (const Decl *declaration : program.declarations())
    addUnits(declaration);
  addRoots();
  reach();
  std::map<std::string, std::vector<Range>> byPath;
  std::vector<Range> ofMain;
  for (auto &[file, list] : ranges()) {
    if (file == sources.getMainFileID()) {
      ofMain = std::move(list);
      continue;
    }
    llvm::SmallString<256> path;
    if (auto entry = sources.getFileEntryRefForID(file))
      if (!llvm::sys::fs::real_path(entry->getName(), path))
        byPath[path.str().str()] = std::move(list);
  }
  HeaderSlices headers(program.command(), [&](StringRef path, StringRef text) {
    auto found = byPath.find(path.str());
    return found == byPath.end() ? text.str() : blanked(text, found->second);
  });
  result.text = headers.withDeviceIncludes(blanked(program.text(), ofMain),
                                           llvm::sys::path::parent_path(program.command().file));
  result.headers = headers.take();
  return std::move(result);
}

std::optional<DeviceSlice> kbopt::deviceSlice(const ParsedProgram &program) {
  std::optional<DeviceSlice> slice = Slicer(program).slice();
  if (slice)
    slice->of = digestOf(program.text());
  return slice;
}
