//===- FileNotes.cpp --------------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The functions of the C library by which programs come to files are defined here
// once more: the recorder's library comes before the C library's. What a program
// asks of the kernel by itself, without them, is not seen.
//
//===----------------------------------------------------------------------===//
#include "FileNotes.h"
#include "Callers.h"

#include <cerrno>
#include <climits>
#include <cstdarg>
#include <cstring>
#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <mutex>
#include <string_view>
#include <unistd.h>

using namespace kbrt;

namespace {

/// A program that looks at more files than that has no recording that is kept.
constexpr size_t mostPaths = 4096;

/// Never destroyed: the program's own destructors may still open files.
struct Noted {
  std::mutex mutex;
  FileNotes notes{{}, __GLIBC_PREREQ(2, 33)};
};
Noted &noted() {
  static Noted *all = new Noted;
  return *all;
}

/// A memory allocator of the program's may open files by itself.
thread_local bool isNoting = false;

bool isOfTheKernel(std::string_view path) {
  auto liesIn = [&](std::string_view folder) { return path.substr(0, folder.size()) == folder; };
  return liesIn("/proc/") || liesIn("/sys/") || (liesIn("/dev/") && !liesIn("/dev/shm/"));
}

/// \p path as seen from the folder that \p descriptor stands for; empty if that cannot be told.
std::string absolutePath(int descriptor, const char *path) {
  if (path[0] == '/')
    return path;
  char folder[PATH_MAX];
  if (descriptor == AT_FDCWD)
    return getcwd(folder, sizeof folder) ? std::string(folder) + "/" + path : "";
  const std::string link = "/proc/self/fd/" + std::to_string(descriptor);
  using ReadLink = ssize_t(const char *, char *, size_t);
  static const auto next = reinterpret_cast<ReadLink *>(dlsym(RTLD_NEXT, "readlink"));
  const ssize_t length = next(link.c_str(), folder, sizeof folder);
  if (length <= 0 || folder[0] != '/')
    return "";
  return std::string(folder, static_cast<size_t>(length)) + (*path ? "/" : "") + path;
}

void add(std::string path) {
  Noted &all = noted();
  std::lock_guard<std::mutex> lock(all.mutex);
  if (path.empty() || all.notes.paths.size() >= mostPaths)
    all.notes.isComplete = false;
  else if (!isOfTheKernel(path))
    all.notes.paths.insert(std::move(path));
}

void note(int descriptor, const char *path, const void *caller) {
  if (!path || isNoting || (!*path && descriptor == AT_FDCWD))
    return;
  isNoting = true;
  const int error = errno;
  if (!isDriver(caller))
    add(absolutePath(descriptor, path));
  errno = error;
  isNoting = false;
}

void noteProcess(const void *caller) {
  if (isDriver(caller))
    return;
  Noted &all = noted();
  std::lock_guard<std::mutex> lock(all.mutex);
  all.notes.isComplete = false;
}

} // namespace

FileNotes kbrt::fileNotes() {
  dl_iterate_phdr(
      [](dl_phdr_info *info, size_t, void *) {
        if (info->dlpi_name && info->dlpi_name[0] == '/')
          add(info->dlpi_name);
        return 0;
      },
      nullptr);
  Noted &all = noted();
  std::lock_guard<std::mutex> lock(all.mutex);
  return all.notes;
}

/// The function \p name of the C library, visible to all, whatever its headers make of the name.
#define KB_WATCHED(result, name, ...)                                                              \
  extern "C"                                                                                       \
      __attribute__((visibility("default"))) result watched_##name(__VA_ARGS__) __asm__(#name);    \
  result watched_##name(__VA_ARGS__)
