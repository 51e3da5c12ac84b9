#include "quasar/runtime/fused_operators.hpp"

#include <algorithm>
#include <array>
#include <numeric>

#include "quasar/ops/constants.hpp"

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
  constexpr std::array<std::string_view, 5> types = {"FusedConv", "FusedGemm", "FusedMatMul", "Attention",
                                                     "EmbedLayerNormalization"};
  return node.domain == contributed && std::ranges::find(types, node.op_type) != types.end();
}

bool has_output(const graph::Node& node, size_t output) {
  return output < node.outputs.size() && !node.outputs[output].empty();
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
    if (node.op_type == "Attention") return write_attention(node);
    if (node.op_type == "EmbedLayerNormalization") return write_embedding(node);
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
      if (rank == 0) return false;
      if (rank == 1) continue;  // a vector is not transposed
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

  // The projection by ONNX's operators, the rest as MultiHeadAttention. Not with a past, positions of its own, masks of three
  // axes and more, and values that are not as wide as queries and keys.
  bool write_attention(const graph::Node& node) {
    const Tensor* weights = node.inputs.size() > 1 ? model_.initializer(node.inputs[1]) : nullptr;
    if (weights == nullptr || weights->shape().size() != 2 || weights->shape()[1] % 3 != 0) return false;
    if (ops::has_input(node, 4) || ops::has_input(node, 6) || has_output(node, 1)) return false;
    if (node.integer("do_rotary", 0) != 0 || node.find("qkv_hidden_sizes") != nullptr) return false;
    if (ops::has_input(node, 3) && !is_plain_mask(node.inputs[3], node.inputs[0])) return false;
    std::string value = add(node, "MatMul", {node.inputs[0], node.inputs[1]});
    if (ops::has_input(node, 2)) value = add(node, "Add", {value, node.inputs[2]});
    graph::Node split = step(node, "Split", {integers(node, std::vector<int64_t>(3, weights->shape()[1] / 3))});
    split.inputs.front() = value;
    split.outputs.clear();
    for (const char* part : {"_query", "_key", "_value"}) split.outputs.push_back(names_.fresh(node.outputs.front() + part));
    split.set({"axis", int64_t{-1}});
    graph::Node heads = node;
    heads.op_type = "MultiHeadAttention";
    heads.inputs = split.outputs;
    heads.inputs.push_back("");
    heads.inputs.push_back(ops::has_input(node, 3) ? node.inputs[3] : "");
    heads.inputs.push_back(ops::has_input(node, 5) ? node.inputs[5] : "");
    while (heads.inputs.back().empty()) heads.inputs.pop_back();
    heads.outputs.resize(1);
    std::erase_if(heads.attributes, [](const graph::Attribute& one) {
      return one.name != "num_heads" && one.name != "scale" && one.name != "mask_filter_value" && one.name != "unidirectional";
    });
    out_.push_back(std::move(split));
    out_.push_back(std::move(heads));
    return true;
  }

  // Whether MultiHeadAttention takes the mask as well: how long each sample is [batch], or which places count [batch, length].
  // Attention takes ends and starts [2 · batch] and one number a sample [batch, 1], too.
  bool is_plain_mask(const std::string& mask, const std::string& input) {
    const auto lengths = std::ranges::find_if(before_.nodes, [&](const graph::Node& one) {
      return one.op_type == "EmbedLayerNormalization" && has_output(one, 1) && one.outputs[1] == mask;
    });
    if (lengths != before_.nodes.end()) return true;
    const graph::Value given = type_of(mask), values = type_of(input);
    if (!given.shape || !values.shape || given.shape->empty() || given.shape->size() > 2 || values.shape->size() != 3)
      return false;
    const auto symbol = [](const graph::Value& value, size_t axis) {
      return axis < value.symbols.size() ? value.symbols[axis] : std::string();
    };
    for (size_t axis = 0; axis < given.shape->size(); ++axis) {
      const int64_t size = (*given.shape)[axis], wanted = (*values.shape)[axis];
      if (size != wanted || (size < 0 && (symbol(given, axis).empty() || symbol(given, axis) != symbol(values, axis))))
        return false;
    }
    return true;
  }

  // Gather of each table, their sum, LayerNormalization; where it is read, the number of ones in each row of the mask.
  bool write_embedding(const graph::Node& node) {
    if (has_output(node, 2) || (has_output(node, 1) && !ops::has_input(node, 7)) || !ops::has_input(node, 6)) return false;
    std::string sum = add(node, "Gather", {node.inputs[2], node.inputs[0]});
    if (ops::has_input(node, 8)) {
      sum = add(node, "Add", {sum, add(node, "Gather", {node.inputs[3], node.inputs[8]})});
    } else {
      const std::string one = integers(node, {1}), shape = add(node, "Shape", {node.inputs[0]});
      const std::string length = add(node, "Slice", {shape, one, integers(node, {2})});
      sum = add(node, "Add", {sum, add(node, "Slice", {node.inputs[3], integers(node, {0}), length, integers(node, {0})})});
    }
    if (ops::has_input(node, 1) && ops::has_input(node, 4))
      sum = add(node, "Add", {sum, add(node, "Gather", {node.inputs[4], node.inputs[1]})});
    if (has_output(node, 1)) {
      const std::string one = names_.fresh(node.name + "_constant");
      model_.initializers[one] = Tensor::scalar<int32_t>(1);
      const std::string ones = add(node, "Cast", {add(node, "Equal", {node.inputs[7], one})});
      out_.back().set({"to", static_cast<int64_t>(DataType::int32)});
      graph::Node count = step(node, "ReduceSum", {integers(node, {1})});
      count.inputs.front() = ones;
      count.outputs = {node.outputs[1]};
      count.set({"keepdims", int64_t{0}});
      out_.push_back(std::move(count));
    }
    graph::Node norm = node;
    norm.op_type = "LayerNormalization";
    norm.domain.clear();
    norm.inputs = {sum, node.inputs[5], node.inputs[6]};
    norm.outputs.resize(1);
    norm.attributes = {{"axis", int64_t{-1}}, {"epsilon", node.real("epsilon", 1e-12F)}};
    out_.push_back(std::move(norm));
    return true;
  }

  size_t rank_of(const std::string& value) {
    const graph::Value type = type_of(value);
    return type.shape ? type.shape->size() : 0;
  }

  graph::Value type_of(const std::string& value) {
    if (const Tensor* tensor = model_.initializer(value)) return {value, tensor->type(), tensor->shape()};
    if (!types_) types_ = types_of_(before_);
    const auto found = types_->find(value);
    return found == types_->end() ? graph::Value() : found->second;
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

  // A node before `node`. -> what it gives
  std::string add(const graph::Node& node, const std::string& type, std::vector<std::string> inputs) {
    graph::Node made = step(node, type, {});
    made.inputs = std::move(inputs);
    made.outputs = {names_.fresh(node.outputs.front() + "_" + type)};
    out_.push_back(std::move(made));
    return out_.back().outputs.front();
  }

  std::string integers(const graph::Node& node, const std::vector<int64_t>& values) {
    std::string name = names_.fresh(node.name + "_constant");
    model_.initializers[name] = Tensor::of({static_cast<int64_t>(values.size())}, values);
    return name;
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
