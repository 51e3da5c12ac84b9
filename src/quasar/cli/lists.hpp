// What `quasar list` can list: every table of extensions, and the keys of a configuration.
#pragma once

#include <string>
#include <vector>

#include "quasar/base/json.hpp"

namespace quasar::cli {

struct List {
  std::string kind;    // "samplers"
  std::string help;    // what they are
  Json (*describe)();  // [{name, help, aliases, options: [{name, default, help, choices, low, high}]}]
};

const std::vector<List>& lists();

}  // namespace quasar::cli
