#include "quasar/quant/write/every_axis.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "quasar/stats/shapes.hpp"

namespace quasar::quant {
namespace {

using Axes = std::vector<int64_t>;

bool names_axes(const graph::Node& node) {
  return (node.is("Pad") && node.inputs.size() > 3 && !node.inputs[3].empty()) ||
         (node.is("Resize") && node.find("axes") != nullptr);
}

template <class T>
Axes values_of(const Tensor& tensor) {
  return {tensor.as<T>().begin(), tensor.as<T>().end()};
}

// Counted from the first axis.
std::optional<Axes> from_the_first(Axes axes, size_t rank) {
  for (auto& axis : axes) {
    if (axis < 0) axis += static_cast<int64_t>(rank);
    if (axis < 0 || axis >= static_cast<int64_t>(rank)) return std::nullopt;
  }
  return axes;
}

class Writing {
 public:
  Writing(graph::Model& model, const graph::Model& original) : model_(model), original_(original), names_(model) {}

  void run() {
    if (std::ranges::none_of(model_.nodes, names_axes)) return;
    shapes_ = stats::known_shapes(original_);
    std::map<std::string, std::string> reads;
    for (const auto& node : original_.nodes) {
      if (names_axes(node)) reads[node.name] = node.inputs.front();
    }
    std::vector<graph::Node> nodes;
    nodes.swap(model_.nodes);
    for (auto& node : nodes) {
      const auto input = names_axes(node) ? reads.find(node.name) : reads.end();
      const auto shape = input == reads.end() ? shapes_.end() : shapes_.find(input->second);
      if (shape == shapes_.end() || write(node, shape->second)) {
        model_.nodes.push_back(std::move(node));
      } else {
        stop_transposes(std::move(node), shape->second.size());
      }
    }
  }

 private:
  bool write(graph::Node& node, const Shape& shape) {
    const auto axes = axes_of(node, shape.size());
    if (!axes) return false;
    if (node.is("Pad")) {
      Axes ends = *axes;
      for (const int64_t axis : *axes) ends.push_back(axis + static_cast<int64_t>(shape.size()));
      node.inputs[1] = spread<int64_t>(node, node.inputs[1], ends, Axes(2 * shape.size(), 0));
      node.inputs.resize(node.inputs[2].empty() ? 2 : 3);
      return true;
    }
    if (!resize(node, *axes, shape)) return false;
    node.inputs[1].clear();
    std::erase_if(node.attributes, [](const graph::Attribute& attribute) {
      return attribute.name == "axes" || attribute.name == "keep_aspect_ratio_policy";
    });
    return true;
  }

  // A Reshape to the same shape behind it: transposes do not pass that.
  void stop_transposes(graph::Node node, size_t rank) {
    const std::string result = node.outputs.front(), name = node.name;
    node.outputs.front() = names_.fresh(result + "_unmoved");
    const std::string same = add(node, Tensor::of<int64_t>({static_cast<int64_t>(rank)}, Axes(rank, 0)));
    std::vector<std::string> inputs{node.outputs.front(), same};
    model_.nodes.push_back(std::move(node));
    model_.nodes.push_back({.name = names_.fresh(name + "_Reshape"),
                            .op_type = "Reshape",
                            .domain = "",
                            .inputs = std::move(inputs),
                            .outputs = {result}});
  }

  std::optional<Axes> axes_of(const graph::Node& node, size_t rank) const {
    if (node.is("Resize")) return from_the_first(node.integers("axes"), rank);
    const Tensor* axes = model_.initializer(node.inputs[3]);
    if (axes == nullptr) return std::nullopt;
    return from_the_first(axes->type() == DataType::int32 ? values_of<int32_t>(*axes) : values_of<int64_t>(*axes), rank);
  }

