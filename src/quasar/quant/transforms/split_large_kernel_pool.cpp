// A GlobalAveragePool over more positions than processors sum at once becomes two averages: over windows of equal size, then over
// their means, which is the same mean. 512 positions at most, as Quark has it.
#include <algorithm>

#include "quasar/quant/config/transform.hpp"
#include "quasar/quant/graph_questions.hpp"

namespace quasar::quant::transforms {
namespace {

constexpr int64_t most_positions = 512;

struct Window {
  int64_t height = 0, width = 0;
};

// Whole windows; of those that leave no more than allowed on either side, the one with the most even share.
Window window_of(int64_t height, int64_t width) {
  Window best;
  int64_t least = most_positions + 1;
  for (int64_t h = 1; h <= height; h++) {
    for (int64_t w = 1; w <= width && height % h == 0; w++) {
      if (width % w != 0) continue;
      const int64_t larger = std::max(h * w, (height / h) * (width / w));
      if (larger < least) least = larger, best = {h, w};
    }
  }
  return best;
}

class SplitLargeKernelPool final : public Transform {
 public:
  Transformed rewrite(const graph::Model& model, const stats::ChannelStatistics&) const override {
    Transformed out{.model = model};
    KnownShapes shapes(model);
    graph::Names names(model);
    out.model.nodes.clear();
    for (graph::Node node : model.nodes) {
      const Shape* const shape = node.is("GlobalAveragePool") ? shapes.of(node.inputs[0]) : nullptr;
      if (shape != nullptr && shape->size() == 4 && (*shape)[2] * (*shape)[3] > most_positions) {
        if (const Window window = window_of((*shape)[2], (*shape)[3]); window.height > 0) {
          split(node, window, names, out);
        } else {
          out.notes.push_back("SplitLargeKernelPool: " + node.name + " stays, because " + to_string(*shape) +
                              " is no product of windows of at most 512 positions");
        }
      }
      out.model.nodes.push_back(std::move(node));
    }
    return out;
  }

 private:
  static void split(graph::Node& node, const Window& window, graph::Names& names, Transformed& out) {
    const std::vector<int64_t> kernel{window.height, window.width};
    graph::Node first{.name = names.fresh(node.name + "_AveragePool"),
                      .op_type = "AveragePool",
                      .domain = "",
                      .inputs = node.inputs,
                      .outputs = {names.fresh(node.outputs[0] + "_windows")}};
    first.set({"kernel_shape", kernel});
    first.set({"strides", kernel});
    node.inputs = first.outputs;
    out.values.insert(first.outputs[0]);
    out.became[node.name] = {node.name, first.name};
    out.model.nodes.push_back(std::move(first));
    out.changes++;
  }
};

}  // namespace

Entry<Transform> split_large_kernel_pool() {
  return {.help = "GlobalAveragePool over more than 512 positions becomes two averages (SplitLargeKernelPool)",
          .make = make_as<SplitLargeKernelPool, Transform>};
}

}  // namespace quasar::quant::transforms
