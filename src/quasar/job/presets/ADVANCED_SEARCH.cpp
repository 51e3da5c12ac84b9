#include "quasar/job/preset.hpp"

namespace quasar::tune::presets {

Entry<Preset> ADVANCED_SEARCH() {
  return {
      "Quark's widest preset for int8. 36 calibrations: symmetric or not, three methods for activations and two for weights, "
      "equalization. Then 20 trials of AdaRound and AdaQuant with longer ranges.",
      [](const Options&) {
        return std::make_unique<Preset>(parse_json(R"({
  "search_space": {
    "activation": ["Int8Spec"],
    "activation_params": {
      "symmetric": [true, false],
      "scale_type": ["Float32"],
      "calibration_method": ["MinMax", "Percentile", "LayerwisePercentile"],
      "quant_granularity": ["Tensor"],
      "only_if": "activation"
    },
    "weight": ["Int8Spec"],
    "weight_params": {
      "symmetric": [true],
      "scale_type": ["Float32"],
      "calibration_method": ["MinMax", "MinMSE"],
      "quant_granularity": ["Tensor"],
      "only_if": "weight"
    },
    "cle_algo": ["cle", null],
    "cle_params": {"cle_steps": [-1, 1], "only_if": {"cle_algo": "cle"}},
    "algorithms": ["adaround", "adaquant"],
    "adaround_params": {
      "num_iterations": {"type": "int", "low": 3000, "high": 30000, "step": 3000},
      "learning_rate": {"type": "float", "low": 1e-2, "high": 1e-1, "log": true},
      "optim_device": ["cuda:0"],
      "infer_device": ["cuda:0"],
      "data_size": [3000],
      "batch_size": [2],
      "early_stop": [true],
      "only_if": {"algorithms": "adaround"}
    },
    "adaquant_params": {
      "num_iterations": {"type": "int", "low": 3000, "high": 30000, "step": 3000},
      "learning_rate": {"type": "float", "low": 1e-6, "high": 1e-3, "log": true},
      "optim_device": ["cuda:0"],
      "infer_device": ["cuda:0"],
      "data_size": [3000],
      "batch_size": [2],
      "early_stop": [true],
      "only_if": {"algorithms": "adaquant"}
    },
    "specific_layer_config": [null],
    "layer_type_config": [null],
    "exclude": [null],
    "use_external_data_format": [false],
    "OptimizeModel": [true]
  },
  "n_trials": 20,
  "n_jobs": 1,
  "search_algo": "TPE",
  "search_metric": "L2",
  "two_stage_search": true,
  "study_storage_db": "auto_search.db",
  "load_study_if_exists": true
})",
                                                   "preset ADVANCED_SEARCH"));
      }};
}

}  // namespace quasar::tune::presets
