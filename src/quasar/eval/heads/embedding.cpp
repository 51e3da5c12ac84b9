// Embeddings: a vector that is normalized or pooled last, or the hidden states of a text, [1, length, size].
#include <set>

#include "quasar/eval/head.hpp"
#include "quasar/eval/head_vectors.hpp"

namespace quasar::eval::heads {
namespace {

constexpr int64_t fewest = 16;

// Back through a divisor to the operator that makes a norm of it.
bool divides_by_norm(const HeadFacts& facts, const graph::Node& node) {
  if (!node.is("Div") || node.inputs.size() != 2) return false;
  static const std::set<std::string> passed{"Clip", "Max", "Expand", "Sqrt", "Pow", "Add", "Unsqueeze", "Reshape", "Identity"};
  const graph::Node* made = facts.index().producer(node.inputs[1]);
  for (int step = 0; step < 6 && made != nullptr; ++step) {
    if (made->op_type.starts_with("Reduce")) return true;
    if (!passed.contains(made->op_type)) return false;
    made = facts.index().producer(made->inputs.front());
  }
  return false;
}

// LayerNormalization, also written out: (x − mean) / √(variance + ε) · scale + shift.
bool ends_in_layer_norm(const HeadFacts& facts, const Piece& piece) {
  const graph::Node* node = piece.node;
  for (int step = 0; step < 3 && node != nullptr; ++step) {
    if (node->is("LayerNormalization")) return true;
    if (divides_by_norm(facts, *node)) return true;
    if (!node->is("Add") && !node->is("Mul")) return false;
    const std::string& first = node->inputs[0];
    node = facts.index().producer(facts.model().initializer(first) != nullptr ? node->inputs[1] : first);
  }
  return false;
}

bool is_pooled(const Piece& piece) {
  static const std::set<std::string> pools{"ReduceMean", "GlobalAveragePool", "ReduceSum", "AveragePool"};
  return pools.contains(piece.op);
}

Claim embedding(const HeadOutput& output, const std::string& what) {
  return {{.name = "embedding",
           .why = "output " + in_words(output) + ": " + what,
           .outputs = {output.name},
           .metric = "embedding_cos"}};
}

std::optional<Claim> of_vector(const HeadFacts& facts, const HeadOutput& output, size_t axis) {
  const Piece made = facts.maker(output, axis);
  if (made.node == nullptr || output.shape[axis] < fewest || facts.are_probabilities(output, axis)) return std::nullopt;
  const bool normalized = made.op == "LpNormalization" || divides_by_norm(facts, *made.node) || have_unit_norm(facts, output);
  if (normalized) return embedding(output, "a vector that is normalized or averaged last");
  if (made.op == "BatchNormalization" || ends_in_layer_norm(facts, made))
    return embedding(output, "a vector with a normalization last");
  if (is_pooled(made)) return embedding(output, "a vector of averages");
  if (made.op == "Tanh" && facts.reads_tokens()) return embedding(output, "the pooled state of a text");
  if (!facts.is_affine(made, false) || facts.is_affine(made)) return std::nullopt;
  Claim claim = embedding(output, "a product without a bias, as of embeddings and of some classes");
  claim.sure = false;
  return claim;
}

// An encoder's mask says nothing of the places that its decoder gives.
bool is_masked_elsewhere(const HeadFacts& facts, int64_t places) {
  const Shape* mask = facts.shape_of("attention_mask");
  return mask != nullptr && !mask->empty() && mask->back() >= 0 && places >= 0 && mask->back() != places;
}

std::optional<Claim> claim_of_embedding(const HeadFacts& facts) {
  if (facts.outputs().empty()) return std::nullopt;
  const HeadOutput& output = facts.outputs().front();
  if (!output.is_float()) return std::nullopt;
  const bool states = output.shape.size() == 3 && output.shape[0] == 1 && output.shape[2] >= fewest && facts.reads_tokens();
  if (states && ends_in_layer_norm(facts, facts.maker(output, 2))) {
    Claim claim = embedding(output, "hidden states of a text, normalized");
    if (is_masked_elsewhere(facts, output.shape[1])) claim.head.metric += "(mask=none)";
    return claim;
  }
  const auto axis = vector_axis(output);
  return axis && facts.outputs().size() == 1 ? of_vector(facts, output, *axis) : std::nullopt;
}

}  // namespace

Entry<HeadKind> embedding() {
  return kind_of("embeddings: a vector that is normalized or pooled last, or hidden states of a text", claim_of_embedding);
}

}  // namespace quasar::eval::heads
