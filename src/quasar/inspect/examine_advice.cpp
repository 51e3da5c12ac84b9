#include "quasar/inspect/examine_advice.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>

#include "quasar/base/digits.hpp"
#include "quasar/quant/target.hpp"

namespace quasar::tune {
namespace {

std::optional<double> distance_of(const Json& examination, const std::string& scheme) {
  for (const auto& one : examination["schemes"]) {
    if (one.value("key", "") == scheme) return one["distance"].get<double>();
  }
  return std::nullopt;
}

void on_schemes(const Json& examination, Json& out) {
  std::string text;
  for (const auto& one : examination["schemes"])
    text += (text.empty() ? "" : "; ") + one["name"].get<std::string>() + " " + in_digits(one["distance"].get<double>());
  if (!text.empty())
    out.push_back("With everything quantized the outputs, of length " + in_digits(examination["length"].get<double>()) +
                  ", move by (distance, mean over samples): " + text + ".");
}

// The range of weights: per tensor, per channel, equalized.
void on_weights(const Json& examination, Json& out) {
  const auto tensor = distance_of(examination, "tensor"), channel = distance_of(examination, "channel");
  const auto equalized = distance_of(examination, "equalized");
  const size_t pairs = examination.value("equalized_pairs", size_t{0});
  if (!tensor || !channel) return;
  std::string text = "Per-tensor weights cost " + in_digits(*tensor) + " here, per-channel ones " + in_digits(*channel);
  if (pairs == 0) {
    text += "; cross-layer equalization applies to no pair of layers";
    if (const size_t without = examination.value("pairs_without_clip6", size_t{0}); without > 0)
      text += " (to " + std::to_string(without) + " with `ReplaceClip6Relu: true`, which changes what the model computes)";
  } else {
    text += "; cross-layer equalization applies to " + std::to_string(pairs) + (pairs == 1 ? " pair" : " pairs");
    if (equalized) text += " of layers and brings per-tensor weights to " + in_digits(*equalized);
  }
  const double best_without = std::min(*tensor, equalized.value_or(*tensor));
  text += *channel > 0.9 * best_without              ? ": per-tensor weights are enough."
          : equalized && *equalized < 1.1 * *channel ? ": `include_cle: true` does as well where weights must be per tensor."
                                                     : ": take per-channel weights where the target has them.";
  out.push_back(text);
}

// Whether activations or weights cost more.
void on_activations(const Json& examination, const std::string& obstacle, Json& out) {
  const auto wide = distance_of(examination, "wide"), tensor = distance_of(examination, "tensor");
  if (!wide || !tensor || *tensor <= 0) return;
  const double share = 1 - std::min(1.0, std::pow(*wide / *tensor, 2));
  if (share > 0.5)
    out.push_back("Of the squared distance with per-tensor weights " + in_digits(100 * share) +
                  " % come from 8-bit activations: with 16 bits for them " + in_digits(*wide) + " is left" +
                  (obstacle.empty() ? "." : ". But " + obstacle + "."));
}

void on_worst(const Json& examination, const std::string& obstacle, Json& out) {
  constexpr size_t most = 3, least = 6;
  const Json& layers = examination["layers"];
  double total = 0, worst = 0;
  std::string names;
  for (size_t i = 0; i < layers.size(); ++i) {
    if (!layers[i].contains("output_error")) return;
    const double squared = std::pow(layers[i]["output_error"].get<double>(), 2);
    total += squared;
    if (i >= most) continue;
    worst += squared;
    names += (i > 0 ? ", " : "") + layers[i]["node"].get<std::string>() + " (" +
             in_digits(layers[i]["output_error"].get<double>()) + " alone)";
  }
  if (layers.size() > least && worst > 0.5 * total)
    out.push_back("Three layers bring " + in_digits(100 * worst / total) + " % of the squared error: " + names +
                  (obstacle.empty() ? ". Leaving them in float, or giving them 16 bits, helps most."
                                    : ". Leaving them in float (`exclude`) helps most."));
}

void on_outliers(const Json& examination, Json& out) {
  constexpr size_t most = 5;
  std::string names;
  size_t count = 0;
  for (const auto& layer : examination["layers"]) {
    const size_t outliers = layer.value("outlier_channels", size_t{0});
    if (outliers == 0 || ++count > most) continue;
    names += (names.empty() ? "" : ", ") + layer["node"].get<std::string>() + " (" + std::to_string(outliers) + " of " +
             std::to_string(layer.value("channels", size_t{0})) + ", the widest " + in_digits(layer.value("widest", 0.0)) +
             " times)";
  }
  if (count > most) names += " and " + std::to_string(count - most) + " more layers";
  if (count > 0)
    out.push_back("Some channels have weights over 8 times as wide as the median channel's: " + names +
                  ". One scale per tensor is coarse there; use one per channel, or equalize the layers.");
}

// Where noise piles up in the model that really runs.
void on_real_model(const Json& examination, Json& out) {
  const Json& real = examination["real"];
  if (!real.is_object()) return;
  if (real["quantized"] == 0 && real["distance"] == 0.0) {
    out.push_back("This configuration quantizes no operator of the model on " + real["target"].get<std::string>() + ".");
    return;
  }
  const bool as_planned = real["by"] == "plan";
  const std::string target = real["target"].get<std::string>();
  std::string text = (as_planned ? "The model for " + target : "The model that " + target + " really runs") +
                     " moves its outputs by " + in_digits(real["distance"].get<double>()) + "; " + real["quantized"].dump() +
                     (as_planned ? " operators are quantized as planned, " : " operators run quantized, ") +
                     real["float"].dump() + " in float";
  const Json* worst = nullptr;
  for (const auto& layer : examination["layers"]) {
    if (!layer.contains("accumulated_noise")) continue;
    if (worst == nullptr || layer["accumulated_noise"].get<double>() > (*worst)["accumulated_noise"].get<double>())
      worst = &layer;
  }
  if (worst != nullptr)
    text += "; on the way the noise is greatest behind " + (*worst)["node"].get<std::string>() + " (" +
            in_digits(100 * (*worst)["accumulated_noise"].get<double>()) + " % of the signal's power)";
  out.push_back(text + ".");
  for (const auto& note : real["lost_parts"]) out.push_back(note.get<std::string>() + ".");
}

}  // namespace

std::string obstacle_to_16_bits(const std::string& target) {
  const auto made = quant::targets::table().make(target);
  quant::Config config;
  config.activation.type = made->wide_type();
  config.activation.symmetric = config.activation.type == DataType::int16;
  const std::string refusal = made->refuses_types(config);
  return refusal.empty() ? made->remark(config) : refusal;
}

Json advice_on_layers(const Json& examination, const std::string& obstacle_to_16_bits) {
  Json out = Json::array();
  on_schemes(examination, out);
  on_weights(examination, out);
  on_activations(examination, obstacle_to_16_bits, out);
  on_worst(examination, obstacle_to_16_bits, out);
  on_outliers(examination, out);
  on_real_model(examination, out);
  return out;
}

}  // namespace quasar::tune
