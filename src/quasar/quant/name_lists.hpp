// The lists of a selection that hold names of nodes.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "quasar/quant/selection.hpp"

namespace quasar::quant {

struct NameList {
  std::string key;
  std::set<std::string> Selection::*names;
};

const std::vector<NameList>& name_lists();

}  // namespace quasar::quant
