#include "quasar/graph/rewrites/hard_sigmoids.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include "quasar/graph/lookup.hpp"

namespace quasar::graph {
namespace {

// Of a constant that gives what it is computed with no axes more; nullopt: it is no such constant.
std::optional<float> plain_value(const std::string& value, const Model& model) {
  const Tensor* tensor = model.initializer(value);
  return tensor != nullptr && tensor->shape().size() <= 1 ? single_value(value, model) : std::nullopt;
}

// The other factor or term of a node with one constant.
struct WithConstant {
  std::string value;
  float constant;
};

std::optional<WithConstant> with_constant(const Node& node, const Model& model) {
  if (node.inputs.size() != 2) return std::nullopt;
  for (const size_t side : {0, 1}) {
    if (const auto found = plain_value(node.inputs[1 - side], model)) return WithConstant{node.inputs[side], *found};
  }
  return std::nullopt;
}

class Finding {
 public:
  explicit Finding(const Model& model) : model_(model), index_(model) {}

  // A chain of operators, and what it is.
  struct Found {
    const Node *sum, *clip, *product, *division;  // product: nullptr where the division is behind the Clip
    std::string value;
    float alpha, beta;
  };

  std::vector<Found> all() const {
    std::vector<Found> out;
    for (const Node& node : model_.nodes) {
      if (auto found = ending_in(node)) out.push_back(std::move(*found));
    }
    return out;
  }

 private:
  // The divisor of a division by a constant, or of a product with its inverse.
  std::optional<WithConstant> divided(const Node& node) const {
    const auto found = with_constant(node, model_);
    if (!found || found->constant == 0) return std::nullopt;
    if (node.is("Mul")) return WithConstant{found->value, 1 / found->constant};
    return node.is("Div") && found->value == node.inputs[0] ? found : std::nullopt;
  }

  // The node that writes the value for this one alone, in the same graph; nullptr: there is none.
  const Node* alone(const std::string& value, const Node& reader) const {
    const Node* producer = index_.producer(value);
    const bool same = producer != nullptr && producer->inside == reader.inside && sole_reader(value, index_) == &reader;
    return same ? producer : nullptr;
  }

  std::optional<Found> ending_in(const Node& node) const {
    const auto division = divided(node);
    const Node* before = division ? alone(division->value, node) : nullptr;
    if (before == nullptr) return std::nullopt;
    if (before->is("Clip")) return clipped(*before, nullptr, node, division->constant);
    if (!before->is("Mul") || before->inputs.size() != 2) return std::nullopt;
    for (const size_t side : {0, 1}) {
      const Node* clip = alone(before->inputs[side], *before);
      auto found = clip == nullptr ? std::nullopt : clipped(*clip, before, node, division->constant);
      if (found && found->value == before->inputs[1 - side]) return found;
    }
    return std::nullopt;
  }

  std::optional<Found> clipped(const Node& clip, const Node* product, const Node& division, float divisor) const {
    if (!clip.is("Clip") || clip.inputs.size() != 3) return std::nullopt;
    const auto low = single_value(clip.inputs[1], model_), high = single_value(clip.inputs[2], model_);
    constexpr float rounding = 1e-5F;  // of 1/6 in the file
    if (!low || *low != 0 || !high || !(*high > 0) || std::abs(*high - divisor) > rounding * *high) return std::nullopt;
    const Node* sum = alone(clip.inputs[0], clip);
    const auto term = sum != nullptr && sum->is("Add") ? with_constant(*sum, model_) : std::nullopt;
    if (!term) return std::nullopt;
    return Found{sum, &clip, product, &division, term->value, 1 / *high, term->constant / *high};
  }

  const Model& model_;
  const Index index_;
};

}  // namespace

void write_hard_sigmoids(Model& model) {
  std::map<std::string, Node> written;  // by the name of the node whose place it takes
  std::set<std::string> gone;
  for (const auto& found : Finding(model).all()) {
    Node sigmoid{.name = found.clip->name,
                 .op_type = "HardSigmoid",
                 .domain = "",
                 .inputs = {found.value},
                 .outputs = found.clip->outputs};
    sigmoid.inside = found.clip->inside;
    sigmoid.set({"alpha", found.alpha});
    sigmoid.set({"beta", found.beta});
    gone.insert(found.sum->name);
    gone.insert(found.division->name);
    if (found.product == nullptr) {
      sigmoid.outputs = found.division->outputs;
    } else {
      Node product = *found.product;
      product.outputs = found.division->outputs;
      written[product.name] = std::move(product);
    }
    written[found.clip->name] = std::move(sigmoid);
  }
  if (written.empty()) return;
  std::erase_if(model.nodes, [&](const Node& node) { return gone.contains(node.name); });
  for (Node& node : model.nodes) {
    if (const auto found = written.find(node.name); found != written.end()) node = std::move(found->second);
  }
  remove_unused(model);
}

}  // namespace quasar::graph
