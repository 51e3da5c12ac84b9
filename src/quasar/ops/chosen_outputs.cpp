#include "quasar/ops/chosen_outputs.hpp"

#include <algorithm>
#include <set>

#include "quasar/base/as_written.hpp"
#include "quasar/base/names.hpp"
#include "quasar/graph/pipeline/pipeline.hpp"
#include "quasar/ops/op.hpp"
#include "quasar/ops/open_sizes.hpp"

namespace quasar::ops {
namespace {

bool is_any(const graph::Node& node, std::initializer_list<const char*> types) {
  return std::ranges::any_of(types, [&](const char* type) { return node.is(type); });
}

// Whether the operator hands on the values of its first input in another shape.
bool reshapes(const graph::Node& node) {
  return is_any(node, {"Identity", "Squeeze", "Unsqueeze", "Reshape", "Flatten", "Transpose"});
}

class Finder {
 public:
  explicit Finder(const graph::Model& model) : model_(model), index_(model), floats_(float_values(model)) {
    if (const auto pipeline = graph::pipeline_of(model)) crossing_ = pipeline->crossing();
    for (const auto& input : model.inputs) varying_.insert(input.name);
    for (const auto& node : model.nodes) {
      if (reads(node, varying_)) add(varying_, node);
      if (chooses(node) || reads(node, chosen_)) add(chosen_, node);
      if (node.is("TopK") || chooses(node) || reads(node, ordered_)) add(ordered_, node);
    }
  }

  ChosenOutputs run() {
    ChosenOutputs out;
    for (const auto& output : model_.outputs) {
      if (is_echo(output.name)) {
        out.echoes.push_back(output.name);
      } else if (crosses(output.name)) {
        out.crossing.push_back(output.name);
      } else if (chosen_.contains(output.name) && !has_known_size(output, model_)) {
        out.outputs.push_back(output.name);
      } else {
        out.judged.push_back(output.name);
      }
    }
    if (out.echoes.size() + out.crossing.size() == model_.outputs.size()) return {};
    if (out.outputs.empty()) return out.echoes.empty() && out.crossing.empty() ? ChosenOutputs() : out;
    for (const auto& output : out.outputs) follow(output);
    for (const auto& node : model_.nodes) {
      if (chooses(node) && behind_.contains(&node)) out.choosers.push_back(node.op_type + " '" + node.name + "'");
    }
    bool found = false;
    // Those that are read by the chooser itself first: their names stay, as choosers are never quantized.
    for (const bool directly : {true, false}) {
      for (const auto& node : model_.nodes) {
        if (!behind_.contains(&node) || (chooses(node) || node.is("TopK")) != directly) continue;
        for (const auto& input : node.inputs) found = take(input, out.judged) || found;
        for (const auto& input : node.captures) found = take(input, out.judged) || found;
      }
    }
    if (!found) out.judged.clear();
    return out;
  }

 private:
  static bool reads(const graph::Node& node, const std::set<std::string>& values) {
    const auto among = [&](const std::string& value) { return values.contains(value); };
    return std::ranges::any_of(node.inputs, among) || std::ranges::any_of(node.captures, among);
  }

  static void add(std::set<std::string>& values, const graph::Node& node) {
    for (const auto& output : node.outputs) {
      if (!output.empty()) values.insert(output);
    }
  }

  bool crosses(const std::string& value) const { return std::ranges::find(crossing_, value) != crossing_.end(); }

  bool is_echo(std::string value) const {
    for (const graph::Node* node = index_.producer(value); node != nullptr; node = index_.producer(value)) {
      if (!reshapes(*node) && !node->is("Cast")) return false;
      value = node->inputs.front();
    }
    return std::ranges::find(model_.inputs, value, &graph::Value::name) != model_.inputs.end();
  }

  // The nodes through which a value comes from what chooses or orders.
  void follow(const std::string& value) {
    const graph::Node* node = index_.producer(value);
    if (node == nullptr || !ordered_.contains(value) || !behind_.insert(node).second) return;
    for (const auto& input : node->inputs) follow(input);
    for (const auto& input : node->captures) follow(input);
  }

  // The float32 values behind one that a chooser reads. -> whether there are some
  bool take(const std::string& value, std::vector<std::string>& judged) {
    if (value.empty() || !varying_.contains(value) || ordered_.contains(value)) return false;
    const graph::Node* producer = index_.producer(value);
    if (producer == nullptr || producer->is("Shape") || producer->is("Size")) return false;
    if (floats_.contains(value)) {
      if (!taken_.insert(root_of(value)).second) return true;
      if (std::ranges::find(judged, value) == judged.end()) judged.push_back(value);
      return true;
    }
    bool found = false;
    for (const auto& input : producer->inputs) found = take(input, judged) || found;
    return found;
  }

  std::string root_of(std::string value) const {
    for (const graph::Node* node = index_.producer(value); node != nullptr && reshapes(*node); node = index_.producer(value)) {
      value = node->inputs.front();
    }
    return value;
  }

  const graph::Model& model_;
  const graph::Index index_;
  const std::set<std::string> floats_;
  std::vector<std::string> crossing_;
  std::set<std::string> varying_;  // that depend on the model's inputs
  std::set<std::string> chosen_;   // whose size depends on the data
  std::set<std::string> ordered_;  // the same, and what TopK has put into an order
  std::set<const graph::Node*> behind_;
  std::set<std::string> taken_;
};

}  // namespace

ChosenOutputs chosen_outputs(const graph::Model& model) {
  return Finder(model).run();
}

std::vector<std::string> judged_of(const graph::Model& reference, const graph::Model& candidate) {
  std::vector<std::string> judged = chosen_outputs(reference).judged;
  const graph::Index index(candidate);
  const bool has_all = std::ranges::all_of(
      judged, [&](const std::string& value) { return index.is_output(value) || index.producer(value) != nullptr; });
  return has_all ? judged : std::vector<std::string>();
}

std::string in_words(const ChosenOutputs& chosen) {
  std::string echoes = chosen.echoes.empty() ? "" : "not judged, as inputs that are handed on: " + joined(folded(chosen.echoes));
  if (!chosen.crossing.empty())
    echoes += (echoes.empty() ? "" : "; ") + ("not judged, as a later model reads them: " + joined(folded(chosen.crossing)));
  if (chosen.outputs.empty()) return echoes;
  return (echoes.empty() ? "" : echoes + "; ") + "the size of " + joined(chosen.outputs) + " depends on the data (" +
         joined(chosen.choosers) + "); " +
         (chosen.judged.empty() ? "no values from which is chosen were found, so that only an evaluator or a decoder can judge"
                                : "judged in the outputs' stead: " + joined(chosen.judged));
}

}  // namespace quasar::ops
