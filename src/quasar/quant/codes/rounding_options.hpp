// Options of the rounding methods: which act, and which are only accepted.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "quasar/base/plugin.hpp"

namespace quasar::quant {

// Of all methods that optimize: how a layer's problem is posed. data_size, damping, update_bias, scale_search,
// end_loss_guidance, refine_activations, keep_activations.
std::vector<OptionSpec> layer_options();
// The same, and num_iterations.
std::vector<OptionSpec> descent_options();

// Passes of coordinate descent: num_iterations, but no more than any layer ever needed.
inline constexpr int64_t most_sweeps = 32;
size_t sweeps_of(const Options& options);

// How a layer's problem is posed.
struct LayerSettings {
  std::optional<size_t> data_size;  // samples; nullopt: all
  double damping = 1;               // c in λ = c · k/√n · mean H_jj, for k inputs seen n times
  bool update_bias = true;
  bool scale_search = true;
  std::optional<double>
      end_loss_guidance;  // how much positions count by what they do to the model's outputs; nullopt: by the model
  bool refine_activations = true;
  std::set<std::string> keep_activations = {};  // values whose scale is not chosen again
  // λ, from Σ_j H_jj = k · mean H_jj and n.
  double damping_of(double diagonal, size_t times_seen) const;
};
LayerSettings layer_settings(const Options& options);

// An option of other implementations that cannot have an effect here, and why.
struct InertOption {
  OptionSpec spec;
  std::string why;
};
const std::vector<InertOption>& inert_options();

}  // namespace quasar::quant
