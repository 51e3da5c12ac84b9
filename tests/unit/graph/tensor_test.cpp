#include "quasar/graph/tensor.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <bit>
#include <cmath>
#include <limits>

#include "quasar/base/error.hpp"

namespace quasar {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

TEST(Tensor, HoldsWhatItWasGiven) {
  const Tensor tensor = Tensor::of<float>({2, 3}, {1, 2, 3, 4, 5, 6});
  EXPECT_EQ(tensor.count(), 6);
  EXPECT_EQ(tensor.bytes().size(), 24);
  EXPECT_EQ(tensor.as<float>()[4], 5);
  EXPECT_EQ(tensor, Tensor::of<float>({2, 3}, {1, 2, 3, 4, 5, 6}));
  EXPECT_NE(tensor, tensor.reshaped({6}));
  EXPECT_EQ(tensor.reshaped({6}).bytes().data(), tensor.bytes().data());
  EXPECT_THROW(tensor.as<int32_t>(), std::logic_error);
  EXPECT_THROW(tensor.reshaped({5}), Error);
  EXPECT_THROW(Tensor::of<float>({2}, {1, 2, 3}), Error);
}

TEST(Tensor, StringsAndEmptyTensors) {
  const Tensor text = Tensor::strings({2}, {"a", "b"});
  EXPECT_EQ(text.strings()[1], "b");
  EXPECT_EQ(text, Tensor::strings({2}, {"a", "b"}));
  EXPECT_NE(text, Tensor::strings({2}, {"a", "c"}));
  EXPECT_TRUE(Tensor::of({0, 3}, std::vector<float>()).empty());
  EXPECT_EQ(Tensor::scalar<int64_t>(7).count(), 1);
}

TEST(Shape, CountIsCheckedForOverflow) {
  EXPECT_EQ(count_of({}), 1);
  EXPECT_EQ(count_of({2, 0, 5}), 0);
  EXPECT_EQ(to_string(Shape{1, 3, 8}), "[1,3,8]");
  EXPECT_THROW(count_of({2, -1}), Error);
  EXPECT_THROW(count_of({int64_t{1} << 40, int64_t{1} << 40}), Error);
  EXPECT_THROW(bytes_of(DataType::float64, size_t{1} << 60), Error);
  EXPECT_EQ(bytes_of(DataType::int4, 3), 2);
}

struct HalfCase {
  double value;
  uint16_t bits;
};

TEST(Converted, Float16RoundsToNearestEvenAndSaturates) {
  for (const auto& [value, bits] : {HalfCase{0, 0},
                                    {-0.0, 0x8000},
                                    {1, 0x3C00},
                                    {-2, 0xC000},
                                    {65504, 0x7BFF},
                                    {65519, 0x7BFF},
                                    {1e9, 0x7BFF},
                                    {-1e9, 0xFBFF},
                                    {infinity, 0x7C00},
                                    {0x1p-24, 1},
                                    {0x1p-25, 0},
                                    {0x1.8p-25, 1},
                                    {0x1p-14, 0x0400},
                                    {0x1.ff8p-15, 0x03FF},
                                    {0x1.ffcp-15, 0x0400},
                                    {1 + 0x1p-11, 0x3C00},
                                    {1 + 3 * 0x1p-11, 0x3C02},
                                    {0.1, 0x2E66}}) {
    const Tensor half = converted(Tensor::scalar(value), DataType::float16);
    EXPECT_EQ(std::bit_cast<uint16_t>(std::array{half.bytes()[0], half.bytes()[1]}), bits) << value;
  }
  EXPECT_TRUE(std::isnan(to_doubles(converted(Tensor::scalar(std::nan("")), DataType::float16))[0]));
}

TEST(Converted, EveryHalfComesBack) {
  for (const DataType type : {DataType::float16, DataType::bfloat16}) {
    std::vector<uint16_t> all(65536);
    for (size_t i = 0; i < all.size(); ++i) all[i] = static_cast<uint16_t>(i);
    const Tensor halves = Tensor::copy(type, {65536}, all.data(), 2 * all.size());
    const auto values = to_doubles(halves);
    const Tensor back = converted(Tensor::of<double>({65536}, values), type);
    const auto* bits = reinterpret_cast<const uint16_t*>(back.bytes().data());
    for (size_t i = 0; i < all.size(); ++i) {
      if (std::isnan(values[i])) continue;
      ASSERT_EQ(bits[i], all[i]);
    }
  }
}

// bfloat16 is float32 cut in half: adding half a unit (and the odd bit) rounds to nearest even.
TEST(Converted, BFloat16AgreesWithBitArithmetic) {
  rc::check([](float value) {
    const Tensor narrow = converted(Tensor::scalar(value), DataType::bfloat16);
    const auto bits = std::bit_cast<uint32_t>(value);
    const auto expected = static_cast<uint16_t>((bits + 0x7FFF + (bits >> 16 & 1)) >> 16);
    RC_ASSERT(std::bit_cast<uint16_t>(std::array{narrow.bytes()[0], narrow.bytes()[1]}) == expected);
  });
}

TEST(Converted, IntegersSaturate) {
  const Tensor values = Tensor::of<double>({5}, {-1e20, -3.7, 3.7, 300, std::nan("")});
  EXPECT_EQ(converted(values, DataType::int8), Tensor::of<int8_t>({5}, {-128, -3, 3, 127, 0}));
  EXPECT_EQ(converted(values, DataType::uint8), Tensor::of<uint8_t>({5}, {0, 0, 3, 255, 0}));
  EXPECT_EQ(converted(Tensor::of<int64_t>({2}, {INT64_MAX, INT64_MIN}), DataType::uint64),
            Tensor::of<uint64_t>({2}, {INT64_MAX, 0}));
  EXPECT_EQ(converted(Tensor::of<uint64_t>({1}, {UINT64_MAX}), DataType::int64), Tensor::of<int64_t>({1}, {INT64_MAX}));
  EXPECT_EQ(converted(Tensor::of<double>({1}, {1e30}), DataType::int64), Tensor::of<int64_t>({1}, {INT64_MAX}));
  EXPECT_EQ(converted(Tensor::of<double>({1}, {1e300}), DataType::float32),
            Tensor::of<float>({1}, {std::numeric_limits<float>::max()}));
}

TEST(Converted, NibblesArePacked) {
  const Tensor four = converted(Tensor::of<int32_t>({3}, {-9, 7, -1}), DataType::int4);
  EXPECT_EQ(four.bytes().size(), 2);
  EXPECT_EQ(four.bytes()[0], std::byte{0x78});
  EXPECT_EQ(to_doubles(four), (std::vector<double>{-8, 7, -1}));
  EXPECT_EQ(to_doubles(converted(Tensor::of<int32_t>({2}, {16, -1}), DataType::uint4)), (std::vector<double>{15, 0}));
}

TEST(Converted, QuartersArePacked) {
  const Tensor two = converted(Tensor::of<int32_t>({5}, {-3, 1, -1, 0, 1}), DataType::int2);
  EXPECT_EQ(two.bytes().size(), 2);
  EXPECT_EQ(two.bytes()[0], std::byte{0b00110110});
  EXPECT_EQ(to_doubles(two), (std::vector<double>{-2, 1, -1, 0, 1}));
  EXPECT_EQ(to_doubles(converted(Tensor::of<int32_t>({3}, {7, -1, 2}), DataType::uint2)), (std::vector<double>{3, 0, 2}));
}

TEST(Converted, RefusesStrings) {
  EXPECT_THROW(converted(Tensor::strings({1}, {"a"}), DataType::float32), Error);
}

}  // namespace
}  // namespace quasar
