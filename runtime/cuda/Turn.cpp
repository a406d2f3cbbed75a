//===- Turn.cpp -----------------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "kbrt/Turn.h"
#include <cerrno>
#include <cstdlib>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

namespace kbrt::cuda {

static void lock(int file, int how) {
  while (file >= 0 && flock(file, how) && errno == EINTR)
    ;
}

static int openLock(const std::string &path) {
  int file = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
  // Another user's, which may be read.
  return file < 0 ? open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW) : file;
}

Turn::Turn(const std::string &device) {
  const char *folder = getenv("XDG_RUNTIME_DIR");
  std::string turns = std::string(folder && *folder ? folder : "/tmp") + "/kb-run-turns";
  // The first process makes the folder for all users, as /tmp is.
  if (mkdir(turns.c_str(), 0777) == 0)
    chmod(turns.c_str(), 01777);
  struct stat status = {};
  if (lstat(turns.c_str(), &status) != 0 || !S_ISDIR(status.st_mode))
    return;
  file = openLock(turns + "/" + device + ".lock");
  queue = openLock(turns + "/" + device + ".queue.lock");
}

Turn::~Turn() {
  for (int each : {file, queue})
    if (each >= 0)
      close(each);
}

void Turn::wait(int how) {
  // Two that share would wait for each other for ever: give up the share first.
  lock(file, LOCK_UN);
  lock(queue, LOCK_EX);
  lock(file, how);
  lock(queue, LOCK_UN);
}

void Turn::take(Held what) {
  wait(what == Held::All ? LOCK_EX : LOCK_SH);
  held = what;
  since = std::chrono::steady_clock::now();
}

bool Turn::isOld() const { return std::chrono::steady_clock::now() - since > longest; }

void Turn::alone() { take(Held::All); }

void Turn::shared() { take(Held::Share); }

void Turn::aloneOn() {
  if (held != Held::All || isOld())
    alone();
}

void Turn::sharedOn() {
  if (held != Held::Share || isOld())
    shared();
}

void Turn::rest() {
  if (isOld())
    leave();
}

void Turn::leave() {
  held = Held::Nothing;
  lock(file, LOCK_UN);
}

} // namespace kbrt::cuda
