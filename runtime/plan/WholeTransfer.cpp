//===- WholeTransfer.cpp - All bytes or none --------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "kbrt/WholeTransfer.h"

#include <cerrno>
#include <sys/socket.h>
#include <unistd.h>

using namespace kbrt;

bool kbrt::sendAll(int descriptor, const void *bytes, uint64_t count) {
  auto *at = static_cast<const char *>(bytes);
  while (count) {
    ssize_t put = ::send(descriptor, at, count, MSG_NOSIGNAL);
    if (put < 0 && errno == ENOTSOCK)
      put = ::write(descriptor, at, count);
    if (put < 0 && errno == EINTR)
      continue;
    if (put <= 0)
      return false;
    at += put;
    count -= static_cast<uint64_t>(put);
  }
  return true;
}

bool kbrt::receiveAll(int descriptor, void *bytes, uint64_t count) {
  auto *at = static_cast<char *>(bytes);
  while (count) {
    ssize_t got = ::read(descriptor, at, count);
    if (got < 0 && errno == EINTR)
      continue;
    if (got <= 0)
      return false;
    at += got;
    count -= static_cast<uint64_t>(got);
  }
  return true;
}
