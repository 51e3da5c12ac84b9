// Pictures as bytes: decoded from JPEG and PNG, resampled, cropped.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace quasar::data {

// Rows from top to bottom, pixels from left to right, channels side by side: 3 (red, green, blue) or 1 (gray).
struct Image {
  size_t width = 0, height = 0, channels = 3;
  std::vector<uint8_t> pixels = {};
};

struct Size {
  size_t height = 0, width = 0;
  bool operator==(const Size&) const = default;
};

// Pictures, and what resampling makes of them, may have this many pixels; more is refused before memory is taken.
constexpr size_t most_pixels = 100'000'000;

// The file as red, green and blue; alpha is dropped, gray repeated, 16 bits cut to the upper 8, CMYK converted; orientation tags
// and colour profiles do not count (as PIL's convert("RGB")). Throws Error that names the file: not a JPEG or PNG file, damaged,
// cut short, too large.
Image decode(const std::filesystem::path& file);

// Only the header is looked at. Throws Error as decode().
Size size_of(const std::filesystem::path& file);

// Luminance as PIL's convert("L"): (19595 R + 38470 G + 7471 B + 32768) / 65536.
Image gray(const Image& image);

// The rectangle that begins at (top, left); it lies within the image.
Image cropped(const Image& image, size_t top, size_t left, Size size);

// One format's decoder: whether the bytes look like it, their size, their pixels. `where` begins messages.
namespace jpeg {
bool matches(const std::string& bytes);
Size size_of(const std::string& bytes, const std::string& where);
Image decode(const std::string& bytes, const std::string& where);
std::string encode(const Image& image);  // a file's bytes, of good quality; throws Error when libjpeg refuses the picture
}  // namespace jpeg
namespace png {
bool matches(const std::string& bytes);
Size size_of(const std::string& bytes, const std::string& where);
Image decode(const std::string& bytes, const std::string& where);
}  // namespace png

// Throws Error that begins with `where` when a picture of this size would have more than most_pixels, or none.
void check_size(Size size, const std::string& where);

}  // namespace quasar::data
