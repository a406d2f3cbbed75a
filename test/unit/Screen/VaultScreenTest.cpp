#include "kb-opt/Screen/VaultScreen.h"
#include "kb-opt/Support/FileSystem.h"
#include "llvm/Support/FileSystem.h"
#include <cstdlib>
#include <filesystem>

using namespace kbopt;
namespace fs = std::filesystem;

namespace {

struct VaultScreenTest : testing::Test {
  TemporaryDirectory folder = llvm::cantFail(TemporaryDirectory::create("vault-test"));
  VaultScreenOptions options;
  std::vector<std::string> notices;

  std::string errorOf(llvm::Error error) {
    std::string text;
    llvm::raw_string_ostream os(text);
    reportError(os, "kb-opt", std::move(error));
    return text;
  }

  /// A plan of one kernel that takes a number and its output, recorded below \p name.
  ScreenSubject subject(const std::string &name, const std::string &kernel, int count = 1000) {
    const uint64_t bytes = 4000;
    kbrt::Plan plan;
    plan.buffers = {{bytes, kbrt::BufferKind::Device, 0x600000001000, kbrt::ElementType::I32, ""}};
    plan.steps.push_back(kbrt::AllocStep{0});
    plan.steps.push_back(kbrt::UploadStep{kbrt::Region::linear({0, 0}, bytes)});
    kbrt::LaunchStep launch;
    launch.kernel = kernel;
    launch.grid = {4, 1, 1};
    launch.block = {256, 1, 1};
    launch.arguments.resize(2);
    for (int i = 0; i < 4; ++i)
      launch.arguments[0].bytes.push_back(static_cast<uint8_t>(count >> 8 * i));
    launch.arguments[1].bytes = {0x00, 0x10, 0x00, 0x00, 0x00, 0x60, 0x00, 0x00};
    launch.arguments[1].pointers = {{0, {0, 0}}};
    plan.steps.push_back(std::move(launch));
    plan.steps.push_back(kbrt::ReadStep{kbrt::Region::linear({0, 0}, bytes)});
    plan.outcome.ending = kbrt::Ending::Exit;
    const std::string place = folder.file(name);
    llvm::cantFail(realFileSystem().createDirectories(place));
    std::string error;
    EXPECT_TRUE(kbrt::writePlan(plan, place, error)) << error;
    llvm::cantFail(realFileSystem().write(place + "/data.bin", std::string(bytes, '\0')));
    // The header of a cubin for sm_90, and the kernels' names where code would be.
    std::string image("\177ELF\2\1\1\0\10", 9);
    image.resize(18);
    image += std::string("\276\0", 2);
    image.resize(48);
    image += std::string("\0\132\0\0", 4);
    image.resize(64);
    llvm::cantFail(realFileSystem().write(place + "/image.cubin", image + kernel));
    return {place + "/image.cubin", {place}};
  }

  void useScript(const std::string &body) {
    const std::string script = folder.file("bin/kb-run");
    llvm::cantFail(realFileSystem().createDirectories(folder.file("bin")));
    llvm::cantFail(realFileSystem().write(script, "#!/bin/sh\ncd " + folder.path().str() + "\n" +
                                                      body + "\n"));
    llvm::sys::fs::setPermissions(script, llvm::sys::fs::perms::all_all);
    options.process.kbRun = script;
    options.process.sandboxed = false;
  }

