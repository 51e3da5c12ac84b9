// The bytes as a JPEG or PNG file: decoded, and as a sample of the reader images. Check sums of PNG's chunks are put right
// before, as no fuzzer finds them.
#include "quasar/data/image.hpp"

#include <algorithm>

#include "fuzz/target.hpp"
#include "quasar/data/dataset.hpp"

namespace quasar::fuzz {
namespace {

// As PNG has it (ISO 3309).
uint32_t check_sum(std::string_view bytes) {
  uint32_t sum = 0xFFFFFFFF;
  for (const char c : bytes) {
    sum ^= static_cast<uint8_t>(c);
    for (int bit = 0; bit < 8; ++bit) sum = (sum & 1) != 0 ? sum >> 1 ^ 0xEDB88320 : sum >> 1;
  }
  return ~sum;
}

uint32_t number_at(const std::string& bytes, size_t place) {
  uint32_t out = 0;
  for (size_t i = 0; i < 4; ++i) out = out << 8 | static_cast<uint8_t>(bytes[place + i]);
  return out;
}

// A chunk is its length, four letters, that many bytes, and the check sum of the letters and these.
std::string repaired(std::string bytes) {
  for (size_t at = 8; at + 12 <= bytes.size();) {
    const size_t length = std::min<size_t>(number_at(bytes, at), bytes.size() - at - 12), end = at + 8 + length;
    const uint32_t sum = check_sum(std::string_view(bytes).substr(at + 4, 4 + length));
    for (size_t i = 0; i < 4; ++i) bytes[end + i] = static_cast<char>(sum >> (24 - 8 * i));
    at = end + 4;
  }
  return bytes;
}

}  // namespace
}  // namespace quasar::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace quasar;
  constexpr size_t most = 1 << 20;  // pixels: larger ones are right, but tell nothing new and take long
  const std::string& bytes = fuzz::text_of(data, size);
  const auto path = fuzz::file("picture.png", data::png::matches(bytes) ? fuzz::repaired(bytes) : bytes);
  data::Size found;
  if (!fuzz::refusal([&] { found = data::size_of(path); }).empty()) return 0;
  const bool small = found.height > 0 && found.width > 0 && found.height <= most / found.width;
  if (!small) return 0;
  fuzz::refusal([&] {
    const data::Image image = data::decode(path);
    fuzz::expect(image.width == found.width && image.height == found.height, "a picture is as large as its header says");
    fuzz::expect(image.pixels.size() == 3 * image.width * image.height, "three bytes to a pixel");
    data::gray(image);
  });
  const graph::Value x{.name = "x", .type = DataType::float32, .shape = Shape{1, 3, 8, 8}};
  const Json folder{{"reader", "images"}, {"path", fuzz::scratch().string()}};
  Json cut = folder, boxed = folder;
  cut.update({{"resize", 10}, {"crop", 8}, {"interpolation", "bicubic"}});
  boxed.update({{"letterbox", true}, {"interpolation", "nearest"}});
  for (const Json& words : {folder, cut, boxed}) fuzz::refusal([&] { data::open(words, {x})->at(0); });
  return 0;
}
