#include "quasar/runtime/fused_operators.hpp"

#include <algorithm>
#include <array>
#include <numeric>

namespace quasar::runtime {
namespace {

constexpr const char* contributed = "com.microsoft";
constexpr std::array<std::string_view, 2> names_of_fusion = {"gemm_input_shape", "gemm_output_shape"};  // MatMulAddFusion's

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

bool is_fused(const graph::Node& node) {
  return node.domain == contributed &&
         (node.op_type == "FusedConv" || node.op_type == "FusedGemm" || node.op_type == "FusedMatMul");
}

bool is_named_by_fusion(const std::string& name) {
  return std::ranges::any_of(names_of_fusion, [&](std::string_view start) { return name.starts_with(start); });
}

class Apart {
 public:
  Apart(graph::Model& model, const TypesOf& types_of) : model_(model), before_(model), names_(model), types_of_(types_of) {}

  void run() {
    std::vector<graph::Node> nodes;
    nodes.swap(model_.nodes);
    for (graph::Node& node : nodes) {
      if (!is_fused(node) || !write(node)) out_.push_back(std::move(node));
    }
    model_.nodes = std::move(out_);
  }

 private:
  // Whether it was written; otherwise `node` is as it was.
  bool write(const graph::Node& node) {
    if (node.op_type == "FusedMatMul") return write_product(node);
    const auto found = steps_behind(node);
    if (!found) return false;
    std::vector<graph::Node> steps = *found;
    graph::Node sum = node;
    sum.op_type = node.op_type == "FusedConv" ? "Conv" : "Gemm";
    sum.domain.clear();
    std::erase_if(sum.attributes, [](const graph::Attribute& one) { return one.name.starts_with("activation"); });
    if (sum.is("Conv") && sum.inputs.size() > 3) {
      if (!sum.inputs[3].empty()) steps.insert(steps.begin(), step(node, "Add", {sum.inputs[3]}));
      sum.inputs.resize(3);
    }
    chain(std::move(sum), std::move(steps));
    return true;
  }

  // The activation; nothing in it: there is none; nullopt: Quasar does not know it.
  std::optional<std::vector<graph::Node>> steps_behind(const graph::Node& node) {
    const std::string type = node.text("activation", "");
    if (type.empty()) return std::vector<graph::Node>();
    const graph::Attribute* given = node.find("activation_params");
    const auto* numbers = given == nullptr ? nullptr : std::get_if<std::vector<float>>(&given->value);
    if (type == "Clip" && numbers != nullptr && numbers->size() == 2)
      return std::vector{step(node, "Clip", {constant(node, (*numbers)[0]), constant(node, (*numbers)[1])})};
    const Activation* activation = activation_named(type);
    if (activation == nullptr) return std::nullopt;
    graph::Node out = step(node, type, {});
    for (size_t i = 0; i < activation->parameters.size(); ++i) {
      const std::string& name = activation->parameters[i];
      if (numbers != nullptr && i < numbers->size()) out.set({name, (*numbers)[i]});
      if (const graph::Attribute* own = node.find("activation_" + name)) out.set({name, own->value});
    }
    return std::vector{std::move(out)};
  }

  bool write_product(const graph::Node& node) {
    if (node.integer("transBatchA", 0) != 0 || node.integer("transBatchB", 0) != 0) return false;
    graph::Node product = node;
    product.op_type = "MatMul";
    product.domain.clear();
    product.attributes.clear();
    std::vector<graph::Node> moves;
    for (const size_t side : {0, 1}) {
      if (node.integer(side == 0 ? "transA" : "transB", 0) == 0) continue;
      const size_t rank = rank_of(node.inputs[side]);
      if (rank < 2) return false;
      std::vector<int64_t> axes(rank);
      std::iota(axes.begin(), axes.end(), 0);
      std::swap(axes[rank - 1], axes[rank - 2]);
      graph::Node move = step(node, "Transpose", {});
      move.inputs = {node.inputs[side]};
      move.outputs = {product.inputs[side] = names_.fresh(node.outputs.front() + "_transposed")};
      move.set({"perm", axes});
      moves.push_back(std::move(move));
    }
    std::ranges::move(moves, std::back_inserter(out_));
    const float alpha = node.real("alpha", 1);
    chain(std::move(product), alpha == 1 ? std::vector<graph::Node>() : std::vector{step(node, "Mul", {constant(node, alpha)})});
    return true;
  }

  size_t rank_of(const std::string& value) {
    if (const Tensor* tensor = model_.initializer(value)) return tensor->shape().size();
    if (!types_) types_ = types_of_(before_);
    const auto found = types_->find(value);
    return found == types_->end() || !found->second.shape ? 0 : found->second.shape->size();
  }

  graph::Node step(const graph::Node& behind, const std::string& type, std::vector<std::string> more) {
    more.insert(more.begin(), "");  // chain() says what comes first
    return {.name = names_.fresh(behind.name + "_" + type),
            .op_type = type,
            .domain = "",
            .inputs = std::move(more),
            .outputs = {""},
            .inside = behind.inside};
  }

  std::string constant(const graph::Node& node, float value) {
    std::string name = names_.fresh(node.name + "_constant");
    model_.initializers[name] = Tensor::scalar(value);
    return name;
  }

  // The last one gives what the fused node gave.
  void chain(graph::Node first, std::vector<graph::Node> steps) {
    const std::string result = first.outputs.front();
    std::string value = result;
    if (!steps.empty()) first.outputs.front() = value = names_.fresh(result + "_before_" + steps.front().op_type);
    out_.push_back(std::move(first));
    for (size_t i = 0; i < steps.size(); ++i) {
      steps[i].inputs.front() = value;
      value = i + 1 == steps.size() ? result : names_.fresh(result + "_before_" + steps[i + 1].op_type);
      steps[i].outputs.front() = value;
      out_.push_back(std::move(steps[i]));
    }
  }

  graph::Model& model_;
  const graph::Model before_;
  graph::Names names_;
  const TypesOf& types_of_;
  std::optional<std::map<std::string, graph::Value>> types_;
  std::vector<graph::Node> out_;
};

// Under names that the fusion does not write.
void rename_constants_of_fusion(graph::Model& model) {
  std::map<std::string, std::string> renamed;
  graph::Names names(model);
  for (const auto& [name, tensor] : model.initializers) {
    if (is_named_by_fusion(name)) renamed[name] = names.fresh("of_" + name);
  }
  for (const auto& output : model.outputs) renamed.erase(output.name);
  for (const graph::Node& node : model.nodes) {
    for (const auto& captured : node.captures) renamed.erase(captured);
  }
  for (const auto& [from, to] : renamed) {
    auto constant = model.initializers.extract(from);
    constant.key() = to;
    model.initializers.insert(std::move(constant));
  }
  for (graph::Node& node : model.nodes) {
    for (auto& input : node.inputs) {
      if (const auto found = renamed.find(input); found != renamed.end()) input = found->second;
    }
  }
}

}  // namespace

void write_fused_apart(graph::Model& model, const TypesOf& types_of) {
  if (std::ranges::any_of(model.nodes, is_fused)) Apart(model, types_of).run();
  if (std::ranges::any_of(model.initializers, [](const auto& one) { return is_named_by_fusion(one.first); }))
    rename_constants_of_fusion(model);
}

}  // namespace quasar::runtime
