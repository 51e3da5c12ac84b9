#include "quasar/quant/config/predefined.hpp"

namespace quasar::quant {
namespace {

constexpr double nearly_all = 99.9999;  // Percentile of Quark's configurations that give one

// One scale per tensor and side; weights keep their least and greatest value.
Json integers(const char* activation, bool symmetric, const char* weight, bool weight_symmetric, const char* method) {
  return {
      {"activation", activation},
      {"activation_params", {{"symmetric", symmetric}, {"calibration_method", method}}},
      {"weight", weight},
      {"weight_params", {{"symmetric", weight_symmetric}, {"calibration_method", "MinMax"}, {"quant_granularity", "Tensor"}}}};
}

Json with(Json words, const Json& more) {
  words.update(more);
  return words;
}

Json default_of(const char* activation, const char* weight) {
  return integers(activation, false, weight, true, "MinMax");
}

Json accurate(const char* activation, const char* weight) {
  return with(integers(activation, false, weight, true, "Percentile"), {{"Percentile", nearly_all}, {"algorithms", "adaround"}});
}

const Json products_only{{"EnableNPUTransformer", true}};

Json vint8() {
  return {{"activation", "XInt8Spec"},
          {"activation_params", {{"calibration_method", "MinMSE"}}},
          {"weight", "XInt8Spec"},
          {"weight_params", {{"calibration_method", "MinMSE"}, {"quant_granularity", "Tensor"}}},
          {"EnableNPUCnn", false},
          {"OptimizeModel", false},
          {"Int32Bias", false},
          {"ConvertBNToConv", true},
          {"ConvertClipToRelu", true},
          {"ConvertSplitToSlice", true},
          {"ReplaceClip6Relu", true},
          {"RemoveQDQConvClip", false},
          {"RemoveQDQConvPRelu", false},
          {"RemoveQDQConvRelu", false},
          {"RemoveQDQConvLeakyRelu", false}};
}

Json weights_of_4_bits() {
  return {{"activation", "Float32Spec"},
          {"weight", "Int4Spec"},
          {"weight_params",
           {{"symmetric", true}, {"calibration_method", "MinMax"}, {"quant_granularity", "Group"}, {"group_size", 128}}}};
}

Json mixed() {
  return with(integers("Int8Spec", false, "Int8Spec", true, "Percentile"),
              {{"Percentile", nearly_all}, {"include_auto_mp", true}});
}

}  // namespace

const std::vector<Predefined>& predefined() {
  static const std::vector<Predefined> all{
      {"U8S8_AAWS", "uint8 asymmetric activations, int8 symmetric weights, one scale per tensor, percentiles.",
       integers("UInt8Spec", false, "Int8Spec", true, "Percentile")},
      {"U8U8_AAWA", "uint8 activations and weights, both asymmetric, one scale per tensor, percentiles.",
       integers("UInt8Spec", false, "UInt8Spec", false, "Percentile")},
      {"S16S8_ASWS", "int16 activations and int8 weights, both symmetric, one scale per tensor, percentiles: for NPUs.",
       integers("Int16Spec", true, "Int8Spec", true, "Percentile")},
      {"U16S8_AAWS", "uint16 asymmetric activations, int8 symmetric weights, one scale per tensor, percentiles: for NPUs.",
       integers("UInt16Spec", false, "Int8Spec", true, "Percentile")},
      {"S16S16_MIXED_S8S8", "int8 as S8S8_AAWS; the layers that bear it least have int16 on both sides (include_auto_mp).",
       mixed()},
      {"VINT8", "int8 with power-of-two scales as XINT8, without the rules of NPUs, clean-up and fused activations.", vint8()},
      {"UINT8_DYNAMIC_QUANT",
       "as DYNAMIC, with uint8 asymmetric weights and one scale per tensor.",
       {{"activation", "DynamicSpec"},
        {"weight", "UInt8Spec"},
        {"weight_params", {{"symmetric", false}, {"calibration_method", "MinMax"}, {"quant_granularity", "Tensor"}}}}},
      {"MATMUL_NBITS", "Weights only: 4 bits, symmetric, one scale per 128 inputs (MatMulNBits).", weights_of_4_bits()},
      {"INT8_CNN_DEFAULT",
       "uint8 asymmetric activations, int8 symmetric weights, one scale per tensor, least and greatest values.",
       default_of("UInt8Spec", "Int8Spec")},
      {"INT8_CNN_ACCURATE", "the same with percentiles and adaround.", accurate("UInt8Spec", "Int8Spec")},
      {"INT8_TRANSFORMER_DEFAULT", "INT8_CNN_DEFAULT for Gemm and MatMul only, with moving averages.",
       with(with(default_of("UInt8Spec", "Int8Spec"), products_only), {{"CalibMovingAverage", true}})},
      {"INT8_TRANSFORMER_ACCURATE", "INT8_CNN_ACCURATE for Gemm and MatMul only.",
       with(accurate("UInt8Spec", "Int8Spec"), products_only)},
      {"INT16_CNN_DEFAULT", "uint16 asymmetric activations, int16 symmetric weights, least and greatest values: for NPUs.",
       default_of("UInt16Spec", "Int16Spec")},
      {"INT16_CNN_ACCURATE", "the same with percentiles and adaround.", accurate("UInt16Spec", "Int16Spec")},
      {"INT16_TRANSFORMER_DEFAULT", "INT16_CNN_DEFAULT for Gemm and MatMul only, with moving averages.",
       with(with(default_of("UInt16Spec", "Int16Spec"), products_only), {{"CalibMovingAverage", true}})},
      {"INT16_TRANSFORMER_ACCURATE", "INT16_CNN_ACCURATE for Gemm and MatMul only.",
       with(accurate("UInt16Spec", "Int16Spec"), products_only)}};
  return all;
}

const std::vector<Unavailable>& unavailable() {
  static const std::vector<Unavailable> all{
      {"BFP16", "BFP16", "BF16"},          {"MX4", "MX4", "W4A8_CHANNEL"},        {"MX6", "MX6", "A8W8_CHANNEL"},
      {"MX9", "MX9", "A8W8_CHANNEL"},      {"MXFP8E5M2", "FP8", "A8W8_CHANNEL"},  {"MXFP8E4M3", "FP8", "A8W8_CHANNEL"},
      {"MXFP6E3M2", "MX", "A8W8_CHANNEL"}, {"MXFP6E2M3", "MX", "A8W8_CHANNEL"},   {"MXFP4E2M1", "MX", "W4A8_CHANNEL"},
      {"MXINT8", "MX", "A8W8_CHANNEL"},    {"BF16_MIXED_BFP16", "BFP16", "BF16"}, {"BF16_MIXED_MXINT8", "MX", "BF16"},
      {"BF16_BFP16", "BFP16", "BF16"},     {"BF16_MXINT8", "MX", "BF16"},         {"MX9_INT8", "MX9", "A8W8_CHANNEL"}};
  return all;
}

}  // namespace quasar::quant
