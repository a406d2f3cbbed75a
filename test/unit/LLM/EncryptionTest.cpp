#include "Service.h"
#include "kb-opt/Support/ChildProcess.h"
#include "gtest/gtest.h"

using namespace kbopt;

/// OpenSSL's own server with a certificate that nobody vouches for; its port, or "" without
/// OpenSSL.
static std::string startServer(const TemporaryDirectory &folder,
                               std::unique_ptr<ChildProcess> &server) {
  if (!findProgram("openssl"))
    return "";
  ProcessRequest make;
  make.argv = {"openssl",  "req",
               "-x509",    "-newkey",
               "rsa:2048", "-nodes",
               "-keyout",  folder.file("key"),
               "-out",     folder.file("certificate"),
               "-days",    "2",
               "-subj",    "/CN=localhost",
               "-addext",  "subjectAltName=DNS:localhost"};
  make.wallSeconds = 60;
  if (!llvm::cantFail(realProcessRunner().run(make)).succeeded())
    return "";
  ProcessRequest serve;
  serve.argv = {"openssl",     "s_server",        "-accept",
                "127.0.0.1:0", "-cert",           folder.file("certificate"),
                "-key",        folder.file("key")};
  server = llvm::cantFail(ChildProcess::start(serve));
  std::string line;
  while (server->ask("", 20, 4096, line) == ChildProcess::Reply::Line)
    if (llvm::StringRef(line).starts_with("ACCEPT "))
      return llvm::StringRef(line).rsplit(':').second.str();
  return "";
}

TEST(Encryption, ACertificateThatNobodyVouchesFor) {
  auto folder = llvm::cantFail(TemporaryDirectory::create("kbopt-tls"));
  std::unique_ptr<ChildProcess> server;
  std::string port = startServer(folder, server);
  if (port.empty())
    GTEST_SKIP() << "no openssl";
  LoopbackServer unused([](const ServedRequest &, size_t, ServedConnection &) {});
  Client client(unused, /*openAi=*/true, [&](ModelSettings &settings) {
    settings.baseUrl = "https://localhost:" + port + "/v1";
  });
  std::string error = errorText(client.model->complete(question("a")));
  EXPECT_NE(error.find("'localhost:" + port + "' is not trusted: "), std::string::npos) << error;
  EXPECT_NE(error.find("certificate"), std::string::npos) << error;
  EXPECT_TRUE(client.clock.waits().empty()) << "trying again does not help";
  EXPECT_EQ(client.model->total().calls, 0u);
}
