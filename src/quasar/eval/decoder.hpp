// Decoders: from the outputs of a detector to boxes. One file each in decoders/, for one family of heads.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "quasar/eval/metric.hpp"

namespace quasar::eval {

// A found object, in pixels of the model's input.
struct Detection {
  double left = 0, top = 0, right = 0, bottom = 0, score = 0;
  int64_t label = 0;
};

class Decoder {
 public:
  virtual ~Decoder() = default;
  // `values`: all outputs, one behind the other, as `layout` says. -> the best first. Throws Error that names the shapes when
  // they are not those of such a head.
  virtual std::vector<Detection> decode(std::span<const float> values, const Layout& layout) const = 0;
};

// From a configuration's `decoder`: a name, or {name: yolov5, option: value}; files that it names start from `base`. Throws
// Error.
std::unique_ptr<Decoder> make_decoder(const Json& words, const std::filesystem::path& base = {});

}  // namespace quasar::eval

namespace quasar::eval::decoders {
const Table<Decoder>& table();
}
