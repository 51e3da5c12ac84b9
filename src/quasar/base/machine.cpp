#include "quasar/base/machine.hpp"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <thread>

#include "quasar/base/error.hpp"

namespace quasar {

size_t cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof(set), &set) == 0) return std::max(1, CPU_COUNT(&set));
  return std::max(1U, std::thread::hardware_concurrency());
}

size_t machine_memory() {
  return static_cast<size_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<size_t>(sysconf(_SC_PAGE_SIZE));
}

void check_memory(size_t bytes, const std::string& what) {
  if (bytes <= machine_memory()) return;
  throw Error(what + " takes " + std::to_string(bytes) + " bytes, but this machine has " + std::to_string(machine_memory()));
}

}  // namespace quasar
