#include "quasar/cli/signals.hpp"

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <optional>
#include <thread>

namespace quasar::cli {
namespace {

// Never destroyed: the thread that waits for signals may be about to use it when the program ends.
std::stop_source& source() {
  static auto& instance = *new std::stop_source;
  return instance;
}

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
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
    if (!is_ignored(number)) sigaddset(&signals, number);
  }
  if (sigisemptyset(&signals) != 0) return;
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

std::stop_token stop_requested() {
  return source().get_token();
}

}  // namespace quasar::cli
