//===- PipedServer.h - A kb-run behind walls ---------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns one `kb-run serve -` in a sandbox, for a worker that holds the connection
// to a database: what runs jobs must not see it, nor passwords, nor the network.
//
//===----------------------------------------------------------------------===//
#ifndef KBRUN_PIPEDSERVER_H
#define KBRUN_PIPEDSERVER_H

#include <cstdint>
#include <functional>
#include <string>
#include <sys/types.h>
#include <vector>

namespace kbrun {

struct PipedServerOptions {
  std::string folder; ///< that it reads; it writes to "outputs" below it
  bool sandboxed = true;
  bool seesGpus = true;
};

class PipedServer {
public:
  enum class Reply {
    Line,    ///< an answer
    Ended,   ///< the server died
    Late,    ///< no answer in time; the server was ended
    GivenUp, ///< `mayGoOn` said no; the server was ended
  };

  explicit PipedServer(PipedServerOptions options) : options(std::move(options)) {}
  ~PipedServer() { stop(); }
  PipedServer(const PipedServer &) = delete;

  /// Sends \p line, without a newline, and waits for the answer for at most \p seconds (0: for
  /// ever). Starts a server where there is none, or one with another limit of address space;
  /// \p memoryBytes 0: no limit. Calls \p mayGoOn several times a second. \p text: the answer, or
  /// what is known of the end.
  Reply ask(const std::string &line, double seconds, uint64_t memoryBytes,
            const std::function<bool()> &mayGoOn, std::string &text);
  void stop();

private:
  bool start(std::string &why);
  std::vector<std::string> command() const;
  std::string ending();

  PipedServerOptions options;
  pid_t process = -1;
  int input = -1, output = -1; ///< of the server
  uint64_t limit = 0;          ///< of its address space
  std::string pending;         ///< read, and not a whole line yet
};

} // namespace kbrun

#endif // KBRUN_PIPEDSERVER_H
