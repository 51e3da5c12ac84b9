// Switches of a configuration by their seed names (AlignConcat, AdjustShiftCut, Int32Bias, FoldRelu …): one table says for each
// what it does and what holds where the configuration does not say, elsewhere and for processors that shift (NPUs).
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "quasar/base/json.hpp"

namespace quasar::quant {

struct Switch {
  std::string key;
  std::string master;         // the switch that decides between `usual` and `on_npu`; "": whether the target is an NPU
  bool usual = false;         // where the configuration does not say
  bool on_npu = false;        // the same for an NPU, or with the master on
  bool needs_powers = false;  // true makes sense with power-of-two scales only
  std::string help = {};      // what it does when it is on, and why
};

const std::vector<Switch>& switch_table();

// nullptr when there is none.
const Switch* find_switch(std::string_view key);

// Those that the configuration gives, by key.
using Switches = std::map<std::string, bool>;

// What holds for a key of the table: as given, otherwise its master's or the target's choice.
bool is_on(const Switches& given, std::string_view key, bool npu);

// Throws Error for a value that is not true or false.
bool parse_switch(const std::string& key, const Json& value);

}  // namespace quasar::quant
