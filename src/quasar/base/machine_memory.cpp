#include "quasar/base/machine_memory.hpp"

#include <unistd.h>

#include "quasar/base/error.hpp"

namespace quasar {

size_t machine_memory() {
  return static_cast<size_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<size_t>(sysconf(_SC_PAGE_SIZE));
}

void check_memory(size_t bytes, const std::string& what) {
  if (bytes <= machine_memory()) return;
  throw Error(what + " takes " + std::to_string(bytes) + " bytes, but this machine has " + std::to_string(machine_memory()));
}

}  // namespace quasar
