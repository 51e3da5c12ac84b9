#include "quasar/quant/config/format.hpp"

#include "quasar/base/error.hpp"
#include "quasar/base/names.hpp"
#include "quasar/quant/codes/scheme_words.hpp"

namespace quasar::quant {
namespace {

// Why a side's type has no operators on codes; "" when it has.
std::string obstacle(const Scheme& scheme, const std::string& side) {
  const std::string given = side + " is " + spec_name(scheme) + ", but ";
  if (scheme.dynamic) return given + "dynamic quantization writes operators of its own (MatMulInteger …) in either format";
  if (scheme.type == DataType::float32)
    return given + "with activations in float, weights are read by MatMulNBits in either format";
  if (is_half(scheme.type)) return given + "16-bit floating point is written as casts: there are no codes";
  if (bits_of(scheme.type) != 8) return given + "these operators read codes of 8 bits only";
  return "";
}

}  // namespace

Format parse_format(const Json& value) {
  const std::vector<std::string> names{"QDQ", "QOperator"};
  if (!value.is_string()) throw Error("quant_format is " + value.dump() + ", but must be " + joined(names));
  std::string name = value.get<std::string>();
  if (const size_t dot = name.rfind('.'); dot != std::string::npos) name.erase(0, dot + 1);
  if (normalized(name) == "qdq") return Format::qdq;
  if (normalized(name) == "qoperator") return Format::qoperator;
  throw Error("quant_format is '" + name + "', but must be one of " + joined(names) + did_you_mean(name, names));
}

std::string name_of(Format format) {
  return format == Format::qdq ? "QDQ" : "QOperator";
}

void check_format(Format format, const Scheme& activation, const Scheme& weight, const Switches& switches) {
  if (format == Format::qdq) return;
  const std::string what = "quant_format: QOperator writes operators on codes (QLinearConv …); ";
  for (const auto& reason : {obstacle(activation, "activation"), obstacle(weight, "weight")}) {
    if (!reason.empty()) throw Error(what + reason + "; use QDQ");
  }
  const auto is = [&](const char* key, bool value) {
    const auto found = switches.find(key);
    return found != switches.end() && found->second == value;
  };
  if (is("EnableNPUCnn", true))
    throw Error(what + "EnableNPUCnn makes models for processors whose compilers read Q/DQ pairs; use QDQ");
  if (is("WeightsOnly", true)) throw Error(what + "WeightsOnly leaves activations in float; use QDQ");
  for (const auto& [key, value] : {std::pair{"Int32Bias", false}, {"Int16Bias", true}, {"QuantizeBias", false}}) {
    if (is(key, value))
      throw Error(what + key + ": " + (value ? "true" : "false") + " makes other biases than those that these operators add, " +
                  "which are int32 with the scale s_input * s_weight; use QDQ");
  }
}

}  // namespace quasar::quant
