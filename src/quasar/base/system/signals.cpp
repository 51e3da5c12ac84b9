#include "quasar/base/system/signals.hpp"

#ifndef _WIN32
#include <pthread.h>
#include <signal.h>
#include <unistd.h>
#endif

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <optional>
#include <thread>

#include "quasar/base/system/windows.hpp"

namespace quasar {
namespace {

// Never destroyed: the thread that waits for signals may be about to use it when the program ends.
std::stop_source& source() {
  static auto& instance = *new std::stop_source;
  return instance;
}

}  // namespace

std::stop_token stop_requested() {
  return source().get_token();
}

void request_stop() {
  source().request_stop();
}

#ifdef _WIN32
namespace {

std::atomic<bool> asked_to_stop = false;

// In a thread that Windows makes for it.
BOOL WINAPI on_console(DWORD event) {
  const bool again = asked_to_stop.exchange(true);
  if (again && (event == CTRL_C_EVENT || event == CTRL_BREAK_EVENT)) std::_Exit(130);
  source().request_stop();
  return TRUE;
}

}  // namespace

void catch_signals() {
  source();
  ::SetConsoleCtrlHandler(on_console, TRUE);
}

// Windows has none: writing fails.
void ignore_signals_of_writing() {}
#else
namespace {

bool is_ignored(int number) {
  struct sigaction known {};
  return sigaction(number, nullptr, &known) == 0 && known.sa_handler == SIG_IGN;
}

}  // namespace

// The signals are blocked in every thread and taken by one that waits for them, so that no handler runs in the middle of
// anything. One that is ignored is not among them: once blocked, it would come all the same.
void catch_signals() {
  source();
  sigset_t signals;
  sigemptyset(&signals);
  bool any = false;
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
    if (is_ignored(number)) continue;
    sigaddset(&signals, number);
    any = true;
  }
  if (!any) return;
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  std::thread([signals] {
    std::optional<std::chrono::steady_clock::time_point> first;
    for (;;) {
      int number = 0;
      sigwait(&signals, &number);
      // Shell and kernel may both tell of a terminal's end, and timeout(1) tells the process first, then its group.
      const auto now = std::chrono::steady_clock::now();
      if (number != SIGHUP && first && now > *first + std::chrono::milliseconds(250)) _exit(130);
      if (number != SIGHUP && !first) first = now;
      source().request_stop();
    }
  }).detach();
}

// Programs that are started get the usual handling (base/process.cpp).
void ignore_signals_of_writing() {
  signal(SIGPIPE, SIG_IGN);
  signal(SIGXFSZ, SIG_IGN);
}
#endif

}  // namespace quasar
