#include "quasar/job/preset.hpp"

namespace quasar::tune::presets {

// Kinds of layers in the order of what 8 bits gain for their bytes. Zero points of HQQ and rounding come last: they act on what
// is left at 4 bits, and rounded trials take longest.
Entry<Preset> language_search() {
  return {
      "Weights only, for transformers: 4 or 8 bits for each kind of layer (last, table, down, attention, feed-forward), HQQ and "
      "GPTQ, one by one from W4; made for a constraint on bytes.",
      [](const Options&) {
        return std::make_unique<Preset>(parse_json(R"({
              "search_space": {
                "activation": [null],
                "weight": ["UInt4Spec"],
                "layer_kinds": {
                  "table": ["UInt8Spec", "UInt4Spec", null],
                  "last": [null, "UInt8Spec"],
                  "down": [null, {"weight": "UInt8Spec", "layers": "k_quant"}, "UInt8Spec"],
                  "query_key_value": [null, {"weight": "UInt8Spec", "layers": "k_quant"}, "UInt8Spec"],
                  "attention_output": [null, "UInt8Spec"],
                  "feed_forward": [null, "UInt8Spec"],
                  "only_if": "weight"
                },
                "weight_params": {
                  "symmetric": [false],
                  "quant_granularity": ["Group"],
                  "group_size": [32],
                  "calibration_method": ["MinMSE", "HQQ"],
                  "only_if": "weight"
                },
                "algorithms": [null, "gptq"]
              },
              "search_algo": "one_by_one",
              "n_trials": 16
            })",
                                                   "preset language_search"));
      }};
}

}  // namespace quasar::tune::presets
