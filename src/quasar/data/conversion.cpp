#include "quasar/data/conversion.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "quasar/data/options.hpp"
#include "quasar/data/permute.hpp"

namespace quasar::data {
namespace {

// "NHWC" or "HWC" -> "HWC".
std::string read_layout(const Json& value, const std::string& owner) {
  std::string axes = value.is_string() ? value.get<std::string>() : "";
  std::transform(axes.begin(), axes.end(), axes.begin(), [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  if (axes.starts_with('N')) axes.erase(0, 1);
  std::string sorted = axes;
  std::sort(sorted.begin(), sorted.end());
  const bool twice = std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end();
  if (axes.find('C') == std::string::npos || twice || sorted.find_first_not_of("CDHLTW") != std::string::npos) {
    throw Error(owner + ": option 'layout' is " + value.dump() +
                ", but must name the axes of a stored sample, such as NCHW, NHWC, HWC or NWC (letters C D H L T W, N first)");
  }
  return axes;
}

std::vector<double> read_numbers(const Json& value, const std::string& name, const std::string& owner) {
  std::vector<double> numbers;
  for (const Json& item : value.is_array() ? value : Json::array({value})) {
    if (!item.is_number() || !std::isfinite(item.get<double>())) numbers.clear();
    if (!item.is_number() || !std::isfinite(item.get<double>())) break;
    numbers.push_back(item.get<double>());
  }
  if (numbers.empty())
    throw Error(owner + ": option '" + name + "' is " + value.dump() + ", but must be a number or a list of numbers");
  return numbers;
}

void read_type(const Json& value, const graph::Value& input, const std::string& owner) {
  const std::string given = value.is_string() ? normalized(value.get<std::string>()) : value.dump();
  const std::string name = given == "float" ? "float32" : given == "double" ? "float64" : given == "boolean" ? "bool" : given;
  if (name == name_of(input.type)) return;
  throw Error(owner + ": option 'dtype' is " + value.dump() + ", but the model's input '" + input.name + "' is " +
              std::string(name_of(input.type)));
}

// Files may hold any bytes as truth values; kernels are written for 0 and 1.
Tensor zeros_and_ones(const Tensor& truths) {
  const bool good = std::ranges::all_of(truths.bytes(), [](std::byte value) { return value <= std::byte{1}; });
  return good ? truths : converted(converted(truths, DataType::uint8), DataType::boolean);
}

template <class From, class To>
void affine(const From* x, To* out, size_t count, double mean, double scale) {
  for (size_t i = 0; i < count; ++i) out[i] = static_cast<To>((static_cast<double>(x[i]) - mean) * scale);
}

// Bytes have 256 values: one table instead of arithmetic per element.
template <class To>
void affine(const uint8_t* x, To* out, size_t count, double mean, double scale) {
  To table[256];
  for (int value = 0; value < 256; ++value) table[value] = static_cast<To>((value - mean) * scale);
  for (size_t i = 0; i < count; ++i) out[i] = table[x[i]];
}

}  // namespace

Conversion::Conversion(const graph::Value& input, const Options& options, const std::string& owner) : input_(input) {
  if (const Json* layout = option_for(options, "layout", input)) layout_ = read_layout(*layout, owner);
  if (const Json* mean = option_for(options, "mean", input)) mean_ = read_numbers(*mean, "mean", owner);
  if (const Json* scale = option_for(options, "scale", input)) scale_ = read_numbers(*scale, "scale", owner);
  if (!mean_.empty() || !scale_.empty()) {
    if (!is_floating(input.type)) {
      throw Error(owner + ": mean and scale need an input of floating point, but '" + input.name + "' is " +
                  std::string(name_of(input.type)));
    }
    if (mean_.empty()) mean_ = {0};
    if (scale_.empty()) scale_ = {1};
  }
  if (const Json* type = option_for(options, "dtype", input)) {
    read_type(*type, input, owner);
    any_value_ = true;
  }
}

void Conversion::fail(const std::string& where, const std::string& what) const {
  throw Error(where + ": does not fit the model's input '" + input_.name + "': " + what);
}

// The order that brings the stored axes to [N, C, the others]; empty: nothing to do.
std::vector<size_t> Conversion::order_of(size_t rank, const std::string& where) const {
  if (layout_.empty()) return {};
  if (rank < layout_.size()) {
    fail(where,
         "a stored sample has " + std::to_string(rank) + " axes, layout " + layout_ + " names " + std::to_string(layout_.size()));
  }
  const size_t leading = rank - layout_.size(), channel = layout_.find('C');
  std::vector<size_t> order(rank);
  std::iota(order.begin(), order.end(), size_t{0});
  const auto begin = order.begin() + static_cast<std::ptrdiff_t>(leading), at = begin + static_cast<std::ptrdiff_t>(channel);
  std::rotate(begin, at, at + 1);
  return order;
}

// The stored shape with leading axes of 1 added or dropped until it has the input's rank; nothing when sizes differ.
std::optional<Shape> Conversion::fitted(Shape shape) const {
  if (!input_.shape) return shape;
  const Shape& wanted = *input_.shape;
  while (shape.size() > wanted.size() && shape[0] == 1) shape.erase(shape.begin());
  if (shape.size() + 1 == wanted.size()) shape.insert(shape.begin(), 1);
  if (shape.size() != wanted.size()) return std::nullopt;
  for (size_t axis = 0; axis < wanted.size(); ++axis) {
    if (wanted[axis] >= 0 && wanted[axis] != shape[axis]) return std::nullopt;
  }
  return shape;
}

Shape Conversion::fit(const Shape& laid_out, const Shape& stored, const std::string& where) const {
  if (const auto shape = fitted(laid_out)) return *shape;
  std::string hint;
  if (layout_.empty() && laid_out.size() >= 3) {
    Shape turned = laid_out;
    std::rotate(turned.end() - 3, turned.end() - 1, turned.end());
    if (fitted(turned))
      hint =
          "; its channels come last: add layout: NHWC to the reader's description or beside arrays in a dictionary, or transpose "
          "samples in memory to NCHW";
  }
  const std::string turned = laid_out == stored ? "" : ", which layout turns into " + to_string(laid_out);
  fail(where, "expected shape " + text_of(input_) + ", found " + to_string(stored) + turned + hint);
}

void Conversion::check_type(DataType type, const std::string& where) const {
  const DataType wanted = input_.type;
  const bool texts = type == DataType::string && wanted != DataType::string;
  if (texts) fail(where, "expected type " + std::string(name_of(wanted)) + ", found texts, which cannot be converted");
  const bool computed = !mean_.empty();
  if (type == wanted || computed || any_value_ || is_floating(wanted) || !is_floating(type)) return;
  fail(where, "expected type " + std::string(name_of(wanted)) + ", found " + std::string(name_of(type)) +
                  "; to convert all the same, add dtype: " + std::string(name_of(wanted)));
}

void Conversion::check_channels(const Shape& shape, const std::string& where) const {
  const size_t given = std::max(mean_.size(), scale_.size());
  if (given <= 1) return;
  const int64_t channels = shape.size() < 2 ? 1 : shape[1];
  for (const auto* values : {&mean_, &scale_}) {
    if (values->size() == 1 || static_cast<int64_t>(values->size()) == channels) continue;
    fail(where, std::string(values == &mean_ ? "mean" : "scale") + " has " + std::to_string(values->size()) + " values for " +
                    std::to_string(channels) + " channels (axis 1 of " + to_string(shape) + ")");
  }
}

void Conversion::check(DataType type, const Shape& stored, const std::string& where) const {
  Shape laid_out = stored;
  const std::vector<size_t> order = order_of(stored.size(), where);
  for (size_t axis = 0; axis < order.size(); ++axis) laid_out[axis] = stored[order[axis]];
  const Shape shape = fit(laid_out, stored, where);
  check_type(type, where);
  check_channels(shape, where);
}

// Mean and scale in double precision; float64 for such an input, else float32.
Tensor Conversion::normalized(const Tensor& x) const {
  const Shape& shape = x.shape();
  const bool per_channel = std::max(mean_.size(), scale_.size()) > 1;
  const size_t channels = per_channel ? static_cast<size_t>(shape[1]) : 1;
  const size_t batches = per_channel ? static_cast<size_t>(shape[0]) : 1;
  const size_t blocks = x.empty() ? 0 : channels * batches;  // sizes without values may be of any length
  const size_t inner = x.count() / std::max<size_t>(1, blocks);
  const auto run = [&]<class From, class To>(const From* from, To) {
    const std::shared_ptr<To[]> out(new To[x.count()]);
    for (size_t block = 0; block < blocks; ++block) {
      const size_t channel = block % channels;
      const double mean = mean_[mean_.size() == 1 ? 0 : channel], scale = scale_[scale_.size() == 1 ? 0 : channel];
      affine(from + block * inner, out.get() + block * inner, inner, mean, scale);
    }
    return Tensor(type_of<To>(), shape, out, out.get());
  };
  const auto to = [&]<class To>(To tag) {
    if (x.type() == DataType::uint8) return run(x.as<uint8_t>().data(), tag);
    if (x.type() == DataType::float32) return run(x.as<float>().data(), tag);
    return run(to_doubles(x).data(), tag);
  };
  return input_.type == DataType::float64 ? to(double{}) : to(float{});
}

Tensor Conversion::apply(const Tensor& stored, const std::string& where) const {
  const std::vector<size_t> order = order_of(stored.shape().size(), where);
  const bool moves = !std::is_sorted(order.begin(), order.end());
  Tensor x = moves ? permuted(stored, order) : stored;
  x = x.reshaped(fit(x.shape(), stored.shape(), where));
  check_type(stored.type(), where);
  check_channels(x.shape(), where);
  if (!mean_.empty()) x = normalized(x);
  if (x.type() == input_.type) return x.type() == DataType::boolean ? zeros_and_ones(x) : x;
  const Tensor out = converted(x, input_.type);
  if (!is_floating(input_.type) && !any_value_ && converted(out, x.type()) != x) {
    fail(where, "a value is outside the range of " + std::string(name_of(input_.type)) + " (found " +
                    std::string(name_of(x.type())) + "); to clip, add dtype: " + std::string(name_of(input_.type)));
  }
  return out;
}

}  // namespace quasar::data
