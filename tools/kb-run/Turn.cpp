//===- Turn.cpp -----------------------------------------------------------===//
#include "Turn.h"
#include <cerrno>
#include <cstdlib>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

namespace kbrun {

static void lock(int file, int how) {
  while (file >= 0 && flock(file, how) && errno == EINTR)
    ;
}

Turn::Turn(const std::string &device) {
  const char *folder = getenv("XDG_RUNTIME_DIR");
  std::string turns = std::string(folder && *folder ? folder : "/tmp") + "/kb-run-turns";
  // Whoever comes first makes the folder for all users, as /tmp is.
  if (mkdir(turns.c_str(), 0777) == 0)
    chmod(turns.c_str(), 01777);
  struct stat status = {};
  if (lstat(turns.c_str(), &status) != 0 || !S_ISDIR(status.st_mode))
    return;
  std::string path = turns + "/" + device + ".lock";
  file = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
  if (file < 0) // another user's, who allows reading
    file = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
  shared();
}

Turn::~Turn() {
  if (file >= 0)
    close(file);
}

void Turn::alone() {
  // Two that share would wait for each other for ever: give up the share first.
  lock(file, LOCK_UN);
  lock(file, LOCK_EX);
}

void Turn::shared() { lock(file, LOCK_SH); }

} // namespace kbrun
