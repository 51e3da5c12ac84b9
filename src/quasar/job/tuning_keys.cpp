#include "quasar/job/tuning_keys.hpp"

#include <algorithm>

#include "quasar/quant/codes/code_limits.hpp"
#include "quasar/sensitivity/loss.hpp"

namespace quasar::tune {
namespace {

const std::vector<OptionSpec>& criterion_specs() {
  static const std::vector<OptionSpec> all{
      {.name = "timeout", .fallback = 0.0, .help = "seconds; 0: stop at the first success", .low = 0},
      {.name = "max_trials", .fallback = 100, .help = "trials at most, duplicates aside", .low = 1},
      {.name = "strategy", .fallback = nullptr, .help = "who decides what is tried next (quant_level 1)"},
      {.name = "strategy_kwargs", .fallback = Json::object(), .help = "confidence_batches, hawq_v2_loss, sigopt_…"}};
  return all;
}

// Where it is given.
Options criterion_of(const Options& keys) {
  const Json words = keys.json("tuning_criterion");
  if (!words.is_object()) throw Error("tuning_criterion must be a mapping, not " + words.dump());
  return {criterion_specs(), words, "tuning_criterion"};
}

const std::vector<OptionSpec>& kwargs_specs() {
  static const std::vector<OptionSpec> all{
      {.name = "confidence_batches", .fallback = 2, .help = "batches of 8 samples that score an operator (mse_v2)", .low = 1},
      {.name = "hawq_v2_loss",
       .fallback = nullptr,
       .help = "loss whose curvature counts (hawq_v2): mse, kl, cross_entropy; from Python also a function"},
      {.name = secret_keyword, .fallback = nullptr, .help = "accepted, never stored or logged: no hosted service is used"},
      {.name = "sigopt_project_id", .fallback = nullptr, .help = "accepted, without effect"},
      {.name = "sigopt_experiment_name", .fallback = "nc-tune", .help = "accepted, without effect"}};
  return all;
}

void read_alphas(TuningKeys& out, const Json& args) {
  if (!args.is_object()) throw Error("recipes.smooth_quant_args must be a mapping, not " + args.dump());
  for (const auto& [name, value] : args.items()) {
    if (name != "alpha") throw Error("unknown key 'recipes.smooth_quant_args." + name + "'; known: alpha");
    out.smooth_alphas = smooth_alphas_of(value);
  }
}

void read_recipes(TuningKeys& out, const Json& recipes) {
  if (!recipes.is_object()) throw Error("recipes must be a mapping, not " + recipes.dump());
  std::vector<std::string> known = tuned_recipes();
  known.insert(known.end(), {smooth_quant, smooth_quant_args});
  bool smooth = false;
  for (const auto& [name, value] : recipes.items()) {
    if (std::find(known.begin(), known.end(), name) == known.end())
      throw Error("unknown recipe '" + name + "'; known: " + joined(known) + did_you_mean(name, known));
    if (name == smooth_quant_args) {
      read_alphas(out, value);
      continue;
    }
    if (!value.is_boolean()) throw Error("recipes." + name + " is " + value.dump() + ", but must be true or false");
    (name == smooth_quant ? smooth : out.recipes[name]) = value.get<bool>();
  }
  if (!smooth && !out.smooth_alphas.empty())
    throw Error("recipes.smooth_quant_args without smooth_quant: true has no effect; give both or none");
  if (smooth && out.smooth_alphas.empty()) out.smooth_alphas = {0.5};
}

std::string strategy_of_level(const Json& level, const Json& named) {
  std::string text = level.is_string() ? normalized(level.get<std::string>()) : level.dump();
  if (text == "o0") text = "0";
  if (text == "o1") text = "1";
  const auto without_name = [&](const std::string& what, const std::vector<std::string>& tried) {
    if (named.is_null() || std::ranges::find(tried, normalized(named.get<std::string>())) != tried.end()) return;
    throw Error("quant_level " + text + " is " + what + ", so that tuning_criterion.strategy: " + named.get<std::string>() +
                " would have no effect; quant_level: 1 uses it");
  };
  if (text == "0") without_name("strategy conservative", {"conservative", "basic"});
  if (text == "0") return "conservative";
  if (text == "1") return named.is_null() ? "basic" : named.get<std::string>();
  if (text == "auto") without_name("conservative, then basic", {"conservative", "basic", "auto"});
  if (text == "auto") return "automatic";
  throw Error("quant_level is " + level.dump() + ", but must be 0, 1 or auto");
}

std::vector<Json> sampling_sizes_of(const Json& words) {
  std::vector<Json> sizes;
  for (const Json& size : words.is_array() ? words : Json::array({words})) {
    if (!size.is_null() && (!size.is_number_integer() || size.get<int64_t>() < 1))
      throw Error("calibration_sampling_size holds " + size.dump() +
                  ", but must be whole numbers of at least 1 (null: all samples)");
    sizes.push_back(size);
  }
  if (sizes.empty()) throw Error("calibration_sampling_size is an empty list, but must hold at least one number of samples");
  return sizes;
}

Approach approach_of(const std::string& name) {
  if (name == "dynamic") return Approach::dynamic;
  if (name == "auto") return Approach::both;
  return name == "weight_only" ? Approach::weight_only : Approach::static_ranges;
}

}  // namespace

std::vector<Json> smooth_alphas_of(const Json& words) {
  std::vector<Json> alphas;
  if (words == "auto") {
    for (int i = 6; i <= 14; i++) alphas.push_back(0.05 * i);
    return alphas;
  }
  if (words.is_array() && words.empty()) throw Error("recipes.smooth_quant_args.alpha is [], but must have at least one number");
  for (const auto& alpha : words.is_array() ? words : Json::array({words})) {
    const bool good = alpha.is_number() && alpha.get<double>() >= 0 && alpha.get<double>() <= 1;
    if (!good)
      throw Error("recipes.smooth_quant_args.alpha is " + alpha.dump() +
                  ", but must be a number from 0 to 1, a list of them, or auto");
    alphas.push_back(alpha);
  }
  return alphas;
}

const std::vector<std::string>& tuned_recipes() {
  static const std::vector<std::string> all{"first_conv_or_matmul_quantization", "last_conv_or_matmul_quantization",
                                            "pre_post_process_quantization"};
  return all;
}

std::vector<OptionSpec> tuning_key_specs() {
  return {{.name = "tuning_criterion",
           .fallback = nullptr,
           .help = "{timeout: 0, max_trials: 100, strategy: basic, strategy_kwargs: {}}"},
          {.name = "quant_level",
           .fallback = nullptr,
           .help = "0: conservative; 1: tuning_criterion.strategy; auto: conservative, then basic"},
          {.name = "op_type_dict",
           .fallback = nullptr,
           .help = "narrows what is tuned, by regular expressions of types: {Conv: {weight: {granularity: [per_channel]}, "
                   "activation: {dtype: "
                   "[uint8, fp32]}}}"},
          {.name = "op_name_dict",
           .fallback = nullptr,
           .help = "the same by node names, which go before types; later ones go before earlier ones"},
          {.name = "recipes", .fallback = nullptr, .help = "recipes that are fixed and not tuned"},
          {.name = "approach",
           .fallback = "static",
           .help = "static; dynamic: ranges of activations at run time; auto: static, then dynamic for what can; weight_only: "
                   "RTN_G32ASYM, GPTQ_G32ASYM …, activations stay in float",
           .choices = {"static", "dynamic", "auto", "weight_only"}}};
}

ExitPolicy parse_exit_policy(const Options& keys) {
  ExitPolicy out;
  for (const char* key : {"tuning_criterion", "quant_level", "op_type_dict", "op_name_dict"})
    out.given = out.given || keys.has(key);
  if (!keys.has("tuning_criterion")) return out;
  const Options criterion = criterion_of(keys);
  out.timeout = criterion.real("timeout");
  if (criterion.given("max_trials")) out.max_trials = criterion.integer("max_trials");
  return out;
}

TuningKeys parse_tuning_keys(const Options& keys) {
  TuningKeys out;
  Json named;
  if (keys.has("tuning_criterion")) {
    const Options criterion = criterion_of(keys);
    named = criterion.json("strategy");
    if (!named.is_null() && !named.is_string())
      throw Error("tuning_criterion.strategy is " + named.dump() + ", but must be a name");
    const Json given = criterion.json("strategy_kwargs");
    if (!given.is_object() && !given.is_null()) throw Error("strategy_kwargs must be a mapping, not " + given.dump());
    out.kwargs = Options(kwargs_specs(), given.is_null() ? Json::object() : given, "strategy_kwargs").all();
    out.kwargs.erase(secret_keyword);
    if (Json& loss = out.kwargs["hawq_v2_loss"]; !loss.is_null()) {
      if (!loss.is_string()) throw Error("strategy_kwargs.hawq_v2_loss is " + loss.dump() + ", but must be the name of a loss");
      loss = losses::table().resolve(loss.get<std::string>());
    }
    if (!named.is_null()) out.strategy = named.get<std::string>();
  }
  if (keys.has("quant_level")) out.strategy = strategy_of_level(keys.json("quant_level"), named);
  for (const auto& [key, place] : {std::pair{"op_type_dict", &out.op_types}, std::pair{"op_name_dict", &out.op_names}}) {
    if (!keys.has(key)) continue;
    *place = keys.json(key);
    if (!place->is_object()) throw Error(std::string(key) + " must be a mapping, not " + place->dump());
  }
  if (keys.has("recipes")) read_recipes(out, keys.json("recipes"));
  if (keys.has("calibration_sampling_size")) out.sampling_sizes = sampling_sizes_of(keys.json("calibration_sampling_size"));
  if (keys.has("saturation")) out.saturation = name_of(quant::parse_saturation(keys.json("saturation")));
  out.approach = approach_of(keys.text("approach"));
  if (out.approach == Approach::weight_only && !out.saturation.empty())
    throw Error("approach: weight_only multiplies floats: saturation would have no effect");
  if (out.approach == Approach::weight_only &&
      (keys.has("op_type_dict") || keys.has("op_name_dict") || !out.smooth_alphas.empty()))
    throw Error(
        "approach: weight_only leaves activations in float: op_type_dict, op_name_dict and smooth_quant would have no effect");
  return out;
}

}  // namespace quasar::tune
