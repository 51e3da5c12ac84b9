// From a stored sample to what the model's input takes: layout, mean and scale, type, batch axis.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "quasar/base/plugin.hpp"
#include "quasar/graph/model.hpp"

namespace quasar::data {

class Conversion {
 public:
  // Reads layout, mean, scale and dtype for this input. Throws Error that begins with `owner` ("reader npz").
  Conversion(const graph::Value& input, const Options& options, const std::string& owner);

  // Throws Error that begins with `where` when such samples cannot be converted: it names the input, expected and found.
  void check(DataType type, const Shape& stored, const std::string& where) const;

  // x' = (x - mean) * scale, computed in double precision, in the model's type and shape. A sample without the batch axis
  // gets one of size 1. Throws Error as check(), and when a whole number does not fit the model's type (unless dtype is given).
  Tensor apply(const Tensor& stored, const std::string& where) const;

  const graph::Value& input() const { return input_; }

 private:
  std::vector<size_t> order_of(size_t rank, const std::string& where) const;
  std::optional<Shape> fitted(Shape shape) const;
  Shape fit(const Shape& laid_out, const Shape& stored, const std::string& where) const;
  void check_type(DataType type, const std::string& where) const;
  void check_channels(const Shape& shape, const std::string& where) const;
  Tensor normalized(const Tensor& x) const;
  [[noreturn]] void fail(const std::string& where, const std::string& what) const;

  graph::Value input_;
  std::string layout_;                // of a sample without batch axis, "HWC"; "": as the model's
  std::vector<double> mean_, scale_;  // empty: neither given; else one value, or one per channel
  bool any_value_ = false;            // dtype was given
};

}  // namespace quasar::data