  bool resize(graph::Node& node, const Axes& axes, const Shape& shape) {
    if (node.text("coordinate_transformation_mode", "half_pixel") == "tf_crop_and_resize") return false;
    const std::vector<float> ones(shape.size(), 1);
    if (node.inputs.size() < 4 || node.inputs[3].empty()) {
      node.inputs[2] = spread<float>(node, node.inputs[2], axes, ones);
      return true;
    }
    const std::string policy = node.text("keep_aspect_ratio_policy", "stretch");
    const bool open = std::ranges::any_of(shape, [](int64_t size) { return size < 0; });
    if (policy == "stretch" && !open) {
      node.inputs[3] = spread<int64_t>(node, node.inputs[3], axes, shape);
      return true;
    }
    if (const auto scales = scales_for(node, axes, shape, policy)) {
      node.inputs.resize(3);
      node.inputs[2] =
          spread<float>(node, add(node, Tensor::of<float>({static_cast<int64_t>(axes.size())}, *scales)), axes, ones);
      return true;
    }
    if (policy == "stretch") node.inputs[3] = spread<int64_t>(node, node.inputs[3], axes, shape);
    return policy == "stretch";
  }

  // The scales that ONNX Runtime computes with for these sizes; nullopt where they would not give the same sizes by themselves,
  // or are not known.
  std::optional<std::vector<float>> scales_for(const graph::Node& node, const Axes& axes, const Shape& shape,
                                               const std::string& policy) const {
    const Tensor* sizes = model_.initializer(node.inputs[3]);
    if (sizes == nullptr || sizes->count() != axes.size() || axes.empty()) return std::nullopt;
    std::vector<float> known, scales;
    for (size_t k = 0; k < axes.size(); k++) {
      const int64_t size = shape[static_cast<size_t>(axes[k])];
      if (size <= 0) return std::nullopt;
      known.push_back(static_cast<float>(size));
      scales.push_back(static_cast<float>(sizes->as<int64_t>()[k]) / known.back());
    }
    if (policy != "stretch") {
      const auto [least, greatest] = std::ranges::minmax(scales);
      scales.assign(scales.size(), policy == "not_larger" ? least : greatest);
    }
    for (size_t k = 0; k < scales.size(); k++) {
      if (std::floor(scales[k] * known[k]) != std::round(scales[k] * known[k])) return std::nullopt;
    }
    return scales;
  }

  // `given` at these places of `all`; below 0 in `all`: as the input has it.
  template <class T>
  std::string spread(const graph::Node& node, const std::string& given, const Axes& places, std::vector<T> all) {
    const Tensor* constant = model_.initializer(given);
    if (constant != nullptr && constant->count() == places.size()) {
      for (size_t k = 0; k < places.size(); k++) all[static_cast<size_t>(places[k])] = constant->as<T>()[k];
      if (std::ranges::all_of(all, [&](T value) { return node.is("Pad") || value >= 0; }))
        return add(node, Tensor::of<T>({static_cast<int64_t>(all.size())}, all));
    }
    std::string base;
    if (node.is("Pad") || std::ranges::all_of(all, [](T value) { return value >= 0; })) {
      base = add(node, Tensor::of<T>({static_cast<int64_t>(all.size())}, all));
    } else {
      base = names_.fresh(node.name + "_shape");
      append(node, "Shape", {node.inputs.front()}, base);
    }
    std::string spread = names_.fresh(node.name + "_every_axis");
    append(node, "ScatterElements", {base, add(node, Tensor::of<int64_t>({static_cast<int64_t>(places.size())}, places)), given},
           spread);
    return spread;
  }

  void append(const graph::Node& node, const std::string& type, std::vector<std::string> inputs, const std::string& output) {
    model_.nodes.push_back({.name = names_.fresh(node.name + "_" + type),
                            .op_type = type,
                            .domain = "",
                            .inputs = std::move(inputs),
                            .outputs = {output}});
  }

  std::string add(const graph::Node& node, Tensor values) {
    std::string name = names_.fresh(node.name + "_every_axis");
    model_.initializers[name] = std::move(values);
    return name;
  }

  graph::Model& model_;
  const graph::Model& original_;
  graph::Names names_;
  std::map<std::string, Shape> shapes_;
};

}  // namespace

void write_every_axis(graph::Model& quantized, const graph::Model& original) {
  Writing(quantized, original).run();
  graph::remove_unused(quantized);
}

}  // namespace quasar::quant
