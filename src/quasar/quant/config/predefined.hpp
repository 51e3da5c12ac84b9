// AMD Quark's predefined configurations that are no schemes of Quasar's own, by what each sets: types, symmetry, calibration,
// which operators and how layers are mixed.
#pragma once

#include <string>
#include <vector>

#include "quasar/base/json.hpp"

namespace quasar::quant {

struct Predefined {
  std::string name, help;
  Json words;  // as parse_config takes them
};

const std::vector<Predefined>& predefined();

// Those whose type ONNX and ONNX Runtime lack.
struct Unavailable {
  std::string name, type;
  std::string instead;  // the nearest scheme that runs
};

const std::vector<Unavailable>& unavailable();

}  // namespace quasar::quant
