// What `quasar inspect` shows of a model, for the page and for the terminal.
#pragma once

#include <string>

#include "quasar/base/json.hpp"

namespace quasar::report {

// The page's contents, from tune::inspect's facts (with tune::examine's as "examination").
Json inspection_of(const Json& facts);

// The examination as a table of layers, the most sensitive first, the ranges of the worst, and advice in words; tables are at
// most 80 columns wide.
std::string examination_table(const Json& examination);

}  // namespace quasar::report
