// Split becomes one Slice per part, for processors that have no Split.

#include "quasar/ops/constants.hpp"
#include "quasar/quant/config/transform.hpp"
#include "quasar/quant/graph_questions.hpp"

namespace quasar::quant::transforms {
namespace {

// The sizes of the parts; empty: they are not known.
std::vector<int64_t> sizes_of(const graph::Node& node, const graph::Model& model, const Shape* shape) {
  if (ops::has_input(node, 1)) {
    const Tensor* given = ops::constant_input(node, 1, model);
    if (given == nullptr || given->type() != DataType::int64) return {};
    return {given->as<int64_t>().begin(), given->as<int64_t>().end()};
  }
  if (shape == nullptr) return {};
  int64_t axis = node.integer("axis", 0);
  axis += axis < 0 ? static_cast<int64_t>(shape->size()) : 0;
  const int64_t size = shape->at(static_cast<size_t>(axis)), parts = static_cast<int64_t>(node.outputs.size());
  if (size < 0) return {};
  const int64_t part = (size + parts - 1) / parts;  // the last one may be smaller
  std::vector<int64_t> sizes(node.outputs.size(), part);
  sizes.back() = size - part * (parts - 1);
  return sizes;
}

class SplitToSlice final : public Transform {
 public:
  Transformed rewrite(const graph::Model& model, const stats::ChannelStatistics&) const override {
    Transformed out{.model = model};
    KnownShapes shapes(model);
    graph::Names names(model);
    out.model.nodes.clear();
    for (const auto& node : model.nodes) {
      const auto sizes = node.is("Split") ? sizes_of(node, model, shapes.of(node.inputs[0])) : std::vector<int64_t>();
      if (sizes.empty()) {
        out.model.nodes.push_back(node);
      } else {
        slice(node, sizes, names, out);
      }
    }
    if (out.changes > 0) graph::remove_unused(out.model);
    return out;
  }

 private:
  static void slice(const graph::Node& node, const std::vector<int64_t>& sizes, graph::Names& names, Transformed& out) {
    const auto add = [&](const std::string& wish, int64_t value) {
      const std::string name = names.fresh(wish);
      out.model.initializers[name] = Tensor::of<int64_t>({1}, std::vector<int64_t>{value});
      return name;
    };
    const std::string axis = add(node.name + "_axis", node.integer("axis", 0));
    int64_t start = 0;
    for (size_t k = 0; k < sizes.size(); start += sizes[k++]) {
      if (node.outputs[k].empty()) continue;
      const std::string name = names.fresh(node.name + "_Slice");
      out.model.nodes.push_back({name,
                                 "Slice",
                                 "",
                                 {node.inputs[0], add(name + "_start", start), add(name + "_end", start + sizes[k]), axis},
                                 {node.outputs[k]}});
      out.became[node.name].insert(name);
    }
    out.changes++;
  }
};

}  // namespace

Entry<Transform> split_to_slice() {
  return {.help = "Split becomes one Slice per part (ConvertSplitToSlice)", .make = make_as<SplitToSlice, Transform>};
}

}  // namespace quasar::quant::transforms
