#include "quasar/data/image.hpp"

#include <algorithm>

#include "quasar/base/error.hpp"
#include "quasar/base/file.hpp"

namespace quasar::data {
namespace {

constexpr uintmax_t most_file_bytes = uintmax_t{512} << 20;

std::string bytes_of(const std::filesystem::path& file) {
  std::error_code code;
  const auto size = std::filesystem::file_size(file, code);
  if (!code && size > most_file_bytes) {
    throw Error("'" + file.string() + "' has " + std::to_string(size) + " bytes; pictures may have " +
                std::to_string(most_file_bytes));
  }
  return read_file(file);
}

[[noreturn]] void unknown_format(const std::filesystem::path& file, const std::string& bytes) {
  throw Error("'" + file.string() + "' is " + (bytes.empty() ? "empty" : "neither a JPEG nor a PNG file"));
}

}  // namespace

void check_size(Size size, const std::string& where) {
  const bool fits = size.height > 0 && size.width > 0 && size.height <= most_pixels / size.width;
  if (fits) return;
  throw Error(where + ": " + std::to_string(size.width) + " x " + std::to_string(size.height) + " pixels; there must be 1 to " +
              std::to_string(most_pixels));
}

Image decode(const std::filesystem::path& file) {
  const std::string bytes = bytes_of(file), where = "'" + file.string() + "'";
  if (jpeg::matches(bytes)) return jpeg::decode(bytes, where);
  if (png::matches(bytes)) return png::decode(bytes, where);
  unknown_format(file, bytes);
}

Size size_of(const std::filesystem::path& file) {
  const std::string bytes = bytes_of(file), where = "'" + file.string() + "'";
  if (jpeg::matches(bytes)) return jpeg::size_of(bytes, where);
  if (png::matches(bytes)) return png::size_of(bytes, where);
  unknown_format(file, bytes);
}

Image gray(const Image& image) {
  if (image.channels == 1) return image;
  Image out{image.width, image.height, 1, std::vector<uint8_t>(image.width * image.height)};
  for (size_t i = 0; i < out.pixels.size(); ++i) {
    const uint8_t* p = &image.pixels[3 * i];
    out.pixels[i] = static_cast<uint8_t>((19595U * p[0] + 38470U * p[1] + 7471U * p[2] + 32768U) >> 16);
  }
  return out;
}

Image cropped(const Image& image, size_t top, size_t left, Size size) {
  if (size.width == image.width && size.height == image.height) return image;
  const size_t bytes = size.width * image.channels;
  Image out{size.width, size.height, image.channels, std::vector<uint8_t>(size.height * bytes)};
  for (size_t y = 0; y < size.height; ++y) {
    std::copy_n(&image.pixels[((top + y) * image.width + left) * image.channels], bytes, &out.pixels[y * bytes]);
  }
  return out;
}

}  // namespace quasar::data
