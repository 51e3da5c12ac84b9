// What racers of several processes tell each other through the study.
#pragma once

namespace quasar::search {

// A user attribute: the values of every sample, in the race's order, of a trial that was the best so far of its process.
inline constexpr const char* best_values_attribute = "values_by_sample";

}  // namespace quasar::search
