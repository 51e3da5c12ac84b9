// A layer with so many inputs that its Gram matrix would not fit: it is rounded in blocks of inputs, one after the other.
//
// With ρ = y − Σ_c Ŵ_c x̂_c over the blocks c that are done and W_c over those to come, a block b is to give t = ρ + W_b x̂_b:
// a problem of its own on the diagonal block H_b, after which ρ ← ρ + (W_b − Ŵ_b) x̂_b. So each block makes up for the errors of
// those before it. In memory: one block's Gram matrix, ρ at the chosen positions, and 32 MiB of columns.
#pragma once

#include <functional>

#include "quasar/rounding/layer_rounding.hpp"

namespace quasar::tune {

struct WideInput {
  const std::vector<Target>& targets;  // y, by sample
  size_t samples = 0;                  // those that take part, from the first
  // A sample's inputs [groups · inputs, positions] at these positions.
  std::function<void(size_t sample, std::span<const uint32_t> positions, float* to, size_t stride)> fill;
  size_t block = 2048;  // inputs of one block
};

// As round_layer(). A bias on a grid of its own is rounded after the weights.
LayerError round_wide_layer(const LinearLayer& layer, const WideInput& input, const LayerContext& context, quant::NodePlan& plan);

}  // namespace quasar::tune
