// The keys of accuracy-driven tuning, in Intel Neural Compressor's words.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "quasar/base/plugin.hpp"

namespace quasar::tune {

// Which activations are quantized, and when their ranges are found.
enum class Approach {
  static_ranges,  // observed on the calibration samples
  dynamic,        // at run time
  both,           // "auto": static, then dynamic for what can
  weight_only     // not at all
};

// When tuning ends, by tuning_criterion.
struct ExitPolicy {
  double timeout = 0;                 // seconds; 0: stop at the first success
  std::optional<int64_t> max_trials;  // models, as given
  bool given = false;                 // whether any key of tuning is, so that max_trials has a default
};

struct TuningKeys {
  std::string strategy;                 // tuning_criterion.strategy or by quant_level; "": neither is given
  Json kwargs = Json::object();         // tuning_criterion.strategy_kwargs, without secrets
  Json op_types = Json::object();       // op_type_dict
  Json op_names = Json::object();       // op_name_dict
  std::map<std::string, bool> recipes;  // those that the user fixed
  std::vector<Json> smooth_alphas;      // to try, in order; empty: no SmoothQuant
  std::vector<Json> sampling_sizes;     // calibration_sampling_size, in order; empty: all samples
  std::string saturation;               // what is done about sums of 16 bits; "": the target's choice
  Approach approach = Approach::static_ranges;
};

// Of `recipes`: whether channels are scaled, and its own options.
inline constexpr const char *smooth_quant = "smooth_quant", *smooth_quant_args = "smooth_quant_args";

// Their specifications, for the job's table of keys.
std::vector<OptionSpec> tuning_key_specs();

// In strategy_kwargs, the token of a hosted service, which is accepted and never kept.
inline constexpr const char* secret_keyword = "sigopt_api_token";

// Throws Error for unknown keys and values.
ExitPolicy parse_exit_policy(const Options& keys);

// Throws Error for unknown keys and values. The secret is dropped here and appears nowhere.
TuningKeys parse_tuning_keys(const Options& keys);

// The recipes that a strategy tunes where the user has not fixed them.
const std::vector<std::string>& tuned_recipes();

// The alphas of recipes.smooth_quant_args to try, in order: a number, a list of them, or "auto". Throws Error for anything else.
std::vector<Json> smooth_alphas_of(const Json& words);

}  // namespace quasar::tune
