#include "quasar/quant/codes/switches.hpp"

#include <algorithm>

#include "quasar/base/error.hpp"

namespace quasar::quant {

const std::vector<Switch>& switch_table() {
  static const std::vector<Switch> all{
      {"NPULimitationCheck", "", false, true, true,
       "keeps the alignments and the limits of shifts below; one by one by their own keys"},
      {"AlignConcat", "NPULimitationCheck", false, true, false,
       "the inputs and the output of Concat share one scale, the coarsest: concatenating moves codes only"},
      {"AlignPool", "NPULimitationCheck", false, true, false,
       "average pooling keeps its input's scale, the coarser of both: its processors have no shift there"},
      {"AlignSlice", "", true, true, false, "the output of Slice has its input's scale; off: a scale of its own"},
      {"AlignEltwiseQuantType", "", true, true, false,
       "constants on one side of Add, Sub, Mul, Div are quantized as activations are; off: as weights are"},
      {"AdjustShiftCut", "NPULimitationCheck", false, true, true,
       "Conv, Gemm …: 0 <= w + i - o <= 16 for the positions of weights, input and output"},
      {"AdjustShiftBias", "NPULimitationCheck", false, true, true,
       "Conv, Gemm …: min(0, w + i - o - 16) <= w + i - b <= 15, and at least 0 before LeakyRelu, for the bias' position b"},
      {"AdjustShiftRead", "NPULimitationCheck", false, true, true, "Add, Sub: the positions of both inputs differ by at most 7"},
      {"AdjustShiftWrite", "NPULimitationCheck", false, true, true, "Add: -7 <= min(i) - o <= 25; Mul: 0 <= sum(i) - o <= 32"},
      {"AdjustHardSigmoid", "NPULimitationCheck", false, true, true,
       "HardSigmoid: 0 <= i <= 15, o >= 7 and 0 <= 14 + i - o <= 31"},
      {"AdjustShiftSwish", "NPULimitationCheck", false, true, true, "the product of a swish: 0 <= sum(i) - o <= 15"},
      {"SimulateDPU", "", false, true, false,
       "computes what the processor will: the conversions below, each switched by its own key"},
      {"ConvertLeakyReluToDPUVersion", "SimulateDPU", false, true, false, "alpha becomes round(256 alpha) / 256"},
      {"ConvertSigmoidToHardSigmoid", "SimulateDPU", false, true, false, "Sigmoid becomes HardSigmoid with alpha 1/6"},
      {"ConvertHardSigmoidToDPUVersion", "SimulateDPU", false, true, false,
       "the output of HardSigmoid with alpha 1/6 is scaled by 6 * 2731/16384, which is how the processor divides by 6"},
      {"ConvertAvgPoolToDPUVersion", "SimulateDPU", false, true, false,
       "the average over a square window is scaled by its factor on the processor (3x3: 63/64), which divides by shifts"},
      {"ConvertReduceMeanToDPUVersion", "SimulateDPU", false, true, false, "the same for ReduceMean"},
      {"ConvertClipToDPUVersion", "SimulateDPU", false, false, false, "bounds of Clip are rounded to integers of -128 to 127"},
      {"QuantizeBias", "", true, true, false, "biases are quantized; off: they stay float"},
      {"Int32Bias", "", true, false, false,
       "biases are int32 with the scale s_input * s_weight; off: 8 bits with a scale of their own"},
      {"Int16Bias", "", false, false, false, "biases are int16 with a scale of their own; comes before Int32Bias"},
      {"RemoveQDQConvRelu", "", true, true, false,
       "no pair between Relu and its producer where the target computes both at once; off: one always"},
      {"RemoveQDQConvClip", "", true, true, false, "the same for Clip"},
      {"RemoveQDQConvLeakyRelu", "", false, true, false, "no pair between LeakyRelu and a Conv, Gemm, Add … that it alone reads"},
      {"RemoveQDQConvPRelu", "", false, true, false, "the same for PRelu"},
      {"RemoveQDQConvGelu", "", false, false, false, "the same for Gelu"},
      {"RemoveQDQMulAdd", "", false, false, false, "no pair between a Mul and the Add that alone reads it"},
      {"FoldRelu", "", false, false, false,
       "Relu and Clip whose output's grid holds nothing beyond their bounds are removed: quantization clips alike"},
      {"ConvertClipToRelu", "", false, false, false,
       "Clip from 0 becomes Relu where the grid of its output ends at the upper bound or below: quantization clips alike"},
      {"EnableSubgraph", "", true, false, false,
       "operators in bodies of If, Loop and Scan are quantized too; off: they stay in float"},
      {"WeightsOnly", "", false, false, false, "only weights are quantized; activations and biases stay float"},
      {"MatMulConstBOnly", "", false, false, false, "MatMul of two activations stays in float"},
      {"ForceQuantizeNoInputCheck", "", false, false, false,
       "operators that move values (Reshape, MaxPool …) are quantized even where their input comes from a float node"},
      {"EnableNPUCnn", "", false, true, false, "quantizes for target xint8, whatever the target; off: without its rules"},
      {"EnableNPUTransformer", "", false, false, false,
       "only Gemm and MatMul are quantized, unless OpTypesToQuantize says otherwise"}};
  return all;
}

const Switch* find_switch(std::string_view key) {
  const auto& all = switch_table();
  const auto found = std::ranges::find(all, key, &Switch::key);
  return found == all.end() ? nullptr : &*found;
}

bool is_on(const Switches& given, std::string_view key, bool npu) {
  if (const auto found = given.find(std::string(key)); found != given.end()) return found->second;
  const Switch* const known = find_switch(key);
  if (known == nullptr) throw Error("there is no switch '" + std::string(key) + "'");
  const bool decided = known->master.empty() ? npu : is_on(given, known->master, npu);
  return decided ? known->on_npu : known->usual;
}

bool parse_switch(const std::string& key, const Json& value) {
  if (!value.is_boolean()) throw Error(key + " is " + value.dump() + ", but must be true or false");
  return value.get<bool>();
}

}  // namespace quasar::quant
