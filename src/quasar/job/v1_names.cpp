#include "quasar/job/v1_names.hpp"

#include <algorithm>

#include "quasar/base/error.hpp"
#include "quasar/base/names.hpp"
#include "quasar/job/v1_words.hpp"
#include "quasar/quant/codes/rounding.hpp"
#include "quasar/quant/codes/rounding_options.hpp"
#include "quasar/quant/config/config_keys.hpp"
#include "quasar/quant/config/rounding_config.hpp"

namespace quasar::tune::v1 {
namespace {

using Names = std::vector<std::string>;

// The hierarchical form has these too, as options, or takes them over from a translation (calibrate_method).
const Names shared_keys{"calibrate_method", "include_cle", "include_auto_mp", "include_sq", "enable_npu_cnn", "nodes_to_exclude"};

const Names hierarchical_keys{"activation",      "weight", "activation_params", "weight_params",   "algorithms",
                              "adaround_params", "scheme", "cle_algo",          "adaquant_params", "gptq_params"};

// Settings of one configuration that v1 writes so.
const Names settings{"per_channel",         "op_types_to_quantize",
                     "nodes_to_quantize",   "optimize_model",
                     "execution_providers", "print_summary",
                     "log_severity_level",  "convert_fp16_to_fp32",
                     "debug_mode",          "ignore_warnings",
                     "FastFinetune",        "reduce_range",
                     "use_dynamic_quant",   "specific_tensor_precision"};

const Names fine_tuning{"DataSize",       "BatchSize",       "NumBatches",   "NumIterations", "LearningRate", "NumIterLR",
                        "OptimAlgorithm", "OptimDevice",     "InferDevice",  "FixedSeed",     "EarlyStop",    "LRAdjust",
                        "UpdateBias",     "SelectiveUpdate", "OutputQDQ",    "OutputIndex",   "DropRatio",    "MemOptLevel",
                        "CacheDir",       "LogPeriod",       "RefModelPath", "Parallel",      "DynamicBatch", "TargetOpType",
                        "RegParam",       "BetaRange",       "WarmStart"};

bool contains(const Names& names, const std::string& name) {
  return std::ranges::any_of(names, [&](const std::string& other) { return same(name, other); });
}

// An option of any method that optimizes rounding.
bool is_rounding_option(const std::string& name) {
  for (const auto& [method, entry] : quant::rounding::table().items()) {
    if (std::ranges::any_of(entry.options, [&](const OptionSpec& spec) { return same(spec.name, name); })) return true;
  }
  return std::ranges::any_of(quant::inert_options(), [&](const auto& option) { return same(option.spec.name, name); });
}

}  // namespace

const Names& own_keys() {
  static const Names all{"activation_type", "weight_type", "include_fast_ft", "extra_options"};
  return all;
}

void refuse_mixture(const Json& space) {
  if (!space.is_object()) return;
  std::string mine, theirs;
  for (const auto& [key, value] : space.items()) {
    if (contains(own_keys(), key)) mine = key;
    if (contains(hierarchical_keys, key)) theirs = key;
  }
  if (mine.empty() || theirs.empty()) return;
  throw Error("search_space mixes two forms: '" + mine + "' is Auto Search's first one (v1), '" + theirs +
              "' the hierarchical one; write all of it in one form (`--dry-run` shows a v1 space translated; keys of a preset "
              "count too)");
}

void check_key(const std::string& key) {
  Names known = quant::config_keys();
  for (const Names* names : {&own_keys(), &shared_keys, &settings}) known.insert(known.end(), names->begin(), names->end());
  if (contains(known, key) || same(key, "calibration_sampling_size")) return;
  throw Error("unknown key '" + key + "' in v1's search_space or quant_config" + known_names(key, known));
}

void check_fine_tuning_key(const std::string& key) {
  if (contains(fine_tuning, key) || is_rounding_option(snake_case(key))) return;
  throw Error("unknown key 'extra_options.FastFinetune." + key + "'" + known_names(key, fine_tuning));
}

void check_fine_tuning_method(const Json& method) {
  Names known;
  for (const auto& [name, entry] : quant::rounding::table().items()) {
    if (name != quant::Rounding().method) known.push_back(name);
  }
  if (method.is_string() && contains(known, method.get<std::string>())) return;
  throw Error("extra_options.FastFinetune.OptimAlgorithm is " + method.dump() + ", but must be one of " + joined(known) +
              (method.is_string() ? did_you_mean(method.get<std::string>(), known) : ""));
}

}  // namespace quasar::tune::v1

namespace quasar::tune {

bool is_v1(const Json& space) {
  if (!space.is_object()) return false;
  bool found = false;
  for (const auto& [key, value] : space.items()) {
    if (v1::contains(v1::hierarchical_keys, key)) return false;  // the shared ones beside it are options
    found = found || v1::contains(v1::own_keys(), key) || v1::contains(v1::shared_keys, key);
  }
  return found;
}

}  // namespace quasar::tune
