#include "quasar/data/preview.hpp"

#include <algorithm>
#include <cmath>

#include "quasar/data/resample.hpp"

namespace quasar::data {
namespace {

// How the values of a tensor lie that may be a picture.
struct Places {
  size_t channels, height, width;
  bool channels_last;
};

std::optional<Places> places_of(const Shape& shape) {
  constexpr int64_t least = 8, most_ratio = 4;
  if (shape.size() != 4 || shape[0] != 1) return std::nullopt;
  const auto fits = [&](int64_t channels, int64_t height, int64_t width) {
    return (channels == 1 || channels == 3) && std::min(height, width) >= least &&
           std::max(height, width) <= most_ratio * std::min(height, width);
  };
  const auto made = [](int64_t channels, int64_t height, int64_t width, bool last) {
    return Places{static_cast<size_t>(channels), static_cast<size_t>(height), static_cast<size_t>(width), last};
  };
  if (fits(shape[1], shape[2], shape[3])) return made(shape[1], shape[2], shape[3], false);
  if (fits(shape[3], shape[1], shape[2])) return made(shape[3], shape[1], shape[2], true);
  return std::nullopt;
}

// Values that are no numbers are black.
template <class T>
Image stretched(std::span<const T> values, const Places& places) {
  double low = INFINITY, high = -INFINITY;
  for (const T value : values) {
    if (!std::isfinite(static_cast<double>(value))) continue;
    low = std::min(low, static_cast<double>(value));
    high = std::max(high, static_cast<double>(value));
  }
  Image out{places.width, places.height, places.channels, std::vector<uint8_t>(values.size())};
  const size_t plane = places.width * places.height;
  for (size_t i = 0; i < values.size(); ++i) {
    const size_t to = places.channels_last ? i : (i % plane) * places.channels + i / plane;
    const double share = high > low ? (static_cast<double>(values[i]) - low) / (high - low) : 0;
    out.pixels[to] = share > 0 ? static_cast<uint8_t>(std::lround(255 * std::min(share, 1.0))) : uint8_t{0};
  }
  return out;
}

}  // namespace

std::optional<Picture> picture_of(const Dataset& samples, size_t index) {
  if (const auto* pictures = dynamic_cast<const Pictures*>(&samples)) {
    if (auto picture = pictures->picture(index)) return picture;
  }
  const Sample sample = samples.at(index);
  if (sample.size() != 1) return std::nullopt;
  const auto places = places_of(sample[0].shape());
  if (!places) return std::nullopt;
  if (sample[0].type() == DataType::float32) return Picture{stretched(sample[0].as<float>(), *places)};
  if (sample[0].type() == DataType::uint8) return Picture{stretched(sample[0].as<uint8_t>(), *places)};
  return std::nullopt;
}

std::string thumbnail(const Image& image, size_t most) {
  const size_t longest = std::max(image.width, image.height);
  if (longest <= most) return jpeg::encode(image);
  const auto scaled = [&](size_t side) { return std::max<size_t>(1, (side * most + longest / 2) / longest); };
  return jpeg::encode(resampled(image, {scaled(image.height), scaled(image.width)}, {Interpolation::lanczos, true}));
}

}  // namespace quasar::data
