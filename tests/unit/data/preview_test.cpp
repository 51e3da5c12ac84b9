// What samples look like: thumbnails, pictures of the images reader, tensors that can be seen.
#include "quasar/data/preview.hpp"

#include <cmath>

#include "files.hpp"

namespace quasar::data {
namespace {

namespace fs = std::filesystem;

const fs::path pictures = fs::path(QUASAR_SOURCE_DIR) / "tests/unit/data/pictures";

// Colours that change slowly, so that JPEG loses little.
Image slope(size_t width, size_t height, size_t channels) {
  Image out{width, height, channels, {}};
  for (size_t y = 0; y < height; ++y) {
    for (size_t x = 0; x < width; ++x) {
      for (size_t c = 0; c < channels; ++c)
        out.pixels.push_back(static_cast<uint8_t>((c == 1 ? y * 255 / height : x * 255 / width)));
    }
  }
  return out;
}

class Tensors final : public Dataset {
 public:
  explicit Tensors(Sample sample) : sample_(std::move(sample)) {}
  size_t size() const override { return 1; }
  Sample at(size_t) const override { return sample_; }
  std::optional<int64_t> label(size_t) const override { return std::nullopt; }
  std::string source() const override { return "test"; }

 private:
  Sample sample_;
};

TEST(Thumbnail, KeepsSmallPicturesAndTheirColours) {
  for (const size_t channels : {size_t{1}, size_t{3}}) {
    const Image image = slope(40, 24, channels);
    const Image back = jpeg::decode(thumbnail(image, 128), "it");
    ASSERT_EQ(back.width, 40U);
    ASSERT_EQ(back.height, 24U);
    for (size_t i = 0; i < 40 * 24; ++i) {
      for (size_t c = 0; c < 3; ++c)
        ASSERT_NEAR(back.pixels[3 * i + c], image.pixels[channels * i + (channels == 3 ? c : 0)], 8) << i;
    }
  }
}

TEST(Thumbnail, ShrinksLargeOnes) {
  const Image back = jpeg::decode(thumbnail(slope(1000, 300, 3), 128), "it");
  EXPECT_EQ(back.width, 128U);
  EXPECT_EQ(back.height, 38U);
  EXPECT_LT(thumbnail(slope(2000, 2000, 3), 128).size(), 16U << 10);
  EXPECT_EQ(jpeg::decode(thumbnail(slope(4000, 2, 1), 128), "it").height, 1U);
}

TEST(Picture, OfTheImagesReaderIsWhatTheModelSees) {
  const graph::Value input{"x", DataType::float32, Shape{1, 3, 16, 20}};
  const Json reader{{"reader", "images"}, {"path", pictures.string()}, {"mean", 127}, {"limit", 3}};
  const auto all = open(reader, {input});
  const auto some = subset(all, {2, 0});
  const auto picture = picture_of(*some, 0), same = picture_of(*all, 2);
  ASSERT_TRUE(picture && same);
  EXPECT_EQ(picture->image.width, 20U);
  EXPECT_EQ(picture->image.height, 16U);
  EXPECT_EQ(picture->image.pixels, same->image.pixels);
  EXPECT_TRUE(fs::exists(pictures / picture->file)) << picture->file;
}

TEST(Picture, OfATensorIsStretchedFromBlackToWhite) {
  std::vector<float> values(3 * 8 * 9);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i) - 50;
  values[5] = NAN;
  const auto first = picture_of(Tensors({Tensor::of({1, 3, 8, 9}, values)}), 0);
  ASSERT_TRUE(first);
  EXPECT_EQ(first->image.channels, 3U);
  EXPECT_EQ(first->image.pixels[0], 0);                              // red of the first pixel: the least
  EXPECT_EQ(first->image.pixels[3 * 72 - 1], 255);                   // blue of the last: the greatest
  EXPECT_EQ(first->image.pixels[1], std::lround(255 * 72 / 215.0));  // green of the first stands 72 values on
  const auto last = picture_of(Tensors({Tensor::of({1, 8, 9, 1}, std::vector<uint8_t>(72, 7))}), 0);
  ASSERT_TRUE(last);
  EXPECT_EQ(last->image.pixels, std::vector<uint8_t>(72, 0));
}

TEST(Picture, ThereIsNoneOfOtherTensors) {
  const auto of = [](const Shape& shape) { return Tensor::of(shape, std::vector<float>(count_of(shape))); };
  for (const Shape& shape : {Shape{1, 16}, Shape{1, 4, 16, 16}, Shape{2, 3, 16, 16}, Shape{1, 1, 8, 80}, Shape{1, 3, 4, 4}})
    EXPECT_FALSE(picture_of(Tensors({of(shape)}), 0)) << to_string(shape);
  EXPECT_FALSE(picture_of(Tensors({of({1, 3, 16, 16}), of({1})}), 0));
  EXPECT_FALSE(picture_of(Tensors({Tensor::of({1, 1, 8, 8}, std::vector<int64_t>(64))}), 0));
}

}  // namespace
}  // namespace quasar::data
