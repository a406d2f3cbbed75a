//===- Link.h - messages between two kb-runs --------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the socket between the process that holds the device's memory and one that
// runs candidates: messages of JSON, and file descriptors beside them.
//
//===----------------------------------------------------------------------===//
#ifndef KBRUN_LINK_H
#define KBRUN_LINK_H

#include <nlohmann/json.hpp>
#include <vector>

namespace kbrun {

class Link {
public:
  /// Takes \p socket over.
  explicit Link(int socket) : socket(socket) {}
  ~Link();
  Link(const Link &) = delete;
  Link &operator=(const Link &) = delete;

  /// False if the other end is gone. Descriptors stay the caller's.
  bool send(const nlohmann::ordered_json &message, const std::vector<int> &descriptors = {});

  enum class Received { Message, Late, Ended };
  /// Waits for the next message, at most \p milliseconds; -1: for ever. What is there of one that
  /// is late is kept for the next call. New descriptors replace those that were not taken.
  Received receive(nlohmann::ordered_json &message, int milliseconds);
  /// Those that came with the last message; the caller closes them.
  std::vector<int> takeDescriptors() { return std::exchange(descriptors, {}); }

private:
  void dropDescriptors();

  int socket;
  std::string pending; ///< read, not yet a whole message
  std::vector<int> descriptors;
};

} // namespace kbrun
#endif
