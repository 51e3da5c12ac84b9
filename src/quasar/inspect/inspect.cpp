#include "quasar/inspect/inspect.hpp"

#include <algorithm>

#include "quasar/data/dataset.hpp"
#include "quasar/eval/head.hpp"
#include "quasar/graph/bodies.hpp"
#include "quasar/graph/files_of.hpp"
#include "quasar/graph/load.hpp"
#include "quasar/graph/lookup.hpp"
#include "quasar/graph/pipeline/pipeline.hpp"
#include "quasar/job/models_key.hpp"
#include "quasar/job/v1_configuration.hpp"
#include "quasar/ops/chosen_outputs.hpp"
#include "quasar/ops/op.hpp"
#include "quasar/quant/codes/scheme_words.hpp"
#include "quasar/quant/config/layer_rules.hpp"
#include "quasar/quant/config/named_schemes.hpp"
#include "quasar/quant/config/usual_target.hpp"
#include "quasar/quant/node_names.hpp"
#include "quasar/quant/npu/npu.hpp"
#include "quasar/quant/onnxruntime_kernels.hpp"
#include "quasar/quant/placement.hpp"
#include "quasar/quant/target.hpp"
#include "quasar/runtime/kernels.hpp"
#include "quasar/runtime/oldest_release.hpp"
#include "quasar/runtime/prepare.hpp"
#include "quasar/stats/shapes.hpp"
#include "quasar/tune/processors.hpp"

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

// What a configuration says of a node apart from its role: a rule's types, overrides of its tensors.
std::string own_words(const graph::Node& node, const quant::Config& config) {
  std::string out;
  if (const quant::LayerRule* rule = quant::rule_for(node, config.layers); rule != nullptr && !rule->in_float) {
    out += "; " + key_of(*rule) + ": " + quant::spec_name(rule->activation) + " values, " + quant::spec_name(rule->weight) +
           " weights";
  }
  std::set<std::string> values(node.inputs.begin(), node.inputs.end());
  values.insert(node.outputs.begin(), node.outputs.end());
  for (const auto& value : values) {
    if (config.tensors.contains(value)) out += "; TensorQuantOverrides: " + value + " " + config.tensors.at(value).words.dump();
  }
  return out;
}

// What a target would do with a model under a configuration.
class Fate {
 public:
  // `ranks`: shapes of values, where they are known.
  Fate(const graph::Index& index, const stats::Statistics& ranks, const std::string& target, const quant::NodeNames& names,
       const Json& words)
      : target_(quant::targets::table().make(target)),
        scheme_(words.is_null() ? usual_scheme(target) : "configuration"),
        config_(names.resolved(quant::parse_config(words.is_null() ? quant::words_of_scheme(scheme_) : words))),
        placement_(quant::place(index, config_, *target_, ranks)),
        index_(index) {
    if (target_->shifts()) quant::check_forms_for_shifts(config_);
    if (!words.is_null()) quant::check_taken(*target_, config_);
  }

  const std::string& scheme() const { return scheme_; }

  Json of(const graph::Node& node) const {
    if (const ops::Roles* roles = placement_.roles(&node))
      return {{"quantized", true}, {"as", role(node, *roles) + own_words(node, config_)}};
    if (const auto alone = placement_.alone.find(node.name); alone != placement_.alone.end())
      return {{"quantized", true}, {"as", role(node, alone->second) + own_words(node, config_)}};
    const auto skipped = placement_.skipped.find(node.name);
    const std::string why = skipped == placement_.skipped.end() ? "no operator that Quasar quantizes" : skipped->second;
    return {{"quantized", false}, {"why", why}};
  }

 private:
  static std::string role(const graph::Node& node, const quant::NodePlan& plan) {
    if (plan.form == quant::NodeForm::weights_only && node.is("Gather")) return "a table of codes (GatherBlockQuantized)";
    if (plan.form == quant::NodeForm::pairs) return "weights as codes, computed in float";
    if (plan.form == quant::NodeForm::weights_only) return "float values, weights as codes (MatMulNBits)";
    return node.is("Gather") ? "a table of codes" : "scales of its input found at run time, weights as codes";
  }