  std::unique_ptr<ScreenDevice> device() {
    options.process.directory = folder.file("exchange");
    options.process.notice = [&](const std::string &text) { notices.push_back(text); };
    options.program = "x.cu";
    return llvm::cantFail(createVaultScreen(options));
  }
};

const char *const answering =
    R"(while read -r line; do echo "$line" >> asked; echo '{"version": 1, "status": "ok"}'; done)";

TEST_F(VaultScreenTest, AsksWhatIsWanted) {
  useScript(R"(read -r line; echo "$line" > job; ls exchange/original/plan0 > files
echo '{"version": 1, "status": "ok", "message": "", "set": 0, "originalUs": 12.5, "candidateUs": 0, "samples": 4,
 "matches": [[{"name": "output 0", "type": "f32", "elements": 7, "differing": 2, "otherClass": 1, "largestError": 0.5,
 "relativeL2": 1.7976931348623157e308}], []], "launches": [{"kernel": "k", "us": 3.5}], "peakDeviceBytes": 4000}' | tr -d '\n'
echo; cat)");
  auto device = this->device();
  ScreenRequest request;
  request.leastLimitSeconds = 0.5;
  request.isFresh = true;
  ScreenReport report = llvm::cantFail(device->open(subject("a", "k"), request));
  EXPECT_EQ(report.status, RunStatus::Ok);
  ASSERT_EQ(report.matches.size(), 2u);
  ASSERT_EQ(report.matches[0].size(), 1u);
  const OutputMatch &match = report.matches[0][0];
  EXPECT_EQ(match.name, "output 0");
  EXPECT_EQ(match.type, kbrt::ElementType::F32);
  EXPECT_EQ(match.elements, 7u);
  EXPECT_EQ(match.differing, 2u);
  EXPECT_EQ(match.otherClass, 1u);
  EXPECT_EQ(match.largestError, 0.5);
  EXPECT_EQ(match.relativeL2, std::numeric_limits<double>::max());
  EXPECT_EQ(report.originalUs, 12.5);
  EXPECT_EQ(report.samples, 4u);
  ASSERT_EQ(report.launches.size(), 1u);
  EXPECT_EQ(report.launches[0].us, 3.5);
  EXPECT_EQ(report.peakDeviceBytes, 4000u);
  auto job =
      llvm::cantFail(llvm::json::parse(llvm::cantFail(realFileSystem().read(folder.file("job")))));
  const llvm::json::Object &fields = *job.getAsObject();
  EXPECT_EQ(fields.getString("op"), llvm::StringRef("open"));
  EXPECT_EQ(fields.getString("name"), llvm::StringRef("x.cu"));
  EXPECT_EQ(fields.getNumber("leastLimitSeconds"), 0.5);
  EXPECT_EQ(fields.getBoolean("fresh"), true);
  EXPECT_EQ(llvm::cantFail(realFileSystem().read(folder.file("files"))), "data.bin\nplan.json\n");
}

TEST_F(VaultScreenTest, WhatAMachineLacksIsAnError) {
  useScript(
      R"(read -r line; echo '{"version": 1, "status": "out-of-memory", "message": "takes too much", "note": "free it"}'; cat)");
  auto report = device()->open(subject("a", "k"), {});
  EXPECT_EQ(errorOf(report.takeError()), "kb-opt: error: takes too much\nkb-opt: note: free it\n");
}

TEST_F(VaultScreenTest, WhatACandidateDoesIsReported) {
  useScript(
      R"(read -r line; echo '{"version": 1, "status": "ok"}'
while read -r line; do echo '{"version": 1, "status": "fault", "message": "an illegal address", "set": 1}'; done)");
  auto device = this->device();
  llvm::cantFail(device->open(subject("a", "k"), {}));
  ScreenReport report = llvm::cantFail(device->screen(subject("b", "k"), {}));
  EXPECT_EQ(report.status, RunStatus::Fault);
  EXPECT_EQ(report.message, "an illegal address");
  EXPECT_EQ(report.set, 1u);
  EXPECT_FALSE(fs::exists(folder.file("exchange/candidate0"))) << "files of a job go with it";
  EXPECT_TRUE(fs::exists(folder.file("exchange/original")));
}

TEST_F(VaultScreenTest, AVaultThatDiesIsOpenedAgain) {
  useScript("if [ ! -e died ]; then read -r a; echo '{\"version\": 1, \"status\": \"ok\"}'; "
            "read -r b; echo oops >&2; touch died; kill -9 $$; fi\n" +
            std::string(answering));
  auto device = this->device();
  llvm::cantFail(device->open(subject("a", "k"), {}));
  EXPECT_EQ(llvm::cantFail(device->screen(subject("b", "k"), {})).status, RunStatus::Ok);
  ASSERT_EQ(notices.size(), 1u);
  EXPECT_EQ(notices[0], "kb-run ended with signal 9 (killed): oops; it is started again");
  std::string asked = llvm::cantFail(realFileSystem().read(folder.file("asked")));
  EXPECT_NE(asked.find("\"open\""), std::string::npos);
  EXPECT_NE(asked.find("\"screen\""), std::string::npos);
}

