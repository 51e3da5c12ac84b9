#include "quasar/graph/rewrites/plain_gemm.hpp"

#include <algorithm>

namespace quasar::graph {
namespace {

int64_t outputs_of_gemm(const Node& gemm, const Tensor& weights) {
  return weights.shape()[gemm.integer("transB", 0) != 0 ? 0 : 1];
}

bool is_per_output(const Tensor* bias, int64_t outputs) {
  return bias != nullptr && bias->type() == DataType::float32 &&
         (bias->shape() == Shape{outputs} || bias->shape() == Shape{1, outputs});
}

bool has_bias(const Node& gemm) {
  return gemm.inputs.size() > 2 && !gemm.inputs[2].empty();
}

// What is to be written anew.
bool is_odd(const Node& node, const Model& model) {
  const Tensor* weights = node.is("Gemm") ? model.initializer(node.inputs[1]) : nullptr;
  if (weights == nullptr || weights->type() != DataType::float32 || weights->shape().size() != 2) return false;
  return node.real("alpha", 1) != 1 || node.real("beta", 1) != 1 ||
         (has_bias(node) && !is_per_output(model.initializer(node.inputs[2]), outputs_of_gemm(node, *weights)));
}

class Writing {
 public:
  explicit Writing(Model& model) : model_(model), names_(model) {}

  void run() {
    std::vector<Node> nodes;
    nodes.swap(model_.nodes);
    for (auto& node : nodes) {
      if (is_odd(node, model_)) {
        write(std::move(node));
      } else {
        model_.nodes.push_back(std::move(node));
      }
    }
    remove_unused(model_);
  }

 private:
  void write(Node node) {
    const int64_t outputs = outputs_of_gemm(node, *model_.initializer(node.inputs[1]));
    const float alpha = node.real("alpha", 1), beta = node.real("beta", 1);
    std::erase_if(node.attributes, [](const Attribute& a) { return a.name == "alpha" || a.name == "beta"; });
    if (alpha != 1) node.inputs[1] = add(node.inputs[1], times(*model_.initializer(node.inputs[1]), alpha));
    if (!has_bias(node) || beta == 0) {
      node.inputs.resize(2);
      model_.nodes.push_back(std::move(node));
      return;
    }
    const Tensor* bias = model_.initializer(node.inputs[2]);
    const bool one_value = bias != nullptr && bias->type() == DataType::float32 && bias->count() == 1;
    if (one_value || is_per_output(bias, outputs)) {
      if (one_value || beta != 1) node.inputs[2] = add(node.inputs[2], per_output(*bias, beta, outputs));
      model_.nodes.push_back(std::move(node));
    } else {
      add_behind(std::move(node), beta);
    }
  }

  void add_behind(Node node, float beta) {
    std::string term = node.inputs[2];
    const std::string name = node.name, result = node.outputs.front(), product = names_.fresh(result + "_product");
    node.inputs.resize(2);
    node.outputs.front() = product;
    model_.nodes.push_back(std::move(node));
    const Tensor* constant = model_.initializer(term);
    if (beta != 1 && constant != nullptr && constant->type() == DataType::float32) {
      term = add(term + "_beta", times(*constant, beta));
    } else if (beta != 1) {
      const std::string scaled = names_.fresh(term + "_beta");
      append("Mul", name, {term, add(name + "_beta", Tensor::scalar(beta))}, scaled);
      term = scaled;
    }
    append("Add", name, {product, term}, result);
  }

  void append(const std::string& type, const std::string& name, std::vector<std::string> inputs, const std::string& output) {
    model_.nodes.push_back({.name = names_.fresh(name + "_" + type),
                            .op_type = type,
                            .domain = "",
                            .inputs = std::move(inputs),
                            .outputs = {output}});
  }

  std::string add(const std::string& wish, Tensor values) {
    std::string name = names_.fresh(wish);
    model_.initializers[name] = std::move(values);
    return name;
  }

  static Tensor times(const Tensor& tensor, float factor) {
    std::vector<float> values(tensor.as<float>().begin(), tensor.as<float>().end());
    for (auto& value : values) value *= factor;
    return Tensor::of<float>(tensor.shape(), values);
  }

  static Tensor per_output(const Tensor& bias, float beta, int64_t outputs) {
    const auto given = bias.as<float>();
    std::vector<float> values(static_cast<size_t>(outputs));
    for (size_t k = 0; k < values.size(); k++) values[k] = beta * given[given.size() == 1 ? 0 : k];
    return Tensor::of<float>({outputs}, values);
  }

  Model& model_;
  Names names_;
};

}  // namespace

void write_plain_gemm(Model& model) {
  if (std::ranges::any_of(model.nodes, [&](const Node& node) { return is_odd(node, model); })) Writing(model).run();
}

}  // namespace quasar::graph
