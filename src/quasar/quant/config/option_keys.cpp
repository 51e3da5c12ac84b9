#include "quasar/quant/config/option_keys.hpp"

#include <algorithm>

#include "quasar/base/error.hpp"
#include "quasar/base/names.hpp"

namespace quasar::quant {
namespace {

const std::string loops_key = "MaxLoopNum";

void parse_loops(int& max_loop_num, const Json& value) {
  if (value.is_null()) return;
  if (!value.is_number_integer() || value.get<int64_t>() < 1 || value.get<int64_t>() > 1000)
    throw Error(loops_key + " is " + value.dump() + ", but must be a whole number of 1 to 1000");
  max_loop_num = value.get<int>();
}

void check_fixed(const FixedOption& option, const Json& value) {
  if (value.is_null()) return;
  if (option.inert) {
    const bool flag = option.accepted.front().is_boolean();
    if (flag ? value.is_boolean() : value.is_number_integer()) return;
    throw Error(option.key + " is " + value.dump() + ", but must be " + (flag ? "true or false" : "a whole number") +
                " (it makes no difference: " + option.why + ")");
  }
  if (std::ranges::find(option.accepted, value) != option.accepted.end()) return;
  std::string accepted;
  for (const auto& item : option.accepted) accepted += (accepted.empty() ? "" : ", ") + item.dump();
  throw Error(option.key + " is " + value.dump() + ", but " +
              (accepted.empty() ? "cannot be set" : "only " + accepted + " is possible") + ": " + option.why);
}

}  // namespace

const std::vector<OptionAlias>& option_aliases() {
  static const std::vector<OptionAlias> all{{"ActivationSymmetric", "activation_params", "symmetric"},
                                            {"WeightSymmetric", "weight_params", "symmetric"},
                                            {"WeightCalibrateMethod", "weight_params", "calibration_method"}};
  return all;
}

void expand_aliases(Json& words) {
  for (const auto& alias : option_aliases()) {
    if (!words.contains(alias.key)) continue;
    const Json value = words[alias.key];
    words.erase(alias.key);
    if (value.is_null()) continue;
    Json& group = words[alias.group];
    if (group.is_null()) group = Json::object();
    if (group.is_object() && group.contains(alias.parameter) && group[alias.parameter] != value)
      throw Error(alias.key + " is " + value.dump() + ", but " + alias.group + "." + alias.parameter + " is " +
                  group[alias.parameter].dump());
    group[alias.parameter] = value;
  }
}

std::vector<std::string> option_keys() {
  std::vector<std::string> keys{loops_key};
  for (const auto& item : switch_table()) keys.push_back(item.key);
  for (auto& key : selection_keys()) keys.push_back(std::move(key));
  for (auto& key : exclusion_keys()) keys.push_back(std::move(key));
  for (const auto& item : fixed_options()) keys.push_back(item.key);
  for (const auto& item : option_aliases()) keys.push_back(item.key);
  return keys;
}

bool parse_option_key(const OptionParts& parts, const std::string& key, const Json& value) {
  const auto among = [&](const std::vector<std::string>& keys) { return std::ranges::find(keys, key) != keys.end(); };
  if (key == loops_key) {
    parse_loops(parts.max_loop_num, value);
  } else if (find_switch(key) != nullptr) {
    if (!value.is_null()) parts.switches[key] = parse_switch(key, value);
  } else if (among(selection_keys())) {
    parse_selection(parts.selection, key, value);
  } else if (among(exclusion_keys())) {
    for (auto& item : parse_exclusion(key, value)) parts.exclude.push_back(std::move(item));
  } else if (const auto fixed = std::ranges::find(fixed_options(), key, &FixedOption::key); fixed != fixed_options().end()) {
    check_fixed(*fixed, value);
  } else {
    return false;
  }
  return true;
}

void check_option_keys(const Switches& switches, const Scheme& activation, const Scheme& weight) {
  const auto powers = [](const Scheme& scheme) { return scheme.scale_type == ScaleType::power_of_two; };
  const bool both = powers(activation) && powers(weight);
  for (const auto& [key, value] : switches) {
    if (value && find_switch(key)->needs_powers && !both)
      throw Error(key +
                  " needs power-of-two scales of activations and weights (XInt8Spec, or scale_type PowerOf2): only those have "
                  "positions");
  }
  const auto given = [&](const char* key) { return switches.contains(key) && switches.at(key); };
  if (given("EnableNPUCnn") && (!both || !activation.symmetric || !weight.symmetric))
    throw Error("EnableNPUCnn needs symmetric codes with power-of-two scales (XInt8Spec)");
  if (given("EnableNPUCnn") && given("EnableNPUTransformer"))
    throw Error(
        "EnableNPUCnn and EnableNPUTransformer exclude each other: one quantizes convolution nets, the other Gemm and MatMul");
}

Json option_words(const Selection& selection, const Switches& switches, int max_loop_num) {
  Json words = to_json(selection);
  for (const auto& [key, value] : switches) words[key] = value;
  if (max_loop_num > 0) words[loops_key] = max_loop_num;
  return words;
}

std::vector<OptionFact> option_facts() {
  const auto text = [](bool value) { return std::string(value ? "on" : "off"); };
  std::vector<OptionFact> facts;
  for (const auto& item : switch_table()) facts.push_back({item.key, "switch", text(item.usual), text(item.on_npu), item.help});
  for (const auto& key : selection_keys()) facts.push_back({key, "selection", "all", "all", "see below"});
  for (const auto& key : exclusion_keys()) facts.push_back({key, "selection", "none", "none", "another form of exclude"});
  for (const auto& item : option_aliases())
    facts.push_back({item.key, "alias", "", "", "another name of " + item.group + "." + item.parameter});
  facts.push_back({loops_key, "number", "until nothing changes", "until nothing changes",
                   "passes over the rules of shifts; what is not kept then is noted"});
  facts.push_back({"quant_format", "format", "QDQ", "QDQ",
                   "QDQ: pairs around operators; QOperator: operators on 8-bit codes (QLinearConv …), for ONNX Runtime's CPU"});
  facts.push_back(
      {"FixShapes", "shapes", "none", "none",
       "shapes that inputs of the written model have from then on: {image: [1, 3, 224, 224]}, or image:[1,3,224,224]; "
       "targets such as qnn_htp take no others"});
  facts.push_back({"high_precision_dtype", "choice", "fp32", "fp32",
                   "the type in the file of what is not in codes: fp32, or fp16 on targets tensorrt and ort_arm64"});
  facts.push_back({"OptimizeModel", "switch", "on", "on",
                   "ONNX Runtime's clean-up of the float graph before all else: constants and BatchNormalization folded, what "
                   "does nothing removed"});
  facts.push_back(
      {"use_external_data_format", "switch", "off", "off", "weights go to a file beside the model; they do beyond 2 GB anyway"});
  facts.push_back(
      {"saturation", "choice", "avoid", "",
       "what is done about kernels that add two products in 16 bits (x86 without VNNI): avoid, reduce_range, unsigned "
       "or ignore ([processors](processors.md))"});
  facts.push_back({"reduce_range", "switch", "off", "", "another name of saturation: reduce_range (weights of 7 bits)"});
  for (const auto& item : fixed_options()) {
    std::string accepted;
    for (const auto& value : item.accepted) accepted += (accepted.empty() ? "" : ", ") + value.dump();
    const std::string kind = item.inert ? "no difference" : accepted.empty() ? "refused" : "fixed";
    facts.push_back({item.key, kind, item.inert ? "any" : accepted, item.inert ? "any" : accepted, item.why});
  }
  return facts;
}

}  // namespace quasar::quant
