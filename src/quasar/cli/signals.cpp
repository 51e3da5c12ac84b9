#include "quasar/cli/signals.hpp"

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <thread>

namespace quasar::cli {
namespace {

std::stop_source& source() {
  static std::stop_source instance;
  return instance;
}

}  // namespace

// The signals are blocked in every thread and taken by one that waits for them, so that no handler runs in the middle of
// anything.
void catch_signals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  source();
  std::thread([signals] {
    for (int count = 0;; ++count) {
      int number = 0;
      sigwait(&signals, &number);
      if (count > 0) _exit(130);
      source().request_stop();
    }
  }).detach();
}

std::stop_token stop_requested() {
  return source().get_token();
}

}  // namespace quasar::cli
