//===- LoopbackServer.cpp -------------------------------------------------===//
#include "LoopbackServer.h"
#include "llvm/ADT/StringExtras.h"
#include <arpa/inet.h>
#include <cassert>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

using namespace kbopt;
using llvm::StringRef;

bool ServedConnection::send(StringRef bytes) {
  while (!bytes.empty()) {
    ssize_t put = ::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (put <= 0)
      return false;
    bytes = bytes.drop_front(put);
  }
  return true;
}

static std::string head(int status, const std::vector<std::string> &headers) {
  std::string text = "HTTP/1.1 " + std::to_string(status) + " Whatever\r\nConnection: close\r\n";
  for (const std::string &header : headers)
    text += header + "\r\n";
  return text;
}

void ServedConnection::reply(int status, StringRef body, const std::vector<std::string> &headers) {
  send(head(status, headers) + "Content-Type: application/json\r\nContent-Length: " +
       std::to_string(body.size()) + "\r\n\r\n" + body.str());
}

void ServedConnection::beginChunks(StringRef type, const std::vector<std::string> &headers) {
  send(head(200, headers) + "Content-Type: " + type.str() +
       "\r\nTransfer-Encoding: chunked\r\n\r\n");
}

bool ServedConnection::chunk(StringRef bytes) {
  return send(llvm::utohexstr(bytes.size()) + "\r\n" + bytes.str() + "\r\n");
}

void ServedConnection::waitForHangUp() {
  pollfd polled = {socket, POLLIN, 0};
  ::poll(&polled, 1, 10000);
}

LoopbackServer::LoopbackServer(Handler handler) : handler(std::move(handler)) {
  listener = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof(address);
  bool listens = ::bind(listener, reinterpret_cast<sockaddr *>(&address), length) == 0 &&
                 ::listen(listener, 64) == 0 &&
                 ::getsockname(listener, reinterpret_cast<sockaddr *>(&address), &length) == 0;
  assert(listens && "no socket on loopback");
  (void)listens;
  port = ntohs(address.sin_port);
  acceptor = std::thread([this] { serve(); });
}

LoopbackServer::~LoopbackServer() {
  ::shutdown(listener, SHUT_RDWR);
  acceptor.join();
  for (std::thread &worker : workers)
    worker.join();
  ::close(listener);
}

std::vector<ServedRequest> LoopbackServer::requests() {
  std::lock_guard<std::mutex> lock(mutex);
  return seen;
}

void LoopbackServer::serve() {
  for (;;) {
    int connection = ::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
    if (connection < 0)
      return;
    workers.emplace_back([this, connection] { handle(connection); });
  }
}

static ServedRequest parseHead(StringRef text) {
  ServedRequest request;
  auto [first, rest] = text.split("\r\n");
  auto [method, target] = first.split(' ');
  request.method = method.str();
  request.path = target.split(' ').first.str();
  while (!rest.empty()) {
    StringRef line;
    std::tie(line, rest) = rest.split("\r\n");
    auto [name, value] = line.split(':');
    request.headers[name.lower()] = value.trim().str();
  }
  return request;
}

void LoopbackServer::handle(int connection) {
  std::string bytes;
  char buffer[65536];
  size_t headEnd = std::string::npos, wanted = 0;
  ServedRequest request;
  for (;;) {
    if (headEnd == std::string::npos && (headEnd = bytes.find("\r\n\r\n")) != std::string::npos) {
      request = parseHead(StringRef(bytes).take_front(headEnd));
      StringRef(request.headers["content-length"]).getAsInteger(10, wanted);
      headEnd += 4;
    }
    if (headEnd != std::string::npos && bytes.size() >= headEnd + wanted)
      break;
    ssize_t got = ::read(connection, buffer, sizeof(buffer));
    if (got <= 0) {
      ::close(connection);
      return;
    }
    bytes.append(buffer, got);
  }
  request.body = bytes.substr(headEnd);
  size_t number;
  {
    std::lock_guard<std::mutex> lock(mutex);
    number = seen.size();
    seen.push_back(request);
  }
  ServedConnection served(connection);
  handler(request, number, served);
  ::shutdown(connection, SHUT_WR);
  ::close(connection);
}
