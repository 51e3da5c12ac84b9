// What a strategy tells of its way (Finding::story), for the log: what is left in float and why, and how sensitive operators are.
#pragma once

#include <string>
#include <vector>

#include "quasar/base/json.hpp"
#include "quasar/base/log.hpp"

namespace quasar::tune {

// One line per operator.
std::vector<std::string> story_lines(const Json& story);

// They belong to the log, not on the screen.
void tell_story(const Log& log, const Json& story);

}  // namespace quasar::tune
