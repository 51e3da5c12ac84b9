#include "quasar/rounding/sensitivity.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

#include "quasar/base/parallel.hpp"
#include "quasar/quant/codes/vectors.hpp"

namespace quasar::tune {
namespace {

constexpr size_t together = 16;  // outputs, for which a row of the Gram matrix is read once
constexpr size_t block = 32;     // rows whose products are summed together, and
constexpr size_t stretch = 128;  // so many columns of all outputs, which the first-level cache holds

// Σᵢⱼ δᵢ G_ij δⱼ for each of these changes [inputs]; of G [inputs, inputs] the part below the diagonal is read. Every sum has the
// order of quant::dot().
std::vector<double> squares_of(const std::vector<std::vector<double>>& deltas, const double* gram, size_t inputs) {
  std::vector<double> squares(deltas.size());
  for (size_t first = 0; first < inputs; first += block) {
    const size_t rows = std::min(block, inputs - first);
    std::vector<double> partial(deltas.size() * rows * 8);
    for (size_t from = 0; from < first; from += stretch) {
      std::vector<const double*> there;
      for (const auto& delta : deltas) there.push_back(delta.data() + from);
      quant::add_partial_dots(std::min(stretch, first - from), rows, deltas.size(), gram + first * inputs + from, inputs,
                              there.data(), partial.data());
    }
    for (size_t o = 0; o < deltas.size(); o++) {
      const double* const delta = deltas[o].data();
      for (size_t i = first; i < first + rows; i++) {
        if (delta[i] == 0) continue;
        const double below = quant::finish_dot(partial.data() + (o * rows + i - first) * 8, first, i, gram + i * inputs, delta);
        squares[o] += delta[i] * (2 * below + gram[i * inputs + i] * delta[i]);
      }
    }
  }
  return squares;
}

}  // namespace

double error_of_change(const LinearLayer& layer, const Moments& moments,
                       const std::function<double(size_t output, size_t input)>& change, bool centred, size_t threads) {
  const size_t k = layer.inputs;
  const double share = 1 / positive(moments.weight);
  std::vector<double> sums(layer.outputs);
  const size_t per_group = (layer.group_outputs() + together - 1) / together;
  parallel_for(layer.groups * per_group, threads, [&](size_t task) {
    const size_t group = task / per_group, begin = group * layer.group_outputs() + task % per_group * together;
    const size_t count = std::min(together, (group + 1) * layer.group_outputs() - begin);
    const double* const gram = moments.gram.data() + group * k * k;  // the part below the diagonal
    const double* const means = moments.inputs.data() + group * k;
    std::vector<std::vector<double>> deltas(count, std::vector<double>(k));
    for (size_t o = 0; o < count; o++) {
      for (size_t j = 0; j < k; j++) deltas[o][j] = change(begin + o, j);
    }
    const std::vector<double> squares = squares_of(deltas, gram, k);
    for (size_t o = 0; o < count; o++) {
      const double mean = centred ? share * std::inner_product(deltas[o].begin(), deltas[o].end(), means, 0.0) : 0;
      sums[begin + o] = std::max(share * squares[o] - mean * mean, 0.0);
    }
  });
  return std::accumulate(sums.begin(), sums.end(), 0.0);
}

double variance_of_outputs(const Moments& moments) {
  constexpr double rounding = 1e-7;  // of the power: below it the difference of two sums says nothing
  const double share = 1 / positive(moments.weight);
  double sum = 0, power = 0;
  for (size_t o = 0; o < moments.outputs.size(); o++) {
    sum += std::max(share * moments.squares[o] - share * moments.outputs[o] * share * moments.outputs[o], 0.0);
    power += share * moments.squares[o];
  }
  return sum > rounding * power ? sum : std::numeric_limits<double>::quiet_NaN();
}

double rounding_error(const LinearLayer& layer, const Moments& moments, const Tensor& weights, const quant::QuantParams& params,
                      bool centred, size_t threads) {
  const Tensor rounded = quant::dequantize(quant::quantize(weights, params), params);
  const auto exact = weights.as<float>(), used = rounded.as<float>();
  const auto change = [&](size_t o, size_t i) {
    const size_t at = layer.stored_at(o, i);
    return static_cast<double>(used[at]) - static_cast<double>(exact[at]);
  };
  return error_of_change(layer, moments, change, centred, threads) / variance_of_outputs(moments);
}

}  // namespace quasar::tune
