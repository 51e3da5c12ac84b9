#include "quasar/runtime/judged_nodes.hpp"

#include <algorithm>
#include <set>

#include "quasar/runtime/openvino.hpp"
#include "quasar/runtime/openvino_judge.hpp"
#include "quasar/runtime/qnn_htp.hpp"

namespace quasar::runtime {
namespace {

// What OpenVINO appends to the names of a node's parts.
constexpr std::string_view parts[] = {"/WithoutBiases", "/DequantizationMultiply", "/DequantizationSubtract"};

std::multimap<std::string, std::string> types_in_openvino(const graph::Model& model) {
  JudgePool* const judges = openvino::processes();
  if (judges == nullptr) return openvino::types_computed_in(model);
  std::multimap<std::string, std::string> out;
  const Json said = said_of(*judges, model, {{"nodes", true}});
  for (const Json& one : said.value("computes", Json::array())) out.emplace(one.at(0), one.at(1));
  return out;
}

bool has_eight_bits(const std::string& type) {
  return type.empty() || type == "i8" || type == "u8";
}

std::map<std::string, bool> in_openvino(const graph::Model& model, const std::vector<std::string>& nodes) {
  const auto found = types_in_openvino(model);
  std::map<std::string, bool> out;
  for (const auto& node : nodes) {
    bool runs = true;
    // Names that begin with the node's stand behind it, others' among them.
    for (auto at = found.lower_bound(node); at != found.end() && at->first.starts_with(node); ++at)
      runs = runs && (!stands_for(at->first, node) || has_eight_bits(at->second));
    out[node] = runs;
  }
  return out;
}

std::map<std::string, bool> in_qnn_htp(const graph::Model& model, const std::vector<std::string>& nodes) {
  const auto on_cpu = said_of(qnn_htp::processes(), model, Json::object()).at("on_cpu").get<std::set<std::string>>();
  std::map<std::string, bool> out;
  for (const auto& node : nodes) out[node] = !on_cpu.contains(node);
  return out;
}

}  // namespace

bool stands_for(const std::string& operation, const std::string& node) {
  if (!operation.starts_with(node)) return false;
  std::string_view rest = std::string_view(operation).substr(node.size());
  while (!rest.empty()) {
    const auto* const part = std::ranges::find_if(parts, [&](std::string_view one) { return rest.starts_with(one); });
    if (part == std::end(parts)) return false;
    rest.remove_prefix(part->size());
  }
  return true;
}

std::map<std::string, bool> runs_quantized_in(const Device& device, const graph::Model& quantized,
                                              const std::vector<std::string>& nodes) {
  return device.library == Library::openvino ? in_openvino(quantized, nodes) : in_qnn_htp(quantized, nodes);
}

}  // namespace quasar::runtime
