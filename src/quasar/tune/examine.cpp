#include "quasar/tune/examine.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <optional>

#include "quasar/data/dataset.hpp"
#include "quasar/graph/load.hpp"
#include "quasar/quant/weight_noise.hpp"
#include "quasar/quant/weights.hpp"
#include "quasar/runtime/prepare.hpp"
#include "quasar/tune/calibration.hpp"
#include "quasar/tune/portrait.hpp"
#include "quasar/tune/rounding.hpp"
#include "quasar/tune/unit_errors.hpp"

namespace quasar::tune {
namespace {

constexpr size_t most_samples = 16;
constexpr const char* main_scheme = "u8s8_channel";

// What is compared, in words; the first is the scheme that the layers are measured under.
struct Variant {
  const char* name;
  const char* scheme;
  bool per_tensor;
};
constexpr Variant variants[]{{"uint8 activations, weights per channel", main_scheme, false},
                             {"uint8 activations, weights per tensor", main_scheme, true},
                             {"int8 symmetric activations, weights per channel", "a8w8_channel", false},
                             {"16-bit activations, weights per tensor", "a16w8", false},
                             {"power-of-two scales, weights per tensor (XINT8)", "xint8", false}};

quant::Config config_of(const Variant& variant) {
  Json words = quant::schemes::table().make(variant.scheme)->words();
  if (variant.per_tensor) words["weight_params"]["quant_granularity"] = "Tensor";
  return quant::parse_config(words);
}

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.3g", value);
  return text;
}

// Channels that set the scale for all others when weights have one scale.
size_t outliers(const quant::QuantParams& channels) {
  if (channels.scales.size() < 2) return 0;
  std::vector<float> sorted = channels.scales;
  std::nth_element(sorted.begin(), sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() / 2), sorted.end());
  const float median = sorted[sorted.size() / 2];
  return static_cast<size_t>(
      std::count_if(channels.scales.begin(), channels.scales.end(), [&](float s) { return s > 8 * median; }));
}

void add_weights(Json& layer, const graph::Model& model, const graph::Node& node, const quant::Plan& plan) {
  const auto planned = plan.nodes.find(node.name);
  if (planned == plan.nodes.end() || !planned->second.weight) return;
  const Tensor* weights = model.initializer(node.inputs[planned->second.weight->input]);
  const quant::QuantParams& channels = planned->second.weight->params;
  if (weights == nullptr || weights->type() != DataType::float32 || channels.axis < 0) return;
  quant::Scheme one = config_of(variants[0]).weight;
  one.granularity = quant::Granularity::tensor;
  layer["weight_error"] = {{"tensor", quant::weight_noise(*weights, quant::weight_params(*weights, std::nullopt, one))},
                           {"channel", quant::weight_noise(*weights, channels)}};
  layer["outlier_channels"] = outliers(channels);
}

class Examination {
 public:
  Examination(const std::filesystem::path& path, const Json& data)
      : model_(runtime::prepare(graph::load(path))),
        all_(data::open(data, model_.inputs)),
        samples_(data::first(all_, std::min(most_samples, all_->size()))),
        target_(quant::targets::table().make("generic")),
        calibration_(model_, all_, needs(), {}),
        rounder_(model_, samples_) {}

  Json result() {
    Json out{{"samples", samples_->size()}, {"scheme", variants[0].name}, {"schemes", Json::array()}};
    for (const Variant& variant : variants) {
      if (const auto distance = whole(variant)) out["schemes"].push_back({{"name", variant.name}, {"distance", *distance}});
    }
    const quant::Config config = config_of(variants[0]);
    const quant::Plan plan = quant::resolve(model_, calibration_.seen(config), config, *target_);
    out["layers"] = layers(plan);
    std::map<std::string, bool> runs;
    for (const auto& [name, planned] : plan.nodes) runs[name] = true;
    const Json none;
    out["ranges"] = ranges_of({model_, plan, calibration_.seen(config), runs, none}, ranked(out["layers"]));
    out["advice"] = advice(out);
    return out;
  }

 private:
  static CalibrationNeeds needs() {
    CalibrationNeeds out;
    for (const Variant& variant : variants) out.add(config_of(variant));
    out.requests.histogram = true;
    return out;
  }

