// The names of what one configuration can say at its first level.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace quasar::quant {

// All of them, as parse_config() writes them.
std::vector<std::string> config_keys();

// What another tool's key is called here: "; MatMulNBits' accuracy_level 4 is activation: DynamicSpec …"; "" for unknown ones.
std::string hint_of_foreign_key(std::string_view name);

// A first-level option that feeds a calibration method: which method, and its option there. `of_values`: not of weights, which
// are known.
struct RangeKey {
  std::string key, method, option;
  bool of_values = false;
};
const std::vector<RangeKey>& range_keys();

}  // namespace quasar::quant
