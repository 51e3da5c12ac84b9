#include "quasar/base/memory_cap.hpp"

#ifdef __linux__
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>
#endif

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <utility>

#include "quasar/base/machine.hpp"

namespace quasar {
namespace {

// What all caps of the process share.
struct State {
  std::mutex guard;
  size_t bytes = 0;              // of all caps together
  size_t lifted = 0;             // by so many
  uint64_t before = 0;           // the limit without any
  std::optional<uint64_t> most;  // the limit with them
};

State& state() {
  static State instance;
  return instance;
}

#ifdef __linux__
// Private writable memory, in bytes; 0: this system does not tell. Takes none itself.
size_t data_in_use() {
  char text[8192];
  const int file = ::open("/proc/self/status", O_RDONLY | O_CLOEXEC);
  if (file < 0) return 0;
  const ssize_t count = ::read(file, text, sizeof(text) - 1);
  ::close(file);
  text[count > 0 ? count : 0] = 0;
  const char* const found = std::strstr(text, "VmData:");
  return found == nullptr ? 0 : std::strtoull(found + std::strlen("VmData:"), nullptr, 10) << 10;
}

// Threads that work makes for itself count with their whole stack, of which they touch next to nothing.
size_t stacks() {
  rlimit limit{};
  getrlimit(RLIMIT_STACK, &limit);
  const rlim_t usual = rlim_t{8} << 20;
  return cores() * (limit.rlim_cur == RLIM_INFINITY ? usual : limit.rlim_cur);
}

uint64_t soft_limit() {
  rlimit limit{};
  getrlimit(RLIMIT_DATA, &limit);
  return limit.rlim_cur;
}

void limit_to(uint64_t soft) {
  rlimit limit{};
  getrlimit(RLIMIT_DATA, &limit);
  limit.rlim_cur = soft < limit.rlim_max ? soft : limit.rlim_max;
  setrlimit(RLIMIT_DATA, &limit);
}
#else
// No other system tells what a process has of such memory, and so nothing is capped there.
size_t data_in_use() {
  return 0;
}
size_t stacks() {
  return 0;
}
uint64_t soft_limit() {
  return 0;
}
void limit_to(uint64_t) {}
#endif

void apply(const State& all) {
  limit_to(all.most && all.lifted == 0 ? *all.most : all.before);
}

thread_local size_t lifted_here = 0;  // by this thread

void lift(size_t count) {
  State& all = state();
  const std::scoped_lock lock(all.guard);
  all.lifted += count;
  if (all.most) apply(all);
}

void lower(size_t count) {
  State& all = state();
  const std::scoped_lock lock(all.guard);
  all.lifted -= count;
  if (all.most) apply(all);
}

}  // namespace

MemoryCap::MemoryCap(size_t bytes) : bytes_(bytes) {
  if (bytes_ == 0) return;
  State& all = state();
  const std::scoped_lock lock(all.guard);
  if (all.bytes == 0) all.before = soft_limit();
  all.bytes += bytes_;
  const size_t used = data_in_use();
  if (used == 0) return;
  all.most = std::min<uint64_t>(used + all.bytes + stacks(), all.before);
  apply(all);
}

MemoryCap::~MemoryCap() {
  if (bytes_ == 0) return;
  State& all = state();
  const std::scoped_lock lock(all.guard);
  all.bytes -= bytes_;
  if (all.bytes > 0 || !all.most) return;  // the others' limit stays
  all.most.reset();
  apply(all);
}

Uncapped::Uncapped() {
  lift(1);
  ++lifted_here;
}

Uncapped::~Uncapped() {
  --lifted_here;
  lower(1);
}

CappedMeanwhile::CappedMeanwhile() : lifted_(std::exchange(lifted_here, 0)) {
  lower(lifted_);
}

CappedMeanwhile::~CappedMeanwhile() {
  lift(lifted_);
  lifted_here += lifted_;
}

std::optional<size_t> capped_memory() {
  State& all = state();
  const std::scoped_lock lock(all.guard);
  return all.most ? std::optional<size_t>(*all.most) : std::nullopt;
}

}  // namespace quasar
