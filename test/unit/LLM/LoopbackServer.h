//===- LoopbackServer.h - A real HTTP server for tests ----------*- C++ -*-===//
//
// Owns a server on 127.0.0.1 that does whatever a test tells it to: sockets and one
// thread per connection, so that stalls, cuts and garbage are those of a network.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_TEST_UNIT_LLM_LOOPBACKSERVER_H
#define KBOPT_TEST_UNIT_LLM_LOOPBACKSERVER_H

#include "llvm/ADT/StringRef.h"
#include <atomic>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace kbopt {

struct ServedRequest {
  std::string method, path, body;
  std::map<std::string, std::string> headers; ///< names in lower case
};

class ServedConnection {
public:
  explicit ServedConnection(int socket) : socket(socket) {}
  /// False: the client has gone. So of the others.
  bool send(llvm::StringRef bytes);
  /// A whole reply. \p headers are lines "Name: value".
  void reply(int status, llvm::StringRef body, const std::vector<std::string> &headers = {});
  /// The head of a stream; then `chunk`s; then `endChunks`, or nothing: the connection is cut off.
  void beginChunks(llvm::StringRef type = "text/event-stream",
                   const std::vector<std::string> &headers = {});
  bool chunk(llvm::StringRef bytes);
  void endChunks() { send("0\r\n\r\n"); }
  /// Until the client goes away; at most ten seconds.
  void waitForHangUp();

private:
  int socket;
};

class LoopbackServer {
public:
  /// \p number counts requests from 0.
  using Handler = std::function<void(const ServedRequest &, size_t number, ServedConnection &)>;
  explicit LoopbackServer(Handler handler);
  ~LoopbackServer();

  /// "127.0.0.1:PORT".
  std::string host() const { return "127.0.0.1:" + std::to_string(port); }
  std::string url() const { return "http://" + host(); }
  std::vector<ServedRequest> requests();

private:
  void serve();
  void handle(int connection);

  Handler handler;
  int listener = -1;
  unsigned port = 0;
  std::mutex mutex;
  std::vector<ServedRequest> seen;
  std::vector<std::thread> workers;
  std::thread acceptor;
};

} // namespace kbopt

#endif // KBOPT_TEST_UNIT_LLM_LOOPBACKSERVER_H
