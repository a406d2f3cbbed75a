//===- CurlHttp.cpp - libcurl, loaded when it is needed -------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Only types and constants come from curl's headers; the functions are looked up
// in the library that the system has, so that kb-opt starts without one.
//
//===----------------------------------------------------------------------===//
#define CURL_DISABLE_TYPECHECK
#define CURL_DISABLE_DEPRECATION
#include "kb-opt/LLM/Http.h"
#include "kb-opt/Support/Clock.h"
#include "kb-opt/Support/Interrupt.h"
#include <curl/curl.h>
#include <dlfcn.h>

using namespace kbopt;
using llvm::StringRef;
using End = HttpOutcome::End;

HttpClient::~HttpClient() = default;

namespace {

/// The functions of libcurl that are used, by their names.
struct Curl {
#define KBOPT_CURL_FUNCTIONS(X)                                                                    \
  X(global_init)                                                                                   \
  X(easy_init)                                                                                     \
  X(easy_setopt)                                                                                   \
  X(easy_getinfo)                                                                                  \
  X(easy_cleanup)                                                                                  \
  X(easy_strerror)                                                                                 \
  X(slist_append)                                                                                  \
  X(slist_free_all)                                                                                \
  X(multi_init)                                                                                    \
  X(multi_add_handle)                                                                              \
  X(multi_perform) X(multi_poll) X(multi_info_read) X(multi_remove_handle) X(multi_cleanup)
#define KBOPT_DECLARE(name) decltype(&::curl_##name) name = nullptr;
  KBOPT_CURL_FUNCTIONS(KBOPT_DECLARE)
#undef KBOPT_DECLARE

  /// Why there is none; empty if there is.
  std::string missing;

