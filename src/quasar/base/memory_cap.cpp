#include "quasar/base/memory_cap.hpp"

#include <sys/resource.h>

#include <fstream>
#include <mutex>
#include <string>

namespace quasar {
namespace {

// What all caps of the process share.
struct State {
  std::mutex guard;
  size_t bytes = 0;   // of all caps together
  rlim_t before = 0;  // the limit without any
  bool limited = false;
};

State& state() {
  static State instance;
  return instance;
}

// Private writable memory, in bytes; 0: this system does not tell.
size_t data_in_use() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    size_t kilobytes = 0;
    if (word == "VmData:" && status >> kilobytes) return kilobytes << 10;
  }
  return 0;
}

void limit_to(rlim_t soft) {
  rlimit limit{};
  getrlimit(RLIMIT_DATA, &limit);
  limit.rlim_cur = soft < limit.rlim_max ? soft : limit.rlim_max;
  setrlimit(RLIMIT_DATA, &limit);
}

}  // namespace

MemoryCap::MemoryCap(size_t bytes) : bytes_(bytes) {
  if (bytes_ == 0) return;
  State& all = state();
  const std::scoped_lock lock(all.guard);
  if (!all.limited) {
    rlimit limit{};
    getrlimit(RLIMIT_DATA, &limit);
    all.before = limit.rlim_cur;
  }
  all.limited = true;
  all.bytes += bytes_;
  const size_t used = data_in_use();
  if (used > 0) limit_to(used + all.bytes);
}

MemoryCap::~MemoryCap() {
  if (bytes_ == 0) return;
  State& all = state();
  const std::scoped_lock lock(all.guard);
  all.bytes -= bytes_;
  if (all.bytes > 0) return;  // the others' limit stays
  limit_to(all.before);
  all.limited = false;
}

}  // namespace quasar
