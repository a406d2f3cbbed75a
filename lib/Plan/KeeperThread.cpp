//===- KeeperThread.cpp ---------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "KeeperThread.h"

#include "kb-opt/Support/Error.h"
#include "kbrt/RecordChannel.h"
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

using namespace kbopt;
using llvm::Error;
using llvm::Expected;

static Error cannotListen(const std::string &where) {
  return llvm::make_error<ToolError>("cannot listen at '" + where + "': " + std::strerror(errno),
                                     std::vector<std::string>{}, -1, "");
}

/// A folder of this user's alone, whose path leaves room for a socket's name (108 bytes in all).
static Expected<std::string> makeDirectory() {
  constexpr size_t mostBytes = 80;
  const char *temporary = std::getenv("TMPDIR");
  std::string base =
      temporary && *temporary && std::strlen(temporary) < mostBytes ? temporary : "/tmp";
  std::string name = base + "/kb-opt-XXXXXX";
  if (!::mkdtemp(name.data()))
    return cannotListen(name);
  return name;
}

Expected<std::unique_ptr<KeeperThread>> KeeperThread::start(const std::string &folder,
                                                            bool hasObservables,
                                                            llvm::StringRef oracleFolder,
                                                            uint64_t mostBytes) {
  std::unique_ptr<KeeperThread> self(new KeeperThread);
  std::string error;
  self->keeper = kbrt::FolderKeeper::create(folder, hasObservables, oracleFolder.str(), error);
  if (!self->keeper)
    return llvm::make_error<StoreError>(error);
  auto directory = makeDirectory();
  if (!directory)
    return directory.takeError();
  self->directory = *directory;
  self->path = self->directory + "/s";
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, self->path.data(), self->path.size());
  self->listener = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (self->listener < 0 ||
      ::bind(self->listener, reinterpret_cast<sockaddr *>(&address), sizeof address) != 0 ||
      ::listen(self->listener, 1) != 0)
    return cannotListen(self->path);
  self->thread = std::thread([keeper = self.get(), mostBytes] { keeper->serve(mostBytes); });
  return self;
}

void KeeperThread::serve(uint64_t mostBytes) {
  int accepted = -1;
  while (accepted < 0) {
    struct pollfd polled = {listener, POLLIN, 0};
    const bool isLast = hasEnded; // the program may have ended before it was heard
    if (::poll(&polled, 1, /*milliseconds=*/20) > 0)
      accepted = ::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
    else if (isLast)
      return;
  }
  ::unlink(path.c_str());
  connection = accepted;
  if (hasEnded)
    ::shutdown(accepted, SHUT_RD);
  kbrt::serveRecording(accepted, *keeper, mostBytes);
  ::shutdown(accepted, SHUT_RDWR); // a program that said what is no message does not wait
}

kbrt::FolderKeeper &KeeperThread::finish() {
  hasEnded = true;
  if (int accepted = connection; accepted >= 0)
    ::shutdown(accepted, SHUT_RD); // what has been sent is read all the same
  if (thread.joinable())
    thread.join();
  keeper->flush();
  return *keeper;
}

KeeperThread::~KeeperThread() {
  if (keeper)
    finish();
  for (int descriptor : {listener, connection.load()})
    if (descriptor >= 0)
      ::close(descriptor);
  if (!path.empty())
    ::unlink(path.c_str());
  if (!directory.empty())
    ::rmdir(directory.c_str());
}
