#include "quasar/base/error.hpp"
#include "quasar/quant/codes/scheme_words.hpp"
#include "quasar/quant/npu/npu.hpp"
#include "quasar/quant/npu/positions.hpp"

namespace quasar::quant {
namespace {

// Why these types are nothing for such a processor; "" when they have codes with fixed scales, of which the target decides.
std::string wrong_form(const Scheme& activation, const Scheme& weight) {
  if (activation.dynamic) return "scales that are found at run time";
  if (is_half(activation.type) || is_half(weight.type)) return "values in 16-bit floating point";
  if (activation.type == DataType::float32) return "values in float";
  return "";
}

void check_form(const std::string& owner, const Scheme& activation, const Scheme& weight) {
  const std::string wrong = wrong_form(activation, weight);
  if (wrong.empty()) return;
  throw Error(owner + "activation is " + spec_name(activation) + " and weight " + spec_name(weight) +
              ", but the target is a processor that shifts: it computes in 8-bit integers with fixed power-of-two scales "
              "(XInt8Spec), not with " +
              wrong);
}

}  // namespace

void check_forms_for_shifts(const Config& config) {
  check_form("", config.activation, config.weight);
  for (const auto& rule : config.layers) {
    if (rule.in_float) continue;
    const char* owner = rule.words.is_null()    ? "include_auto_mp: "
                        : rule.op_types.empty() ? "specific_layer_config: "
                                                : "layer_type_config: ";
    check_form(owner, rule.activation, rule.weight);
  }
}

void check_for_shifts(const std::string& name, const TensorOverride& own) {
  const auto refuse = [&](const std::string& key, const std::string& what) {
    throw Error("TensorQuantOverrides." + name + "." + key + " is " + own.words.at(key).dump() +
                ", but the target shifts: " + what);
  };
  if (own.type && bits_of(*own.type) != 8) refuse("quant_type", "it must be QInt8 or QUInt8");
  if (own.symmetric == false) refuse("symmetric", "it must be true");
  if (!own.scale) return;
  if (!position_of(*own.scale)) refuse("scale", "it must be a power of two");
  if (*own.zero_point != 0 && *own.zero_point != 128) refuse("zero_point", "it must be 0 (QUInt8: 128)");
}

void check_for_shifts(const std::string& name, const stats::Given& given, const Scheme& activation) {
  if (given.range) return;
  const int32_t neutral = activation.type == DataType::uint8 ? 128 : 0;
  const std::string owner = "ranges: tensor '" + name + "': ", end = " (or give min and max, from which the scale follows)";
  if (!position_of(static_cast<float>(given.scale)))
    throw Error(owner + "scale is " + Json(given.scale).dump() + ", but the target shifts: it must be a power of two" + end);
  if (given.zero_point != neutral)
    throw Error(owner + "zero_point is " + std::to_string(given.zero_point) + ", but the target shifts: it must be " +
                std::to_string(neutral) + end);
}

}  // namespace quasar::quant
