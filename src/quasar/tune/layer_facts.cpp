#include "quasar/tune/layer_facts.hpp"

#include <algorithm>
#include <cmath>

#include "quasar/quant/dynamic_nodes.hpp"
#include "quasar/quant/placement.hpp"
#include "quasar/quant/weight_noise.hpp"

namespace quasar::tune {
namespace {

std::string in_words(const quant::QuantParams& params) {
  const std::string type(name_of(params.type));
  if (params.axis < 0 || params.scales.size() < 2) return type;
  return type + " per channel";
}

const Tensor* weights_of(const QuantizedFacts& facts, const graph::Node& node) {
  const auto planned = facts.plan.nodes.find(node.name);
  if (planned == facts.plan.nodes.end() || !planned->second.weight) return nullptr;
  const size_t input = planned->second.weight->input;
  return input < node.inputs.size() ? facts.model.initializer(node.inputs[input]) : nullptr;
}

// node -> {before, after, alone}
std::map<std::string, Json> errors_of(const Json& rounding) {
  std::map<std::string, Json> errors;
  if (!rounding.is_object()) return errors;
  for (const auto& layer : rounding.value("layers", Json::array()))
    errors[layer[0].get<std::string>()] = {
        {"before", layer[1]}, {"after", layer[2]}, {"alone", layer.size() > 3 ? layer[3] : Json()}};
  return errors;
}

// The least and greatest value that the codes express, over all channels.
std::pair<double, double> expressed(const quant::QuantParams& params) {
  const quant::Grid grid = quant::grid_of(params.type, false);
  double low = 0, high = 0;
  for (size_t i = 0; i < params.scales.size(); ++i) {
    const double scale = static_cast<double>(params.scales[i]), zero = static_cast<double>(params.zero_points[i]);
    low = std::min(low, scale * (static_cast<double>(grid.low) - zero));
    high = std::max(high, scale * (static_cast<double>(grid.high) - zero));
  }
  return {low, high};
}

Json distribution(const stats::Histogram& histogram, const quant::QuantParams& params) {
  constexpr size_t bins = 80;
  if (quant::is_half(params.type)) return nullptr;  // no grid: nothing is clipped
  const double low = histogram.range().low, high = histogram.range().high;
  if (histogram.total() == 0 || !(high > low)) return nullptr;
  const auto [least, greatest] = expressed(params);
  std::vector<uint64_t> counts(bins);
  uint64_t outside = 0;
  const auto add = [&](double value, uint64_t count) {
    const double place = (value - low) / (high - low) * static_cast<double>(bins);
    counts[static_cast<size_t>(std::clamp(place, 0.0, static_cast<double>(bins - 1)))] += count;
    if (value < least - histogram.width() || value > greatest + histogram.width()) outside += count;  // bins cannot tell better
  };
  for (size_t i = 0; i < histogram.bins(); ++i) {
    if (histogram.counts()[i] > 0) add(std::clamp(histogram.edge(i) + histogram.width() / 2, low, high), histogram.counts()[i]);
  }
  add(0, histogram.zeros());
  return {{"type", in_words(params)},
          {"low", low},
          {"high", high},
          {"counts", counts},
          {"range", {least, greatest}},
          {"clipped", static_cast<double>(outside) / static_cast<double>(histogram.total())}};
}

// Whether the node's result is a 16-bit float, here or where those stand that run with it, or its weights are.
bool has_half(const graph::Node& node, const quant::Plan& plan, const graph::Index& index) {
  const auto& weight = plan.nodes.at(node.name).weight;
  if (weight && quant::is_half(weight->params.type)) return true;
  for (const graph::Node* last = &node; last != nullptr && plan.nodes.contains(last->name) && !last->outputs.empty();) {
    const std::string& value = last->outputs.front();
    if (const auto found = plan.values.find(value); found != plan.values.end()) return quant::is_half(found->second.type);
    last = quant::sole_reader(value, index);
  }
  return false;
}

// How much a layer loses: what is known best of it. An error is null where the layer's output does not vary.
double loss_of(const Json& layer) {
  const Json known = layer.contains("sensitivity")    ? layer["sensitivity"]
                     : layer.contains("output_error") ? layer["output_error"]
                     : layer.contains("error")        ? layer["error"].value("after", Json())
                                                      : layer.value("weight_error", Json());
  return known.is_number() ? known.get<double>() : 0;
}

}  // namespace

Json layers_of(const QuantizedFacts& facts) {
  const graph::Index index(facts.model);
  const auto errors = errors_of(facts.rounding);
  Json layers = Json::array();
  for (const auto& node : facts.model.nodes) {
    const auto planned = facts.plan.nodes.find(node.name);
    const auto skipped = facts.plan.skipped.find(node.name);
    if (planned == facts.plan.nodes.end() && skipped == facts.plan.skipped.end()) continue;
    const auto runs = facts.runs.find(node.name);
    const bool integer = runs != facts.runs.end() && runs->second;
    Json layer{{"node", node.name}, {"type", node.op_type}, {"runs", integer ? "integer" : "float"}};
    if (skipped != facts.plan.skipped.end()) layer["why"] = skipped->second;
    const auto value = node.outputs.empty() ? facts.plan.values.end() : facts.plan.values.find(node.outputs.front());
    if (planned != facts.plan.nodes.end() && !integer) {
      layer["why"] = std::string("ONNX Runtime runs it in float between ") +
                     (has_half(node, facts.plan, index) ? "casts to 16-bit floats" : "Q/DQ pairs");
    }
    if (value != facts.plan.values.end()) layer["activation"] = in_words(value->second);
    if (const Tensor* weights = weights_of(facts, node)) {
      const quant::QuantParams& params = planned->second.weight->params;
      layer["weight"] = in_words(params);
      if (errors.empty() && weights->type() == DataType::float32)
        layer["weight_error"] = quant::weight_noise(quant::as_planned(node, *weights), params);
    }
    if (const auto error = errors.find(node.name); error != errors.end()) layer["error"] = error->second;
    layers.push_back(std::move(layer));
  }
  return layers;
}

Json ranges_of(const QuantizedFacts& facts, const Json& layers, size_t count) {
  std::vector<const Json*> worst;
  for (const auto& layer : layers) {
    if (layer.contains("weight")) worst.push_back(&layer);
  }
  std::stable_sort(worst.begin(), worst.end(), [](const Json* a, const Json* b) { return loss_of(*a) > loss_of(*b); });
  worst.resize(std::min(worst.size(), count));
  const graph::Index index(facts.model);
  Json out = Json::array();
  for (const Json* layer : worst) {
    const graph::Node& node = *index.node((*layer)["node"].get<std::string>());
    Json shown{{"node", node.name}, {"type", node.op_type}};
    const auto value = facts.plan.values.find(node.inputs.front());
    const auto seen = facts.seen.find(node.inputs.front());
    if (value != facts.plan.values.end() && seen != facts.seen.end()) {
      shown["activation"] = distribution(seen->second.histogram, value->second);
      if (shown["activation"].is_object()) shown["activation"]["name"] = node.inputs.front();
    }
    const Tensor* weights = weights_of(facts, node);
    if (weights != nullptr && weights->type() == DataType::float32) {
      stats::Requests requests;
      requests.histogram = true;
      shown["weight"] =
          distribution(stats::of_values(weights->as<float>(), requests).histogram, facts.plan.nodes.at(node.name).weight->params);
    }
    out.push_back(std::move(shown));
  }
  return out;
}

}  // namespace quasar::tune
