#include "quasar/graph/page_out.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>

namespace quasar::graph {

void page_out(std::span<const std::byte> bytes) {
#ifdef MADV_PAGEOUT
  constexpr size_t worth_it = size_t{1} << 20;
  if (bytes.size() < worth_it) return;
  const auto page = static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE));
  const auto first = (reinterpret_cast<uintptr_t>(bytes.data()) + page - 1) / page * page;
  const auto last = reinterpret_cast<uintptr_t>(bytes.data() + bytes.size()) / page * page;
  if (first < last)
    ::madvise(reinterpret_cast<void*>(first), last - first, MADV_PAGEOUT);  // advice: what it answers changes nothing
#endif
}

void page_out(const Model& model) {
  for (const auto& [name, tensor] : model.initializers) page_out(tensor.bytes());
}

}  // namespace quasar::graph
