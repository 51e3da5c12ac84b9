#include "quasar/tune/layer_facts.hpp"

#include <algorithm>

#include "quasar/graph/lookup.hpp"
#include "quasar/quant/channels/weight_noise.hpp"
#include "quasar/quant/dynamic_nodes.hpp"
#include "quasar/quant/placement.hpp"

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

std::optional<double> number_in(const Json& value) {
  return value.is_number() ? std::optional(value.get<double>()) : std::nullopt;
}

Json or_null(const std::optional<double>& value) {
  return value ? Json(*value) : Json();
}

std::map<std::string, LayerFacts::Rounding> errors_of(const Json& rounding) {
  std::map<std::string, LayerFacts::Rounding> errors;
  if (!rounding.is_object()) return errors;
  for (const auto& layer : rounding.value("layers", Json::array()))
    errors[layer[0].get<std::string>()] = {number_in(layer[1]), number_in(layer[2]),
                                           layer.size() > 3 ? number_in(layer[3]) : std::nullopt};
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

Distribution distribution(const stats::Histogram& histogram, const quant::QuantParams& params) {
  constexpr size_t bins = 80;
  if (quant::is_half(params.type)) return {};  // no grid: nothing is clipped
  const double low = histogram.range().low, high = histogram.range().high;
  if (histogram.total() == 0 || !(high > low)) return {};
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
  return {.type = in_words(params),
          .low = low,
          .high = high,
          .counts = std::move(counts),
          .least = least,
          .greatest = greatest,
          .clipped = static_cast<double>(outside) / static_cast<double>(histogram.total())};
}

// Whether the node's result is a 16-bit float, here or where those stand that run with it, or its weights are.
bool has_half(const graph::Node& node, const quant::Plan& plan, const graph::Index& index) {
  const auto& weight = plan.nodes.at(node.name).weight;
  if (weight && quant::is_half(weight->params.type)) return true;
  for (const graph::Node* last = &node; last != nullptr && plan.nodes.contains(last->name) && !last->outputs.empty();) {
    const std::string& value = last->outputs.front();
    if (const auto found = plan.values.find(value); found != plan.values.end()) return quant::is_half(found->second.type);
    last = graph::sole_reader(value, index);
  }
  return false;
}

std::optional<double> of_node(const std::map<std::string, double>& values, const std::string& node) {
  const auto found = values.find(node);
  return found == values.end() ? std::nullopt : std::optional(found->second);
}

Json to_json(const LayerFacts& layer) {
  Json out{{"node", layer.node}, {"type", layer.type}, {"runs", layer.integer ? "integer" : "float"}};
  if (!layer.why.empty()) out["why"] = layer.why;
  if (!layer.activation.empty()) out["activation"] = layer.activation;
  if (!layer.weight.empty()) out["weight"] = layer.weight;
  if (layer.weight_error) out["weight_error"] = *layer.weight_error;
  if (layer.error)
    out["error"] = {
        {"before", or_null(layer.error->before)}, {"after", or_null(layer.error->after)}, {"alone", or_null(layer.error->alone)}};
  if (layer.accumulated_noise) out["accumulated_noise"] = *layer.accumulated_noise;
  if (layer.output_error) out["output_error"] = *layer.output_error;
  return out;
}

Json to_json(const Distribution& distribution) {
  if (distribution.counts.empty()) return nullptr;
  Json out{{"type", distribution.type},
           {"low", distribution.low},
           {"high", distribution.high},
           {"counts", distribution.counts},
           {"range", {distribution.least, distribution.greatest}},
           {"clipped", distribution.clipped}};
  if (!distribution.name.empty()) out["name"] = distribution.name;
  return out;
}

}  // namespace

double LayerFacts::loss() const {
  if (output_error) return *output_error;
  return error ? error->after.value_or(0) : weight_error.value_or(0);
}

