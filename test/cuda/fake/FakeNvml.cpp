//===- FakeNvml.cpp - NVML of the fake driver -----------------------------===//
//
// A libnvidia-ml.so.1 for tests. It tells of a device that others use when the
// environment variable KB_FAKE_BUSY is set.
//
//===----------------------------------------------------------------------===//
#include <cstdio>
#include <cstdlib>

namespace {

bool isBusy() { return std::getenv("KB_FAKE_BUSY") != nullptr; }

} // namespace

extern "C" {

int nvmlInit_v2() { return 0; }
int nvmlDeviceGetHandleByPciBusId_v2(const char *, void **device) {
  *device = device;
  return 0;
}
int nvmlSystemGetDriverVersion(char *text, unsigned bytes) {
  std::snprintf(text, bytes, "580.0");
  return 0;
}
int nvmlDeviceGetUtilizationRates(void *, unsigned *rates) {
  rates[0] = isBusy() ? 97 : 0;
  rates[1] = 0;
  return 0;
}
int nvmlDeviceGetTotalEccErrors(void *, int, int, unsigned long long *errors) {
  *errors = isBusy() ? 3 : 0;
  return 0;
}
int nvmlDeviceGetCurrentClocksEventReasons(void *, unsigned long long *reasons) {
  *reasons = isBusy() ? 0x20 : 1;
  return 0;
}
int nvmlDeviceGetComputeRunningProcesses_v3(void *, unsigned *count, unsigned *processes) {
  *count = isBusy() ? 1 : 0;
  processes[0] = 1; // its process id
  return 0;
}

} // extern "C"
