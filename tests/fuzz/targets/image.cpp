// The bytes as a JPEG or PNG file: decoded, and as a sample of the reader images.
#include "quasar/data/image.hpp"

#include "fuzz/target.hpp"
#include "quasar/data/dataset.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace quasar;
  constexpr size_t most = 1 << 20;  // pixels: larger ones are right, but tell nothing new and take long
  const auto path = fuzz::file("picture.png", fuzz::text_of(data, size));
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
