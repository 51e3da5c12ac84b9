// Pictures of which nobody has said what values the model takes.
#include "quasar/tune/open_data.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "quasar/base/file.hpp"
#include "quasar/data/image.hpp"
#include "unit/error_of.hpp"
#include "unit/rounding/random_tensor.hpp"
#include "unit/runtime/models.hpp"

namespace quasar::tune {
namespace {

using test::error_of;
using test::node;

class OpenData : public testing::Test {
 protected:
  // Pictures of stripes; a third of them reddish, greenish, bluish.
  OpenData() {
    std::filesystem::create_directory(photos);
    for (int i = 0; i < 12; ++i) {
      Rng rng(static_cast<uint64_t>(i) + 1);
      data::Image image{.width = 16, .height = 16, .pixels = {}};
      for (int k = 0; k < 16 * 16 * 3; ++k) {
        if (k % 24 == 0) level = rng.uniform(0, 255);
        const double tint = k % 3 == i % 3 ? 1 : 0.6;
        image.pixels.push_back(static_cast<uint8_t>(std::clamp(tint * level + 20 * rng.normal(), 0.0, 255.0)));
      }
      write_file(photos / (std::to_string(i) + ".jpg"), data::jpeg::encode(image));
    }
  }

  std::string refusal(const graph::Model& model, const Json& more = Json::object()) const {
    Json words{{"reader", "images"}, {"path", photos.string()}};
    words.update(more);
    return error_of([&] { (void)open_data(words, model); });
  }

  TemporaryFolder folder;
  std::filesystem::path photos = folder.path() / "photos";
  double level = 0;
};

graph::Model picture_model() {
  graph::Model model = test::empty_model(13);
  model.inputs = {test::float_value("x", {1, 3, 16, 16})};
  return model;
}

// Conv ─▶ Relu, for values x·unit + shift.
graph::Model trained_for(float unit, float shift) {
  graph::Model model = picture_model();
  Tensor weights = random_tensor({4, 3, 3, 3}, 1, 0.4F), bias = random_tensor({4}, 2, 0.5F);
  std::vector<float> w(weights.as<float>().begin(), weights.as<float>().end());
  std::vector<float> b(bias.as<float>().begin(), bias.as<float>().end());
  for (size_t i = 0; i < w.size(); ++i) {
    b[i / 27] += w[i] * shift;
    w[i] *= unit;
  }
  model.initializers["w"] = Tensor::of(weights.shape(), w);
  model.initializers["b"] = Tensor::of(bias.shape(), b);
  model.nodes = {node("Conv", "first", {"x", "w", "b"}, {"c"}), node("Relu", "relu", {"c"}, {"y"})};
  model.outputs = {test::float_value("y", {1, 4, 14, 14})};
  return model;
}

// BatchNormalization of the picture itself, with the means and variances of some values.
graph::Model normalizing(float mean, float deviation) {
  graph::Model model = picture_model();
  const auto three = [](float value) { return test::floats({value, value, value}); };
  model.initializers = {{"one", three(1)}, {"zero", three(0)}, {"mean", three(mean)}, {"variance", three(deviation * deviation)}};
  model.nodes = {node("BatchNormalization", "norm", {"x", "one", "zero", "mean", "variance"}, {"y"})};
  model.outputs = {test::float_value("y", {1, 3, 16, 16})};
  return model;
}

// Colours that are clipped at 6, one class for each: with 0 to 255 all is 6.
graph::Model classifier() {
  graph::Model model = picture_model();
  model.initializers["w"] = Tensor::of<float>({3, 3, 1, 1}, {3, 0, 0, 0, 3, 0, 0, 0, 3});
  model.initializers["low"] = Tensor::scalar(0.0F);
  model.initializers["six"] = Tensor::scalar(6.0F);
  model.initializers["m"] = Tensor::of<float>({3, 3}, {20, 0, 0, 0, 20, 0, 0, 0, 20});
  model.nodes = {node("Conv", "conv", {"x", "w"}, {"c"}),           node("Clip", "clip", {"c", "low", "six"}, {"r"}),
                 node("GlobalAveragePool", "pool", {"r"}, {"p"}),   node("Flatten", "flatten", {"p"}, {"f"}),
                 node("MatMul", "product", {"f", "m"}, {"logits"}), node("Softmax", "softmax", {"logits"}, {"y"})};
  model.outputs = {test::float_value("y", {1, 3})};
  return model;
}

TEST_F(OpenData, ValuesThatTheFirstLayerIsNotMeantForAreRefused) {
  const std::string text = refusal(trained_for(1, 0));
  for (const char* part : {"photos", "values of 0 to 255", "first layer 'first'", "std: 255 (0 to 1)",
                           "mean: 127.5, std: 127.5 (-1 to 1)", "as_is: true", "--as-is", "`reader: images`"})
    EXPECT_NE(text.find(part), std::string::npos) << part << " is not in: " << text;
}

TEST_F(OpenData, ModelsForBytesAreNot) {
  EXPECT_EQ(refusal(trained_for(1 / 127.5F, -1)), "no error");
  EXPECT_EQ(refusal(normalizing(120, 60)), "no error");
  EXPECT_NE(refusal(normalizing(0.5F, 0.25F)).find("first layer 'norm'"), std::string::npos);
}

TEST_F(OpenData, AnswersThatAreTheSameForEveryPictureAreRefused) {
  const std::string text = refusal(classifier());
  EXPECT_NE(text.find("it seems to take other ones"), std::string::npos) << text;
  EXPECT_NE(text.find("tell the pictures apart best"), std::string::npos) << text;
}

TEST_F(OpenData, WhatNothingIsKnownOfIsRefused) {
  graph::Model model = picture_model();
  model.nodes = {node("Relu", "relu", {"x"}, {"y"})};
  model.outputs = {test::float_value("y", {1, 3, 16, 16})};
  EXPECT_NE(refusal(model).find("nothing in the model tells"), std::string::npos);
  model.inputs[0].type = DataType::uint8;  // whose values are bytes
  model.nodes = {node("Identity", "same", {"x"}, {"y"})};
  model.outputs[0].type = DataType::uint8;
  EXPECT_EQ(refusal(model), "no error");
}

TEST_F(OpenData, WhatTheUserSaysCounts) {
  const graph::Model model = trained_for(1, 0);
  for (const Json& said : {Json{{"as_is", true}}, Json{{"std", 255}}, Json{{"mean", 0}}, Json{{"scale", 1}}})
    EXPECT_EQ(refusal(model, said), "no error") << said.dump();
  EXPECT_NE(refusal(model, {{"as_is", false}}), "no error");
  EXPECT_NE(refusal(model, {{"as_is", true}, {"std", 255}}).find("contradicts"), std::string::npos);
}

TEST_F(OpenData, FoldersAndFilesAlike) {
  const graph::Model model = trained_for(1, 0);
  EXPECT_NE(error_of([&] { (void)open_data(photos.string(), model); }).find("--as-is"), std::string::npos);
  write_file(folder.path() / "photos.yaml", "path: photos\nmean: 127.5\nstd: 127.5\n");
  EXPECT_EQ(error_of([&] { (void)open_data((folder.path() / "photos.yaml").string(), model); }), "no error");
}

}  // namespace
}  // namespace quasar::tune
