#include <algorithm>
#include <numeric>

#include "quasar/runtime/rewrites/apart.hpp"

namespace quasar::runtime {
namespace {

// An activation of one input, with what its attributes are called in the order of FusedConv's activation_params.
struct Activation {
  std::string_view type;
  std::vector<std::string> parameters;
};

const Activation* activation_named(const std::string& type) {
  static const std::vector<Activation> all{{"Relu", {}},
                                           {"Sigmoid", {}},
                                           {"Tanh", {}},
                                           {"Softplus", {}},
                                           {"Softsign", {}},
                                           {"LeakyRelu", {"alpha"}},
                                           {"Elu", {"alpha"}},
                                           {"ThresholdedRelu", {"alpha"}},
                                           {"HardSigmoid", {"alpha", "beta"}},
                                           {"Selu", {"alpha", "gamma"}}};
  const auto found = std::ranges::find(all, std::string_view(type), &Activation::type);
  return found == all.end() ? nullptr : &*found;
}

// The activation; nothing in it: there is none; nullopt: Quasar does not know it.
std::optional<std::vector<graph::Node>> steps_behind(Apart& to, const graph::Node& node) {
  const std::string type = node.text("activation", "");
  if (type.empty()) return std::vector<graph::Node>();
  const graph::Attribute* given = node.find("activation_params");
  const auto* numbers = given == nullptr ? nullptr : std::get_if<std::vector<float>>(&given->value);
  if (type == "Clip" && numbers != nullptr && numbers->size() == 2)
    return std::vector{to.step(node, "Clip", {to.constant(node, (*numbers)[0]), to.constant(node, (*numbers)[1])})};
  const Activation* activation = activation_named(type);
  if (activation == nullptr) return std::nullopt;
  graph::Node out = to.step(node, type, {});
  for (size_t i = 0; i < activation->parameters.size(); ++i) {
    const std::string& name = activation->parameters[i];
    if (numbers != nullptr && i < numbers->size()) out.set({name, (*numbers)[i]});
    if (const graph::Attribute* own = node.find("activation_" + name)) out.set({name, own->value});
  }
  return std::vector{std::move(out)};
}

}  // namespace

bool write_fused_sum(Apart& to, const graph::Node& node) {
  const auto found = steps_behind(to, node);
  if (!found) return false;
  std::vector<graph::Node> steps = *found;
  graph::Node sum = node;
  sum.op_type = node.op_type == "FusedConv" ? "Conv" : "Gemm";
  sum.domain.clear();
  std::erase_if(sum.attributes, [](const graph::Attribute& one) { return one.name.starts_with("activation"); });
  if (sum.is("Conv") && sum.inputs.size() > 3) {
    if (!sum.inputs[3].empty()) steps.insert(steps.begin(), to.step(node, "Add", {sum.inputs[3]}));
    sum.inputs.resize(3);
  }
  to.chain(std::move(sum), std::move(steps));
  return true;
}

bool write_fused_product(Apart& to, const graph::Node& node) {
  if (node.integer("transBatchA", 0) != 0 || node.integer("transBatchB", 0) != 0) return false;
  graph::Node product = node;
  product.op_type = "MatMul";
  product.domain.clear();
  product.attributes.clear();
  std::vector<graph::Node> moves;
  for (const size_t side : {0, 1}) {
    if (node.integer(side == 0 ? "transA" : "transB", 0) == 0) continue;
    const size_t rank = to.rank_of(node.inputs[side]);
    if (rank == 0) return false;
    if (rank == 1) continue;  // a vector is not transposed
    std::vector<int64_t> axes(rank);
    std::iota(axes.begin(), axes.end(), 0);
    std::swap(axes[rank - 1], axes[rank - 2]);
    graph::Node move = to.step(node, "Transpose", {});
    move.inputs = {node.inputs[side]};
    move.outputs = {product.inputs[side] = to.names.fresh(node.outputs.front() + "_transposed")};
    move.set({"perm", axes});
    moves.push_back(std::move(move));
  }
  std::ranges::move(moves, std::back_inserter(to.out));
  const float alpha = node.real("alpha", 1);
  to.chain(std::move(product),
           alpha == 1 ? std::vector<graph::Node>() : std::vector{to.step(node, "Mul", {to.constant(node, alpha)})});
  return true;
}

}  // namespace quasar::runtime
