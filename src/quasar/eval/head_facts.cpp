#include "quasar/eval/head_facts.hpp"

#include <algorithm>
#include <cmath>

#include "quasar/base/error.hpp"
#include "quasar/eval/boxes.hpp"
#include "quasar/runtime/prepare.hpp"

namespace quasar::eval {
namespace {

constexpr int64_t assumed_side = 320;  // of a picture whose size is open: every usual stride divides it

Shape known_shape(const graph::Value& value) {
  return value.shape.value_or(Shape());
}

bool is_picture(const Shape& shape, size_t channel_axis) {
  return shape.size() == 4 && (shape[channel_axis] == 3 || shape[channel_axis] == 1 || shape[channel_axis] == 4);
}

}  // namespace

std::string in_words(const HeadOutput& output) {
  std::string text;
  for (const int64_t size : output.shown) text += (text.empty() ? "" : ",") + (size < 0 ? "?" : std::to_string(size));
  return "'" + output.name + "' [" + text + "]";
}

HeadFacts::HeadFacts(const graph::Model& model, const Seen& seen) : model_(model), seen_(seen), index_(model) {
  for (const auto& node : model.nodes) types_.insert(node.op_type);
  read_inputs();
  infer_shapes();
  read_outputs();
}

void HeadFacts::read_inputs() {
  for (size_t i = 0; i < model_.inputs.size(); ++i) {
    const auto& input = model_.inputs[i];
    Shape shape = known_shape(input);
    if (!seen_.layouts.empty() && i < seen_.layouts.front().inputs.size()) shape = seen_.layouts.front().inputs[i];
    if (!shape.empty()) shape.front() = 1;
    input_shapes_.push_back(shape);
    const bool whole = input.type == DataType::int64 || input.type == DataType::int32;
    if (whole && shape.size() == 2) token_lengths_.push_back(shape[1]);
  }
  if (model_.inputs.empty()) return;
  Shape& first = input_shapes_.front();
  const bool last = is_picture(first, 3) && !is_picture(first, 1);
  if (!last && !is_picture(first, 1)) return;
  const size_t row = last ? 1 : 2;
  picture_ = Picture{last ? first[3] : first[1], first[row], first[row + 1]};
  for (const size_t axis : {row, row + 1}) first[axis] = first[axis] < 0 ? assumed_side : first[axis];
}

// With the sizes of a sample, or assumed ones, more sizes inside the graph are known.
void HeadFacts::infer_shapes() {
  graph::Model fixed = model_;
  for (size_t i = 0; i < fixed.inputs.size(); ++i) {
    if (!fixed.inputs[i].shape) continue;
    fixed.inputs[i].shape = input_shapes_[i];
    fixed.inputs[i].symbols.clear();
    fixed.inputs[i].rest = nullptr;
  }
  for (auto& output : fixed.outputs) {
    output.shape.reset();
    output.symbols.clear();
    output.rest = nullptr;
  }
  std::map<std::string, graph::Value> types;
  try {
    types = runtime::value_types(fixed);
  } catch (const Error&) {  // an assumed size that the model does not take
    types = runtime::value_types(model_);
  }
  for (const auto& [name, value] : types) {
    if (value.shape) shapes_[name] = *value.shape;
  }
  for (const auto& [name, tensor] : model_.initializers) shapes_[name] = tensor.shape();
}

void HeadFacts::read_outputs() {
  const Layout* layout = seen_.layouts.empty() ? nullptr : &seen_.layouts.front();
  for (size_t i = 0; i < model_.outputs.size(); ++i) {
    const auto& value = model_.outputs[i];
    HeadOutput output{value.name, value.type, known_shape(value), i, {}};
    if (const Shape* shape = shape_of(value.name)) output.shape = *shape;
    if (layout != nullptr && layout->outputs.size() == model_.outputs.size()) output.shape = layout->outputs[i];
    if (layout == nullptr && output.shape.size() > 1 && output.shape.front() < 0) output.shape.front() = 1;
    shapes_[value.name] = output.shape;
    output.shown = output.shape;
    const Shape declared = known_shape(value);
    for (size_t axis = 1; layout == nullptr && declared.size() == output.shown.size() && axis < declared.size(); ++axis) {
      if (declared[axis] < 0) output.shown[axis] = -1;
    }
    outputs_.push_back(std::move(output));
  }
}

bool HeadFacts::is_token_length(int64_t size) const {
  return std::ranges::find(token_lengths_, size) != token_lengths_.end();
}

const Shape* HeadFacts::shape_of(const std::string& value) const {
  const auto found = shapes_.find(value);
  return found == shapes_.end() ? nullptr : &found->second;
}

std::span<const float> HeadFacts::values(size_t sample, const HeadOutput& output) const {
  return values_of(seen_.values[sample], seen_.layouts[sample], output.place);
}

bool HeadFacts::sums_to_one(const HeadOutput& output, size_t axis) const {
  for (size_t sample = 0; sample < samples(); ++sample) {
    const Shape& shape = shape_in(sample, output);
    const auto all = values(sample, output);
    if (axis >= shape.size() || shape[axis] < 2 || all.empty()) return false;
    const auto size = static_cast<size_t>(shape[axis]);
    const size_t step = count_of(Shape(shape.begin() + static_cast<std::ptrdiff_t>(axis) + 1, shape.end()));
    for (size_t start = 0; start < all.size(); start += size * step) {
      for (size_t k = 0; k < step; ++k) {
        double sum = 0;
        for (size_t i = 0; i < size; ++i) {
          const float value = all[start + i * step + k];
          if (value < 0) return false;
          sum += value;
        }
        if (std::abs(sum - 1) > 1e-3) return false;
      }
    }
  }
  return samples() > 0;
}

bool HeadFacts::are_probabilities(const HeadOutput& output, size_t axis) const {
  return maker(output, axis).is_probability() || sums_to_one(output, axis);
}

namespace {

int64_t cells_of(const HeadFacts::Picture& picture, int64_t stride) {
  return ((picture.height + stride - 1) / stride) * ((picture.width + stride - 1) / stride);
}

}  // namespace

bool fits_grids(const HeadFacts& facts, int64_t cells, int64_t anchors) {
  if (!facts.picture()) return false;
  if (cells < 0 || facts.picture()->height < 0 || facts.picture()->width < 0) return true;
  static const std::vector<std::vector<int64_t>> strides{{8, 16, 32}, {4, 8, 16, 32}, {8, 16, 32, 64}, {16, 32}};
  return std::ranges::any_of(strides, [&](const auto& some) {
    int64_t sum = 0;
    for (const int64_t stride : some) sum += anchors * cells_of(*facts.picture(), stride);
    return sum == cells;
  });
}

bool fits_strides(const HeadFacts& facts, std::span<const int64_t> cells) {
  if (!facts.picture()) return false;
  for (const int64_t first : {4, 8, 16}) {
    bool all = true;
    for (size_t i = 0; i < cells.size(); ++i) {
      const bool open = cells[i] < 0 || facts.picture()->height < 0 || facts.picture()->width < 0;
      all = all && (open || cells[i] == cells_of(*facts.picture(), first << i));
    }
    if (all) return true;
  }
  return false;
}

}  // namespace quasar::eval
