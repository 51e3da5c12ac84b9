#include "quasar/quant/config/mixed_precision.hpp"

#include "quasar/base/error.hpp"
#include "quasar/base/names.hpp"
#include "quasar/base/plugin.hpp"
#include "quasar/quant/codes/scheme_words.hpp"
#include "quasar/quant/config/quantizable.hpp"

namespace quasar::quant {
namespace {

const std::string switch_key = "include_auto_mp", options_key = "AutoMixprecision";

const std::vector<OptionSpec>& option_specs() {
  static const std::vector<OptionSpec> all{
      {.name = "ActTargetQuantType", .fallback = "Int16Spec", .help = "type of promoted layers' activations"},
      {.name = "WeightTargetQuantType", .fallback = "Int16Spec", .help = "type of their weights"},
      {.name = "TargetOpType",
       .fallback = Json::array({"Conv", "ConvTranspose", "Gemm", "MatMul"}),
       .help = "types of layers that may be promoted"},
      {.name = "NumTarget", .fallback = nullptr, .help = "at most so many layers"},
      {.name = "noise_share",
       .fallback = 0.1,
       .help = "promotion ends when the other layers have no more than this share of the noise",
       .low = 0,
       .high = 1}};
  return all;
}

Scheme target_side(const std::string& side, const std::string& spec, const Scheme& usual) {
  Json params = has_no_parameters(spec) || is_xint8(spec) ? Json::object() : scheme_words(usual);
  params.erase("symmetric");
  Scheme scheme = parse_scheme({{side, spec}, {side + "_params", params}}, side);
  if (scheme.range_method == usual.range_method) scheme.range_options = usual.range_options;
  check_method_options(scheme, options_key);
  return scheme;
}

}  // namespace

std::vector<std::string> mixed_precision_keys() {
  return {switch_key, options_key};
}

std::optional<MixedPrecision> parse_mixed_precision(const Json& words, const Scheme& activation, const Scheme& weight) {
  const Json on = words.value(switch_key, Json(false)), given = words.value(options_key, Json());
  if (on != true && on != false && !on.is_null()) throw Error(switch_key + " is " + on.dump() + ", but must be true or false");
  if (on != true && given.is_null()) return std::nullopt;
  const Options options(option_specs(), given.is_null() ? Json::object() : given, options_key);
  MixedPrecision mixed;
  if (!given.is_null()) mixed.words = given;
  mixed.activation = target_side("activation", options.text("ActTargetQuantType"), activation);
  mixed.weight = target_side("weight", options.text("WeightTargetQuantType"), weight);
  for (const auto& type : options.json("TargetOpType")) {
    if (!type.is_string()) throw Error(options_key + ".TargetOpType: " + type.dump() + " is not the name of an operator type");
    mixed.op_types.push_back(quantizable_type(options_key + ".TargetOpType", type.get<std::string>()));
  }
  if (const Json& most = options.json("NumTarget"); !most.is_null()) {
    if (!most.is_number_integer() || most.get<int64_t>() < 0)
      throw Error(options_key + ".NumTarget is " + most.dump() + ", but must be a whole number");
    mixed.most = most.get<size_t>();
  }
  mixed.noise_share = options.real("noise_share");
  if (on != true) return std::nullopt;
  if (activation.dynamic || !is_integer(activation.type))
    throw Error(switch_key + ": activation is " + spec_name(activation) +
                ", but only layers between Q/DQ pairs of integer codes can be promoted: those of static integer types");
  const auto bits = [](const Scheme& scheme) { return bits_of(scheme.type); };
  if (mixed.activation.dynamic)
    throw Error(options_key + ".ActTargetQuantType is DynamicSpec, but promoted layers need a wider type");
  check_sides(mixed.activation, mixed.weight);
  if (bits(mixed.activation) < bits(activation) || bits(mixed.weight) < bits(weight) ||
      (bits(mixed.activation) == bits(activation) && bits(mixed.weight) == bits(weight))) {
    throw Error(switch_key + ": the types of promoted layers (" + options.text("ActTargetQuantType") + ", " +
                options.text("WeightTargetQuantType") + ") are no wider than those of all layers; see " + options_key);
  }
  return mixed;
}

Json to_json(const MixedPrecision& mixed) {
  Json words{{switch_key, true}};
  if (!mixed.words.empty()) words[options_key] = mixed.words;
  return words;
}

}  // namespace quasar::quant