#define KB_NEXT(name)                                                                              \
  static const auto next = reinterpret_cast<decltype(&watched_##name)>(dlsym(RTLD_NEXT, #name))
#define KB_NOTE(descriptor, path) note(descriptor, path, __builtin_return_address(0))

//===-- Opening -----------------------------------------------------------===//

/// The mode that follows \p flags, where one does.
#define KB_MODE(flags)                                                                             \
  mode_t mode = 0;                                                                                 \
  if ((flags) & (O_CREAT | __O_TMPFILE)) {                                                         \
    va_list rest;                                                                                  \
    va_start(rest, flags);                                                                         \
    mode = static_cast<mode_t>(va_arg(rest, int));                                                 \
    va_end(rest);                                                                                  \
  }

#define KB_OPEN(name)                                                                              \
  KB_WATCHED(int, name, const char *path, int flags, ...) {                                        \
    KB_MODE(flags)                                                                                 \
    KB_NOTE(AT_FDCWD, path);                                                                       \
    KB_NEXT(name);                                                                                 \
    return next(path, flags, mode);                                                                \
  }
KB_OPEN(open)
KB_OPEN(open64)

#define KB_OPENAT(name)                                                                            \
  KB_WATCHED(int, name, int folder, const char *path, int flags, ...) {                            \
    KB_MODE(flags)                                                                                 \
    KB_NOTE(folder, path);                                                                         \
    KB_NEXT(name);                                                                                 \
    return next(folder, path, flags, mode);                                                        \
  }
KB_OPENAT(openat)
KB_OPENAT(openat64)

// What compilers call in place of these where they check arguments.
#define KB_OPEN_2(name)                                                                            \
  KB_WATCHED(int, name, const char *path, int flags) {                                             \
    KB_NOTE(AT_FDCWD, path);                                                                       \
    KB_NEXT(name);                                                                                 \
    return next(path, flags);                                                                      \
  }
KB_OPEN_2(__open_2)
KB_OPEN_2(__open64_2)

#define KB_OPENAT_2(name)                                                                          \
  KB_WATCHED(int, name, int folder, const char *path, int flags) {                                 \
    KB_NOTE(folder, path);                                                                         \
    KB_NEXT(name);                                                                                 \
    return next(folder, path, flags);                                                              \
  }
KB_OPENAT_2(__openat_2)
KB_OPENAT_2(__openat64_2)

#define KB_FOPEN(name)                                                                             \
  KB_WATCHED(void *, name, const char *path, const char *mode) {                                   \
    KB_NOTE(AT_FDCWD, path);                                                                       \
    KB_NEXT(name);                                                                                 \
    return next(path, mode);                                                                       \
  }
KB_FOPEN(fopen)
KB_FOPEN(fopen64)

#define KB_FREOPEN(name)                                                                           \
  KB_WATCHED(void *, name, const char *path, const char *mode, void *file) {                       \
    KB_NOTE(AT_FDCWD, path);                                                                       \
    KB_NEXT(name);                                                                                 \
    return next(path, mode, file);                                                                 \
  }
KB_FREOPEN(freopen)
KB_FREOPEN(freopen64)

KB_WATCHED(void *, opendir, const char *path) {
  KB_NOTE(AT_FDCWD, path);
  KB_NEXT(opendir);
  return next(path);
}

#define KB_SCANDIR(name)                                                                           \
  KB_WATCHED(int, name, const char *path, void *entries, void *filter, void *compare) {            \
    KB_NOTE(AT_FDCWD, path);                                                                       \
    KB_NEXT(name);                                                                                 \
    return next(path, entries, filter, compare);                                                   \
  }
KB_SCANDIR(scandir)
KB_SCANDIR(scandir64)

//===-- Asking for a file's state -----------------------------------------===//

#if __GLIBC_PREREQ(2, 33) // before, they were no functions of the library
#define KB_STAT(name)                                                                              \
  KB_WATCHED(int, name, const char *path, void *status) {                                          \
    KB_NOTE(AT_FDCWD, path);                                                                       \
    KB_NEXT(name);                                                                                 \
    return next(path, status);                                                                     \
  }
KB_STAT(stat)
KB_STAT(stat64)
KB_STAT(lstat)
KB_STAT(lstat64)

#define KB_FSTATAT(name)                                                                           \
  KB_WATCHED(int, name, int folder, const char *path, void *status, int flags) {                   \
    if (path && *path) /* else that of an open file */                                             \
      KB_NOTE(folder, path);                                                                       \
    KB_NEXT(name);                                                                                 \
    return next(folder, path, status, flags);                                                      \
  }
KB_FSTATAT(fstatat)
KB_FSTATAT(fstatat64)
#endif

KB_WATCHED(int, statx, int folder, const char *path, int flags, unsigned mask, void *status) {
  if (path && *path)
    KB_NOTE(folder, path);
  KB_NEXT(statx);
  return next(folder, path, flags, mask, status);
}

#define KB_ACCESS(name)                                                                            \
  KB_WATCHED(int, name, const char *path, int mode) {                                              \
    KB_NOTE(AT_FDCWD, path);                                                                       \
    KB_NEXT(name);                                                                                 \
    return next(path, mode);                                                                       \
  }
KB_ACCESS(access)
KB_ACCESS(eaccess)
KB_ACCESS(euidaccess)

KB_WATCHED(int, faccessat, int folder, const char *path, int mode, int flags) {
  KB_NOTE(folder, path);
  KB_NEXT(faccessat);
  return next(folder, path, mode, flags);
}

KB_WATCHED(ssize_t, readlink, const char *path, char *target, size_t bytes) {
  KB_NOTE(AT_FDCWD, path);
  KB_NEXT(readlink);
  return next(path, target, bytes);
}

KB_WATCHED(char *, realpath, const char *path, char *resolved) {
  KB_NOTE(AT_FDCWD, path);
  KB_NEXT(realpath);
  return next(path, resolved);
}

//===-- Starting other processes ------------------------------------------===//

KB_WATCHED(pid_t, fork, void) {
  noteProcess(__builtin_return_address(0));
  KB_NEXT(fork);
  return next();
}
/// No function can do what it does by calling it; any fork will do.
KB_WATCHED(pid_t, vfork, void) {
  noteProcess(__builtin_return_address(0));
  static const auto next = reinterpret_cast<pid_t (*)()>(dlsym(RTLD_NEXT, "fork"));
  return next();
}

KB_WATCHED(int, system, const char *command) {
  noteProcess(__builtin_return_address(0));
  KB_NEXT(system);
  return next(command);
}

KB_WATCHED(void *, popen, const char *command, const char *mode) {
  noteProcess(__builtin_return_address(0));
  KB_NEXT(popen);
  return next(command, mode);
}

#define KB_SPAWN(name)                                                                             \
  KB_WATCHED(int, name, pid_t *child, const char *path, const void *actions,                       \
             const void *attributes, char *const *arguments, char *const *environment) {           \
    noteProcess(__builtin_return_address(0));                                                      \
    KB_NEXT(name);                                                                                 \
    return next(child, path, actions, attributes, arguments, environment);                         \
  }
KB_SPAWN(posix_spawn)
KB_SPAWN(posix_spawnp)
