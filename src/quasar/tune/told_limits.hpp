// How far a search goes, told in its study for whoever looks from elsewhere: `quasar status` knows neither space nor strategy.
#pragma once

#include "quasar/base/deadline.hpp"
#include "quasar/search/run.hpp"

namespace quasar::tune {

// A user attribute of the study, {stage, total, until_us}: finished trials of this stage, and microseconds since 1970 as trials
// have them; null where there is no such limit.
inline constexpr const char* limits_attribute = "limits";

// A listener that sets it whenever another stage begins or the total changes, and then calls
// `next` (empty: nobody). `end`: by a time limit; nullopt: there is none. The study outlives it.
search::Listener telling_limits(search::Study& study, std::optional<Deadline::Clock::time_point> end, search::Listener next);

}  // namespace quasar::tune
