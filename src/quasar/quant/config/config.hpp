// One configuration in the user's words, typed: what a scheme file holds, and what a point of a search space decodes to.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "quasar/base/plugin.hpp"
#include "quasar/quant/codes/code_limits.hpp"
#include "quasar/quant/codes/scheme.hpp"
#include "quasar/quant/codes/switches.hpp"
#include "quasar/quant/config/fixed_shapes.hpp"
#include "quasar/quant/config/format.hpp"
#include "quasar/quant/config/high_precision.hpp"
#include "quasar/quant/config/kind_rules.hpp"
#include "quasar/quant/config/layer_rules.hpp"
#include "quasar/quant/config/mixed_precision.hpp"
#include "quasar/quant/config/model_form.hpp"
#include "quasar/quant/config/named_schemes.hpp"
#include "quasar/quant/config/rounding_config.hpp"
#include "quasar/quant/config/selection.hpp"
#include "quasar/quant/config/tensor_overrides.hpp"
#include "quasar/quant/config/transform.hpp"

namespace quasar::quant {

// How many of a configuration's exclusions (the last) and layer rules (the first) count only once weights are rounded.
struct AfterRounding {
  size_t excluded = 0, rules = 0;
  bool any() const { return excluded + rules > 0; }
  bool operator==(const AfterRounding&) const = default;
};

struct Config {
  Scheme activation, weight;
  std::vector<Json> exclude;              // as written: a name, {regex: …}, {op_type: …}, {from: a, to: b}
  std::optional<size_t> calib_data_size;  // samples used; nullopt: all
  Rounding rounding;
  Switches switches;  // those given
  Selection selection;
  int max_loop_num = 0;                    // MaxLoopNum: passes over the rules of NPUs; 0: until nothing changes
  std::vector<LayerRule> layers;           // layers with types of their own; the first rule that fits holds
  std::vector<KindRule> kinds = {};        // layer_kinds: the same by what layers do
  ModelForm form = ModelForm::all;         // which operators are quantized
  AfterRounding after_rounding;            // which of `exclude` and `layers` stand under this key
  std::optional<LayerRule> products;       // of form dynamic_products: how, for layers without a rule
  std::optional<MixedPrecision> mixed;     // promotion of the most sensitive layers, after those rules
  TensorOverrides tensors;                 // single tensors
  std::set<std::string> recipes_off;       // parts of the network left in float by name
  std::vector<TransformUse> transforms;    // of the float graph, in this order
  std::optional<Saturation> saturation;    // nullopt: the target's choice
  Format format = Format::qdq;             // quant_format
  std::optional<DataType> high_precision;  // high_precision_dtype: what is not in codes; nullopt: float32
  FixedShapes fixed_shapes;                // FixShapes
  bool optimize_model = true;              // OptimizeModel: clean-up of the float graph before all else
  bool external_data = false;              // weights go to a file beside the model
  bool operator==(const Config&) const = default;
};

// Parses one configuration:
//   {activation: Int8Spec, activation_params: {symmetric: …, calibration_method: …, quant_granularity: …, scale_type: …},
//    weight: …, weight_params: …, exclude: …, <option>: <value>, …}
// Throws Error for unknown keys (with the nearest valid one), values, and combinations that make no sense for a type, each
// with its reason; what a later version brings is "not yet supported".
Config parse_config(const Json& words);

// The configuration back in the user's words; parse_config(to_json(c)) == c.
Json to_json(const Config& config);

// The configuration whose weights are rounded: without what stands under after_rounding. The other layers keep their codes.
Config while_rounding(Config config);

// The rule for a node, the form's included; nullptr when there is none.
const LayerRule* rule_for(const graph::Node& node, const Config& config);

// Whether the configuration can be carried out without any samples: nothing is to be observed.
bool needs_no_samples(const Config& config);

// Why a combination cannot be (reason for a validator that removes it from a space); "" when it can.
std::string contradiction(const Json& words);

}  // namespace quasar::quant
