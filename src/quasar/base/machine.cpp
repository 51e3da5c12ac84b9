#include "quasar/base/machine.hpp"

#ifndef _WIN32
#include <unistd.h>
#endif
#ifdef __linux__
#include <sched.h>
#endif
#ifdef __GLIBC__  // defined by any of its headers
#include <malloc.h>
#endif

#include <algorithm>
#include <mutex>
#include <thread>

#include "quasar/base/error.hpp"
#include "quasar/base/system/shared_machine.hpp"
#include "quasar/base/system/windows.hpp"

namespace quasar {
namespace {

std::mutex freeing_guard;
bool keeps_freed = false;
int sparing_lives = 0;  // KeepsNoLargeBlocks that live

void set_threshold([[maybe_unused]] int bytes) {
#ifdef __GLIBC__
  mallopt(M_MMAP_THRESHOLD, bytes);
#endif
}

constexpr int kept_below = 32 << 20;
constexpr int always_kept_below = 1 << 20;

}  // namespace

namespace {

// A launcher that binds processes to cores has shared them out already.
size_t shared_out(size_t mine, size_t all) {
  static const size_t processes = processes_here();
  return mine < all ? mine : std::max<size_t>(1, mine / processes);
}

}  // namespace

size_t cores() {
  const size_t all = std::max(1U, std::thread::hardware_concurrency());
#ifdef __linux__
  cpu_set_t set;
  CPU_ZERO(&set);
  const auto online = static_cast<size_t>(std::max(1L, sysconf(_SC_NPROCESSORS_ONLN)));
  if (sched_getaffinity(0, sizeof(set), &set) == 0) return shared_out(static_cast<size_t>(std::max(1, CPU_COUNT(&set))), online);
#endif
  return shared_out(all, all);
}

size_t machine_memory() {
#ifdef _WIN32
  MEMORYSTATUSEX memory{};
  memory.dwLength = sizeof(memory);
  ::GlobalMemoryStatusEx(&memory);
  return static_cast<size_t>(memory.ullTotalPhys);
#else
  return static_cast<size_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<size_t>(sysconf(_SC_PAGE_SIZE));
#endif
}

void check_memory(size_t bytes, const std::string& what) {
  if (bytes <= machine_memory()) return;
  throw Error(what + " takes " + std::to_string(bytes) + " bytes, but this machine has " + std::to_string(machine_memory()));
}

void keep_freed_memory() {
  const std::lock_guard lock(freeing_guard);
  keeps_freed = true;
  set_threshold(kept_below);
#ifdef __GLIBC__
  mallopt(M_TRIM_THRESHOLD, 256 << 20);
  mallopt(M_TOP_PAD, 16 << 20);
#endif
}

void give_back_memory() {
#ifdef __GLIBC__
  malloc_trim(0);
#endif
}

KeepsNoLargeBlocks::KeepsNoLargeBlocks() {
  const std::lock_guard lock(freeing_guard);
  if (sparing_lives++ == 0 && keeps_freed) set_threshold(always_kept_below);
}

KeepsNoLargeBlocks::~KeepsNoLargeBlocks() {
  const std::lock_guard lock(freeing_guard);
  if (--sparing_lives == 0 && keeps_freed) set_threshold(kept_below);
}

}  // namespace quasar
