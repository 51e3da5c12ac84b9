#include <gtest/gtest.h>

#include "quasar/quant/onnxruntime_kernels.hpp"
#include "sample_models.hpp"

namespace quasar::quant {
namespace {

bool is_slow(const std::function<std::string(Builder&)>& make) {
  Builder b;
  const auto output = make(b);
  const graph::Model model = b.finish({output});
  return is_slower_in_codes(model.nodes.back(), model);
}

TEST(SlowKernels, ConvolutionsInNarrowGroups) {
  const auto convolution = [](int64_t in, int64_t out, int64_t groups) {
    return is_slow([=](Builder& b) { return b.conv(b.input("x", {1, in, 6, 7}), in, out, 3, groups); });
  };
  EXPECT_FALSE(convolution(8, 8, 1));
  EXPECT_TRUE(convolution(24, 24, 24)) << "depthwise, no multiple of 16 channels";
  EXPECT_FALSE(convolution(32, 32, 32));
  EXPECT_TRUE(convolution(32, 64, 32)) << "two outputs for each input";
  EXPECT_TRUE(convolution(32, 32, 4));
  EXPECT_FALSE(convolution(32, 32, 2));
}

TEST(SlowKernels, SoftmaxAndSmallAverages) {
  const auto average = [](int64_t size) {
    return is_slow([=](Builder& b) {
      return b.node("AveragePool", {b.input("x", {1, 4, 9, 9})}, {{"kernel_shape", std::vector<int64_t>{size, size}}});
    });
  };
  EXPECT_TRUE(average(3));
  EXPECT_FALSE(average(7));
  EXPECT_TRUE(is_slow([](Builder& b) { return b.node("Softmax", {b.input("x", {1, 9})}); }));
  EXPECT_FALSE(is_slow([](Builder& b) { return b.node("Sigmoid", {b.input("x", {1, 9})}); }));
}

}  // namespace
}  // namespace quasar::quant
