// What a worker does before it joins its search: it ends when the search does.
#pragma once

#include <atomic>
#include <optional>
#include <string>

#include "quasar/worker/search_to_join.hpp"
#include "quasar/worker/watch.hpp"

namespace quasar::tune {

class Preparation {
 public:
  // Stops its token when there is nothing to be joined any more, as one sees every `seconds`, or when `outer` stops. `awaited`
  // outlives it.
  Preparation(SearchToJoin& awaited, double seconds, std::stop_token outer);

  std::stop_token token() const { return watch_.token(); }
  void is_done() { done_ = true; }  // the search was joined, and is watched by others

  // After Cancelled: why the search has ended; nullopt: the work was stopped from outside. Throws LaunchGone.
  std::optional<std::string> reason() const;

 private:
  bool is_needless(SearchToJoin& awaited);

  std::atomic<bool> done_ = false;
  std::optional<std::string> reason_;
  std::optional<LaunchGone> gone_;
  Watch watch_;  // the last member: it ends first
};

}  // namespace quasar::tune
