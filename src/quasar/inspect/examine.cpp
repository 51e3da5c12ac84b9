#include "quasar/inspect/examine.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include "quasar/data/dataset.hpp"
#include "quasar/graph/load.hpp"
#include "quasar/inspect/examine_advice.hpp"
#include "quasar/inspect/inspect.hpp"
#include "quasar/job/models_key.hpp"
#include "quasar/quant/channels/equalization.hpp"
#include "quasar/quant/channels/weight_noise.hpp"
#include "quasar/quant/codes/weights.hpp"
#include "quasar/quant/config/named_schemes.hpp"
#include "quasar/quant/config/usual_target.hpp"
#include "quasar/runtime/kernels.hpp"
#include "quasar/runtime/prepare.hpp"
#include "quasar/sensitivity/noise_along.hpp"
#include "quasar/sensitivity/operator_costs.hpp"
#include "quasar/sensitivity/unit_errors.hpp"
#include "quasar/trial/variants.hpp"
#include "quasar/tune/layer_facts.hpp"
#include "quasar/tune/open_data.hpp"

namespace quasar::tune {
namespace {

constexpr size_t most_samples = 16;
// Operators by themselves are measured on fewer samples, and at least on two, where all of them would take more than these
// multiplications and additions (about 15 s of one core). Of the model's size alone, so that figures do not depend on the
// machine.
constexpr double most_work = 8e11;
constexpr size_t fewest_samples = 2;
constexpr double outlier = 8;  // times the median channel's greatest weight

// A configuration that is compared with others.
struct Compared {
  std::string key, name;
  quant::Config config;
};

// Of 8 and of 16 bits with the same corrections: what they differ by is the types'.
std::vector<Compared> usual_schemes(size_t pairs) {
  Json tensor = quant::words_of_scheme("u8s8_channel");
  tensor["weight_params"]["quant_granularity"] = "Tensor";
  const auto corrected = [](const char* scheme) {
    Json words = quant::words_of_scheme(scheme);
    words["BiasCorrection"] = true;
    return quant::parse_config(words);
  };
  std::vector<Compared> out{
      {"channel", "uint8 activations, weights per channel", quant::parse_config(quant::words_of_scheme("u8s8_channel"))},
      {"tensor", "uint8 activations, weights per tensor", quant::parse_config(tensor)},
      {"symmetric", "int8 symmetric activations, weights per channel", corrected("a8w8_channel")},
      {"wide", "16-bit activations, weights per tensor", corrected("a16w8")},
      {"shifts", "power-of-two scales, weights per tensor (XINT8)", quant::parse_config(quant::words_of_scheme("xint8"))}};
  if (pairs == 0) return out;
  tensor["include_cle"] = true;
  out.push_back({"equalized", "uint8 activations, weights per tensor, layers equalized", quant::parse_config(tensor)});
  return out;
}

// The configuration that layers are measured under first, then the usual ones.
std::vector<Compared> all_schemes(const std::string& target, const Json& words, size_t pairs) {
  Compared first{"given", "as configured",
                 quant::parse_config(words.is_null() ? quant::words_of_scheme(usual_scheme(target)) : words)};
  std::vector<Compared> out = usual_schemes(pairs);
  const auto same = std::ranges::find_if(out, [&](const Compared& one) { return one.config == first.config; });
  if (same != out.end()) {
    std::rotate(out.begin(), same, same + 1);
  } else {
    out.insert(out.begin(), std::move(first));
  }
  return out;
}

// null: the layer's output does not vary.
Json number(double value) {
  return std::isfinite(value) ? Json(value) : Json();
}

size_t pairs_in(const graph::Model& model) {
  size_t pairs = 0;
  for (const auto& chain : quant::find_chains(model)) pairs += chain.links.size();
  return pairs;
}

// How wide the channels' weights are beside each other.
void add_widths(Json& layer, const quant::QuantParams& channels) {
  if (channels.scales.size() < 2) return;
  std::vector<float> sorted = channels.scales;
  std::ranges::sort(sorted);
  const double median = sorted[sorted.size() / 2];
  layer["outlier_channels"] = std::ranges::count_if(sorted, [&](float s) { return s > outlier * median; });
  layer["channels"] = sorted.size();
  if (median > 0) layer["widest"] = sorted.back() / median;
}

class Examination {
 public:
  explicit Examination(const ExamineOptions& options)
      : original_(given_model(options.model).model),
        model_(runtime::prepare(original_)),
        all_(open_data(options.data, model_)),
        samples_(data::first(all_, std::min(most_samples, all_->size()))),
        target_name_(
            quant::targets::table().resolve(options.target.empty() ? quant::usual_target(options.words).name : options.target)),
        target_(quant::targets::table().make(target_name_)),
        simulated_(quant::targets::table().make("generic")),
        pairs_(pairs_in(model_)),
        schemes_(all_schemes(target_name_, options.words, pairs_)),
        variants_(original_, model_, all_, needs(), {.progress = options.progress}),
        rounder_(model_, samples_),
        latency_(options.latency),
        progress_(options.progress) {}

