#include "quasar/graph/model.hpp"

#include "quasar/base/error.hpp"

namespace quasar::graph {
namespace {

template <class T>
const T* attribute_of(const Node& node, std::string_view attribute) {
  const Attribute* found = node.find(attribute);
  if (found == nullptr) return nullptr;
  const T* value = std::get_if<T>(&found->value);
  if (value == nullptr) {
    throw Error("attribute '" + std::string(attribute) + "' of node '" + node.name + "' (" + node.op_type +
                ") is of another type than " + node.op_type + " has it");
  }
  return value;
}

}  // namespace

const Attribute* Node::find(std::string_view attribute) const {
  for (const auto& candidate : attributes) {
    if (candidate.name == attribute) return &candidate;
  }
  return nullptr;
}

int64_t Node::integer(std::string_view attribute, int64_t fallback) const {
  const auto* value = attribute_of<int64_t>(*this, attribute);
  return value != nullptr ? *value : fallback;
}

float Node::real(std::string_view attribute, float fallback) const {
  const auto* value = attribute_of<float>(*this, attribute);
  return value != nullptr ? *value : fallback;
}

std::string Node::text(std::string_view attribute, std::string_view fallback) const {
  const auto* value = attribute_of<std::string>(*this, attribute);
  return value != nullptr ? *value : std::string(fallback);
}

std::vector<int64_t> Node::integers(std::string_view attribute, std::vector<int64_t> fallback) const {
  const auto* value = attribute_of<std::vector<int64_t>>(*this, attribute);
  return value != nullptr ? *value : std::move(fallback);
}

void Node::set(Attribute attribute) {
  for (auto& candidate : attributes) {
    if (candidate.name != attribute.name) continue;
    candidate = std::move(attribute);
    return;
  }
  attributes.push_back(std::move(attribute));
}

int64_t Model::opset() const {
  const auto found = opsets.find("");
  return found != opsets.end() ? found->second : 0;
}

const Tensor* Model::initializer(std::string_view name) const {
  const auto found = initializers.find(std::string(name));
  return found != initializers.end() ? &found->second : nullptr;
}

}  // namespace quasar::graph
