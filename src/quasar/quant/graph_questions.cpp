#include "quasar/quant/graph_questions.hpp"

#include <algorithm>

#include "quasar/ops/constants.hpp"
#include "quasar/stats/shapes.hpp"

namespace quasar::quant {

std::optional<std::vector<int64_t>> reduced_axes(const graph::Node& node, const graph::Model& model, size_t rank) {
  std::vector<int64_t> axes = node.integers("axes");
  if (ops::has_input(node, 1)) {
    const Tensor* given = ops::constant_input(node, 1, model);
    if (given == nullptr || given->type() != DataType::int64) return std::nullopt;
    axes.assign(given->as<int64_t>().begin(), given->as<int64_t>().end());
  }
  if (axes.empty()) return std::nullopt;
  for (auto& axis : axes) axis += axis < 0 ? static_cast<int64_t>(rank) : 0;
  std::ranges::sort(axes);
  return axes;
}

bool are_spatial(const std::vector<int64_t>& axes, size_t rank) {
  if (rank < 3 || axes.size() != rank - 2) return false;
  for (size_t i = 0; i < axes.size(); i++) {
    if (axes[i] != static_cast<int64_t>(i + 2)) return false;
  }
  return true;
}

std::optional<std::vector<float>> per_channel(const std::string& value, size_t rank, const graph::Model& model) {
  const Tensor* tensor = model.initializer(value);
  if (tensor == nullptr || tensor->type() != DataType::float32 || tensor->shape().size() > rank) return std::nullopt;
  const Shape& shape = tensor->shape();
  for (size_t i = 0; i < shape.size(); i++) {
    if (shape[i] != 1 && i + rank - shape.size() != 1) return std::nullopt;
  }
  return std::vector<float>(tensor->as<float>().begin(), tensor->as<float>().end());
}

const Shape* KnownShapes::of(const std::string& value) {
  if (!shapes_) shapes_ = stats::known_shapes(model_);
  const auto found = shapes_->find(value);
  return found == shapes_->end() ? nullptr : &found->second;
}

Transformed fused(const graph::Model& model, const char* type, const Match& match) {
  Transformed out{.model = model};
  KnownShapes shapes(model);
  graph::Names names(model);
  std::vector<Fusion> fusions;
  for (const auto& node : model.nodes) {
    if (!node.is(type)) continue;
    if (auto fusion = match(node, shapes, names)) fusions.push_back(std::move(*fusion));
  }
  if (fusions.empty()) return out;
  std::map<const graph::Node*, Fusion*> ends;
  std::set<const graph::Node*> gone;
  for (auto& fusion : fusions) {
    ends[fusion.nodes.back()] = &fusion;
    gone.insert(fusion.nodes.begin(), fusion.nodes.end());
    for (const graph::Node* node : fusion.nodes) out.became[node->name] = {fusion.by.name};
    out.model.initializers.merge(fusion.constants);
    out.changes++;
  }
  out.model.nodes.clear();
  for (const auto& node : model.nodes) {
    if (const auto end = ends.find(&node); end != ends.end()) {
      out.model.nodes.push_back(std::move(end->second->by));
    } else if (!gone.contains(&node)) {
      out.model.nodes.push_back(node);
    }
  }
  graph::remove_unused(out.model);
  return out;
}

}  // namespace quasar::quant
