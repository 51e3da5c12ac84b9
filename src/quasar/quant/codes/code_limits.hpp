// Codes of weights that every kernel adds without overflow (configuration key `saturation`).
//
// Where two products u₁·a + u₂·b of unsigned 8-bit values u and signed 8-bit weights a, b are added in 16 bits, no input
// overflows if and only if
//   max(a, 0) + max(b, 0) <= ⌊32767 / u_max⌋   and   min(a, 0) + min(b, 0) >= −⌊32768 / u_max⌋      (128 for u_max = 255)
// On Arm two products of −128 · −128 do overflow, so that weights never have code −128.
#pragma once

#include <cstdint>
#include <string>

#include "quasar/base/json.hpp"
#include "quasar/ops/sum_order.hpp"
#include "quasar/quant/codes/scheme.hpp"

namespace quasar::quant {

// What is done about sums of 16 bits that might overflow.
enum class Saturation {
  avoid,             // scales and codes such that none can; weights of few terms that would lose by it are stored as uint8
  raise_scales,      // the same, but these stay int8, too: faster where int8 has the better kernels
  reduce_range,      // weights have 7 bits
  unsigned_weights,  // weights are stored as uint8, for which kernels have wider sums
  ignore             // nothing: right on processors with VNNI
};
Saturation parse_saturation(const Json& value);  // throws Error for other words
std::string name_of(Saturation saturation);

// What codes of one tensor of weights keep to; 0: whatever the type holds.
struct CodeLimits {
  int32_t most = 0;          // |code|; 64: seven bits
  int32_t pair = 0;          // |a + b| of two codes of one sign that share a sum of 16 bits
  ops::SumOrder order = {};  // which ones do
  bool any() const { return most != 0 || pair != 0; }
  bool operator==(const CodeLimits&) const = default;
};

// Puts weights' parameters in the form that `saturation` asks for, and says what codes keep to then:
//   unsigned, or zero points that are not 0   the same grid as uint8, without limits
//   reduce_range                              a grid of 7 bits over the same range
// `order`: of the node's sums (without terms: it adds no pairs; then only code −128 is avoided); `most_input`: the largest code
// that the weights are multiplied with. Only int8 parameters without blocks change.
CodeLimits limit_codes(QuantParams& params, Saturation saturation, const ops::SumOrder& order, int32_t most_input,
                       ScaleType scale_type);

// Raises scales of `weights` so that nearest codes keep within limits.pair: to the largest |a| + |b| of two weights of one sign
// that share a sum, over limits.pair − 1, which leaves room for two roundings. Powers of two are raised only where that costs
// less (in squared error of the weights) than keep_pair() does. -> number of scales raised.
size_t fit_to_pairs(QuantParams& params, const Tensor& weights, const CodeLimits& limits,
                    ScaleType scale_type = ScaleType::float32);

// The least change that brings two codes that share a sum within the limit: what is too much is shared out among them.
void keep_pair(int32_t& a, int32_t& b, int32_t pair);

// The nearest codes within the limits.
Tensor quantize_within(const Tensor& values, const QuantParams& params, const CodeLimits& limits);

}  // namespace quasar::quant
