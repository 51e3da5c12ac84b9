#include "quasar/job/preset.hpp"

namespace quasar::tune::presets {

Entry<Preset> A8W8_SEARCH() {
  return {
      "Quark's preset for int8 activations and per-tensor int8 weights. 36 calibrations: symmetric or not, three methods, "
      "equalization. Then 20 trials of AdaRound and AdaQuant.",
      [](const Options&) {
        return std::make_unique<Preset>(parse_json(R"({
  "search_space": {
    "activation": ["Int8Spec"],
    "activation_params": {
      "symmetric": [true, false],
      "calibration_method": ["MinMax", "Percentile", "LayerwisePercentile"],
      "only_if": "activation"
    },
    "weight": ["Int8Spec"],
    "weight_params": {
      "symmetric": [true],
      "calibration_method": ["MinMax"],
      "quant_granularity": ["Tensor"],
      "only_if": "weight"
    },
    "cle_algo": ["cle", null],
    "cle_params": {"cle_steps": [-1, 1], "only_if": {"cle_algo": "cle"}},
    "algorithms": ["adaround", "adaquant"],
    "adaround_params": {
      "num_iterations": {"type": "int", "low": 3000, "high": 20000, "step": 3000},
      "learning_rate": {"type": "float", "low": 1e-2, "high": 1e-1, "log": true},
      "optim_device": ["cuda:0"],
      "infer_device": ["cuda:0"],
      "data_size": [1000],
      "batch_size": [2],
      "early_stop": [true],
      "only_if": {"algorithms": "adaround"}
    },
    "adaquant_params": {
      "num_iterations": {"type": "int", "low": 3000, "high": 20000, "step": 3000},
      "learning_rate": {"type": "float", "low": 1e-6, "high": 1e-4, "log": true},
      "optim_device": ["cuda:0"],
      "infer_device": ["cuda:0"],
      "data_size": [1000],
      "batch_size": [2],
      "early_stop": [true],
      "only_if": {"algorithms": "adaquant"}
    },
    "specific_layer_config": [null],
    "layer_type_config": [null],
    "exclude": [null],
    "use_external_data_format": [false],
    "OptimizeModel": [true],
    "AlignSlice": [false],
    "FoldRelu": [true],
    "AlignConcat": [true],
    "PercentileCandidates": [[99.99, 99.999, 99.9999], [99, 99.9, 99.99, 99.999, 99.9999]]
  },
  "n_trials": 20,
  "n_jobs": 1,
  "search_algo": "TPE",
  "search_metric": "L2",
  "two_stage_search": true,
  "study_storage_db": "auto_search.db",
  "load_study_if_exists": true
})",
                                                   "preset A8W8_SEARCH"));
      }};
}

}  // namespace quasar::tune::presets
