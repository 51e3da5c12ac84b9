#include "quasar/base/parallel.hpp"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "quasar/base/cancellation.hpp"
#include "quasar/base/machine.hpp"
#include "quasar/base/memory_cap.hpp"

namespace quasar {

void parallel_for(size_t count, size_t threads, const std::function<void(size_t)>& work) {
  threads = std::min(threads == 0 ? cores() : threads, count);
  if (threads <= 1) {
    for (size_t i = 0; i < count; ++i) {
      throw_if_cancelled();
      work(i);
    }
    return;
  }
  std::atomic<size_t> next{0};
  std::exception_ptr failure;
  std::mutex guard;
  const auto run = [&, token = current_cancellation()] {
    std::optional<Uncapped> begin(std::in_place);  // a thread that finds no memory for its beginnings ends the program
    const CancelScope scope(token);
    begin.reset();
    for (size_t i = next++; i < count; i = next++) {
      try {
        throw_if_cancelled();
        work(i);
      } catch (...) {
        const std::lock_guard lock(guard);
        if (!failure) failure = std::current_exception();
        next = count;
      }
    }
  };
  {
    std::vector<std::jthread> helpers;
    for (size_t t = 1; t < threads; ++t) helpers.emplace_back(run);
    run();
  }
  if (failure) std::rethrow_exception(failure);
}

void do_parts(const PartedWork& work) {
  std::mutex one_by_one;
  std::atomic<bool> enough{false};
  parallel_for(work.parts, work.threads, [&](size_t part) {
    if (enough) return;
    const std::vector<double> numbers = work.work(part);
    const std::lock_guard lock(one_by_one);
    if (!enough && !work.tell(part, numbers)) enough = true;
  });
}

}  // namespace quasar
