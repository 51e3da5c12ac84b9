// result.json: what a search found, for programs.
#pragma once

#include <filesystem>

#include "quasar/tune/search.hpp"

namespace quasar::report {

// The contract's result.json.
Json result_json(const tune::Job& job, const tune::Summary& summary);

// "ok", "goal_missed", "no_candidate" or "interrupted".
std::string name_of(tune::Status status);

// The table that the terminal shows at the end, at most 80 columns wide: float, default configuration and best side by side.
std::string result_table(const tune::Job& job, const tune::Summary& summary);

}  // namespace quasar::report
