#include "quasar/ops/chosen_outputs.hpp"

#include <algorithm>
#include <set>

#include "quasar/base/as_written.hpp"
#include "quasar/base/names.hpp"
#include "quasar/graph/pipeline/pipeline.hpp"
#include "quasar/ops/movers.hpp"
#include "quasar/ops/op.hpp"
#include "quasar/ops/open_sizes.hpp"

namespace quasar::ops {
namespace {

bool is_any(const graph::Node& node, std::initializer_list<const char*> types) {
  return std::ranges::any_of(types, [&](const char* type) { return node.is(type); });
}

constexpr const char* classical = "ai.onnx.ml";  // the domain of scikit-learn's operators

bool is_classical(const graph::Node& node, std::string_view type) {
  return node.domain == classical && node.op_type == type;
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
      } else if (is_label(output)) {
        out.labels.push_back(output.name);
      } else if (crosses(output.name)) {
        out.crossing.push_back(output.name);
      } else if (chosen_.contains(output.name) && !has_known_size(output, model_)) {
        out.outputs.push_back(output.name);
      } else {
        out.judged.push_back(output.name);
      }
    }
    if (out.judged.empty() && out.outputs.empty()) return {};
    if (out.outputs.empty()) return out.judged.size() == model_.outputs.size() ? ChosenOutputs() : out;
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
      if (!keeps_all(*node) && !node->is("Cast")) return false;
      value = node->inputs.front();
    }
    return std::ranges::find(model_.inputs, value, &graph::Value::name) != model_.inputs.end();
  }

  bool is_label(const graph::Value& output) const {
    if (output.type == DataType::string) return true;
    if (output.type != DataType::int64 && output.type != DataType::int32) return false;
    const std::string scores = ranked_by(output.name);
    if (scores.empty()) return false;
    const std::set<std::string> same = same_order(scores);
    return std::ranges::any_of(model_.outputs, [&](const graph::Value& other) {
      return floats_.contains(other.name) &&
             std::ranges::any_of(same_order(other.name), [&](const std::string& value) { return same.contains(value); });
    });
  }

  // What ArgMax ranks where the value is its place, or what stands at that place in a constant list; "" where it is not.
  std::string ranked_by(std::string value) const {
    for (const graph::Node* node = index_.producer(value); node != nullptr; node = index_.producer(value)) {
      if (node->is("ArgMax")) return node->inputs.front();
      const bool looks_up = node->is("Gather") || is_classical(*node, "ArrayFeatureExtractor");
      if (!looks_up && !keeps_all(*node) && !node->is("Cast") && !is_classical(*node, "LabelEncoder")) return "";
      if (looks_up && varying_.contains(node->inputs.front())) return "";
      value = node->inputs.at(looks_up ? 1 : 0);
    }
    return "";
  }

  // The value, and those before it whose greatest stands at the same place.
  std::set<std::string> same_order(std::string value) const {
    std::set<std::string> out{value};
    for (const graph::Node* node = index_.producer(value); node != nullptr; node = index_.producer(value)) {
      if (!keeps_all(*node) && !is_any(*node, {"Softmax", "LogSoftmax", "Sigmoid", "Cast"}) && !is_classical(*node, "Normalizer"))
        break;
      value = node->inputs.front();
      out.insert(value);
    }
    return out;
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
    for (const graph::Node* node = index_.producer(value); node != nullptr && keeps_all(*node); node = index_.producer(value)) {
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

graph::Model with_answers(graph::Model model) {
  const ChosenOutputs chosen = chosen_outputs(model);
  const auto is_left_out = [&](const graph::Value& output) {
    const auto among = [&](const std::vector<std::string>& names) {
      return std::ranges::find(names, output.name) != names.end();
    };
    return among(chosen.crossing) || among(chosen.labels) || among(chosen.echoes);
  };
  std::erase_if(model.outputs, is_left_out);
  return model;
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
  if (!chosen.labels.empty())
    echoes += (echoes.empty() ? "" : "; ") +
              ("not judged, as labels of other outputs, or as they hold no numbers: " + joined(folded(chosen.labels)));
  if (!chosen.crossing.empty())
    echoes += (echoes.empty() ? "" : "; ") + ("not judged, as a later model reads them: " + joined(folded(chosen.crossing)));
  if (chosen.outputs.empty()) return echoes;
  return (echoes.empty() ? "" : echoes + "; ") + "the size of " + joined(chosen.outputs) + " depends on the data (" +
         joined(chosen.choosers) + "); " +
         (chosen.judged.empty() ? "no values from which is chosen were found, so that only an evaluator or a decoder can judge"
                                : "judged in the outputs' stead: " + joined(chosen.judged));
}

}  // namespace quasar::ops
