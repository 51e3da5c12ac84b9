// One line of text for what happens to a trial, as in auto_search.log.
#pragma once

#include <string>

#include "quasar/search/run.hpp"

namespace quasar::report {

// What became of it. `objective` names the metric of its value.
std::string in_words(const search::Trial& trial, const std::string& objective);

// "trial 3 started: activation=…" or "trial 3 L2 0.0123 (0.02 s); activation=…".
std::string line_of(const search::Event& event, const std::string& objective);

}  // namespace quasar::report