  // The distance with everything quantized; nullopt: this model cannot be quantized so.
  std::optional<double> whole(const Variant& variant) {
    const quant::Config config = config_of(variant);
    try {
      const ToggledModel toggled(model_, quant::resolve(model_, calibration_.seen(config), config, *target_));
      if (toggled.units().empty()) return std::nullopt;
      return with_all(toggled, *samples_);
    } catch (const Error&) {
      return std::nullopt;
    }
  }

  // What rounding the weights of single layers costs at their own outputs, under a variant.
  std::map<std::string, double> rounding_errors(const Variant& variant) {
    const quant::Config config = config_of(variant);
    return rounder_.sensitivities(quant::resolve(model_, calibration_.seen(config), config, *target_));
  }

  Json layers(const quant::Plan& plan) {
    const ToggledModel toggled(model_, plan);
    const auto by_channel = rounding_errors(variants[0]), by_tensor = rounding_errors(variants[1]);
    const auto errors = alone(toggled, *samples_);
    const auto sums = up_to_each(toggled, *samples_);
    const graph::Index index(model_);
    Json out = Json::array();
    for (size_t i = 0; i < errors.size(); ++i) {
      Json layer{{"node", errors[i].unit.node},
                 {"type", errors[i].unit.op_type},
                 {"output_error", errors[i].output_error},
                 {"accumulated", sums[i]},
                 {"noise_to_signal", errors[i].noise_to_signal}};
      if (const graph::Node* node = index.node(errors[i].unit.node)) add_weights(layer, model_, *node, plan);
      if (by_channel.contains(errors[i].unit.node))
        layer["rounding_error"] = {{"tensor", by_tensor.at(errors[i].unit.node)},
                                   {"channel", by_channel.at(errors[i].unit.node)}};
      layer["place"] = i;
      out.push_back(std::move(layer));
    }
    std::stable_sort(out.begin(), out.end(), [](const Json& a, const Json& b) {
      return a["output_error"].get<double>() > b["output_error"].get<double>();
    });
    return out;
  }

  // In the words of portrait.hpp.
  static Json ranked(const Json& layers) {
    Json out = Json::array();
    for (const auto& layer : layers) {
      Json entry{{"node", layer["node"]}, {"sensitivity", layer["output_error"]}};
      if (layer.contains("weight_error")) entry["weight"] = "";
      out.push_back(std::move(entry));
    }
    return out;
  }

  static Json advice(const Json& facts) {
    Json out = Json::array();
    std::string schemes;
    for (const auto& scheme : facts["schemes"])
      schemes += (schemes.empty() ? "" : "; ") + scheme["name"].get<std::string>() + " " + number(scheme["distance"]);
    out.push_back("With everything quantized the outputs move by (distance, mean over samples): " + schemes + ".");
    const Json& layers = facts["layers"];
    double total = 0, worst = 0;
    std::string names;
    for (size_t i = 0; i < layers.size(); ++i) {
      const double squared = std::pow(layers[i]["output_error"].get<double>(), 2);
      total += squared;
      if (i >= 3) continue;
      worst += squared;
      names += (i > 0 ? ", " : "") + layers[i]["node"].get<std::string>();
    }
    if (layers.size() > 6 && worst > 0.5 * total)
      out.push_back("Three layers bring " + number(100 * worst / total) + " % of the squared error: " + names +
                    ". Leaving them in float, or giving them 16 bits, helps most.");
    std::string spread;
    for (const auto& layer : layers) {
      if (layer.value("outlier_channels", 0) == 0) continue;
      spread += (spread.empty() ? "" : ", ") + layer["node"].get<std::string>();
    }
    if (!spread.empty())
      out.push_back("Some channels have weights over 8 times as wide as the median channel's: " + spread +
                    ". One scale per tensor is coarse there; use one per channel, or equalize the layers.");
    return out;
  }

  graph::Model model_;
  data::DatasetPtr all_, samples_;
  std::unique_ptr<quant::Target> target_;
  Calibration calibration_;
  Rounder rounder_;
};

}  // namespace

Json examine(const std::filesystem::path& model, const Json& data) {
  return Examination(model, data).result();
}

}  // namespace quasar::tune
