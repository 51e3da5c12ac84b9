// Automatic mixed precision: the layers that suffer most from quantization get a wider type, until little noise is left.
//
// A layer's sensitivity is the noise-to-signal ratio of its output that a wider type takes away, from statistics alone:
//   weights   mean over output channels of ‖W_o − Ŵ_o‖² / ‖W_o‖²      (inputs taken as uncorrelated)
//   output    Δ²/12 / E[y²], Δ the output's scale
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "quasar/graph/model.hpp"
#include "quasar/quant/scheme.hpp"
#include "quasar/stats/statistics.hpp"

namespace quasar::quant {

struct Config;
struct Plan;

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

// nullopt: switched off. `config` holds the schemes of all layers. Throws Error for unknown options, wrong values, and types that
// are not wider than the configuration's.
std::optional<MixedPrecision> parse_mixed_precision(const Json& words, const Config& config);

// Back in the user's words.
Json to_json(const MixedPrecision& mixed);

struct Sensitivity {
  std::string node;
  double weights = 0, output = 0;
  double total() const { return weights + output; }
};

// Of the quantized layers with weights, the most sensitive first.
std::vector<Sensitivity> sensitivities(const graph::Model& model, const stats::Statistics& seen, const Plan& plan);

// The layers to promote, the most sensitive first. `plan`: of the configuration without promotion.
std::vector<std::string> promoted_layers(const graph::Model& model, const stats::Statistics& seen, const Plan& plan,
                                         const MixedPrecision& mixed);

}  // namespace quasar::quant