  Curl() {
    void *library = nullptr;
    for (const char *name : {"libcurl.so.4", "libcurl-gnutls.so.4", "libcurl-nss.so.4"})
      if ((library = ::dlopen(name, RTLD_NOW | RTLD_LOCAL)))
        break;
    if (!library) {
      missing = "libcurl is not installed";
      return;
    }
#define KBOPT_LOOK_UP(name)                                                                        \
  if (!(name = reinterpret_cast<decltype(name)>(::dlsym(library, "curl_" #name))))                 \
    missing = "the installed libcurl is too old: it has no curl_" #name;
    KBOPT_CURL_FUNCTIONS(KBOPT_LOOK_UP)
#undef KBOPT_LOOK_UP
    if (missing.empty() && global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
      missing = "libcurl cannot be initialised";
  }

  static const Curl &get() {
    static const Curl curl;
    return curl;
  }
};

/// One request from beginning to end, on one thread.
class Transfer {
public:
  Transfer(const Curl &curl, const HttpRequest &request, llvm::function_ref<bool(StringRef)> onData)
      : curl(curl), request(request), onData(onData) {}
  ~Transfer();
  HttpOutcome run();

private:
  void prepare();
  void drive();
  void conclude(CURLcode code);
  End endOf(CURLcode code) const;
  static size_t onBody(char *data, size_t size, size_t count, void *self);
  static size_t onHeader(char *data, size_t size, size_t count, void *self);
  void touch() { lastByte = realClock().monotonicSeconds(); }

  const Curl &curl;
  const HttpRequest &request;
  llvm::function_ref<bool(StringRef)> onData;
  CURL *easy = nullptr;
  CURLM *multi = nullptr;
  curl_slist *headers = nullptr;
  char detail[CURL_ERROR_SIZE] = {};
  HttpOutcome outcome;
  double lastByte = 0;
  bool stopped = false, tooLarge = false;
};

class CurlHttpClient : public HttpClient {
public:
  HttpOutcome post(const HttpRequest &request,
                   llvm::function_ref<bool(StringRef)> onData) override {
    const Curl &curl = Curl::get();
    if (curl.missing.empty())
      return Transfer(curl, request, onData).run();
    HttpOutcome outcome;
    outcome.end = End::NoLibrary;
    outcome.what = curl.missing;
    return outcome;
  }
};

} // namespace

Transfer::~Transfer() {
  if (multi && easy)
    curl.multi_remove_handle(multi, easy);
  if (easy)
    curl.easy_cleanup(easy);
  if (multi)
    curl.multi_cleanup(multi);
  curl.slist_free_all(headers);
}

size_t Transfer::onBody(char *data, size_t size, size_t count, void *opaque) {
  auto &self = *static_cast<Transfer *>(opaque);
  size_t bytes = size * count;
  self.touch();
  if (self.outcome.body.size() + bytes > self.request.replyBytes) {
    self.tooLarge = true;
    return 0;
  }
  self.outcome.body.append(data, bytes);
  long status = 0;
  self.curl.easy_getinfo(self.easy, CURLINFO_RESPONSE_CODE, &status);
  if (status == 200 && !self.onData(StringRef(data, bytes))) {
    self.stopped = true;
    return 0;
  }
  return bytes;
}

size_t Transfer::onHeader(char *data, size_t size, size_t count, void *opaque) {
  auto &self = *static_cast<Transfer *>(opaque);
  size_t bytes = size * count;
  self.touch();
  StringRef line = StringRef(data, bytes).trim();
  auto [name, value] = line.split(':');
  // Each answer begins with its status line, an interim "100 Continue" too.
  if (line.starts_with("HTTP/"))
    self.outcome.headers.clear();
  else if (!value.empty() && self.outcome.headers.size() < 200)
    self.outcome.headers[name.lower()] = value.trim().str();
  return bytes;
}

void Transfer::prepare() {
  auto set = [&](CURLoption option, auto value) { curl.easy_setopt(easy, option, value); };
  set(CURLOPT_URL, request.url.c_str());
  set(CURLOPT_PROTOCOLS, long(CURLPROTO_HTTP | CURLPROTO_HTTPS));
  set(CURLOPT_FOLLOWLOCATION, 0L);
  set(CURLOPT_SSL_VERIFYPEER, 1L);
  set(CURLOPT_SSL_VERIFYHOST, 2L);
  set(CURLOPT_NETRC, long(CURL_NETRC_IGNORED));
  set(CURLOPT_NOSIGNAL, 1L);
  set(CURLOPT_USERAGENT, "kb-opt");
  set(CURLOPT_ERRORBUFFER, detail);
  set(CURLOPT_CONNECTTIMEOUT_MS, std::max(1L, long(request.connectSeconds * 1000)));
  // A proxy of the environment would see what goes out unencrypted.
  if (!StringRef(request.url).starts_with("https:"))
    set(CURLOPT_PROXY, "");
  set(CURLOPT_POSTFIELDSIZE_LARGE, curl_off_t(request.body.size()));
  set(CURLOPT_POSTFIELDS, request.body.data());
  headers = curl.slist_append(headers, "Expect:");
  for (const auto &[name, value] : request.headers)
    headers = curl.slist_append(headers, (name + ": " + value).c_str());
  set(CURLOPT_HTTPHEADER, headers);
  set(CURLOPT_WRITEFUNCTION, &Transfer::onBody);
  set(CURLOPT_WRITEDATA, static_cast<void *>(this));
  set(CURLOPT_HEADERFUNCTION, &Transfer::onHeader);
  set(CURLOPT_HEADERDATA, static_cast<void *>(this));
}

End Transfer::endOf(CURLcode code) const {
  switch (code) {
  case CURLE_OK:
    return End::Complete;
  case CURLE_COULDNT_RESOLVE_HOST:
  case CURLE_COULDNT_RESOLVE_PROXY:
  case CURLE_COULDNT_CONNECT:
    return End::Unreachable;
  case CURLE_OPERATION_TIMEDOUT:
    return outcome.sent ? End::TimedOut : End::Unreachable; // only connecting is curl's to time
  case CURLE_SSL_CONNECT_ERROR:
  case CURLE_PEER_FAILED_VERIFICATION:
  case CURLE_SSL_CACERT_BADFILE:
  case CURLE_SSL_CERTPROBLEM:
  case CURLE_SSL_CIPHER:
    return End::Untrusted;
  default:
    return End::CutOff;
  }
}

void Transfer::conclude(CURLcode code) {
  curl_off_t up = 0;
  curl.easy_getinfo(easy, CURLINFO_SIZE_UPLOAD_T, &up);
  outcome.sent = up >= curl_off_t(request.body.size());
  if (tooLarge) {
    outcome.end = End::TooLarge;
    outcome.what = "more than " + std::to_string(request.replyBytes) + " bytes";
  } else if (!stopped) {
    outcome.end = endOf(code);
    if (code != CURLE_OK)
      outcome.what = *detail ? detail : curl.easy_strerror(code);
  }
}

void Transfer::drive() {
  double begin = realClock().monotonicSeconds();
  lastByte = begin;
  curl_off_t moved = 0;
  auto giveUp = [&](End end, const char *what) {
    conclude(CURLE_OK);
    outcome.end = end;
    outcome.what = what;
  };
  for (;;) {
    int running = 0, left = 0;
    curl.multi_perform(multi, &running);
    while (CURLMsg *message = curl.multi_info_read(multi, &left))
      if (message->msg == CURLMSG_DONE)
        return conclude(message->data.result);
    if (!running)
      return conclude(CURLE_RECV_ERROR);
    curl_off_t up = 0;
    curl.easy_getinfo(easy, CURLINFO_SIZE_UPLOAD_T, &up);
    if (up != moved) {
      moved = up;
      touch();
    }
    double now = realClock().monotonicSeconds();
    if (interrupted())
      return giveUp(End::Interrupted, "interrupted");
    if (now - begin >= request.totalSeconds)
      return giveUp(End::TimedOut, "no end of the reply");
    if (now - std::max(lastByte, begin) >= request.stallSeconds)
      return giveUp(End::Stalled, "not a byte");
    double wait =
        std::min({0.1, begin + request.totalSeconds - now, lastByte + request.stallSeconds - now});
    curl.multi_poll(multi, nullptr, 0, std::max(1, int(wait * 1000)), nullptr);
  }
}

HttpOutcome Transfer::run() {
  easy = curl.easy_init();
  multi = curl.multi_init();
  if (!easy || !multi) {
    outcome.end = End::NoLibrary;
    outcome.what = "libcurl gives no handle";
    return std::move(outcome);
  }
  prepare();
  curl.multi_add_handle(multi, easy);
  drive();
  long status = 0;
  curl.easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
  outcome.status = int(status);
  return std::move(outcome);
}

HttpClient &kbopt::curlHttpClient() {
  static CurlHttpClient client;
  return client;
}
