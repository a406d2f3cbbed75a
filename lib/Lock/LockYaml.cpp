//===- LockYaml.cpp - kbopt.lock as YAML ----------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "kb-opt/Lock/LockFile.h"
#include "kb-opt/Support/Error.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/YAMLTraits.h"

using namespace kbopt;
namespace yaml = llvm::yaml;

/// Raised when the meaning of a field changes; adding one changes nothing.
static constexpr unsigned lockVersion = 1;

LLVM_YAML_IS_SEQUENCE_VECTOR(kbopt::LockEntry)
LLVM_YAML_IS_SEQUENCE_VECTOR(kbopt::LockedCode)

namespace {

struct LockDocument {
  unsigned version = lockVersion;
  std::vector<LockEntry> entries;
};

/// Two decimals: a lock must not change where nothing has.
struct Rounded {
  double value = 0;
  bool operator==(const Rounded &) const = default;
};

} // namespace

namespace llvm::yaml {

template <> struct ScalarTraits<Rounded> {
  static void output(const Rounded &number, void *, raw_ostream &os) {
    os << formatv("{0:f2}", number.value);
  }
  static StringRef input(StringRef text, void *, Rounded &number) {
    return text.getAsDouble(number.value) ? "not a number" : "";
  }
  static QuotingType mustQuote(StringRef) { return QuotingType::None; }
};

template <> struct MappingTraits<LockedCode> {
  static void mapping(IO &io, LockedCode &code) {
    io.mapRequired("arch", code.arch);
    io.mapRequired("digest", code.digest);
  }
  static const bool flow = true;
};

template <> struct MappingTraits<LockedTime> {
  static void number(IO &io, const char *key, double &value) {
    Rounded rounded{value};
    io.mapOptional(key, rounded, Rounded());
    value = rounded.value;
  }
  static void mapping(IO &io, LockedTime &time) {
    io.mapOptional("source", time.source, std::string());
    io.mapOptional("chip", time.chip, std::string());
    number(io, "original-us", time.originalUs);
    number(io, "rewritten-us", time.rewrittenUs);
    number(io, "ratio", time.ratio);
    number(io, "at-least", time.atLeast);
  }
};

template <> struct MappingTraits<LockEntry> {
  static void mapping(IO &io, LockEntry &entry) {
    io.mapRequired("file", entry.file);
    io.mapRequired("kernels", entry.kernels);
    io.mapRequired("pipeline", entry.pipeline);
    io.mapOptional("target", entry.target, std::string());
    io.mapRequired("closure", entry.closure);
    io.mapRequired("output", entry.output);
    io.mapOptional("flags", entry.flags);
    io.mapRequired("architectures", entry.architectures);
    io.mapOptional("machine-code", entry.code);
    io.mapOptional("promise", entry.promise, std::string());
    io.mapOptional("gates", entry.gates);
    io.mapOptional("shapes", entry.shapes);
    io.mapOptional("time", entry.time);
    io.mapOptional("tool", entry.tool, std::string());
    io.mapOptional("evidence", entry.evidence, std::string());
  }
};

template <> struct MappingTraits<LockDocument> {
  static void mapping(IO &io, LockDocument &document) {
    io.mapRequired("version", document.version);
    io.mapRequired("entries", document.entries);
  }
};

} // namespace llvm::yaml

std::string LockFile::text() const {
  LockDocument document{lockVersion, entries};
  std::string body;
  llvm::raw_string_ostream os(body);
  yaml::Output output(os, nullptr, /*WrapColumn=*/1 << 20);
  output << document;
  llvm::StringRef text = body;
  text.consume_front("---\n");
  text.consume_back("...\n");
  return ("# Rewrites that kb-opt has proven. Commit this file; `kb-opt lock --check` says whether "
          "it is fresh.\n" +
          text)
      .str();
}

std::string kbopt::entryText(const LockEntry &entry) {
  const std::string lock = LockFile{{entry}}.text();
  return lock.substr(lock.find("  - file:"));
}

/// A text that nests deeper than any lock would make the reader run out of stack.
static bool nestsTooDeeply(llvm::StringRef text) {
  unsigned brackets = 0;
  for (char c : text) {
    brackets += c == '[' || c == '{';
    brackets -= (c == ']' || c == '}') && brackets;
    if (brackets > 64)
      return true;
  }
  for (llvm::StringRef line : llvm::split(text, '\n'))
    if (line.find_first_not_of(" -?") != llvm::StringRef::npos &&
        line.find_first_not_of(" -?") > 64)
      return true;
  return false;
}

llvm::Expected<LockFile> kbopt::parseLock(llvm::StringRef text, llvm::StringRef path) {
  auto fail = [&](const llvm::Twine &what) {
    return llvm::make_error<UsageError>(
        what.str(), "repair the file by hand, or restore it from version control",
        ExitStatus::Diagnostics);
  };
  if (nestsTooDeeply(text))
    return fail("'" + path + "' is no lock file: it nests too deeply");
  std::string problem;
  auto keep = [](const llvm::SMDiagnostic &diagnostic, void *into) {
    std::string &first = *static_cast<std::string *>(into);
    if (first.empty())
      first = (llvm::Twine(diagnostic.getLineNo()) + ":" +
               llvm::Twine(diagnostic.getColumnNo() + 1) + ": " + diagnostic.getMessage())
                  .str();
  };
  LockDocument document;
  yaml::Input input(text, nullptr, keep, &problem);
  input >> document;
  if (input.error())
    return fail(path + ":" + (problem.empty() ? "1:1: it is empty" : problem));
  if (document.version > lockVersion)
    return fail(path + ": it was written by a newer kb-opt (version " +
                llvm::Twine(document.version) + ")");
  LockFile lock;
  for (LockEntry &entry : document.entries)
    lock.put(std::move(entry));
  return lock;
}
