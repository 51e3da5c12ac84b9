#include "quasar/tune/processors.hpp"

#include <algorithm>

#include "quasar/base/names.hpp"

namespace quasar::tune {
namespace {

constexpr const char* with_wide_sums = "x86 processors with VNNI and Arm processors with dot products";
constexpr const char* on_x86 = "x86 processors with VNNI, and Arm processors";
constexpr const char* on_arm_with_dot_products = "64-bit Arm processors with dot products";
constexpr const char* on_arm = "64-bit Arm processors";
constexpr const char* cure =
    "quantize the float model with Quasar, whose `saturation: avoid` (the default on ort_cpu) chooses scales with which no "
    "sum can overflow; `saturation: unsigned` keeps scales, and takes more time";
constexpr const char* cure_for_onednn =
    "quantize the float model with Quasar for target openvino, whose `saturation: raise_scales` (its default) chooses scales "
    "with "
    "which no sum can overflow";

const char* cure_of(const Processors& processors) {
  return processors.kernels == ops::Kernels::onednn ? cure_for_onednn : cure;
}

std::string scores_hold_for(const Processors& processors) {
  if (processors.nodes.empty()) return processors.kernels == ops::Kernels::neon ? on_arm : "every processor";
  const auto lowest = [](const ops::Overflow& node) { return node.lowest > 1; };
  if (processors.kernels == ops::Kernels::neon) return on_arm_with_dot_products;
  return std::ranges::any_of(processors.nodes, lowest) ? with_wide_sums : on_x86;
}

}  // namespace

Processors processors_of(const graph::Model& model, ops::Kernels kernels) {
  return {.nodes = ops::overflows(model, kernels), .here = {}, .kernels = kernels};
}

Json to_json(const Processors& processors) {
  Json out{{"scores_hold_for", scores_hold_for(processors)}};
  for (const auto& node : processors.nodes)
    out["nodes"].push_back(
        {{"node", node.node}, {"pairs", node.pairs}, {"overflowing", node.overflowing}, {"lowest", node.lowest}});
  if (!processors.nodes.empty()) out["cure"] = cure_of(processors);
  if (!processors.here.empty()) out["here"] = processors.here;
  return out;
}

std::string in_words(const Processors& processors) {
  const size_t count = processors.nodes.size();
  if (count == 0) return "";
  constexpr size_t most = 5;
  size_t pairs = 0, overflowing = 0;
  std::vector<std::string> names;
  for (const auto& node : processors.nodes) {
    pairs += node.pairs;
    overflowing += node.overflowing;
    if (names.size() < most) names.push_back(node.node);
  }
  return "sums of 16 bits can overflow in " + std::to_string(count) + (count == 1 ? " node" : " nodes") + " (" + joined(names) +
         (count > most ? " …" : "") + "): " + std::to_string(overflowing) + " of " + std::to_string(pairs) +
         " pairs of weights; scores hold for " + scores_hold_for(processors) + " only; cure: " + cure_of(processors);
}

}  // namespace quasar::tune