std::vector<LayerFacts> layers_of(const QuantizedFacts& facts, const LayerErrors& measured) {
  const graph::Index index(facts.model);
  const auto errors = errors_of(facts.rounding);
  std::vector<LayerFacts> layers;
  for (const auto& node : facts.model.nodes) {
    const auto planned = facts.plan.nodes.find(node.name);
    const auto skipped = facts.plan.skipped.find(node.name);
    if (planned == facts.plan.nodes.end() && skipped == facts.plan.skipped.end()) continue;
    const auto runs = facts.runs.find(node.name);
    LayerFacts layer{.node = node.name, .type = node.op_type, .integer = runs != facts.runs.end() && runs->second};
    if (skipped != facts.plan.skipped.end()) layer.why = skipped->second;
    const auto value = node.outputs.empty() ? facts.plan.values.end() : facts.plan.values.find(node.outputs.front());
    if (planned != facts.plan.nodes.end() && !layer.integer) {
      layer.why = facts.library + " runs it in float between " +
                  std::string(has_half(node, facts.plan, index) ? "casts to 16-bit floats" : "Q/DQ pairs");
    }
    if (value != facts.plan.values.end()) layer.activation = in_words(value->second);
    if (const Tensor* weights = weights_of(facts, node)) {
      const quant::QuantParams& params = planned->second.weight->params;
      layer.weight = in_words(params);
      if (errors.empty() && weights->type() == DataType::float32)
        layer.weight_error = quant::weight_noise(quant::as_planned(node, *weights), params);
    }
    if (const auto error = errors.find(node.name); error != errors.end()) layer.error = error->second;
    layer.accumulated_noise = of_node(measured.accumulated_noise, node.name);
    layer.output_error = of_node(measured.output_error, node.name);
    layers.push_back(std::move(layer));
  }
  return layers;
}

Json to_json(const std::vector<LayerFacts>& layers) {
  Json out = Json::array();
  for (const auto& layer : layers) out.push_back(to_json(layer));
  return out;
}

std::vector<std::string> worst_of(const std::vector<LayerFacts>& layers, size_t count) {
  std::vector<const LayerFacts*> worst;
  for (const auto& layer : layers) {
    if (!layer.weight.empty()) worst.push_back(&layer);
  }
  std::ranges::stable_sort(worst, std::ranges::greater(), &LayerFacts::loss);
  std::vector<std::string> nodes;
  for (size_t i = 0; i < std::min(count, worst.size()); i++) nodes.push_back(worst[i]->node);
  return nodes;
}

std::vector<LayerRanges> ranges_of(const QuantizedFacts& facts, const std::vector<std::string>& nodes) {
  const graph::Index index(facts.model);
  std::vector<LayerRanges> out;
  for (const auto& name : nodes) {
    const graph::Node& node = *index.node(name);
    LayerRanges shown{.node = node.name, .type = node.op_type};
    const auto value = facts.plan.values.find(node.inputs.front());
    const auto seen = facts.seen.find(node.inputs.front());
    if (value != facts.plan.values.end() && seen != facts.seen.end()) {
      shown.activation = distribution(seen->second.histogram, value->second);
      shown.activation->name = node.inputs.front();
    }
    const Tensor* weights = weights_of(facts, node);
    if (weights != nullptr && weights->type() == DataType::float32) {
      stats::Requests requests;
      requests.histogram = true;
      shown.weight =
          distribution(stats::of_values(weights->as<float>(), requests).histogram, facts.plan.nodes.at(node.name).weight->params);
    }
    out.push_back(std::move(shown));
  }
  return out;
}

Json to_json(const std::vector<LayerRanges>& ranges) {
  Json out = Json::array();
  for (const auto& layer : ranges) {
    Json shown{{"node", layer.node}, {"type", layer.type}};
    if (layer.activation) shown["activation"] = to_json(*layer.activation);
    if (layer.weight) shown["weight"] = to_json(*layer.weight);
    out.push_back(std::move(shown));
  }
  return out;
}

}  // namespace quasar::tune
