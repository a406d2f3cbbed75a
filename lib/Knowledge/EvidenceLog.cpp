//===- EvidenceLog.cpp - Union, and lines of a file -----------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "kb-opt/Knowledge/EvidenceLog.h"
#include "DatabaseEvidence.h"
#include "RecordJson.h"
#include "kbrt/Database.h"

using namespace kbopt;

template <typename T> static void keepEarlier(std::map<Digest, T> &byId, T record) {
  auto [place, added] = byId.try_emplace(record.id(), record);
  if (!added && record.time < place->second.time)
    place->second = std::move(record);
}

void EvidenceSet::insert(Evidence record) { keepEarlier(attempts, std::move(record)); }
void EvidenceSet::insert(Finding finding) { keepEarlier(concluded, std::move(finding)); }
void EvidenceSet::insert(Record record) {
  std::visit([&](auto &&one) { insert(std::move(one)); }, std::move(record));
}

void EvidenceSet::merge(const EvidenceSet &other) {
  for (const auto &entry : other.attempts)
    insert(entry.second);
  for (const auto &entry : other.concluded)
    insert(entry.second);
}

llvm::Expected<Record> kbopt::parseRecord(llvm::StringRef line) {
  llvm::Expected<llvm::json::Object> object = record::parse(line);
  if (!object)
    return object.takeError();
  const llvm::json::Value *kind = object->get("kind");
  if (!kind || kind->getAsString() == "attempt")
    return record::attemptOf(*object);
  return record::findingOf(*object);
}

llvm::Expected<EvidenceSet> kbopt::readEvidence(FileSystem &fileSystem, llvm::StringRef path,
                                                std::vector<BadLine> &bad) {
  if (kbrt::isDatabaseUrl(path.str()))
    return readDatabaseEvidence(path, bad);
  if (!fileSystem.exists(path))
    return EvidenceSet();
  llvm::Expected<std::string> bytes = fileSystem.read(path);
  if (!bytes)
    return bytes.takeError();
  return parseEvidenceLog(*bytes, path, bad);
}

EvidenceSet kbopt::parseEvidenceLog(llvm::StringRef rest, llvm::StringRef path,
                                    std::vector<BadLine> &bad) {
  EvidenceSet set;
  for (unsigned number = 1; !rest.empty(); ++number) {
    auto [line, after] = rest.split('\n');
    rest = after;
    if (line.trim().empty())
      continue;
    llvm::Expected<Record> record = parseRecord(line);
    if (record)
      set.insert(std::move(*record));
    else
      bad.push_back({path.str(), number, llvm::toString(record.takeError())});
  }
  return set;
}

llvm::Error kbopt::appendEvidence(FileSystem &fileSystem, llvm::StringRef path,
                                  llvm::ArrayRef<Evidence> records,
                                  llvm::ArrayRef<Finding> findings) {
  if (records.empty() && findings.empty())
    return llvm::Error::success();
  if (kbrt::isDatabaseUrl(path.str()))
    return appendDatabaseEvidence(path, records, findings);
  for (const Finding &finding : findings)
    if (llvm::Error error = finding.check())
      return error;
  std::string lines;
  // A writer that was killed may have left half a line: end it first.
  if (fileSystem.exists(path)) {
    llvm::Expected<std::string> bytes = fileSystem.read(path);
    if (!bytes)
      return bytes.takeError();
    if (!bytes->empty() && bytes->back() != '\n')
      lines += '\n';
  }
  for (const Evidence &record : records)
    lines += record.toLine() + '\n';
  for (const Finding &finding : findings)
    lines += finding.toLine() + '\n';
  lines.pop_back();
  return fileSystem.appendLine(path, lines);
}