  Json result() {
    Json out{{"samples", samples_->size()}, {"scheme", schemes_.front().name}, {"schemes", Json::array()}};
    variants_.observe();
    Parts schemes(progress_, "configurations", schemes_.size());
    for (const Compared& scheme : schemes_) {
      if (const auto distance = whole(scheme.config))
        out["schemes"].push_back({{"key", scheme.key}, {"name", scheme.name}, {"distance", *distance}});
      schemes.done();
    }
    out["equalized_pairs"] = pairs_;
    if (pairs_ == 0)
      out["pairs_without_clip6"] = pairs_in(quant::transforms::table().make("clip6_to_relu")->rewrite(model_, {}).model);
    const quant::Config& config = schemes_.front().config;
    quant::Plan plan = variants_.plan(config, *target_);
    variants_.improve(config, plan);
    const NoiseAlong noise = real(out, plan);
    out["length"] = noise.length;
    out["layers"] = layers(plan, noise);
    if (layer_samples_ < samples_->size()) out["layer_samples"] = layer_samples_;
    std::map<std::string, bool> runs;
    for (const auto& [name, planned] : plan.nodes) runs[name] = true;
    const Json none;
    out["ranges"] =
        to_json(ranges_of({variants_.graph_of(config)->model, plan, variants_.seen(config), runs, none}, worst(out["layers"])));
    out["advice"] = advice_on_layers(out, obstacle_to_16_bits(target_name_));
    return out;
  }

 private:
  CalibrationNeeds needs() const {
    CalibrationNeeds out;
    for (const Compared& scheme : schemes_) out.add(scheme.config);
    out.requests.histogram = true;
    return out;
  }

  // The distance with everything quantized; nullopt: this model cannot be quantized so, or that cannot be simulated.
  std::optional<double> whole(const quant::Config& config) {
    try {
      quant::Plan plan = variants_.plan(config, *simulated_);
      variants_.improve(config, plan);
      const ToggledModel toggled(variants_.graph_of(config)->model, plan);
      if (toggled.units().empty()) return std::nullopt;
      return with_all(toggled, *samples_);
    } catch (const Error&) {
      return std::nullopt;
    }
  }

  // The model that the target gets, beside the float model.
  NoiseAlong real(Json& out, quant::Plan plan) {
    const quant::Config& config = schemes_.front().config;
    const graph::Model built = variants_.build(config, plan).model;
    NoiseAlong noise = noise_along(variants_.graph_of(config)->model, built, plan, *samples_);
    const graph::Model& model = variants_.graph_of(config)->model;
    if (latency_) out["operator_costs"] = to_json(operator_costs(model, built, *samples_), model);
    std::vector<std::string> nodes;
    for (const auto& [name, planned] : plan.nodes) nodes.push_back(name);
    // ONNX Runtime's CPU here says nothing of processors with rules of their own (as kernels_of of tune/winner.cpp).
    const bool as_planned = plan.shifts || target_->checks_pairs();
    size_t in_codes = target_->told_of_all().empty() ? nodes.size() : 0;  // ort_cuda runs none
    if (!as_planned && in_codes > 0) {
      const graph::Index written(built);
      in_codes = 0;
      for (const auto& [name, runs] : runtime::runs_quantized(built, nodes, target_->kernels() == ops::Kernels::neon))
        in_codes += runs || written.node(name) == nullptr;
    }
    out["real"] = {{"target", target_name_},
                   {"distance", noise.distance},
                   {"by", as_planned ? "plan" : "ONNX Runtime"},
                   {"quantized", in_codes},
                   {"float", nodes.size() - in_codes + plan.skipped.size()},
                   {"lost_parts", plan.lost_parts}};
    return noise;
  }

