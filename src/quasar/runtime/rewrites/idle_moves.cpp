#include "quasar/runtime/rewrites/idle_moves.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <unordered_map>

#include "quasar/graph/bodies.hpp"

namespace quasar::runtime {
namespace {

// The same values in the same order, whatever the shape of the result.
constexpr std::array<std::string_view, 6> keeping_shape = {"Reshape", "Flatten", "Squeeze", "Unsqueeze", "Expand", "Tile"};

// What joins several values, of one.
bool is_of_one(const graph::Node& node) {
  return node.inputs.size() == 1 && (node.is("Concat") || node.is("Sum") || node.is("Max") || node.is("Min") || node.is("Mean"));
}

bool may_be_idle(const graph::Node& node) {
  return node.is("Slice") || node.is("Transpose") ||
         (node.domain.empty() && std::ranges::find(keeping_shape, node.op_type) != keeping_shape.end());
}

std::optional<std::vector<int64_t>> integers_in(const graph::Model& model, const std::string& value) {
  const Tensor* tensor = model.initializer(value);
  if (tensor == nullptr) return std::nullopt;
  std::vector<int64_t> out;
  if (tensor->type() == DataType::int64) out.assign(tensor->as<int64_t>().begin(), tensor->as<int64_t>().end());
  if (tensor->type() == DataType::int32) out.assign(tensor->as<int32_t>().begin(), tensor->as<int32_t>().end());
  return out.size() == tensor->count() ? std::optional(out) : std::nullopt;
}

class IdleMoves {
 public:
  IdleMoves(const graph::Model& model, const TypesOf& types_of) : model_(model), index_(model), types_of_(types_of) {}

  using Found = std::unordered_map<std::string, std::string>;

  // Nodes by name, with the value that their result is.
  Found all() {
    return found([this](const graph::Node& node) { return may_be_idle(node) && is_read_by_inputs_only(node) && is_idle(node); });
  }
  Found copies() {
    return found([this](const graph::Node& node) { return is_of_one(node) && is_read_by_inputs_only(node); });
  }

 private:
  Found found(const std::function<bool(const graph::Node&)>& is_wanted) const {
    Found out;
    for (const graph::Node& node : model_.nodes) {
      if (is_wanted(node)) out[node.name] = node.inputs.front();
    }
    return out;
  }

  bool is_read_by_inputs_only(const graph::Node& node) const {
    const std::string& value = node.outputs.front();
    return !index_.is_output(value) && std::ranges::none_of(index_.consumers(value), [&](const graph::Node* reader) {
      return reader->domain == graph::entry_domain || std::ranges::count(reader->captures, value) > 0;
    });
  }

  bool is_idle(const graph::Node& node) {
    if (node.is("Transpose")) return keeps_axes(node);
    const Shape* from = shape_of(node.inputs.front());
    if (from == nullptr) return false;
    if (node.is("Slice")) return takes_everything(node, *from);
    const Shape* to = shape_of(node.outputs.front());
    return to != nullptr && *from == *to && std::ranges::all_of(*from, [](int64_t size) { return size >= 0; });
  }

  // nullptr: not even the rank is known.
  const Shape* shape_of(const std::string& value) {
    if (const Tensor* constant = model_.initializer(value); constant != nullptr) return &constant->shape();
    if (!types_) types_ = types_of_(model_);
    const auto found = types_->find(value);
    return found == types_->end() || !found->second.shape ? nullptr : &*found->second.shape;
  }

  static bool keeps_axes(const graph::Node& node) {
    const std::vector<int64_t> order = node.integers("perm");
    std::vector<int64_t> same(order.size());
    std::iota(same.begin(), same.end(), int64_t{0});
    return !order.empty() && order == same;
  }

  bool takes_everything(const graph::Node& node, const Shape& shape) const {
    const auto optional = [&](size_t at, int64_t first, int64_t step, size_t count) {
      if (at < node.inputs.size() && !node.inputs[at].empty()) return integers_in(model_, node.inputs[at]);
      std::vector<int64_t> usual(count);
      for (size_t i = 0; i < count; i++) usual[i] = first + step * static_cast<int64_t>(i);
      return std::optional(usual);
    };
    if (node.inputs.size() < 3) return false;
    const auto starts = integers_in(model_, node.inputs[1]), ends = integers_in(model_, node.inputs[2]);
    if (!starts || !ends || starts->size() != ends->size()) return false;
    const auto axes = optional(3, 0, 1, starts->size()), steps = optional(4, 1, 0, starts->size());
    if (!axes || !steps || axes->size() != starts->size() || steps->size() != starts->size()) return false;
    const auto rank = static_cast<int64_t>(shape.size());
    for (size_t i = 0; i < starts->size(); i++) {
      const int64_t axis = (*axes)[i] < 0 ? (*axes)[i] + rank : (*axes)[i];
      if (axis < 0 || axis >= rank || (*steps)[i] != 1 || (*starts)[i] != 0) return false;
      const int64_t size = shape[static_cast<size_t>(axis)];
      if (size < 0 || (*ends)[i] < size) return false;
    }
    return true;
  }

  const graph::Model& model_;
  const graph::Index index_;
  const TypesOf types_of_;
  std::optional<std::map<std::string, graph::Value>> types_;  // asked for once, if at all
};

void take_out(graph::Model& model, const IdleMoves::Found& idle) {
  if (idle.empty()) return;
  std::unordered_map<std::string, std::string> instead;  // of values
  for (graph::Node& node : model.nodes) {                // in topological order: what is before one in a row is known
    for (std::string& input : node.inputs) {
      if (const auto found = instead.find(input); found != instead.end()) input = found->second;
    }
    if (idle.contains(node.name)) instead[node.outputs.front()] = node.inputs.front();
  }
  std::erase_if(model.nodes, [&](const graph::Node& node) { return idle.contains(node.name); });
  graph::remove_unused(model);
}

}  // namespace

void drop_idle_moves(graph::Model& model, const TypesOf& types_of) {
  take_out(model, IdleMoves(model, types_of).all());
}

void drop_copies(graph::Model& model) {
  take_out(model, IdleMoves(model, {}).copies());
}

}  // namespace quasar::runtime
