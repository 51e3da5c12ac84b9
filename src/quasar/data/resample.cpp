#include "quasar/data/resample.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace quasar::data {
namespace {

constexpr int fraction_bits = 22;  // of a weight; products with 8 bits and their sums stay within 32

struct Filter {
  double radius;
  double (*at)(double x);
};

double sinc(double x) {
  if (x == 0) return 1;
  return std::sin(std::numbers::pi * x) / (std::numbers::pi * x);
}

Filter filter_of(Interpolation interpolation) {
  switch (interpolation) {
    case Interpolation::box:
      return {0.5, [](double x) { return x > -0.5 && x <= 0.5 ? 1.0 : 0.0; }};
    case Interpolation::bicubic:
      return {2, [](double x) {
                constexpr double a = -0.5;
                x = std::abs(x);
                if (x < 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
                return x < 2 ? (((x - 5) * x + 8) * x - 4) * a : 0.0;
              }};
    case Interpolation::lanczos:
      return {3, [](double x) { return x >= -3 && x < 3 ? sinc(x) * sinc(x / 3) : 0.0; }};
    default:
      return {1, [](double x) { return std::max(0.0, 1 - std::abs(x)); }};
  }
}

// The input pixels that one output pixel is made of.
struct Window {
  size_t first;
  std::vector<int32_t> weights;
};

std::vector<Window> windows(size_t from, size_t to, const Resampling& how) {
  const Filter filter = filter_of(how.interpolation);
  const double step = static_cast<double>(from) / static_cast<double>(to);
  const double stretch = how.antialias ? std::max(1.0, step) : 1.0, radius = filter.radius * stretch;
  std::vector<Window> out(to);
  std::vector<double> weights;
  for (size_t i = 0; i < to; ++i) {
    const double centre = (static_cast<double>(i) + 0.5) * step;
    const auto first = static_cast<int64_t>(std::max(0.0, centre - radius + 0.5));
    const auto last = std::min(static_cast<int64_t>(from), static_cast<int64_t>(centre + radius + 0.5));
    weights.clear();
    double total = 0;
    for (int64_t k = first; k < last; ++k) {
      weights.push_back(filter.at((static_cast<double>(k) - centre + 0.5) * (1.0 / stretch)));
      total += weights.back();
    }
    out[i].first = static_cast<size_t>(first);
    for (const double weight : weights) {
      const double scaled = (total == 0 ? weight : weight / total) * (1 << fraction_bits);
      out[i].weights.push_back(static_cast<int32_t>(scaled < 0 ? scaled - 0.5 : scaled + 0.5));
    }
  }
  return out;
}

uint8_t rounded(int32_t sum) {
  return static_cast<uint8_t>(std::clamp(sum >> fraction_bits, 0, 255));
}

constexpr int32_t half = 1 << (fraction_bits - 1);

template <size_t channels>
void resample_row(const uint8_t* row, uint8_t* out, const std::vector<Window>& columns) {
  for (const auto& [first, weights] : columns) {
    int32_t sums[channels];
    std::fill_n(sums, channels, half);
    const uint8_t* pixel = row + first * channels;
    for (const int32_t weight : weights) {
      for (size_t c = 0; c < channels; ++c) sums[c] += pixel[c] * weight;
      pixel += channels;
    }
    for (size_t c = 0; c < channels; ++c) *out++ = rounded(sums[c]);
  }
}

Image in_width(const Image& image, size_t width, const Resampling& how) {
  const auto columns = windows(image.width, width, how);
  Image out{width, image.height, image.channels, std::vector<uint8_t>(width * image.height * image.channels)};
  for (size_t y = 0; y < image.height; ++y) {
    const uint8_t* from = &image.pixels[y * image.width * image.channels];
    uint8_t* to = &out.pixels[y * width * image.channels];
    image.channels == 1 ? resample_row<1>(from, to, columns) : resample_row<3>(from, to, columns);
  }
  return out;
}

Image in_height(const Image& image, size_t height, const Resampling& how) {
  const auto rows = windows(image.height, height, how);
  const size_t stride = image.width * image.channels;
  Image out{image.width, height, image.channels, std::vector<uint8_t>(height * stride)};
  std::vector<int32_t> sums(stride);
  for (size_t y = 0; y < height; ++y) {
    std::ranges::fill(sums, half);
    const uint8_t* row = &image.pixels[rows[y].first * stride];
    for (const int32_t weight : rows[y].weights) {
      for (size_t i = 0; i < stride; ++i) sums[i] += row[i] * weight;
      row += stride;
    }
    std::ranges::transform(sums, &out.pixels[y * stride], rounded);
  }
  return out;
}

// The places of nearest pixels, stepped as PIL steps them.
std::vector<size_t> nearest(size_t from, size_t to) {
  const double step = static_cast<double>(from) / static_cast<double>(to);
  std::vector<size_t> out;
  double at = 0.5 * step;
  for (size_t i = 0; i < to; ++i, at += step) out.push_back(std::min(from - 1, static_cast<size_t>(at)));
  return out;
}

Image picked(const Image& image, Size size) {
  const auto columns = nearest(image.width, size.width), rows = nearest(image.height, size.height);
  Image out{size.width, size.height, image.channels, {}};
  out.pixels.reserve(size.width * size.height * image.channels);
  for (const size_t y : rows) {
    for (const size_t x : columns) {
      const auto pixel = image.pixels.begin() + static_cast<std::ptrdiff_t>((y * image.width + x) * image.channels);
      out.pixels.insert(out.pixels.end(), pixel, pixel + static_cast<std::ptrdiff_t>(image.channels));
    }
  }
  return out;
}

}  // namespace

Image resampled(const Image& image, Size size, const Resampling& how) {
  if (size == Size{image.height, image.width}) return image;
  if (how.interpolation == Interpolation::nearest) return picked(image, size);
  const Image wide = size.width == image.width ? image : in_width(image, size.width, how);
  return size.height == wide.height ? wide : in_height(wide, size.height, how);
}

}  // namespace quasar::data
