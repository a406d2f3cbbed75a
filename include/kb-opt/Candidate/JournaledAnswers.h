//===- JournaledAnswers.h - Effects that are asked for once -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the tie between what is asked of a program and the journal: an answer is a record with a
// codec beside it, and callers see the record alone.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_CANDIDATE_JOURNALEDANSWERS_H
#define KBOPT_CANDIDATE_JOURNALEDANSWERS_H

#include "kb-opt/Store/Journal.h"
#include "llvm/Support/JSON.h"
#include <initializer_list>

namespace kbopt {

/// Thread-safe. Equal requests get one answer; errors are not kept.
class JournaledAnswers {
public:
  /// \p journal outlives it. \p run names what is the same for all requests (CandidateSetup::run).
  JournaledAnswers(Journal &journal, Digest run) : journal(journal), run(std::move(run)) {}

  /// Names a request that depends on \p parts and on `run`.
  Digest request(std::initializer_list<llvm::StringRef> parts) const;

  /// The journal's answer to \p request of \p kind, or what \p compute gives, which is kept. A
  /// `Record` has `toJSON` and `fromJSON` as llvm::json looks for them. A kept answer of an older
  /// form, which `fromJSON` refuses, stays for the build that wrote it; \p compute's is kept beside
  /// it.
  template <typename Record>
  llvm::Expected<Record> ask(llvm::StringRef kind, const Digest &request,
                             llvm::function_ref<llvm::Expected<Record>()> compute) {
    for (const std::string &place : {kind.str(), renewed(kind)}) {
      auto text = journal.getOrCompute(place, request, [&]() -> llvm::Expected<std::string> {
        auto record = compute();
        if (!record)
          return record.takeError();
        return print(llvm::json::Value(std::move(*record)));
      });
      if (!text)
        return text.takeError();
      if (auto record = llvm::json::parse<Record>(*text))
        return std::move(*record);
      else
        llvm::consumeError(record.takeError()); // another form: asked again
    }
    return compute();
  }

  /// Whether \p request of \p kind is answered already.
  llvm::Expected<bool> has(llvm::StringRef kind, const Digest &request);

  //===-- Answers that are texts ------------------------------------------===//

  /// Nothing where there is none, or where the journal cannot be read.
  std::optional<std::string> find(llvm::StringRef kind, const Digest &request);
  /// Keeps \p text, unless the run is being ended: then it may be no answer.
  void keep(llvm::StringRef kind, const Digest &request, llvm::StringRef text);

private:
  static std::string print(const llvm::json::Value &value);
  /// The kind of answers whose earlier form no codec reads.
  static std::string renewed(llvm::StringRef kind) { return (kind + " renewed").str(); }

  Journal &journal;
  const Digest run;
};

} // namespace kbopt

#endif // KBOPT_CANDIDATE_JOURNALEDANSWERS_H
