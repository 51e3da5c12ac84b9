#include "quasar/base/freed_memory.hpp"

#include <cstdlib>  // defines __GLIBC__
#ifdef __GLIBC__
#include <malloc.h>
#endif

#include <mutex>

namespace quasar {
namespace {

std::mutex guard;
bool keeps = false;
int exceptions = 0;  // KeepsNoLargeBlocks that live

void set_threshold([[maybe_unused]] int bytes) {
#ifdef __GLIBC__
  mallopt(M_MMAP_THRESHOLD, bytes);
#endif
}

constexpr int kept_below = 32 << 20;
constexpr int always_kept_below = 1 << 20;

}  // namespace

void keep_freed_memory() {
  const std::lock_guard lock(guard);
  keeps = true;
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
  const std::lock_guard lock(guard);
  if (exceptions++ == 0 && keeps) set_threshold(always_kept_below);
}

KeepsNoLargeBlocks::~KeepsNoLargeBlocks() {
  const std::lock_guard lock(guard);
  if (--exceptions == 0 && keeps) set_threshold(kept_below);
}

}  // namespace quasar
