#include "quasar/tune/processors.hpp"

#include <algorithm>

#include "quasar/base/names.hpp"
#include "quasar/ops/overflow.hpp"

namespace quasar::tune {
namespace {

const std::string with_wide_sums = "x86 processors with VNNI and Arm processors with dot products";
const std::string on_x86 = "x86 processors with VNNI, and Arm processors";

}  // namespace

Json processors_of(const graph::Model& model) {
  Json nodes = Json::array();
  bool lowest = false;
  for (const auto& node : ops::overflows(model)) {
    nodes.push_back({{"node", node.node}, {"pairs", node.pairs}, {"overflowing", node.overflowing}, {"lowest", node.lowest}});
    lowest = lowest || node.lowest > 1;
  }
  if (nodes.empty()) return {{"scores_hold_for", "every processor"}};
  return {
      {"scores_hold_for", lowest ? with_wide_sums : on_x86},
      {"nodes", std::move(nodes)},
      {"cure",
       "quantize the float model with Quasar, whose `saturation: avoid` (the default on ort_cpu) chooses scales with which no "
       "sum can overflow; `saturation: unsigned` keeps scales, and takes more time"}};
}

std::string overflow_in_words(const Json& facts) {
  if (!facts.contains("nodes")) return "";
  constexpr size_t most = 5;
  size_t pairs = 0, overflowing = 0;
  std::vector<std::string> names;
  for (const auto& node : facts["nodes"]) {
    pairs += node["pairs"].get<size_t>();
    overflowing += node["overflowing"].get<size_t>();
    if (names.size() < most) names.push_back(node["node"].get<std::string>());
  }
  const size_t count = facts["nodes"].size();
  return "sums of 16 bits can overflow in " + std::to_string(count) + (count == 1 ? " node" : " nodes") + " (" + joined(names) +
         (count > most ? " …" : "") + "): " + std::to_string(overflowing) + " of " + std::to_string(pairs) +
         " pairs of weights; scores hold for " + facts["scores_hold_for"].get<std::string>() +
         " only; cure: " + facts["cure"].get<std::string>();
}

}  // namespace quasar::tune
