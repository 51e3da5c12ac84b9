// Rounding methods: a layer's weights -> integer codes. One file per method in rounding/.
//
// For weights w [k] of one output, inputs x̂ [k] as the quantized network computes them and outputs y as the float network
// computes them, the mean squared error of the output is a quadratic form of the quantized weights q:
//   E(q) = q H qᵀ − 2 r qᵀ + p,    H = mean x̂x̂ᵀ [k, k],   r = mean y x̂ᵀ [k],   p = mean y²
// (Nagel et al. 2020, "Up or Down? Adaptive Rounding for Post-Training Quantization", section 3, for x̂ = x.) With the means of
// x̂ and y removed, the bias absorbs the mean error exactly. Samples are few, so that damping λ pulls q towards w:
//   H ← H + λI,   r ← r + λw,   p ← p + λ|w|²
#pragma once

#include <cstdint>
#include <vector>

#include "quasar/base/plugin.hpp"

namespace quasar::quant {

// All outputs that share their inputs: a layer, or one group of a convolution.
struct GramProblem {
  size_t outputs = 0, inputs = 0;
  std::vector<float> weights = {};        // [outputs, inputs]
  std::vector<double> gram = {};          // H [inputs, inputs], without damping
  std::vector<double> cross = {};         // r [outputs, inputs]
  std::vector<double> power = {};         // p [outputs]
  std::vector<double> scales = {};        // [outputs, blocks]: value = scale · (code − zero point)
  std::vector<int32_t> zero_points = {};  // [outputs, blocks]
  int32_t low = -127, high = 127;         // codes
  double damping = 0;                     // λ
  size_t block = 0;                       // so many neighbouring inputs share a scale; 0: all of them
  // Where products are added in pairs, in 16 bits (code_limits.hpp): for each input the one that shares its sum; `alone`: none
  // does; `apart`: one that is not in this problem. Empty: no limits.
  static constexpr uint32_t alone = UINT32_MAX, apart = UINT32_MAX - 1;
  std::vector<uint32_t> partners = {};  // [inputs]
  int32_t pair = 0;                     // largest |a + b| of two partners' codes of one sign

  size_t blocks() const { return block == 0 ? 1 : (inputs + block - 1) / block; }
};

struct Solution {
  std::vector<int32_t> codes;                   // [outputs, inputs]
  std::vector<double> before = {}, after = {};  // [outputs]: E without damping, for nearest rounding and for these codes
  std::vector<double> damped = {};              // [outputs]: E with damping, for these codes
  size_t sweeps = 0;                            // passes over the coordinates, the most of all outputs
};

class RoundingMethod {
 public:
  virtual ~RoundingMethod() = default;
  // false: weights are rounded to the nearest code, and no problem needs to be posed.
  virtual bool optimizes() const { return true; }
  // Whether it is for layers whose activations stay in float.
  virtual bool weights_only() const { return false; }
  // The transform (transforms/) that it wants to have been applied, which takes the scheme of the weights, and its own alpha and
  // data_size; "": none.
  virtual std::string transform() const { return ""; }
  // How many passes of coordinate descent tell what a weight scale is good for; 0: the nearest codes do.
  virtual size_t probing_sweeps() const { return 2; }
  // The damped error of an output is never above that of nearest rounding; where it is not below, codes are the nearest. The
  // result does not depend on `threads` (0: all cores).
  virtual Solution solve(const GramProblem& problem, size_t threads) const = 0;
};

}  // namespace quasar::quant

namespace quasar::quant::rounding {
const Table<RoundingMethod>& table();
}
