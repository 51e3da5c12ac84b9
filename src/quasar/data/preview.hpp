// What samples look like, for people. Data sets that are read from pictures are Pictures besides.
#pragma once

#include <optional>
#include <string>

#include "quasar/data/dataset.hpp"
#include "quasar/data/image.hpp"

namespace quasar::data {

struct Picture {
  Image image = {};       // as the model sees it, before mean and scale
  std::string file = {};  // where it comes from, relative to its folder; "": from no file of its own
};

class Pictures {
 public:
  virtual ~Pictures() = default;
  virtual std::optional<Picture> picture(size_t) const { return std::nullopt; }  // nullopt: there is none
};

// Of any data set. Where samples are not read from pictures, the only input stands for one if it can be one: [1, c, h, w] or
// [1, h, w, c] of float32 or uint8 with 1 or 3 channels and sides of at least 8 that are at most 4 times as long as each other;
// its values are stretched from black to white. nullopt: there is nothing to see. Throws Error for a sample that cannot be read.
std::optional<Picture> picture_of(const Dataset& samples, size_t index);

// As a JPEG file's bytes, at most `most` pixels wide and high; smaller pictures keep their size.
std::string thumbnail(const Image& image, size_t most);

}  // namespace quasar::data
