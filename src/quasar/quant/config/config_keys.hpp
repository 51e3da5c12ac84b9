// The names of what one configuration can say at its first level.
#pragma once

#include <string>
#include <vector>

namespace quasar::quant {

// All of them, as parse_config() writes them.
std::vector<std::string> config_keys();

// A first-level option that feeds a calibration method: which method, and its option there.
struct RangeKey {
  std::string key, method, option;
};
const std::vector<RangeKey>& range_keys();

}  // namespace quasar::quant
