// The part of a configuration that chooses how weights are rounded:
//   {algorithms: adaround | adaquant | gptq | null, adaround_params: {num_iterations: …, NumIterLR: [n, lr], …}, …}
#pragma once

#include <string>
#include <vector>

#include "quasar/base/json.hpp"

namespace quasar::quant {

// How rounding of weights is optimized; "nearest" unless the configuration names an algorithm.
struct Rounding {
  std::string method = "nearest";
  Json options = Json::object();  // those that act, with defaults
  Json inert = Json::object();    // accepted and recorded, without effect: not part of a plan's hash
  bool operator==(const Rounding&) const = default;
  // false: each weight goes to the nearest code.
  bool optimizes() const;
};

// algorithms and the methods' groups.
std::vector<std::string> rounding_keys();

// Throws Error for unknown methods and options (with the nearest valid name) and wrong values; also in the groups of methods
// that are not chosen. `words`: a configuration with canonical first-level keys.
Rounding parse_rounding(const Json& words);

// Back in the user's words; empty for nearest.
Json to_json(const Rounding& rounding);

// What in `words` (a configuration, or a search space) can have no effect: one sentence for each reason, with all its options.
std::vector<std::string> notes_on_inert_options(const Json& words);

// Groups (adaround_params …) of a search space that exist, or vary, where another method is chosen: one sentence each.
std::vector<std::string> notes_on_misplaced_groups(const Json& space);

// An option of a method's group that cannot make another model: inert_options(), options of other methods, and iterations where
// the method counts none.
bool makes_no_difference(const std::string& group, const std::string& option);

// Whether it counts passes over a layer's weights, of which all beyond most_sweeps do the same: num_iterations, NumIterLR.
bool counts_passes(const std::string& group, const std::string& option);

// Takes out of the groups of a search space what their NumIterLR stands for (num_iterations, learning_rate), unless that may be
// null; one note for each group.
void join_pairs(Json& search_space, std::vector<std::string>& notes);

// The search space without what concerns rounding only: what calibration must know of it. Values of the groups left out (lists
// of choices, ends of ranges) are checked.
Json without_rounding(const Json& search_space);

}  // namespace quasar::quant
