#include "quasar/quant/config/config_keys.hpp"

#include <map>

#include "quasar/base/names.hpp"
#include "quasar/quant/config/mixed_precision.hpp"
#include "quasar/quant/config/option_keys.hpp"
#include "quasar/quant/config/recipes.hpp"
#include "quasar/quant/config/rounding_config.hpp"
#include "quasar/quant/config/transform.hpp"

namespace quasar::quant {

const std::vector<RangeKey>& range_keys() {
  static const std::vector<RangeKey> all{{"Percentile", "percentile", "percentile"},
                                         {"PercentileCandidates", "layerwise_percentile", "percentile_candidates"},
                                         {"CalibMovingAverage", "min_max", "moving_average"},
                                         {"CalibMovingAverageConstant", "min_max", "moving_average_constant"},
                                         {"RangeMargin", "min_max", "margin", true}};
  return all;
}

std::vector<std::string> config_keys() {
  std::vector<std::string> keys{"activation",
                                "activation_params",
                                "weight",
                                "weight_params",
                                "exclude",
                                "CalibDataSize",
                                "specific_layer_config",
                                "layer_type_config",
                                "layer_kinds",
                                "models",
                                "after_rounding",
                                "quant_format",
                                "form",
                                "saturation",
                                "reduce_range",
                                "high_precision_dtype",
                                "FixShapes",
                                "OptimizeModel",
                                "use_external_data_format",
                                "scheme"};
  for (const auto& range : range_keys()) keys.push_back(range.key);
  for (auto& key : rounding_keys()) keys.push_back(std::move(key));
  for (const auto& list :
       {transform_keys(), mixed_precision_keys(), recipe_keys(), std::vector<std::string>{"TensorQuantOverrides"}})
    keys.insert(keys.end(), list.begin(), list.end());
  for (auto& key : option_keys()) keys.push_back(std::move(key));
  return keys;
}

std::string hint_of_foreign_key(std::string_view name) {
  static const std::map<std::string, std::string> all{
      {"accuracylevel",
       "accuracy_level 4 of MatMulNBits is activation: DynamicSpec beside weights in groups (0: activation: null); in a search "
       "space activation: [null, DynamicSpec] tries both"},
      {"blocksize", "values in a block are said by weight_params: {group_size: 32}"},
      {"issymmetric", "symmetry is said by weight_params: {symmetric: true}, and the same in activation_params"},
      {"bits", "bits are said by the types: weight: UInt4Spec, UInt2Spec, UInt8Spec"}};
  const auto found = all.find(normalized(name));
  return found == all.end() ? "" : "; " + found->second;
}

}  // namespace quasar::quant
