#include "quasar/rounding/branches/branches.hpp"

#include <algorithm>
#include <mutex>

#include "quasar/base/parallel.hpp"
#include "quasar/graph/bodies.hpp"
#include "quasar/runtime/observed_session.hpp"

namespace quasar::tune {
namespace {

// The If nodes that stand in no Loop or Scan.
std::vector<const graph::Node*> free_branches(const graph::Model& model, const graph::Index& index) {
  std::vector<const graph::Node*> out;
  for (const auto& node : model.nodes) {
    const auto owners = graph::owners_of(node, index);
    const bool free = std::ranges::all_of(owners, [](const graph::Node* owner) { return owner->is("If"); });
    if (node.is("If") && node.bodies != nullptr && free) out.push_back(&node);
  }
  return out;
}

using Choices = std::map<std::string, bool>;  // by condition; those of branches that are not entered are missing

bool truth_of(const Tensor& condition) {
  return condition.count() > 0 && condition.bytes()[0] != std::byte{0};
}

// What each sample chooses.
std::vector<Choices> choices_of(const graph::Model& model, const std::set<std::string>& conditions, const data::Dataset& samples,
                                size_t threads) {
  std::vector<std::string> computed;
  Choices constant;
  std::map<std::string, size_t> given;
  for (const auto& condition : conditions) {
    const auto input = std::ranges::find(model.inputs, condition, &graph::Value::name);
    if (const Tensor* known = model.initializer(condition)) {
      constant[condition] = truth_of(*known);
    } else if (input != model.inputs.end()) {
      given[condition] = static_cast<size_t>(input - model.inputs.begin());
    } else {
      computed.push_back(condition);
    }
  }
  std::optional<runtime::ObservedSession> session;
  if (!computed.empty()) session.emplace(model, computed);
  std::vector<Choices> out(samples.size(), constant);
  parallel_for(samples.size(), threads, [&](size_t i) {
    const data::Sample sample = samples.at(i);
    for (const auto& [condition, input] : given) out[i][condition] = truth_of(sample.at(input));
    if (!session) return;
    std::vector<Tensor> fed;
    for (const auto& input : session->inputs()) {
      const auto known = std::ranges::find(model.inputs, input.name, &graph::Value::name);
      fed.push_back(sample.at(static_cast<size_t>(known - model.inputs.begin())));
    }
    session->run(fed, [&](size_t number, const Tensor& value) { out[i][computed[number]] = truth_of(value); });
  });
  return out;
}

// The node's type with its constants by their places; "": it has none.
std::string constants_of(const graph::Node& node, const graph::Model& model) {
  std::string out;
  for (size_t i = 0; i < node.inputs.size(); i++) {
    if (model.initializer(node.inputs[i]) != nullptr) out += " " + std::to_string(i) + ":" + node.inputs[i];
  }
  return out.empty() ? "" : node.op_type + out;
}

// But for what rounding has chosen.
bool asks_for_the_same(quant::NodePlan a, quant::NodePlan b) {
  for (auto* plan : {&a, &b}) {
    if (plan->weight) plan->weight->optimized.reset();
    if (plan->bias) plan->bias->optimized.reset();
    plan->replaced.clear();
  }
  return a == b;
}

// The model of samples with these choices.
class Following {
 public:
  Following(const graph::Model& model, const graph::Index& index, const std::vector<const graph::Node*>& branches,
            const Choices& choices)
      : model_(model), index_(index), branches_(branches.begin(), branches.end()), choices_(choices) {}

  graph::Model run() {
    graph::Model out = model_;
    out.nodes.clear();
    graph::Names names(model_);
    for (const auto& node : model_.nodes) {
      if (!is_entered(node)) continue;
      if (!branches_.contains(&node)) {
        out.nodes.push_back(node);
        out.nodes.back().inside = place_of(node);
        continue;
      }
      const graph::Body& taken = body_of(node);
      for (size_t k = 0; k < node.outputs.size(); k++) {
        if (node.outputs[k].empty()) continue;
        out.nodes.push_back({.name = names.fresh(node.name + "_taken"),
                             .op_type = "Identity",
                             .domain = "",
                             .inputs = {taken.outputs[k].name},
                             .outputs = {node.outputs[k]},
                             .inside = place_of(node)});
      }
    }
    graph::remove_unused(out);
    graph::verify(out, "the way through the branches");
    return graph::closed(out);
  }

