#include "quasar/runtime/rewrites/apart.hpp"

#include <utility>

namespace quasar::runtime {

Apart::Apart(graph::Model& given, const TypesOf& asked) : model(given), before(given), names(given), types_of(asked) {}

size_t Apart::rank_of(const std::string& value) {
  const graph::Value type = type_of(value);
  return type.shape ? type.shape->size() : 0;
}

graph::Value Apart::type_of(const std::string& value) {
  if (const Tensor* tensor = model.initializer(value)) return {value, tensor->type(), tensor->shape()};
  if (!types) types = types_of(before);
  const auto found = types->find(value);
  return found == types->end() ? graph::Value() : found->second;
}

graph::Node Apart::step(const graph::Node& behind, const std::string& type, std::vector<std::string> more) {
  more.insert(more.begin(), "");  // chain() says what comes first
  return {.name = names.fresh(behind.name + "_" + type),
          .op_type = type,
          .domain = "",
          .inputs = std::move(more),
          .outputs = {""},
          .inside = behind.inside};
}

std::string Apart::add(const graph::Node& node, const std::string& type, std::vector<std::string> inputs) {
  graph::Node made = step(node, type, {});
  made.inputs = std::move(inputs);
  made.outputs = {names.fresh(node.outputs.front() + "_" + type)};
  out.push_back(std::move(made));
  return out.back().outputs.front();
}

std::string Apart::integers(const graph::Node& node, const std::vector<int64_t>& values) {
  std::string name = names.fresh(node.name + "_constant");
  model.initializers[name] = Tensor::of({static_cast<int64_t>(values.size())}, values);
  return name;
}

std::string Apart::constant(const graph::Node& node, float value) {
  std::string name = names.fresh(node.name + "_constant");
  model.initializers[name] = Tensor::scalar(value);
  return name;
}

void Apart::chain(graph::Node first, std::vector<graph::Node> steps) {
  const std::string result = first.outputs.front();
  std::string value = result;
  if (!steps.empty()) first.outputs.front() = value = names.fresh(result + "_before_" + steps.front().op_type);
  out.push_back(std::move(first));
  for (size_t i = 0; i < steps.size(); ++i) {
    steps[i].inputs.front() = value;
    value = i + 1 == steps.size() ? result : names.fresh(result + "_before_" + steps[i + 1].op_type);
    steps[i].outputs.front() = value;
    out.push_back(std::move(steps[i]));
  }
}

}  // namespace quasar::runtime
