// What `quasar list` can list: every table of extensions, and the keys of a configuration.
#pragma once

#include <string>
#include <vector>

#include "quasar/base/json.hpp"

namespace quasar::cli {

struct List {
  std::string kind;    // "samplers"
  Json (*describe)();  // [{name, help, aliases, options: [{name, default, help}]}]
};

const std::vector<List>& lists();

}  // namespace quasar::cli