  // What rounding the weights of single layers costs at their own outputs.
  std::map<std::string, double> rounding_errors(const std::string& key) {
    const auto scheme = std::ranges::find(schemes_, key, &Compared::key);
    return rounder_.sensitivities(variants_.plan(scheme->config, *simulated_));
  }

  // Of each operator, what is known of it by itself.
  std::map<std::string, Json> by_themselves(const quant::Plan& plan) {
    layer_samples_ = samples_->size();
    std::map<std::string, Json> out;
    try {
      const ToggledModel toggled(variants_.graph_of(schemes_.front().config)->model, plan);
      const double affordable = most_work / std::max(1.0, work_by_units(toggled, samples_->at(0)));
      if (affordable < static_cast<double>(samples_->size()))
        layer_samples_ = std::min(samples_->size(), std::max(fewest_samples, static_cast<size_t>(affordable)));
      const data::DatasetPtr few = data::first(samples_, layer_samples_);
      const auto errors = alone(toggled, *few, 0, output_distance, progress_);
      const auto sums = up_to_each(toggled, *few, 0, progress_);
      for (size_t i = 0; i < errors.size(); ++i)
        out[errors[i].unit.node] = {
            {"output_error", errors[i].output_error}, {"accumulated", sums[i]}, {"noise_to_signal", errors[i].noise_to_signal}};
    } catch (const Error&) {  // types that cannot be simulated: what the real model tells remains
    }
    return out;
  }

  Json layers(const quant::Plan& plan, const NoiseAlong& noise) {
    const auto simulated = by_themselves(plan);
    const auto by_channel = rounding_errors("channel"), by_tensor = rounding_errors("tensor");
    const auto weights = variants_.plan(std::ranges::find(schemes_, "channel", &Compared::key)->config, *simulated_);
    const graph::Index prepared(model_);
    Json out = Json::array();
    for (const auto& node : variants_.graph_of(schemes_.front().config)->model.nodes) {
      const auto known = simulated.find(node.name);
      if (known == simulated.end() && !(simulated.empty() && plan.nodes.contains(node.name))) continue;
      Json layer{{"node", node.name}, {"type", node.op_type}};
      if (known != simulated.end()) layer.update(known->second);
      if (const auto found = noise.nodes.find(node.name); found != noise.nodes.end()) layer["accumulated_noise"] = found->second;
      if (const graph::Node* same = prepared.node(node.name)) add_weights(layer, *same, weights);
      if (by_channel.contains(node.name) && by_tensor.contains(node.name))
        layer["rounding_error"] = {{"tensor", number(by_tensor.at(node.name))}, {"channel", number(by_channel.at(node.name))}};
      layer["place"] = out.size();
      out.push_back(std::move(layer));
    }
    std::stable_sort(out.begin(), out.end(),
                     [](const Json& a, const Json& b) { return a.value("output_error", 0.0) > b.value("output_error", 0.0); });
    return out;
  }

  // `plan`: with weights per channel.
  void add_weights(Json& layer, const graph::Node& node, const quant::Plan& plan) const {
    const auto planned = plan.nodes.find(node.name);
    if (planned == plan.nodes.end() || !planned->second.weight) return;
    const Tensor* weights = model_.initializer(node.inputs[planned->second.weight->input]);
    const quant::QuantParams& channels = planned->second.weight->params;
    if (weights == nullptr || weights->type() != DataType::float32 || channels.axis < 0) return;
    const auto tensor = std::ranges::find(schemes_, "tensor", &Compared::key);
    layer["weight_error"] = {
        {"tensor", quant::weight_noise(*weights, quant::weight_params(*weights, std::nullopt, tensor->config.weight))},
        {"channel", quant::weight_noise(*weights, channels)}};
    add_widths(layer, channels);
  }

  // The first layers with weights.
  static std::vector<std::string> worst(const Json& layers) {
    std::vector<std::string> nodes;
    for (const auto& layer : layers) {
      if (layer.contains("weight_error") && nodes.size() < most_ranges) nodes.push_back(layer["node"]);
    }
    return nodes;
  }

  graph::Model original_, model_;
  data::DatasetPtr all_, samples_;
  std::string target_name_;
  std::unique_ptr<quant::Target> target_, simulated_;
  size_t pairs_;
  std::vector<Compared> schemes_;
  Variants variants_;
  Rounder rounder_;
  bool latency_;
  Progress progress_;
  size_t layer_samples_ = 0;
};

}  // namespace

Json examine(const ExamineOptions& options) {
  return Examination(options).result();
}

}  // namespace quasar::tune
