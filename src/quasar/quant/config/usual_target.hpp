// The target of a configuration that names none.
#pragma once

#include <string>

#include "quasar/base/json.hpp"

namespace quasar::quant {

inline constexpr const char* default_target = "ort_cpu";

struct UsualTarget {
  std::string name = default_target;
  std::string told = "";  // what the user is told where it is not the default one
};

// Of a configuration, or of a space (lists of choices): xint8 where every choice of activations and weights has power-of-two
// scales by its type (XInt8Spec, scheme XINT8), which is for NPUs, and where EnableNPUCnn is on in every choice; otherwise the
// default.
UsualTarget usual_target(const Json& words);

}  // namespace quasar::quant