TEST_F(VaultScreenTest, ACandidateDuringWhichTwoVaultsDieIsLost) {
  useScript("read -r a; echo '{\"version\": 1, \"status\": \"ok\"}'; read -r b; kill -9 $$");
  auto device = this->device();
  llvm::cantFail(device->open(subject("a", "k"), {}));
  ScreenReport report = llvm::cantFail(device->screen(subject("b", "k"), {}));
  EXPECT_EQ(report.status, RunStatus::Lost);
  EXPECT_EQ(report.message, "kb-run ended with signal 9 (killed)");
}

TEST_F(VaultScreenTest, AfterAMachinesFaultTheProgramIsOpenedAgain) {
  useScript(R"(while read -r line; do echo "$line" >> asked
if [ $(wc -l < asked) = 2 ]; then echo '{"version": 1, "status": "environment", "message": "no device"}'
else echo '{"version": 1, "status": "ok"}'; fi; done)");
  auto device = this->device();
  llvm::cantFail(device->open(subject("a", "k"), {}));
  EXPECT_EQ(errorOf(device->screen(subject("b", "k"), {}).takeError()),
            "kb-opt: error: no device\n");
  EXPECT_EQ(llvm::cantFail(device->screen(subject("b", "k"), {})).status, RunStatus::Ok);
  std::string asked = llvm::cantFail(realFileSystem().read(folder.file("asked")));
  EXPECT_EQ(llvm::StringRef(asked).count("\"open\""), 2u) << asked;
  EXPECT_EQ(llvm::StringRef(asked).count("\"screen\""), 2u) << asked;
}

TEST_F(VaultScreenTest, NonsenseIsAnError) {
  useScript("read -r a; echo hello; cat");
  auto report = device()->open(subject("a", "k"), {});
  EXPECT_NE(errorOf(report.takeError()).find("kb-run gave no result"), std::string::npos);
}

/// From here to the fake driver's kernels, in the sandbox where there is one.
TEST_F(VaultScreenTest, ScreensOnADriverThatPretends) {
  const fs::path build =
      fs::path(llvm::sys::fs::getMainExecutable(nullptr, nullptr)).parent_path() / "../../..";
  const std::string kbRun = fs::weakly_canonical(build / "bin/kb-run").string();
  const std::string driver = fs::weakly_canonical(build / "test/fake-cuda").string();
  if (!fs::exists(kbRun) || !fs::exists(driver + "/libcuda.so.1"))
    GTEST_SKIP() << "no fake driver beside " << kbRun;
  options.process.kbRun = kbRun;
  llvm::Error noSandbox = checkSandbox(realProcessRunner());
  options.process.sandboxed = !noSandbox;
  llvm::consumeError(std::move(noSandbox));
  setenv("LD_LIBRARY_PATH", driver.c_str(), 1);
  auto device = this->device();
  ScreenRequest request;
  ScreenReport report =
      llvm::cantFail(device->open(subject("original", "_Z8offByOneiPi"), request));
  ASSERT_EQ(report.status, RunStatus::Ok) << report.message;
  EXPECT_NEAR(report.originalUs, 20, 1e-3);
  report = llvm::cantFail(device->screen(subject("good", "_Z8offByOneiPi"), request));
  ASSERT_EQ(report.status, RunStatus::Ok) << report.message;
  ASSERT_EQ(report.matches.size(), 1u);
  EXPECT_EQ(report.matches[0][0].differing, 0u);
  EXPECT_NEAR(report.candidateUs, 20, 1e-3);
  report = llvm::cantFail(device->screen(subject("bad", "_Z14illegalAddressiPi"), request));
  EXPECT_EQ(report.status, RunStatus::Fault);
  report = llvm::cantFail(device->screen(subject("half", "_Z8offByOneiPi", 500), request));
  ASSERT_EQ(report.status, RunStatus::Ok) << report.message;
  EXPECT_EQ(report.matches[0][0].differing, 500u);
  EXPECT_TRUE(notices.empty());
}

} // namespace
