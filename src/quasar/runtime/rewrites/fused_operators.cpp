#include "quasar/runtime/rewrites/fused_operators.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "quasar/runtime/rewrites/apart.hpp"
#include "quasar/runtime/rewrites/names_of_fusion.hpp"

namespace quasar::runtime {
namespace {

using Write = bool (*)(Apart& to, const graph::Node& node);

// nullptr: it is no fused operator.
Write writer_of(const graph::Node& node) {
  static constexpr std::array<std::pair<std::string_view, Write>, 5> all{{{"FusedConv", write_fused_sum},
                                                                          {"FusedGemm", write_fused_sum},
                                                                          {"FusedMatMul", write_fused_product},
                                                                          {"Attention", write_attention},
                                                                          {"EmbedLayerNormalization", write_embedding}}};
  if (node.domain != contributed) return nullptr;
  const auto found = std::ranges::find(all, std::string_view(node.op_type), &std::pair<std::string_view, Write>::first);
  return found == all.end() ? nullptr : found->second;
}

}  // namespace

void write_fused_apart(graph::Model& model, const TypesOf& types_of) {
  if (std::ranges::any_of(model.nodes, [](const graph::Node& node) { return writer_of(node) != nullptr; })) {
    Apart to(model, types_of);
    std::vector<graph::Node> nodes;
    nodes.swap(model.nodes);
    for (graph::Node& node : nodes) {
      const Write write = writer_of(node);
      if (write == nullptr || !write(to, node)) to.out.push_back(std::move(node));
    }
    model.nodes = std::move(to.out);
  }
  rename_constants_of_fusion(model);
}

}  // namespace quasar::runtime
