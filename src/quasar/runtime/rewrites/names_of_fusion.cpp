#include "quasar/runtime/rewrites/names_of_fusion.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <string_view>

namespace quasar::runtime {
namespace {

constexpr std::array<std::string_view, 2> names_of_fusion = {"gemm_input_shape", "gemm_output_shape"};  // MatMulAddFusion's

bool is_named_by_fusion(const std::string& name) {
  return std::ranges::any_of(names_of_fusion, [&](std::string_view start) { return name.starts_with(start); });
}

}  // namespace

void rename_constants_of_fusion(graph::Model& model) {
  if (std::ranges::none_of(model.initializers, [](const auto& one) { return is_named_by_fusion(one.first); })) return;
  std::map<std::string, std::string> renamed;
  graph::Names names(model);
  for (const auto& [name, tensor] : model.initializers) {
    if (is_named_by_fusion(name)) renamed[name] = names.fresh("of_" + name);
  }
  for (const auto& output : model.outputs) renamed.erase(output.name);
  for (const graph::Node& node : model.nodes) {
    for (const auto& captured : node.captures) renamed.erase(captured);
  }
  for (const auto& [from, to] : renamed) {
    auto constant = model.initializers.extract(from);
    constant.key() = to;
    model.initializers.insert(std::move(constant));
  }
  for (graph::Node& node : model.nodes) {
    for (auto& input : node.inputs) {
      if (const auto found = renamed.find(input); found != renamed.end()) input = found->second;
    }
  }
}

}  // namespace quasar::runtime
