//===- Link.cpp -----------------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "Link.h"
#include "kbrt/WholeTransfer.h"

#include <cerrno>
#include <cstring>
#include <poll.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

namespace kbrun {

using Json = nlohmann::ordered_json;

namespace {

constexpr size_t mostDescriptors = 8;
/// A length in front of a message beyond this is nonsense.
constexpr uint64_t mostBytes = uint64_t(1) << 30;

} // namespace

Link::~Link() {
  dropDescriptors();
  close(socket);
}

void Link::dropDescriptors() {
  for (int each : descriptors)
    close(each);
  descriptors.clear();
}

bool Link::send(const Json &message, const std::vector<int> &given) {
  const std::string text = message.dump(-1, ' ', false, Json::error_handler_t::replace);
  uint64_t bytes = text.size();
  iovec part = {&bytes, sizeof bytes};
  alignas(cmsghdr) char control[CMSG_SPACE(mostDescriptors * sizeof(int))] = {};
  msghdr header = {};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  if (!given.empty()) {
    header.msg_control = control;
    header.msg_controllen = CMSG_SPACE(given.size() * sizeof(int));
    cmsghdr *rights = CMSG_FIRSTHDR(&header);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(given.size() * sizeof(int));
    std::memcpy(CMSG_DATA(rights), given.data(), given.size() * sizeof(int));
  }
  ssize_t sent;
  do
    sent = sendmsg(socket, &header, MSG_NOSIGNAL);
  while (sent < 0 && errno == EINTR);
  // Eight bytes fit, or the other end is gone.
  return sent == sizeof bytes && kbrt::sendAll(socket, text.data(), text.size());
}

Link::Received Link::receive(Json &message, int milliseconds) {
  for (;;) {
    uint64_t bytes = 0;
    if (pending.size() >= sizeof bytes) {
      std::memcpy(&bytes, pending.data(), sizeof bytes);
      if (bytes > mostBytes)
        return Received::Ended;
      if (pending.size() >= sizeof bytes + bytes) {
        message = Json::parse(pending.substr(sizeof bytes, bytes), nullptr, false);
        pending.erase(0, sizeof bytes + bytes);
        return message.is_object() ? Received::Message : Received::Ended;
      }
    }
    pollfd event = {socket, POLLIN, 0};
    int ready = poll(&event, 1, milliseconds);
    if (ready < 0 && errno == EINTR)
      continue;
    if (ready == 0)
      return Received::Late;
    char block[1 << 16];
    iovec part = {block, sizeof block};
    alignas(cmsghdr) char control[CMSG_SPACE(mostDescriptors * sizeof(int))];
    msghdr header = {};
    header.msg_iov = &part;
    header.msg_iovlen = 1;
    header.msg_control = control;
    header.msg_controllen = sizeof control;
    ssize_t n = recvmsg(socket, &header, MSG_CMSG_CLOEXEC);
    if (n < 0 && errno == EINTR)
      continue;
    if (n <= 0)
      return Received::Ended;
    for (cmsghdr *each = CMSG_FIRSTHDR(&header); each; each = CMSG_NXTHDR(&header, each)) {
      if (each->cmsg_level != SOL_SOCKET || each->cmsg_type != SCM_RIGHTS)
        continue;
      dropDescriptors();
      descriptors.resize((each->cmsg_len - CMSG_LEN(0)) / sizeof(int));
      std::memcpy(descriptors.data(), CMSG_DATA(each), descriptors.size() * sizeof(int));
    }
    pending.append(block, static_cast<size_t>(n));
  }
}

} // namespace kbrun
