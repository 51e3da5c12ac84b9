#include "quasar/quant/simulation.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

namespace quasar::quant {
namespace {

// The processor divides by 6 as · 2731 / 2^14.
constexpr float sixth = 1.0F / 6;
constexpr float hard_sigmoid_factor = 6.0F * 2731.0F / 16384.0F;

bool is_hard_sigmoid(const graph::Node& node) {
  return node.is("HardSigmoid") && std::abs(node.real("alpha", 0.2F) - sixth) < 1e-5F &&
         std::abs(node.real("beta", 0.5F) - 0.5F) < 1e-5F;
}

bool known(const Shape* shape, size_t from) {
  return shape != nullptr && shape->size() > from &&
         std::all_of(shape->begin() + static_cast<std::ptrdiff_t>(from), shape->end(), [](int64_t size) { return size > 0; });
}

double pooling_factor(const graph::Node& node, const Shape* input) {
  Shape window = node.integers("kernel_shape");
  if (node.is("GlobalAveragePool") && known(input, 2)) window.assign(input->begin() + 2, input->end());
  return window.size() == 2 && window[0] == window[1] ? average_factor(window[0], window[1]) : 1;
}

// From opset 18 on, axes are an input.
std::vector<int64_t> axes_of(const NodeInPlace& place) {
  const Tensor* constant = place.node.inputs.size() > 1 ? place.model.initializer(place.node.inputs[1]) : nullptr;
  if (constant == nullptr || constant->type() != DataType::int64) return place.node.integers("axes");
  return {constant->as<int64_t>().begin(), constant->as<int64_t>().end()};
}

double mean_factor(const NodeInPlace& place) {
  const Shape* const input = place.input;
  const std::vector<int64_t> axes = axes_of(place);
  if (axes.empty() || !known(input, 0)) return 1;
  int64_t count = 1;
  for (const int64_t axis : axes) {
    const int64_t at = axis < 0 ? axis + static_cast<int64_t>(input->size()) : axis;
    if (at < 0 || at >= static_cast<int64_t>(input->size())) return 1;
    count *= (*input)[static_cast<size_t>(at)];
  }
  return average_factor(count);
}

// Bounds as the processor holds them: integers of −128 to 127. nullopt: they are such, or not constant.
std::optional<std::pair<float, float>> whole_bounds(const NodeInPlace& place) {
  const auto bound = [&](size_t input, float missing) -> std::optional<float> {
    if (place.node.inputs.size() <= input || place.node.inputs[input].empty()) return missing;
    const Tensor* constant = place.model.initializer(place.node.inputs[input]);
    if (constant == nullptr || constant->type() != DataType::float32 || constant->count() != 1) return std::nullopt;
    return constant->as<float>()[0];
  };
  const auto low = bound(1, -INFINITY), high = bound(2, INFINITY);
  if (!low || !high) return std::nullopt;
  const auto whole = [](float value) { return std::clamp(std::nearbyint(value), -128.0F, 127.0F); };
  if (whole(*low) == *low && whole(*high) == *high) return std::nullopt;
  return std::pair{whole(*low), whole(*high)};
}

}  // namespace

double average_factor(int64_t count) {
  if (count <= 1) return 1;
  const int last = 7 + static_cast<int>(std::ceil(std::log2(static_cast<double>(count))));
  double best = 1, least = INFINITY;
  for (int n = 0; n < last; n++) {
    const double power = std::exp2(n);
    const double share = std::nearbyint(power / static_cast<double>(count)) / power;
    const double error = std::abs(share - 1.0 / static_cast<double>(count));
    if (error < least) least = error, best = share * static_cast<double>(count);
  }
  return best;
}

double average_factor(int64_t height, int64_t width) {
  if (height > 255 || width > 255) return 1;
  const int64_t size = height == width ? height : 0;
  if (size == 3) return 9 * 7.0 / 64;
  if (size == 5) return 25 * 10.0 / 256;
  if (size == 6) return 36 * 7.0 / 256;
  if (size == 7) return 49 * 21.0 / 1024;
  if (size == 14) return 196 * 21.0 / 4096;
  return average_factor(height * width);
}

std::optional<Simulation> simulation_of(const NodeInPlace& place, const Switches& switches, bool npu) {
  const graph::Node& node = place.node;
  const auto on = [&](const char* key) { return is_on(switches, key, npu); };
  Simulation out;
  if (node.is("LeakyRelu") && on("ConvertLeakyReluToDPUVersion")) {
    const float alpha = node.real("alpha", 0.01F), slope = std::nearbyint(256 * alpha) / 256;
    if (slope != alpha) out.slope = slope;
  } else if (node.is("Sigmoid") && on("ConvertSigmoidToHardSigmoid")) {
    out.hard_sigmoid = true;
    if (on("ConvertHardSigmoidToDPUVersion")) out.factor = hard_sigmoid_factor;
  } else if (is_hard_sigmoid(node) && on("ConvertHardSigmoidToDPUVersion")) {
    out.factor = hard_sigmoid_factor;
  } else if ((node.is("AveragePool") || node.is("GlobalAveragePool")) && on("ConvertAvgPoolToDPUVersion")) {
    out.factor = static_cast<float>(pooling_factor(node, place.input));
  } else if (node.is("ReduceMean") && on("ConvertReduceMeanToDPUVersion")) {
    out.factor = static_cast<float>(mean_factor(place));
  } else if (node.is("Clip") && on("ConvertClipToDPUVersion")) {
    out.bounds = whole_bounds(place);
  }
  return out == Simulation{} ? std::nullopt : std::optional(out);
}

Json to_json(const Simulation& simulation) {
  const auto bits = [](float value) { return std::bit_cast<uint32_t>(value); };
  Json out{{"factor", bits(simulation.factor)}, {"hard_sigmoid", simulation.hard_sigmoid}};
  if (simulation.slope) out["slope"] = bits(*simulation.slope);
  if (simulation.bounds) out["bounds"] = {bits(simulation.bounds->first), bits(simulation.bounds->second)};
  return out;
}

void simulate(graph::Node node, const Simulation& simulation, const SimulationContext& context) {
  auto& [model, names] = context;
  const auto constant = [&](const std::string& wish, float value) {
    const std::string name = names.fresh(wish);
    model.initializers[name] = Tensor::scalar(value);
    return name;
  };
  if (simulation.slope) node.set({"alpha", *simulation.slope});
  if (simulation.hard_sigmoid) {
    node.op_type = "HardSigmoid";
    node.attributes.clear();
    node.set({"alpha", sixth});
  }
  if (simulation.bounds) {
    node.inputs.resize(3);
    node.inputs[1] = constant(node.name + "_low", simulation.bounds->first);
    node.inputs[2] = constant(node.name + "_high", simulation.bounds->second);
  }
  if (simulation.factor == 1) {
    model.nodes.push_back(std::move(node));
    return;
  }
  const std::string output = node.outputs[0], unscaled = names.fresh(output + "_unscaled");
  graph::Node product{.name = names.fresh(node.name + "_factor"),
                      .op_type = "Mul",
                      .domain = "",
                      .inputs = {unscaled, constant(node.name + "_factor_value", simulation.factor)},
                      .outputs = {output}};
  node.outputs[0] = unscaled;
  model.nodes.push_back(std::move(node));
  model.nodes.push_back(std::move(product));
}

}  // namespace quasar::quant
