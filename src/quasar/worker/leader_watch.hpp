// Lets a worker go whose leader has died and does not come back: nobody else would ever say that the time is up.
#pragma once

#include <optional>

#include "quasar/search/study.hpp"
#include "quasar/worker/watch.hpp"

namespace quasar::tune {

class LeaderWatch : public Watch {
 public:
  // Stops its token when nobody has led the search of `study` for `seconds` (nullopt: whatever happens), or when `outer` stops.
  // The study outlives it, and is not touched but for its storage.
  LeaderWatch(const search::Study& study, std::optional<double> seconds, std::stop_token outer);
};

}  // namespace quasar::tune
