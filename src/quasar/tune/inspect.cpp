#include "quasar/tune/inspect.hpp"

#include "quasar/graph/load.hpp"
#include "quasar/ops/op.hpp"
#include "quasar/quant/target.hpp"
#include "quasar/runtime/prepare.hpp"

namespace quasar::tune {
namespace {

std::string described(const graph::Value& value) {
  std::string text = value.name + " " + std::string(name_of(value.type));
  if (!value.shape) return text;
  text += " [";
  for (size_t i = 0; i < value.shape->size(); ++i) {
    const int64_t size = (*value.shape)[i];
    const std::string symbol = i < value.symbols.size() && !value.symbols[i].empty() ? value.symbols[i] : "?";
    text += (i > 0 ? "," : "") + (size < 0 ? symbol : std::to_string(size));
  }
  return text + "]";
}

Json fate(const graph::Node& node, const ops::Survey& survey, const quant::Target& target, const quant::Config& config) {
  std::string why;
  const auto found = survey.quantizable.find(node.name);
  bool quantized = false;
  if (found != survey.quantizable.end()) {
    quantized = target.runs(node, found->second, config, why);
  } else {
    const auto declined = survey.declined.find(node.name);
    why = declined == survey.declined.end() ? "no operator that Quasar quantizes" : declined->second;
  }
  Json facts{{"name", node.name}, {"type", node.op_type}, {"quantized", quantized}};
  if (!quantized) facts["why"] = why;
  return facts;
}

}  // namespace

Json inspect(const std::filesystem::path& path, const std::string& target_name) {
  const graph::Model original = graph::load(path);
  const graph::Model model = runtime::prepare(original);
  const auto target = quant::targets::table().make(target_name);
  const quant::Config config = quant::parse_config(quant::schemes::table().make("u8s8_channel")->words());
  Json facts{{"model", path.string()}, {"bytes", std::filesystem::file_size(path)}, {"opset", original.opset()}};
  size_t parameters = 0;
  for (const auto& [name, tensor] : model.initializers) parameters += tensor.count();
  facts["parameters"] = parameters;
  facts["inputs"] = facts["outputs"] = facts["nodes"] = Json::array();
  for (const auto& input : model.inputs) facts["inputs"].push_back(described(input));
  for (const auto& output : model.outputs) facts["outputs"].push_back(described(output));
  const ops::Survey survey = ops::survey(model);
  std::map<std::string, int> operators;
  for (const auto& node : model.nodes) {
    operators[node.op_type]++;
    facts["nodes"].push_back(fate(node, survey, *target, config));
  }
  facts["operators"] = operators;
  return facts;
}

}  // namespace quasar::tune
