// Specifications by their seed names, and the words for the parameters of one side.
#include "quasar/quant/codes/scheme_words.hpp"

#include <algorithm>
#include <array>
#include <map>

#include "quasar/base/error.hpp"
#include "quasar/base/names.hpp"
#include "quasar/quant/codes/range.hpp"
#include "quasar/quant/codes/switches.hpp"

namespace quasar::quant {
namespace {

// A specification by its seed name: the type and what holds where the configuration does not say.
struct Spec {
  std::string name;
  DataType type;
  bool symmetric;
  bool xint8 = false;    // power-of-two scales and symmetry are part of the type
  bool dynamic = false;  // activations only
};

const std::vector<Spec>& specs() {
  static const std::vector<Spec> all{{"XInt8Spec", DataType::int8, true, true},
                                     {"Int8Spec", DataType::int8, true},
                                     {"UInt8Spec", DataType::uint8, false},
                                     {"Int16Spec", DataType::int16, true},
                                     {"UInt16Spec", DataType::uint16, false},
                                     {"Int2Spec", DataType::int2, true},
                                     {"UInt2Spec", DataType::uint2, false},
                                     {"Int4Spec", DataType::int4, true},
                                     {"UInt4Spec", DataType::uint4, false},
                                     {"BFloat16Spec", DataType::bfloat16, true},
                                     {"Float16Spec", DataType::float16, true},
                                     {.name = "DynamicSpec", .type = DataType::uint8, .symmetric = false, .dynamic = true},
                                     {"Float32Spec", DataType::float32, true}};
  return all;
}

// Types that will not come, by the beginning of their names.
struct Refusal {
  std::string prefix, why;
};

const std::vector<Refusal>& refusals() {
  static const std::vector<Refusal> all{
      {"fp8", "ONNX Runtime's CPU has no kernels that compute in 8-bit floating point"},
      {"float8", "ONNX Runtime's CPU has no kernels that compute in 8-bit floating point"},
      {"bfp", "ONNX has no block floating point, and ONNX Runtime does not run the custom operators that stand for it elsewhere"},
      {"mx", "ONNX has no microscaling types, and ONNX Runtime does not run the custom operators that stand for them elsewhere"}};
  return all;
}

std::vector<std::string> spec_names() {
  std::vector<std::string> names;
  for (const auto& spec : specs()) names.push_back(spec.name);
  return names;
}

}  // namespace

std::string spec_word(const std::string& name) {
  std::string word = normalized(last_word(name));
  if (word.starts_with("q")) word.erase(0, 1);
  if (!word.ends_with("spec")) word += "spec";
  static const std::map<std::string, std::string> short_names{
      {"bf16spec", "bfloat16spec"}, {"fp16spec", "float16spec"}, {"fp32spec", "float32spec"}};
  const auto found = short_names.find(word);
  return found == short_names.end() ? word : found->second;
}

std::string why_no_type(const std::string& name) {
  for (const auto& [prefix, why] : refusals()) {
    if (spec_word(name).starts_with(prefix)) return why;
  }
  return "";
}

namespace {

const Spec& find_spec(const std::string& key, const Json& value) {
  const std::string allowed = joined(spec_names());
  if (value.is_null()) return find_spec(key, "Float32Spec");
  if (!value.is_string()) throw Error(key + " is " + value.dump() + ", but must be one of " + allowed);
  const std::string name = value.get<std::string>();
  for (const auto& spec : specs()) {
    if (spec_word(name) == normalized(spec.name)) return spec;
  }
  if (const std::string why = why_no_type(name); !why.empty()) throw Error(key + ": '" + name + "' is not supported: " + why);
  throw Error(key + " is '" + name + "', but must be one of " + allowed + did_you_mean(spec_word(name), spec_names()));
}

const std::vector<std::string> param_keys{"symmetric",         "scale_type", "calibration_method",
                                          "quant_granularity", "data_type",  "group_size"};

std::string text_of(const std::string& key, const Json& value) {
  if (!value.is_string()) throw Error(key + " is " + value.dump() + ", but must be a name");
  return value.get<std::string>();
}

ScaleType parse_scale_type(const std::string& key, const Json& value) {
  const std::string name = last_word(text_of(key, value));
  const std::string word = normalized(name);
  if (word == "float32") return ScaleType::float32;
  if (word == "powerof2" || word == "poweroftwo") return ScaleType::power_of_two;
  if (word == "int16") return ScaleType::int16;
  throw Error(key + " is '" + name + "', but must be Float32, PowerOf2 or Int16" +
              did_you_mean(name, {"Float32", "PowerOf2", "Int16"}));
}

Granularity parse_granularity(const std::string& key, const Json& value, bool weight) {
  const std::string name = text_of(key, value);
  const std::string word = normalized(name);
  if (word == "tensor" || word == "pertensor") return Granularity::tensor;
  if (word == "channel" || word == "perchannel") {
    if (weight) return Granularity::channel;
    throw Error(key + " is 'Channel', but activations have one scale per tensor: ONNX Runtime sums over channels in integers");
  }
  if (word == "group" || word == "pergroup") {
    if (weight) return Granularity::group;
    throw Error(key + " is 'Group', but activations have one scale per tensor: ONNX Runtime has no kernels for others");
  }
  const std::vector<std::string> names{"Tensor", "Channel", "Group"};
  throw Error(key + " is '" + name + "', but must be one of " + joined(names) + did_you_mean(name, names));
}

// MatMulNBits takes powers of two from 16 on.
size_t parse_group_size(const std::string& key, const Json& value) {
  const int64_t size = value.is_number_integer() ? value.get<int64_t>() : 0;
  for (const int64_t known : {16, 32, 64, 128, 256}) {
    if (size == known) return static_cast<size_t>(size);
  }
  throw Error(key + " is " + value.dump() + ", but must be 16, 32, 64, 128 or 256: ONNX Runtime has kernels for these");
}

// What a parameter group says about the type replaces what the side says.
const Spec& choose_spec(const Json& words, const std::string& side, const Json& given) {
  const Spec& spec = find_spec(side, words.value(side, Json("Int8Spec")));
  for (const auto& [name, value] : given.items()) {
    if (normalized(name) != "datatype") continue;
    const std::string key = side + "_params." + name;
    const Spec& other = find_spec(key, value);
    if (spec.xint8 && other.type != spec.type) throw Error(key + " is " + value.dump() + ", but XInt8Spec is int8");
    if (spec.dynamic && other.type != spec.type) throw Error(key + " is " + value.dump() + ", but DynamicSpec is uint8");
    return spec.xint8 || spec.dynamic ? spec : other;
  }
  return spec;
}

// What an XInt8Spec is for: processors that shift instead of multiplying.
void check_xint8(const Scheme& scheme, const std::string& group) {
  const auto fail = [&](const char* what, const char* why) { throw Error(group + ": XInt8Spec " + what + "; " + why); };
  const char* instead = "Int8Spec with scale_type PowerOf2 is the type without this rule";
  if (scheme.scale_type != ScaleType::power_of_two)
    fail("has power-of-two scales, not Float32", "Int8Spec is the type with float scales");
  if (!scheme.symmetric) fail("is symmetric: its processors have no zero points", instead);
  if (scheme.granularity != Granularity::tensor)
    fail("has one scale per tensor: its processors shift all channels alike", instead);
}

constexpr size_t default_group_size = 32;  // weights; a scale costs a bit per weight then

void check_without_parameters(const Spec& spec, const Json& given, const std::string& group) {
  const std::string why = spec.dynamic ? "scales are found at run time, from each input's least and greatest value"
                          : spec.type == DataType::float32 ? "values are left as they are"
                                                           : "values are cast, there are no scales and no ranges";
  for (const auto& [name, value] : given.items()) {
    if (normalized(name) != "datatype")
      throw Error(group + "." + name + ": " + spec.name + " has no parameters: " + why + "; in a search space, only_if: {" +
                  group.substr(0, group.find('_')) + ": <another type>} keeps them from it");
  }
}

}  // namespace

bool is_integer(DataType type) {
  return !is_half(type) && type != DataType::float32;
}

Scheme parse_scheme(const Json& words, const std::string& side) {
  const bool weight = side == "weight";
  const std::string group = side + "_params";
  const Json given = words.value(group, Json::object());
  if (!given.is_object() && !given.is_null()) throw Error(group + " must be a mapping, not " + given.dump());
  const Spec& spec = choose_spec(words, side, given);
  if (spec.dynamic && weight) throw Error("weight: DynamicSpec is for activations; weights are known beforehand");
  Scheme scheme{.type = spec.type,
                .symmetric = spec.symmetric,
                .scale_type = spec.xint8 ? ScaleType::power_of_two : ScaleType::float32,
                .range_method = spec.xint8 || bits_of(spec.type) <= 4 ? "min_mse"
                                : weight                              ? "min_max"
                                                                      : "percentile"};
  for (const auto& [name, value] : given.items()) {
    const std::string key = group + "." + name;
    const std::string word = normalized(name);
    if (word == "datatype") continue;
    if (word == "symmetric") {
      scheme.symmetric = parse_switch(key, value);
    } else if (word == "scaletype") {
      scheme.scale_type = parse_scale_type(key, value);
    } else if (word == "calibrationmethod") {
      scheme.range_method = ranges::table().resolve(last_word(text_of(key, value)));
    } else if (word == "quantgranularity") {
      scheme.granularity = parse_granularity(key, value, weight);
    } else if (word == "groupsize" && weight) {
      scheme.group_size = parse_group_size(key, value);
    } else {
      const std::vector<std::string> known(param_keys.begin(), param_keys.end() - (weight ? 0 : 1));  // groups: weights only
      throw Error("unknown key '" + key + "'; known in " + group + ": " + joined(known) + did_you_mean(name, known));
    }
  }
  if (spec.xint8) check_xint8(scheme, group);
  if (scheme.granularity == Granularity::group && scheme.group_size == 0) scheme.group_size = default_group_size;
  if (scheme.granularity != Granularity::group && scheme.group_size != 0)
    throw Error(group +
                ".group_size is given, but quant_granularity is not Group: weights have no groups then; "
                "in a search, search_spaces takes a space for each granularity");
  scheme.dynamic = spec.dynamic;
  if (!is_integer(spec.type) || spec.dynamic) {
    check_without_parameters(spec, given, group);
    scheme.range_method = "min_max";  // one that needs nothing
  }
  return scheme;
}

void check_method_options(Scheme& scheme, const std::string& owner) {
  const auto& [name, entry] = ranges::table().find(scheme.range_method);
  scheme.range_options = Options(entry.options, scheme.range_options, owner + ", " + name).all();
}

void check_value_type(DataType type, const std::string& key) {
  if (bits_of(type) < 8)
    throw Error(key + " is " + std::string(name_of(type)) +
                ", but single values have 8 or 16 bits: ONNX Runtime cannot open or run 4-bit values behind Relu and Clip or "
                "beside MaxPool; with activation: UInt4Spec all those have 4 bits that it can run");
}

namespace {

bool has_real_zero_points(const Scheme& scheme) {
  return ranges::table().make(scheme.range_method)->of_blocks() == BlockRange::half_quadratic;
}

// Only MatMulNBits takes zero points that are no integers, with 2 and 4 bits, and only for values in float.
void check_real_zero_points(const Scheme& values, const Scheme& weights) {
  if (values.type != DataType::float32 && has_real_zero_points(values))
    throw Error("activation_params.calibration_method is " + values.range_method + ", which is for weights of 2 and 4 bits only");
  if (!has_real_zero_points(weights)) return;
  const std::string what =
      "weight_params.calibration_method is " + weights.range_method + ", whose zero points are no integers: ";
  if (values.type != DataType::float32 || values.dynamic) throw Error(what + "it needs activation: Float32Spec");
  if (bits_of(weights.type) > 4)
    throw Error(what + "ONNX Runtime takes them with weights of 2 and 4 bits (UInt2Spec, UInt4Spec)");
  if (weights.symmetric) throw Error(what + "it needs symmetric: false");
  if (weights.granularity != Granularity::group) throw Error(what + "it needs quant_granularity: Group");
  if (weights.scale_type != ScaleType::float32) throw Error(what + "it needs scale_type: Float32");
}

}  // namespace

void check_sides(const Scheme& values, const Scheme& weights) {
  check_real_zero_points(values, weights);
  const DataType activation = values.type, weight = weights.type;
  if (activation != weight && (is_half(activation) || is_half(weight))) {
    throw Error("activation is " + std::string(name_of(activation)) + " and weight " + std::string(name_of(weight)) +
                ", but 16-bit floating point is for both sides or none: values and weights are cast alike");
  }
  if (bits_of(activation) == 2)
    throw Error("activation is " + std::string(name_of(activation)) + ", but 2 bits are for weights with activations in float");
  if (bits_of(weight) == 2 && activation != DataType::float32 && !values.dynamic)
    throw Error("weight is " + std::string(name_of(weight)) + " and activation " + std::string(name_of(activation)) +
                ", but weights of 2 bits are MatMulNBits', whose activations are in float: activation: Float32Spec");
  if (values.dynamic && bits_of(weight) > 8)
    throw Error("weight is " + std::string(name_of(weight)) +
                ", but ONNX Runtime multiplies dynamically quantized activations "
                "with 2, 4 or 8 bits only");
  if (weight == DataType::float32) {
    if (activation == DataType::float32) throw Error("activation and weight are both Float32Spec: nothing would be quantized");
    throw Error("weight is Float32Spec, but activations of type " + std::string(name_of(activation)) +
                " are only multiplied with quantized weights");
  }
  if (activation == DataType::float32 && bits_of(weight) > 8)
    throw Error("weight: with activations in float, weights have 2, 4 or 8 bits (MatMulNBits); " + std::string(name_of(weight)) +
                " would save less than Float16Spec does");
}

bool is_dynamic(const Json& spec) {
  return find_spec("spec", spec).dynamic;
}

bool has_no_parameters(const Json& spec) {
  const Spec& found = find_spec("spec", spec);
  return found.dynamic || !is_integer(found.type);
}

bool may_have_parameters(const Json& spec) {
  try {
    return !has_no_parameters(spec);
  } catch (const Error&) {
    return true;
  }
}

bool is_xint8(const Json& spec) {
  return find_spec("spec", spec).xint8;
}

Json scheme_words(const Scheme& scheme) {
  if (!is_integer(scheme.type) || scheme.dynamic) return Json::object();
  constexpr std::array scale_types{"Float32", "PowerOf2", "Int16"};
  constexpr std::array granularities{"Tensor", "Channel", "Group"};
  Json words{{"symmetric", scheme.symmetric},
             {"scale_type", scale_types.at(static_cast<size_t>(scheme.scale_type))},
             {"calibration_method", scheme.range_method},
             {"quant_granularity", granularities.at(static_cast<size_t>(scheme.granularity))}};
  if (scheme.group_size != 0) words["group_size"] = scheme.group_size;
  return words;
}

// Int8Spec with all that makes an XInt8Spec is one.
std::string spec_name(const Scheme& scheme) {
  const bool xint8 = scheme.type == DataType::int8 && scheme.scale_type == ScaleType::power_of_two && scheme.symmetric &&
                     scheme.granularity == Granularity::tensor;
  const auto same = [&](const Spec& spec) {
    return spec.type == scheme.type && spec.xint8 == xint8 && spec.dynamic == scheme.dynamic;
  };
  return std::find_if(specs().begin(), specs().end(), same)->name;
}

}  // namespace quasar::quant
