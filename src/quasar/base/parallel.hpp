// Work spread over threads, with results that do not depend on their number.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace quasar {

// Calls work(i) once for every i in 0 … count-1 on up to `threads` threads (0: all cores). The order is not defined; write to
// slot i only. The first exception stops the rest and is thrown again here; so does Cancelled, when the caller's work is
// cancelled (base/cancellation.hpp).
void parallel_for(size_t count, size_t threads, const std::function<void(size_t)>& work);

// Work in parts that give numbers, which processes may share: a part gives the same numbers wherever it is done.
struct PartedWork {
  std::string name;  // other work has another name, the same work the same everywhere
  size_t parts = 0;
  size_t threads = 0;                                         // 0: all cores
  std::function<size_t(size_t part)> numbers = {};            // how many a part gives
  std::function<std::vector<double>(size_t part)> work = {};  // called from several threads
  // Told of a part's numbers, one call at a time, in no certain order; false: the parts that are left are not needed.
  std::function<bool(size_t part, std::span<const double> numbers)> tell = {};
  bool at_hand = false;  // work() has its numbers already
};

// Does the work here.
void do_parts(const PartedWork& work);

// Does the work, here or elsewhere; empty: here.
using Sharer = std::function<void(const PartedWork&)>;
inline void do_parts(const Sharer& sharer, const PartedWork& work) {
  sharer ? sharer(work) : do_parts(work);
}

}  // namespace quasar