  // Whether a pair stands behind the node, or behind the sum that it runs as one with.
  bool in_pairs(const graph::Node& node) const {
    const std::string& value = node.outputs.front();
    const auto sum = std::ranges::find(placement_.biased, value, [](const auto& pair) { return pair.second; });
    return placement_.values.contains(sum == placement_.biased.end() ? value : sum->first);
  }

  std::string role(const graph::Node& node, const ops::Roles& roles) const {
    const graph::Node* reader = graph::sole_reader(node.outputs.front(), index_);
    const ops::Roles* next = placement_.roles(reader);
    const bool joined = next != nullptr && target_->fuses(node, *reader) &&
                        (next->kind == ops::Kind::activation || !placement_.values.contains(node.outputs.front()));
    const std::string with = joined ? " with the " + reader->op_type + " behind it" : "";
    switch (roles.kind) {
      case ops::Kind::compute:
        if (roles.activations.empty()) return "a table of codes";
        return (roles.weight ? "integer sums over weights" : "integer sums of two activations") + with +
               (joined || in_pairs(node) ? "" : ", written as floats");
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

// Values' shapes, as far as they are known without running anything.
stats::Statistics shapes_of(const graph::Model& model) {
  stats::Statistics out;
  for (const auto& [name, shape] : stats::known_shapes(model)) out[name].shape = shape;
  for (const auto& name : quant::observed_values(model)) out.try_emplace(name);  // of bodies no shape is known
  return out;
}

// Nodes of the model as it came that clean-up left no node of that name for, and what became of them; `stands_for` gets the
// other direction.
Json folded_nodes(const graph::Model& original, const graph::Index& prepared, const quant::NodeNames& names,
                  std::map<std::string, std::vector<std::string>>& stands_for) {
  Json out = Json::array();
  for (const auto& node : original.nodes) {
    if (prepared.node(node.name) != nullptr) continue;
    const std::set<std::string> into = names.survivors(node.name);
    std::string what = "clean-up made a constant of it";
    if (!into.empty()) {
      what = "clean-up folded it into";
      for (const auto& name : into) what += " " + name;
    } else if (std::ranges::none_of(node.outputs, [&](const auto& value) { return prepared.model().initializer(value); })) {
      what = "clean-up removed it: it does nothing, or nobody reads it";
    }
    for (const auto& name : into) stands_for[name].push_back(node.name);
    out.push_back({{"name", node.name}, {"type", node.op_type}, {"into", into}, {"what", what}});
  }
  return out;
}

struct Graphs {
  const graph::Model &original, &model;
};

void add_nodes(Json& facts, const Graphs& graphs, const std::string& chosen, const InspectOptions& options) {
  const Json& words = options.words;
  const graph::Index index(graphs.model);
  const quant::NodeNames names(graphs.original, graphs.model);
  const stats::Statistics shapes = shapes_of(graphs.model);
  std::map<std::string, Fate> fates;
  for (const auto& name : quant::targets::table().names()) {
    if (!words.is_null() && name != chosen) continue;
    const auto& fate = fates.try_emplace(name, index, shapes, name, names, words).first->second;
    facts["schemes"][name] = words.is_null() ? fate.scheme() : options.called;
  }
  std::map<std::string, std::vector<std::string>> stands_for;
  facts["folded"] = folded_nodes(graphs.original, index, names, stands_for);
  std::map<std::string, int> operators;
  facts["nodes"] = Json::array();
  for (const auto& node : graphs.model.nodes) {
    operators[node.op_type]++;
    Json entry{{"name", node.name}, {"type", node.op_type}};
    if (const auto others = stands_for.find(node.name); others != stands_for.end()) entry["stands_for"] = others->second;
    for (const auto& [name, fate] : fates) entry["targets"][name] = fate.of(node);
    const Json said = entry["targets"][chosen];
    entry.update(said);
    facts["nodes"].push_back(std::move(entry));
  }
  facts["operators"] = operators;
}

// The rules of processors that shift.
Json check(const graph::Model& model, const std::string& target) {
  Json list = Json::array();
  for (const auto& violation : quant::violations(model)) {
    list.push_back(
        {{"node", violation.node}, {"rule", violation.rule}, {"what", violation.what}, {"figures", violation.figures}});
  }
  const quant::Network network = quant::network_of(model);
  return {{"target", target}, {"layers", network.layers.size()}, {"in_float", network.in_float}, {"violations", std::move(list)}};
}

// The target's table of what it runs between pairs.
Json check_pairs(const graph::Model& model, const std::string& name) {
  const auto target = quant::targets::table().make(name);
  Json list = Json::array();
  for (const auto& [node, fault] : target->faults(model, runtime::value_types(model)))
    list.push_back({{"node", node}, {"rule", fault.rule}, {"what", fault.what}, {"figures", Json::object()}});
  const size_t layers = quant::nodes_in_pairs(model).size();
  return {{"target", name}, {"layers", layers}, {"in_float", Json::array()}, {"violations", std::move(list)}};
}

// Whether the kernels before and behind the node need the pairs around it: most write and read codes only.
bool serve_neighbours(const graph::Node& node, const graph::Index& index) {
  const auto has_kernel = [](const graph::Node* one) {
    return one != nullptr && quant::in_codes(one->op_type) != quant::InCodes::no;
  };
  const auto writes_codes = [&](const std::string& input) {
    const graph::Node* const dequantize = index.producer(input);
    const graph::Node* const quantize = quant::dequantizes(dequantize) ? index.producer(dequantize->inputs.front()) : nullptr;
    if (!quant::quantizes(quantize)) return true;  // a constant, or no pair
    const graph::Node* const writer = index.producer(quantize->inputs.front());
    return has_kernel(writer) && !writer->is("MatMul") && !writer->is("Gemm");
  };
  const auto reads_codes = [&](const std::string& output) {
    const graph::Node* const quantize = graph::sole_reader(output, index);
    const graph::Node* const dequantize =
        quant::quantizes(quantize) ? graph::sole_reader(quantize->outputs.front(), index) : nullptr;
    return dequantize != nullptr && std::ranges::any_of(index.consumers(dequantize->outputs.front()), has_kernel);
  };
  return std::ranges::all_of(node.inputs, writes_codes) && std::ranges::all_of(node.outputs, reads_codes);
}

// Of nodes that pairs ask to run in integers, those of which ONNX Runtime says that they do not; the target's rules say why.
Json check_in_onnxruntime(const graph::Model& model, const std::string& name) {
  const auto target = quant::targets::table().make(name);
  std::map<std::string, quant::PairFault> reasons;
  for (auto& [node, fault] : target->faults(model, {})) reasons[node] = std::move(fault);
  const std::vector<std::string> asked = quant::asked_for_integers(model);
  const auto runs = runtime::runs_quantized(model, asked, target->kernels() == ops::Kernels::neon);
  const graph::Index index(model);
  Json list = Json::array();
  for (const auto& node : asked) {
    const std::string& type = index.node(node)->op_type;
    const quant::InCodes how = quant::in_codes(type);
    if (runs.at(node) || how == quant::InCodes::absorbed) continue;
    const bool has_kernel = how != quant::InCodes::no && how != quant::InCodes::moved_alone;
    if (!has_kernel && serve_neighbours(*index.node(node), index)) continue;
    const auto reason = reasons.find(node);
    const quant::PairFault fault =
        reason != reasons.end()
            ? reason->second
            : quant::PairFault{"pairs", "ONNX Runtime makes no integer kernel of this " + type + " and the pairs around it"};
    list.push_back({{"node", node}, {"rule", fault.rule}, {"what", fault.what}, {"figures", Json::object()}});
  }
  const size_t layers = quant::nodes_in_pairs(model).size();
  return {{"target", name}, {"layers", layers}, {"in_float", Json::array()}, {"violations", std::move(list)}};
}

std::map<std::string, int> operators_of(const graph::Model& model) {
  std::map<std::string, int> out;
  for (const auto& node : model.nodes) out[node.op_type]++;
  return out;
}

// The models of a pipeline: their operators, and where their inputs come from.
Json models_json(const graph::Pipeline& pipeline, const graph::Model& model) {
  std::map<std::string, std::string> writers;
  Json out = Json::array();
  for (const auto& part : pipeline.parts) {
    const auto is_its = [&](const graph::Node& node) { return graph::part_of_node(node.name, pipeline) == part.name; };
    Json inputs = Json::object();
    for (const auto& port : part.inputs)
      inputs[port.own.name] = writers.contains(port.value) ? writers[port.value] : "input " + port.value;
    for (const auto& port : part.outputs) writers[port.value] = part.name + "." + port.own.name;
    out.push_back({{"name", part.name},
                   {"file", part.file},
                   {"operators", std::ranges::count_if(model.nodes, is_its)},
                   {"inputs", inputs}});
  }
  return out;
}

}  // namespace

std::string usual_scheme(const std::string& target) {
  const std::string name = quant::targets::table().resolve(target);
  return quant::targets::table().make(name)->usual_scheme();
}

Json inspect(const InspectOptions& given) {
  InspectOptions options = given;
  options.words = plain_words(given.words).words;
  const std::string chosen =
      options.target.empty() ? quant::usual_target(options.words).name : quant::targets::table().resolve(options.target);
  const GivenModel read = given_model(options.model);
  const graph::Model& original = read.model;
  const auto target = quant::targets::table().make(chosen);
  // What is quantized in part is looked at as a model to be quantized where the user says how.
  const bool finished = quant::is_quantized(original) && (options.words.is_null() || !graph::obstacle(original, true).empty());
  const bool raw = !options.words.is_null() && !quant::parse_config(options.words).optimize_model;
  const graph::Model model = finished ? graph::opened(original)
                             : raw    ? runtime::unoptimized(original)
                                      : runtime::prepare(original);
  Json facts{{"model", options.model.string()},
             {"bytes", read.bytes},
             {"opset", original.opset()},
             {"needs", runtime::needs_json(original)},
             {"target", chosen}};
  if (const auto pipeline = graph::pipeline_of(original)) facts["models"] = models_json(*pipeline, model);
  size_t parameters = 0;
  for (const auto& [name, tensor] : model.initializers) parameters += tensor.count();
  facts["parameters"] = parameters;
  facts["inputs"] = facts["outputs"] = Json::array();
  for (const auto& input : model.inputs) facts["inputs"].push_back(described(input));
  for (const auto& output : model.outputs) facts["outputs"].push_back(described(output));
  if (finished && target->shifts()) {
    facts["rules"] = check(model, chosen);
  } else if (finished && target->checks_pairs()) {
    facts["rules"] = check_pairs(model, chosen);
    if (target->saturation()) facts["processors"] = to_json(processors_of(model, target->kernels()));
  } else if (finished) {
    // Who names no target asks for no rules.
    if (target->is_told_by_onnxruntime() && !options.target.empty()) facts["rules"] = check_in_onnxruntime(model, chosen);
    if (const std::string told = target->told_of_all(); !told.empty()) facts["note"] = told;
    facts["operators"] = operators_of(model);
    facts["processors"] = to_json(processors_of(model, target->kernels()));
  } else {
    const graph::Model answers = ops::with_answers(model);
    facts["head"] = eval::to_json(options.data.is_null() ? eval::head_of(answers)
                                                         : eval::head_on(answers, *data::open(options.data, model.inputs)));
    if (const auto found = ops::chosen_outputs(model); !found.outputs.empty())
      facts["chosen_outputs"] = {
          {"outputs", found.outputs}, {"by", found.choosers}, {"judged", found.judged}, {"why", in_words(found)}};
    add_nodes(facts, {original, model}, chosen, options);
  }
  return facts;
}

}  // namespace quasar::tune
