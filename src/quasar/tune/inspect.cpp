#include "quasar/tune/inspect.hpp"

#include "quasar/graph/load.hpp"
#include "quasar/ops/op.hpp"
#include "quasar/quant/check.hpp"
#include "quasar/quant/placement.hpp"
#include "quasar/quant/target.hpp"
#include "quasar/runtime/prepare.hpp"

namespace quasar::tune {
namespace {

const std::string usual_target = "ort_cpu";

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

// What a target would do with a model under the scheme that suits it.
class Fate {
 public:
  Fate(const graph::Index& index, const std::string& target)
      : target_(quant::targets::table().make(target)),
        scheme_(target_->shifts()        ? "xint8"
                : target == usual_target ? "u8s8_channel"
                                         : "a8w8"),
        config_(quant::parse_config(quant::schemes::table().make(scheme_)->words())),
        placement_(quant::place(index, config_, *target_)),
        index_(index) {}

  const std::string& scheme() const { return scheme_; }

  Json of(const graph::Node& node) const {
    if (const ops::Roles* roles = placement_.roles(&node)) return {{"quantized", true}, {"as", role(node, *roles)}};
    const auto skipped = placement_.skipped.find(node.name);
    const std::string why = skipped == placement_.skipped.end() ? "no operator that Quasar quantizes" : skipped->second;
    return {{"quantized", false}, {"why", why}};
  }

 private:
  std::string role(const graph::Node& node, const ops::Roles& roles) const {
    const graph::Node* reader = quant::sole_reader(node.outputs.front(), index_);
    const ops::Roles* next = placement_.roles(reader);
    const bool joined = next != nullptr && target_->fuses(node, *reader) &&
                        (next->kind == ops::Kind::activation || !placement_.values.contains(node.outputs.front()));
    const std::string with = joined ? " with the " + reader->op_type + " behind it" : "";
    switch (roles.kind) {
      case ops::Kind::compute:
        return (roles.weight ? "integer sums over weights" : "integer sums of two activations") + with;
      case ops::Kind::elementwise:
        return "with a scale of its own" + with;
      case ops::Kind::movement:
        return "moves codes, its input's scale";
      case ops::Kind::activation:
        return "clips, by the grid of its output";
    }
    return "";
  }

  std::unique_ptr<quant::Target> target_;
  std::string scheme_;
  quant::Config config_;
  quant::Placement placement_;
  const graph::Index& index_;
};

void add_nodes(Json& facts, const graph::Model& model, const std::string& chosen) {
  const graph::Index index(model);
  std::map<std::string, Fate> fates;
  for (const auto& name : quant::targets::table().names()) {
    const auto& fate = fates.try_emplace(name, index, name).first->second;
    facts["schemes"][name] = fate.scheme();
  }
  std::map<std::string, int> operators;
  facts["nodes"] = Json::array();
  for (const auto& node : model.nodes) {
    operators[node.op_type]++;
    Json entry{{"name", node.name}, {"type", node.op_type}};
    for (const auto& [name, fate] : fates) entry["targets"][name] = fate.of(node);
    const Json said = entry["targets"][chosen];
    entry.update(said);
    facts["nodes"].push_back(std::move(entry));
  }
  facts["operators"] = operators;
}

Json check(const graph::Model& model, const std::string& target) {
  Json list = Json::array();
  for (const auto& violation : quant::violations(model)) {
    list.push_back(
        {{"node", violation.node}, {"rule", violation.rule}, {"what", violation.what}, {"figures", violation.figures}});
  }
  return {{"target", target}, {"layers", quant::network_of(model).layers.size()}, {"violations", std::move(list)}};
}

}  // namespace

Json inspect(const std::filesystem::path& path, const std::string& target_name) {
  const std::string chosen = target_name.empty() ? usual_target : quant::targets::table().resolve(target_name);
  const graph::Model original = graph::load(path);
  const bool finished = quant::is_quantized(original) && quant::targets::table().make(chosen)->shifts();
  const graph::Model model = finished ? original : runtime::prepare(original);
  Json facts{
      {"model", path.string()}, {"bytes", std::filesystem::file_size(path)}, {"opset", original.opset()}, {"target", chosen}};
  size_t parameters = 0;
  for (const auto& [name, tensor] : model.initializers) parameters += tensor.count();
  facts["parameters"] = parameters;
  facts["inputs"] = facts["outputs"] = Json::array();
  for (const auto& input : model.inputs) facts["inputs"].push_back(described(input));
  for (const auto& output : model.outputs) facts["outputs"].push_back(described(output));
  if (finished) {
    facts["rules"] = check(model, chosen);
  } else {
    add_nodes(facts, model, chosen);
  }
  return facts;
}

}  // namespace quasar::tune
