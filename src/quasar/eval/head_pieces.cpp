// How an output is made, looked at through operators that only move values.
#include <algorithm>

#include "quasar/base/error.hpp"
#include "quasar/eval/head_facts.hpp"

namespace quasar::eval {
namespace {

constexpr int deepest = 40;  // steps back

bool passes_values(const graph::Node& node) {
  return node.is("Identity") || node.is("Cast") || node.is("Dropout") || node.is("QuantizeLinear") || node.is("DequantizeLinear");
}

bool reshapes(const graph::Node& node) {
  return node.is("Reshape") || node.is("Flatten") || node.is("Squeeze") || node.is("Unsqueeze");
}

size_t axis_in(int64_t axis, size_t rank) {
  return static_cast<size_t>(axis < 0 ? axis + static_cast<int64_t>(rank) : axis);
}

// Without axes of size 1, so that these may come and go.
Shape without_ones(Shape shape) {
  std::erase(shape, 1);
  return shape;
}

bool same_count(const Shape& a, const Shape& b) {
  if (without_ones(a) == without_ones(b)) return true;
  const auto open = [](int64_t size) { return size < 0; };
  return std::ranges::none_of(a, open) && std::ranges::none_of(b, open) && count_of(a) == count_of(b);
}

// The axis of `in` that a reshape leaves as this axis of `out`: what stands before it, or behind it, is the same.
std::optional<size_t> kept_axis(const Shape& in, const Shape& out, size_t axis) {
  const auto before = [](const Shape& shape, size_t i) {
    return Shape(shape.begin(), shape.begin() + static_cast<std::ptrdiff_t>(i));
  };
  const auto behind = [](const Shape& shape, size_t i) {
    return Shape(shape.begin() + static_cast<std::ptrdiff_t>(i) + 1, shape.end());
  };
  if (axis >= out.size()) return std::nullopt;
  for (size_t i = 0; i < in.size(); ++i) {
    if (in[i] != out[axis] || in[i] < 0) continue;
    if (same_count(before(in, i), before(out, axis)) || same_count(behind(in, i), behind(out, axis))) return i;
  }
  return std::nullopt;
}

bool same_kind(const std::vector<Piece>& a, const std::vector<Piece>& b) {
  return std::ranges::equal(a, b, [](const Piece& x, const Piece& y) { return x.op == y.op && x.size == y.size; });
}

}  // namespace

Piece HeadFacts::alone(const std::string& value, size_t axis) const {
  const Shape* shape = shape_of(value);
  Piece piece{shape == nullptr || axis >= shape->size() ? -1 : (*shape)[axis], "", index_.producer(value)};
  if (piece.node == nullptr || piece.node->is("Constant") || model_.initializer(value) != nullptr) {
    piece.node = nullptr;
    return piece;
  }
  piece.op = piece.node->op_type;
  if (piece.is_probability()) {
    const int64_t along = piece.node->integer("axis", model_.opset() < 13 ? 1 : -1);
    if (shape != nullptr && axis_in(along, shape->size()) != axis) piece.op += " across";
  }
  if (piece.node->is("Div")) {
    const graph::Node* above = index_.producer(piece.node->inputs.front());
    if (above != nullptr && above->is("Exp")) piece.op = "Softmax";  // written out
  }
  return piece;
}

// The axis of the node's first input that becomes this one; nullopt: it is not kept.
std::optional<size_t> HeadFacts::axis_before(const graph::Node& node, size_t axis) const {
  if (node.is("Transpose")) {
    const Shape* shape = shape_of(node.outputs.front());
    std::vector<int64_t> order = node.integers("perm");
    if (order.empty() && shape != nullptr) {
      for (size_t i = shape->size(); i > 0; --i) order.push_back(static_cast<int64_t>(i) - 1);
    }
    return axis < order.size() ? std::optional(static_cast<size_t>(order[axis])) : std::nullopt;
  }
  if (passes_values(node)) return axis;
  const Shape *in = shape_of(node.inputs.front()), *out = shape_of(node.outputs.front());
  if (!reshapes(node) || in == nullptr || out == nullptr) return std::nullopt;
  return kept_axis(*in, *out, axis);
}

std::vector<Piece> HeadFacts::pieces(const std::string& value, size_t axis, int depth) const {
  const graph::Node* node = index_.producer(value);
  if (node == nullptr || node->inputs.empty() || depth > deepest || model_.initializer(value) != nullptr)
    return {alone(value, axis)};
  if (node->is("Concat")) return joined_pieces(*node, axis, depth);
  if (const auto before = axis_before(*node, axis)) return pieces(node->inputs.front(), *before, depth + 1);
  if (!node->is("Slice") && !node->is("Split")) return {alone(value, axis)};
  // A part of something: along this axis it is of the same kind, unless that is a mixture.
  std::vector<Piece> whole = pieces(node->inputs.front(), axis, depth + 1);
  Piece part = alone(value, axis);
  if (whole.size() == 1) {
    part.op = whole.front().op;
    part.node = whole.front().node;
    return {part};
  }
  return part.size == -1 || shape_of(node->inputs.front()) == nullptr || axis >= shape_of(node->inputs.front())->size() ||
                 (*shape_of(node->inputs.front()))[axis] != part.size
             ? std::vector<Piece>{part}
             : whole;  // another axis is cut
}

std::vector<Piece> HeadFacts::joined_pieces(const graph::Node& node, size_t axis, int depth) const {
  const Shape* shape = shape_of(node.outputs.front());
  const size_t along = axis_in(node.integer("axis", 1), shape == nullptr ? 0 : shape->size());
  std::vector<Piece> out;
  if (along == axis) {
    for (const auto& input : node.inputs) {
      const auto more = pieces(input, axis, depth + 1);
      out.insert(out.end(), more.begin(), more.end());
    }
    return out;
  }
  out = pieces(node.inputs.front(), axis, depth + 1);
  for (const auto& input : node.inputs) {
    if (!same_kind(pieces(input, axis, depth + 1), out)) return {alone(node.outputs.front(), axis)};
  }
  return out;
}

Piece HeadFacts::maker(const HeadOutput& output, size_t axis) const {
  std::vector<Piece> all = pieces(output, axis);
  return all.size() == 1 ? all.front() : Piece{};
}

bool HeadFacts::is_affine(const Piece& piece, bool with_bias) const {
  if (piece.node == nullptr) return false;
  const graph::Node& node = *piece.node;
  const auto constant = [&](const std::string& value) {
    const graph::Node* made = index_.producer(value);
    return model_.initializer(value) != nullptr || (made != nullptr && made->is("Constant"));
  };
  const auto weighted = [&](const graph::Node* one) {
    return one != nullptr && (one->is("MatMul") || one->is("Gemm") || one->is("Conv") || one->is("ConvTranspose")) &&
           constant(one->inputs[1]);
  };
  if (node.is("Gemm") || node.is("Conv") || node.is("ConvTranspose"))
    return weighted(&node) && (!with_bias || (node.inputs.size() == 3 && !node.inputs[2].empty()));
  if (node.is("MatMul")) return !with_bias && weighted(&node);
  if (!node.is("Add") || node.inputs.size() != 2) return false;
  for (const size_t side : {size_t{0}, size_t{1}}) {
    if (!constant(node.inputs[1 - side])) continue;
    const graph::Node* made = index_.producer(node.inputs[side]);
    while (made != nullptr && (passes_values(*made) || reshapes(*made) || made->is("Transpose")))
      made = index_.producer(made->inputs.front());
    if (weighted(made)) return true;
  }
  return false;
}

}  // namespace quasar::eval
