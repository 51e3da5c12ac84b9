#include "quasar/quant/channels/weight_noise.hpp"

namespace quasar::quant {

double weight_noise(const Tensor& weights, const QuantParams& params, const ChannelLayer* layer) {
  const Tensor rounded = dequantize(quantize(weights, params), params);
  const auto exact = weights.as<float>(), used = rounded.as<float>();
  const size_t channels = layer != nullptr ? layer->outputs : 1;
  std::vector<double> noise(channels), power(channels);
  const auto add = [&](size_t i, size_t channel) {
    noise[channel] += (double{exact[i]} - used[i]) * (double{exact[i]} - used[i]);
    power[channel] += double{exact[i]} * exact[i];
  };
  if (layer != nullptr) {
    layer->for_weights([&](size_t i, size_t output, size_t) { add(i, output); });
  } else {
    for (size_t i = 0; i < exact.size(); i++) add(i, 0);
  }
  double sum = 0;
  for (size_t c = 0; c < channels; c++) sum += power[c] > 0 ? noise[c] / power[c] : 0;
  return sum / static_cast<double>(channels);
}

}  // namespace quasar::quant
