// Automatic mixed precision: the layers that suffer most from quantization get a wider type, until little noise is left.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "quasar/base/json.hpp"
#include "quasar/quant/codes/scheme.hpp"

namespace quasar::quant {

struct MixedPrecision {
  Json words = Json::object();  // as written
  Scheme activation, weight;    // of the layers that are promoted
  std::vector<std::string> op_types;
  std::optional<size_t> most;  // layers
  double noise_share = 0;      // promotion ends when the layers that are left have no more than this share of all noise
  bool operator==(const MixedPrecision&) const = default;
};

// include_auto_mp and AutoMixprecision.
std::vector<std::string> mixed_precision_keys();

// nullopt: switched off. `activation`, `weight`: the schemes of all layers. Throws Error for unknown options, wrong values, and
// types that are not wider than the configuration's.
std::optional<MixedPrecision> parse_mixed_precision(const Json& words, const Scheme& activation, const Scheme& weight);

// Back in the user's words.
Json to_json(const MixedPrecision& mixed);

}  // namespace quasar::quant