 private:
  const graph::Body& body_of(const graph::Node& branch) const {
    const auto choice = choices_.find(branch.inputs.front());
    const bool first = choice != choices_.end() && choice->second;
    const auto wanted = first ? "then_branch" : "else_branch";
    return *std::ranges::find(*branch.bodies, wanted, &graph::Body::attribute);
  }

  bool is_entered(const graph::Node& node) const {
    const auto owners = graph::owners_of(node, index_);
    const std::string* inside = &node.inside;
    for (const graph::Node* owner : owners) {
      if (branches_.contains(owner) && graph::id_of(*owner, body_of(*owner)) != *inside) return false;
      inside = &owner->inside;
    }
    return true;
  }

  // Where the node stands once the branches are gone.
  std::string place_of(const graph::Node& node) const {
    const auto owners = graph::owners_of(node, index_);
    return owners.empty() || branches_.contains(owners.front()) ? "" : node.inside;
  }

  const graph::Model& model_;
  const graph::Index& index_;
  const std::set<const graph::Node*> branches_;
  const Choices& choices_;
};

}  // namespace

std::vector<Route> routes_of(const graph::Model& model, const data::Dataset& samples, size_t threads) {
  const graph::Index index(model);
  const auto branches = free_branches(model, index);
  std::set<std::string> conditions;
  for (const auto* branch : branches) conditions.insert(branch->inputs.front());
  if (conditions.empty()) return {};
  std::map<Choices, std::vector<size_t>> groups;
  const auto choices = choices_of(model, conditions, samples, threads);
  for (size_t i = 0; i < choices.size(); i++) groups[choices[i]].push_back(i);
  std::vector<Route> out;
  for (auto& [chosen, numbers] : groups) out.push_back({Following(model, index, branches, chosen).run(), std::move(numbers), {}});
  std::ranges::stable_sort(out, [](const Route& a, const Route& b) { return a.samples.size() > b.samples.size(); });
  std::set<std::string> known;
  for (Route& route : out) {
    for (const auto& node : route.model.nodes) {
      const graph::Node* open = index.node(node.name);
      if (open != nullptr && !open->inside.empty() && known.insert(node.name).second) route.nodes.insert(node.name);
    }
  }
  return out;
}

quant::Plan without_bodies(quant::Plan plan, const graph::Model& closed) {
  std::set<std::string> nodes, values;
  for (const auto& input : closed.inputs) values.insert(input.name);
  for (const auto& node : closed.nodes) {
    nodes.insert(node.name);
    values.insert(node.outputs.begin(), node.outputs.end());
  }
  const auto unknown = [&](const auto& value) { return !values.contains(value.first); };
  std::erase_if(plan.nodes, [&](const auto& node) { return !nodes.contains(node.first); });
  std::erase_if(plan.values, unknown);
  std::erase_if(plan.refined, unknown);
  std::erase_if(plan.conversions, unknown);
  for (auto& [value, readers] : plan.conversions)
    std::erase_if(readers, [&](const auto& reader) { return !nodes.contains(reader.first); });
  return plan;
}

bool take_from_twins(quant::Plan& plan, const std::set<std::string>& nodes, const std::set<std::string>& rounded,
                     const graph::Model& inner) {
  std::map<std::string, const quant::NodePlan*> known;
  std::map<std::string, std::string> wanted;  // by node
  for (const auto& node : inner.nodes) {
    const auto planned = plan.nodes.find(node.name);
    const std::string constants = constants_of(node, inner);
    if (planned == plan.nodes.end() || constants.empty()) continue;
    if (rounded.contains(node.name)) known.emplace(constants, &planned->second);
    if (nodes.contains(node.name)) wanted.emplace(node.name, constants);
  }
  const auto twin_of = [&](const std::string& node) -> const quant::NodePlan* {
    const auto constants = wanted.find(node);
    const auto found = constants == wanted.end() ? known.end() : known.find(constants->second);
    return found != known.end() && asks_for_the_same(plan.nodes.at(node), *found->second) ? found->second : nullptr;
  };
  for (const auto& node : nodes) {
    const auto planned = plan.nodes.find(node);
    if (planned != plan.nodes.end() && planned->second.weight && twin_of(node) == nullptr) return false;
  }
  for (const auto& [node, constants] : wanted) {
    if (const quant::NodePlan* twin = twin_of(node)) plan.nodes.at(node) = *twin;
  }
  return true;
}

graph::Model only_bodies(const graph::Model& open) {
  graph::Model out = open;
  std::erase_if(out.nodes, [](const graph::Node& node) { return node.inside.empty(); });
  return out;
}

}  // namespace quasar::tune
