//===- Signals.cpp - faults and the time limit ----------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "Signals.h"
#include "Machine.h"
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif

namespace kbrt {

namespace {
constexpr int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL};
struct sigaction previousFault[4], previousTimer;
timer_t timer;
/// After the limit the timer rings again at this pace until device code, and not the runtime, is
/// interrupted; after `patience` rings the launch is left wherever it is.
constexpr long ringNanoseconds = 5000000;
constexpr int patience = 400;
volatile sig_atomic_t rings = 0;

int countRing() {
  rings = rings + 1;
  return rings;
}

int timerSignal() { return SIGRTMIN + 5; }

bool isDeviceCode(const void *context) {
  auto *uc = static_cast<const ucontext_t *>(context);
#if defined(__x86_64__)
  auto pc = reinterpret_cast<const void *>(uc->uc_mcontext.gregs[REG_RIP]);
#else
  auto pc = reinterpret_cast<const void *>(uc->uc_mcontext.pc);
#endif
  return machine.image->contains(pc, 1);
}

std::string describeAddress(const void *p) {
  char hex[32];
  snprintf(hex, sizeof hex, "%p", p);
  if (!isDeviceAddress(p))
    return std::string("illegal address ") + hex +
           (p < reinterpret_cast<void *>(4096) ? " (null pointer)" : "");
  std::string text = std::string("illegal device address ") + hex;
  const MemoryBuffer *near = nullptr;
  auto address = reinterpret_cast<uint64_t>(p);
  for (const MemoryBuffer *buffer : DeviceMemory::get().liveBuffers())
    if (buffer->address <= address && (!near || buffer->address > near->address))
      near = buffer;
  if (near)
    text += ", " + std::to_string(address - near->address - near->bytes) +
            " bytes past the end of " + (near->name.empty() ? "a buffer" : near->name) + " of " +
            std::to_string(near->bytes) + " bytes";
  return text + "; it may have been freed";
}

/// The last known site is the place itself only where every access is one.
const char *orAfter() {
  bool isKnown = machine.lastSite < machine.info->siteCount;
  return isKnown && machine.info->mode != ImageMode::Check ? " or after" : "";
}

void onFault(int signal, siginfo_t *si, void *context) {
  if (!machine.isRunning) {
    for (unsigned i = 0; i < 4; ++i)
      if (faults[i] == signal) {
        sigaction(signal, &previousFault[i], nullptr);
        return; // the instruction runs again and meets the old handler
      }
  }
  std::string what;
  if (signal == SIGFPE)
    what = "integer division by zero or overflow";
  else if (signal == SIGILL)
    what = "illegal instruction";
  else if (machine.stacks.inGuard(si->si_addr))
    what = "stack overflow";
  else if (machine.sharedArena && static_cast<char *>(si->si_addr) >= machine.sharedArena &&
           static_cast<char *>(si->si_addr) < machine.sharedArena + machine.sharedArenaBytes)
    what = "address outside shared memory";
  else
    what = describeAddress(si->si_addr);
  if (!isDeviceCode(context))
    what += " (in the runtime on the kernel's behalf)";
  machine.stop(LaunchStatus::Fault, what + " in " + machine.whereAmI(machine.lastSite) + orAfter());
}

void onTimer(int, siginfo_t *, void *context) {
  if (!machine.isRunning)
    return;
  machine.timeoutPending = 1;
  if (!isDeviceCode(context) && countRing() < patience)
    return;
  machine.stop(LaunchStatus::Timeout,
               "the time limit was reached in " + machine.whereAmI(machine.lastSite) + orAfter());
}
} // namespace

SignalScope::SignalScope(double wallSeconds) {
  static thread_local void *alternate = nullptr;
  if (!alternate) {
    constexpr size_t bytes = 256 << 10;
    alternate = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    stack_t stack{};
    stack.ss_sp = alternate;
    stack.ss_size = bytes;
    sigaltstack(&stack, nullptr);
  }
  struct sigaction action{};
  action.sa_sigaction = onFault;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  for (unsigned i = 0; i < 4; ++i)
    sigaction(faults[i], &action, &previousFault[i]);
  machine.timeoutPending = 0;
  rings = 0;
  if (wallSeconds <= 0)
    return;
  action.sa_sigaction = onTimer;
  action.sa_flags |= SA_RESTART;
  sigaction(timerSignal(), &action, &previousTimer);
  struct sigevent event{};
  event.sigev_notify = SIGEV_THREAD_ID;
  event.sigev_signo = timerSignal();
  event.sigev_notify_thread_id = static_cast<pid_t>(syscall(SYS_gettid));
  if (timer_create(CLOCK_MONOTONIC, &event, &timer) != 0)
    return;
  hasTimer = true;
  struct itimerspec when{};
  when.it_value.tv_sec = static_cast<time_t>(wallSeconds);
  when.it_value.tv_nsec = static_cast<long>((wallSeconds - double(when.it_value.tv_sec)) * 1e9) + 1;
  when.it_interval.tv_nsec = ringNanoseconds;
  timer_settime(timer, 0, &when, nullptr);
}

SignalScope::~SignalScope() {
  if (hasTimer) {
    timer_delete(timer);
    sigaction(timerSignal(), &previousTimer, nullptr);
  }
  for (unsigned i = 0; i < 4; ++i)
    sigaction(faults[i], &previousFault[i], nullptr);
}

} // namespace kbrt
