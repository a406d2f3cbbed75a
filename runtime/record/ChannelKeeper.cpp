//===- ChannelKeeper.cpp ----------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The socket is the program's as well: what it sends there by itself is found
// out where the plan does not fit what was noted (FolderKeeper::fits). What has
// been sent is out of its reach.
//
//===----------------------------------------------------------------------===//
#include "ChannelKeeper.h"

#include "kbrt/RecordChannel.h"
#include "kbrt/WholeTransfer.h"
#include <cerrno>
#include <cstring>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

using namespace kbrt;

namespace {

class ChannelKeeper : public RecordKeeper {
public:
  explicit ChannelKeeper(int socket) : socket(socket), owner(getpid()) {}

  bool append(Payload payload, const void *bytes, uint64_t count) override {
    return say(payload == Payload::Data ? Message::Data : Message::Observables, 0, bytes, count);
  }
  bool holds(uint64_t place, const void *bytes, uint64_t count) override {
    return say(Message::Holds, place, bytes, count) && reply() == 1;
  }
  OracleSize oracle() override {
    OracleSize size;
    if (!say(Message::Oracle, 0, nullptr, 0) || !receiveAll(socket, &size, sizeof size))
      return {};
    return size;
  }
  bool answer(void *to, uint64_t count) override {
    return count == 0 || (say(Message::Answer, count, nullptr, 0) && reply() == count &&
                          receiveAll(socket, to, count));
  }
  std::string oracleDevice() override {
    if (!say(Message::OracleDevice, 0, nullptr, 0))
      return "";
    std::string facts(reply(), 0);
    return receiveAll(socket, facts.data(), facts.size()) ? facts : "";
  }
  bool keepDevice(const std::string &facts) override {
    return say(Message::Device, 0, facts.data(), facts.size());
  }
  bool noteStep(uint64_t digest) override { return say(Message::Step, digest, nullptr, 0); }
  bool noteFile(const std::string &path) override {
    return say(Message::File, 0, path.data(), path.size());
  }
  bool replace(const void *bytes, uint64_t count, std::vector<char> &others) override {
    if (!say(Message::Replace, 0, bytes, count) || reply() != count)
      return false;
    others.resize(count);
    return receiveAll(socket, others.data(), count);
  }
  bool draft(const std::string &plan) override {
    return getpid() != owner || say(Message::Draft, 0, plan.data(), plan.size());
  }
  bool finish(const std::string &plan) override {
    // A copy of the process made by fork has no recording of its own.
    return getpid() != owner || (say(Message::Finish, 0, plan.data(), plan.size()) && reply() == 1);
  }

private:
  bool say(Message message, uint64_t value, const void *bytes, uint64_t count) {
    MessageHeader header{message, 0, value, count};
    return sendAll(socket, &header, sizeof header) && sendAll(socket, bytes, count);
  }
  uint64_t reply() {
    Reply words{0};
    return receiveAll(socket, &words, sizeof words) ? words.value : 0;
  }

  int socket;
  pid_t owner;
};

} // namespace

std::unique_ptr<RecordKeeper> kbrt::connectKeeper(const std::string &path) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) {
    errno = ENAMETOOLONG;
    return nullptr;
  }
  std::memcpy(address.sun_path, path.c_str(), path.size());
  int socket = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (socket < 0 || connect(socket, reinterpret_cast<sockaddr *>(&address), sizeof address) != 0) {
    if (socket >= 0)
      close(socket);
    return nullptr;
  }
  return std::make_unique<ChannelKeeper>(socket);
}
