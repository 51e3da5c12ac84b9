// What part of a picture the model sees, and in which size: cut, resized, cropped or letterboxed, as declared.
#pragma once

#include <optional>
#include <string>

#include "quasar/base/plugin.hpp"
#include "quasar/data/image.hpp"
#include "quasar/data/resample.hpp"

namespace quasar::data {

// For one picture: the part (cut) that is resized to `scaled`, of which the model sees `out`, whose corner lies at (top, left) of
// the scaled part; both are negative where a border is added.
struct Frame {
  Size cut = {}, scaled = {}, out = {};
  size_t cut_top = 0, cut_left = 0;
  int64_t top = 0, left = 0;
};

class Framing {
 public:
  // Reads resize, crop, letterbox, fill, interpolation and antialias. `model`: height and width of the model's input, where
  // fixed. Throws Error that begins with `owner`.
  Framing(const Options& options, std::optional<Size> model, const std::string& owner);

  // Throws Error that begins with `where` when the crop does not fit, or when the result would be too large.
  Frame of(Size picture, const std::string& where) const;
  Image apply(const Image& picture, const std::string& where) const;

  static std::vector<OptionSpec> options();

 private:
  void read_sizes(const Options& options, std::optional<Size> model);
  Size scaled_size(Size cut) const;
  void letterbox(Frame& frame) const;
  void crop(Frame& frame, const std::string& where) const;
  uint8_t fill_of(size_t channel) const { return fill_[fill_.size() == 1 ? 0 : channel]; }

  std::string owner_;
  std::optional<double> share_;  // of the shorter side, cut out of the middle first
  std::optional<size_t> shorter_;
  std::optional<Size> exact_, crop_;
  bool letterbox_ = false;
  std::vector<uint8_t> fill_;
  Resampling how_;
};

}  // namespace quasar::data
