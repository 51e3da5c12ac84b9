// From a picture's bytes to the model's input: order of channels, mean and scale, layout, type.
#pragma once

#include <string>
#include <vector>

#include "quasar/base/plugin.hpp"
#include "quasar/data/image.hpp"
#include "quasar/graph/model.hpp"

namespace quasar::data {

class Pixels {
 public:
  // Reads color, mean, scale, std and layout for this input. Throws Error that begins with `owner` when they do not fit it.
  Pixels(const graph::Value& input, const Options& options, const std::string& owner);

  bool is_gray() const { return channels_ == 1; }
  // Height and width of the model's input, where both are fixed.
  std::optional<Size> size() const;

  // Throws Error that begins with `where` when the model does not take pictures of this size.
  void check(Size size, const std::string& where) const;

  // x' = (x − mean)·scale, or (x − mean) / std, of every value 0 … 255, in double precision, rounded to the input's type; the
  // bytes themselves for an input of uint8. The image has the input's number of channels, red first.
  Tensor tensor(const Image& image, const std::string& where) const;

  static std::vector<OptionSpec> options();

 private:
  void read_layout(const Options& options, const std::string& owner);
  void read_values(const Options& options, const std::string& owner);
  Shape shape_of(Size size) const;
  template <class T>
  Tensor laid_out(const Image& image, const std::vector<T>& table) const;

  graph::Value input_;
  size_t channels_ = 3;
  bool backwards_ = false;      // blue first
  bool channels_last_ = false;  // NHWC
  std::vector<float> table_;    // channels x 256, in the model's order
};

}  // namespace quasar::data
