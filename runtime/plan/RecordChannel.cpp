//===- RecordChannel.cpp - The keeper's side of a recording -----------------===//
// SPDX-License-Identifier: Apache-2.0
#include "kbrt/RecordChannel.h"
#include "kbrt/RecordKeeper.h"
#include "kbrt/WholeTransfer.h"

#include <algorithm>
#include <climits>
#include <string>
#include <vector>

using namespace kbrt;

namespace {

class Server {
public:
  Server(int socket, RecordKeeper &keeper, uint64_t mostBytes)
      : socket(socket), keeper(keeper), mostBytes(mostBytes), piece(1 << 20) {}

  /// False where the conversation ends.
  bool serveOne() {
    MessageHeader header;
    if (!receiveAll(socket, &header, sizeof header))
      return false;
    switch (header.message) {
    case Message::Data:
      return append(Payload::Data, header.bytes);
    case Message::Observables:
      return append(Payload::Observables, header.bytes);
    case Message::Holds:
      return compare(header.value, header.bytes);
    case Message::Oracle: {
      OracleSize size = keeper.oracle();
      return sendAll(socket, &size, sizeof size);
    }
    case Message::Answer:
      return answer(header.value);
    case Message::OracleDevice: {
      std::string facts = keeper.oracleDevice();
      return reply(facts.size()) && sendAll(socket, facts.data(), facts.size());
    }
    case Message::Device:
    case Message::Draft:
    case Message::Finish: {
      std::string text;
      if (!receiveText(header.bytes, text))
        return false;
      return header.message == Message::Device  ? keeper.keepDevice(text)
             : header.message == Message::Draft ? keeper.draft(text)
                                                : reply(keeper.finish(text));
    }
    case Message::Replace: {
      std::string bytes;
      if (!receiveText(header.bytes, bytes))
        return false;
      std::vector<char> others;
      if (!keeper.replace(bytes.data(), bytes.size(), others))
        return reply(0);
      return reply(others.size()) && sendAll(socket, others.data(), others.size());
    }
    case Message::Step:
      return keeper.noteStep(header.value);
    case Message::File: {
      constexpr uint64_t mostPathBytes = 2 * PATH_MAX;
      std::string path;
      return header.bytes <= mostPathBytes && receiveText(header.bytes, path) &&
             keeper.noteFile(path);
    }
    }
    return false;
  }

private:
  bool reply(uint64_t value) {
    Reply words{value};
    return sendAll(socket, &words, sizeof words);
  }

  bool append(Payload payload, uint64_t count) {
    uint64_t &written = payload == Payload::Data ? dataBytes : observableBytes;
    if (count > mostBytes - std::min(mostBytes, written))
      return false;
    written += count;
    for (uint64_t wanted; count; count -= wanted) {
      wanted = std::min<uint64_t>(count, piece.size());
      if (!receiveAll(socket, piece.data(), wanted) ||
          !keeper.append(payload, piece.data(), wanted))
        return false;
    }
    return true;
  }

  bool compare(uint64_t place, uint64_t count) {
    bool isSame = true;
    for (uint64_t wanted; count; count -= wanted, place += wanted) {
      wanted = std::min<uint64_t>(count, piece.size());
      if (!receiveAll(socket, piece.data(), wanted))
        return false;
      isSame = isSame && keeper.holds(place, piece.data(), wanted);
    }
    return reply(isSame);
  }

  bool answer(uint64_t count) {
    const OracleSize size = keeper.oracle();
    if (count > size.bytes - answered)
      return reply(0);
    answered += count;
    if (!reply(count))
      return false;
    for (uint64_t wanted; count; count -= wanted) {
      wanted = std::min<uint64_t>(count, piece.size());
      if (!keeper.answer(piece.data(), wanted) || !sendAll(socket, piece.data(), wanted))
        return false;
    }
    return true;
  }

  bool receiveText(uint64_t count, std::string &text) {
    if (count > mostBytes)
      return false;
    for (uint64_t wanted; count; count -= wanted) {
      wanted = std::min<uint64_t>(count, piece.size());
      if (!receiveAll(socket, piece.data(), wanted))
        return false;
      text.append(piece.data(), wanted);
    }
    return true;
  }

  int socket;
  RecordKeeper &keeper;
  uint64_t mostBytes, dataBytes = 0, observableBytes = 0, answered = 0;
  std::vector<char> piece;
};

} // namespace

void kbrt::serveRecording(int socket, RecordKeeper &keeper, uint64_t mostBytes) {
  Server server(socket, keeper, mostBytes);
  while (server.serveOne()) {
  }
}
