//===- Journal.cpp - Questions that are answered once ---------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "kb-opt/Store/Journal.h"
#include "kb-opt/Store/JournalStore.h"
#include "kb-opt/Support/Interrupt.h"
#include "kbrt/Database.h"
#include <condition_variable>
#include <mutex>
#include <set>

using namespace kbopt;

JournalStore::~JournalStore() = default;

struct Journal::Impl {
  std::unique_ptr<JournalStore> store;

  mutable std::mutex bookkeeping;
  std::condition_variable finished;
  std::set<std::pair<std::string, Digest>> running;
  std::map<std::string, Counts> counts;

  llvm::Expected<std::string> answer(llvm::StringRef kind, const Digest &request,
                                     llvm::function_ref<llvm::Expected<std::string>()> compute);
};

llvm::Expected<std::string>
Journal::Impl::answer(llvm::StringRef kind, const Digest &request,
                      llvm::function_ref<llvm::Expected<std::string>()> compute) {
  auto count = [&](uint64_t Counts::*which) {
    std::lock_guard<std::mutex> guard(bookkeeping);
    ++(counts[kind.str()].*which);
  };
  llvm::Expected<std::optional<std::string>> stored = store->find(kind, request);
  if (!stored)
    return stored.takeError();
  if (*stored) {
    count(&Counts::found);
    return std::move(**stored);
  }
  llvm::Expected<std::string> response = compute();
  // What was computed while the user ended the run may be the answer of a process
  // that was killed for it: not worth keeping.
  if (!response || interrupted())
    return response;
  llvm::Expected<bool> first = store->insert(kind, request, *response);
  if (!first)
    return first.takeError();
  count(&Counts::computed);
  if (*first)
    return response;
  // Another process was faster; all go on with its answer.
  stored = store->find(kind, request);
  if (!stored)
    return stored.takeError();
  return *stored ? std::move(**stored) : std::move(*response);
}

Journal::Journal(std::unique_ptr<Impl> impl) : impl(std::move(impl)) {}
Journal::~Journal() = default;

llvm::Expected<std::unique_ptr<Journal>> Journal::open(llvm::StringRef path,
                                                       unsigned busyMilliseconds) {
  auto store = kbrt::isDatabaseUrl(path.str()) ? openDatabaseJournal(path)
                                               : openSqliteJournal(path, busyMilliseconds);
  if (!store)
    return store.takeError();
  auto impl = std::make_unique<Impl>();
  impl->store = std::move(*store);
  return std::unique_ptr<Journal>(new Journal(std::move(impl)));
}

std::unique_ptr<Journal> Journal::inMemory() {
  auto impl = std::make_unique<Impl>();
  impl->store = openJournalInMemory();
  return std::unique_ptr<Journal>(new Journal(std::move(impl)));
}

llvm::Expected<std::optional<std::string>> Journal::find(llvm::StringRef kind,
                                                         const Digest &request) {
  llvm::Expected<std::optional<std::string>> answer = impl->store->find(kind, request);
  if (answer && *answer) {
    std::lock_guard<std::mutex> guard(impl->bookkeeping);
    ++impl->counts[kind.str()].found;
  }
  return answer;
}

llvm::Error Journal::put(llvm::StringRef kind, const Digest &request, llvm::StringRef response) {
  return impl->store->insert(kind, request, response).takeError();
}

llvm::Expected<std::string>
Journal::getOrCompute(llvm::StringRef kind, const Digest &request,
                      llvm::function_ref<llvm::Expected<std::string>()> compute) {
  std::pair<std::string, Digest> key(kind.str(), request);
  {
    std::unique_lock<std::mutex> guard(impl->bookkeeping);
    impl->finished.wait(guard, [&] { return !impl->running.count(key); });
    impl->running.insert(key);
  }
  llvm::Expected<std::string> answer = impl->answer(kind, request, compute);
  {
    std::lock_guard<std::mutex> guard(impl->bookkeeping);
    impl->running.erase(key);
  }
  impl->finished.notify_all();
  return answer;
}

std::map<std::string, Journal::Counts> Journal::counts() const {
  std::lock_guard<std::mutex> guard(impl->bookkeeping);
  return impl->counts;
}

bool Journal::sharedWithAnotherRun() const { return impl->store->isShared(); }
