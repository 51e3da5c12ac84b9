#include "quasar/data/pixels.hpp"

#include <algorithm>
#include <cmath>

#include "quasar/base/digits.hpp"
#include "quasar/base/names.hpp"
#include "quasar/data/options.hpp"

namespace quasar::data {
namespace {

// One value per channel, in the model's order.
std::vector<double> per_channel(const Options& options, const std::string& name, size_t channels, const std::string& owner) {
  const Json& value = options.json(name);
  std::vector<double> out;
  for (const Json& one : value.is_array() ? value : Json::array({value})) {
    if (!one.is_number() || !std::isfinite(one.get<double>())) {
      throw Error(owner + ": option '" + name + "' is " + value.dump() + ", but must be a number or one per channel");
    }
    out.push_back(one.get<double>());
  }
  if (out.size() == 1) out.resize(channels, out.front());
  if (out.size() == channels) return out;
  throw Error(owner + ": option '" + name + "' has " + std::to_string(out.size()) + " values for " + std::to_string(channels) +
              " channels");
}

// "mean: [123.675, 116.28, 103.53]"; one number where all are the same.
std::string numbers_text(const std::string& name, std::vector<double> values, double factor) {
  std::vector<std::string> out;
  for (const double value : values) out.push_back(in_digits(value * factor, 6));
  const bool same = std::ranges::all_of(out, [&](const auto& one) { return one == out.front(); });
  return name + ": " + (same ? out.front() : "[" + joined(out) + "]");
}

// Mean and standard deviation of values 0 to 1, as torchvision has them, would feed the model −2 … 1114.
void refuse_small(const std::vector<double>& mean, const std::vector<double>& divisor, bool scaled, const std::string& owner) {
  const bool small_std = std::ranges::all_of(divisor, [](double value) { return value > 0 && value < 1; });
  const bool small_mean = std::ranges::any_of(mean, [](double value) { return value != 0; }) &&
                          std::ranges::all_of(mean, [](double value) { return std::abs(value) <= 1; });
  if (!small_std && !small_mean) return;
  const bool ones = std::ranges::all_of(mean, [](double value) { return value == 1; });  // −1 … 1 out of 0 … 2
  const double levels = ones ? 127.5 : 255;
  std::vector<std::string> given, right;
  if (small_mean) given.push_back(numbers_text("mean", mean, 1));
  if (small_mean) right.push_back(numbers_text("mean", mean, levels));
  if (small_std) given.push_back(numbers_text("std", divisor, 1));
  if (small_std || !scaled) right.push_back(numbers_text("std", divisor, levels));
  throw Error(owner + ": " + joined(given) + (given.size() > 1 ? " are" : " is") + " for values of 0 to 1, but " +
              (small_mean ? "mean is subtracted first, from values of 0 to 255" : "values of 0 to 255 are divided by std") +
              "; write " + joined(right) +
              (small_std ? ". Does the model take values that are so much larger? Then write scale instead of std" : ""));
}

}  // namespace

std::vector<OptionSpec> Pixels::options() {
  return {{.name = "color",
           .fallback = "RGB",
           .help = "order of the channels that the model takes: RGB, BGR or gray",
           .choices = {"RGB", "BGR", "gray"},
           .aliases = {"colour", "color_order"}},
          {"mean", nullptr, "subtracted first from values 0 to 255: a number or one per channel, in the model's order"},
          {"scale", nullptr, "multiplied next, x' = (x - mean) * scale: a number or one per channel"},
          {"std", nullptr, "divided by instead of scale, x' = (x - mean) / std: a number or one per channel"},
          {"as_is", false, "true: the model takes values of 0 to 255 as they are, and neither mean, scale nor std is needed"},
          {.name = "layout",
           .fallback = nullptr,
           .help = "axes of the model's input, NCHW or NHWC; left out: from the input's shape"}};
}

Pixels::Pixels(const graph::Value& input, const Options& options, const std::string& owner) : input_(input) {
  const std::string color = normalized(options.has("color") ? options.text("color") : "RGB");
  channels_ = color == "gray" ? 1 : 3;
  backwards_ = color == "bgr";
  if (!is_floating(input.type) && input.type != DataType::uint8) {
    throw Error(owner + ": the model's input '" + input.name + "' is " + std::string(name_of(input.type)) +
                "; pictures feed inputs of floating point and of uint8");
  }
  if (input.shape && input.shape->size() != 4 && input.shape->size() != 3) {
    throw Error(owner + ": the model's input '" + input.name + "' has the shape " + text_of(input) +
                "; pictures need three axes, or four with the batch");
  }
  read_layout(options, owner);
  read_values(options, owner);
}

void Pixels::read_layout(const Options& options, const std::string& owner) {
  const auto channels = static_cast<int64_t>(channels_);
  const size_t rank = input_.shape ? input_.shape->size() : 4;
  const auto size_at = [&](size_t axis) { return input_.shape ? input_.shape->at(axis) : -1; };
  const int64_t first = size_at(rank - 3), last = size_at(rank - 1);
  if (options.has("layout")) {
    const Json& given = options.json("layout");
    std::string name = given.is_string() ? normalized(given.get<std::string>()) : "";
    if (name.size() == 3) name = "n" + name;
    if (name != "nchw" && name != "nhwc")
      throw Error(owner + ": option 'layout' is " + given.dump() + ", but must be NCHW or NHWC");
    channels_last_ = name == "nhwc";
  } else {
    channels_last_ = first != channels && last == channels;
  }
  const int64_t found = channels_last_ ? last : first;
  if (found < 0 || found == channels) return;
  throw Error(owner + ": the model's input '" + input_.name + "' has the shape " + text_of(input_) +
              ", whose axis of channels (" + (channels_last_ ? "NHWC" : "NCHW") + ") has " + std::to_string(found) +
              " values, but color " + (channels_ == 1 ? "gray has 1" : "RGB and BGR have 3"));
}

void Pixels::read_values(const Options& options, const std::string& owner) {
  const bool any = options.has("mean") || options.has("scale") || options.has("std");
  if (any && !is_floating(input_.type)) {
    throw Error(owner + ": mean, scale and std need an input of floating point, but '" + input_.name + "' is " +
                std::string(name_of(input_.type)));
  }
  if (any && options.flag("as_is"))
    throw Error(owner + ": as_is contradicts mean, scale and std; give as_is, or what the values become");
  if (options.has("scale") && options.has("std")) throw Error(owner + ": scale and std contradict each other; give one of them");
  std::vector<double> mean(channels_, 0), scale(channels_, 1), divisor(channels_, 1);
  if (options.has("mean")) mean = per_channel(options, "mean", channels_, owner);
  if (options.has("scale")) scale = per_channel(options, "scale", channels_, owner);
  if (options.has("std")) divisor = per_channel(options, "std", channels_, owner);
  if (std::ranges::find(divisor, 0) != divisor.end()) throw Error(owner + ": option 'std' holds a zero");
  refuse_small(mean, divisor, options.has("scale") || options.has("std"), owner);
  for (size_t c = 0; c < channels_; ++c) {
    for (int value = 0; value < 256; ++value) {
      table_.push_back(static_cast<float>((value - mean[c]) * scale[c] / divisor[c]));
    }
  }
}

std::optional<Size> Pixels::size() const {
  if (!input_.shape) return std::nullopt;
  const size_t rank = input_.shape->size(), row = channels_last_ ? rank - 3 : rank - 2;
  const int64_t height = input_.shape->at(row), width = input_.shape->at(row + 1);
  if (height <= 0 || width <= 0) return std::nullopt;
  return Size{static_cast<size_t>(height), static_cast<size_t>(width)};
}

void Pixels::check(Size found, const std::string& where) const {
  const Shape shape = shape_of(found);
  if (!input_.shape) return;
  for (size_t axis = 0; axis < shape.size(); ++axis) {
    if (input_.shape->at(axis) < 0 || input_.shape->at(axis) == shape[axis]) continue;
    throw Error(where + ": does not fit the model's input '" + input_.name + "': expected shape " + text_of(input_) + ", found " +
                to_string(shape) + "; resize or crop to this size");
  }
}

Shape Pixels::shape_of(Size size) const {
  const auto height = static_cast<int64_t>(size.height), width = static_cast<int64_t>(size.width);
  const auto channels = static_cast<int64_t>(channels_);
  Shape shape = channels_last_ ? Shape{height, width, channels} : Shape{channels, height, width};
  if (!input_.shape || input_.shape->size() == 4) shape.insert(shape.begin(), 1);
  return shape;
}

template <class T>
Tensor Pixels::laid_out(const Image& image, const std::vector<T>& table) const {
  const size_t area = image.width * image.height;
  const std::shared_ptr<T[]> out(new T[area * channels_]);
  for (size_t c = 0; c < channels_; ++c) {
    const uint8_t* from = image.pixels.data() + (backwards_ ? channels_ - 1 - c : c);
    const T* values = table.data() + 256 * c;
    T* to = out.get() + (channels_last_ ? c : c * area);
    const size_t step = channels_last_ ? channels_ : 1;
    for (size_t i = 0; i < area; ++i) to[i * step] = values[from[i * channels_]];
  }
  return {type_of<T>(), shape_of({image.height, image.width}), out, out.get()};
}

Tensor Pixels::tensor(const Image& image, const std::string& where) const {
  check({image.height, image.width}, where);
  if (input_.type == DataType::uint8) {
    std::vector<uint8_t> same(256 * channels_);
    for (size_t i = 0; i < same.size(); ++i) same[i] = static_cast<uint8_t>(i % 256);
    return laid_out(image, same);
  }
  const Tensor out = laid_out(image, table_);
  return input_.type == DataType::float32 ? out : converted(out, input_.type);
}

}  // namespace quasar::data
