// Spaces with everything that a space can have.
#pragma once

#include "quasar/search/space.hpp"

namespace quasar::search {

inline Space finite_space() {
  return Space::parse(parse_json(R"({"algorithms": ["adaround", "adaquant", null], "exclude": [null, ["conv1"], "conv2"],
    "activation_params": {"symmetric": [true, false], "percentile": [99.9, 99.99, 100], "only_if": "activation"}, "activation": ["Int8Spec", null],
    "adaround_params": {"NumIterLR": [[3000, 0.1], [1000, 0.2]], "only_if": {"algorithms": "adaround"}}})",
                                 "test"));
}

inline Space mixed_space() {
  return Space::parse(
      parse_json(R"({"a": ["x", "y"], "x_params": {"only_if": {"a": "x"}, "n": {"type": "int", "low": 10, "high": 50, "step": 10},
    "lr": {"type": "float", "low": 1e-6, "high": 1e-2, "log": true}}})",
                 "test"));
}

}  // namespace quasar::search
