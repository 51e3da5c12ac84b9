// FixShapes: how it is written, and what it does to a model's inputs and outputs.
#include "quasar/quant/config/fixed_shapes.hpp"

#include <gtest/gtest.h>

#include "quasar/quant/config/config.hpp"
#include "quasar/quant/target.hpp"
#include "unit/error_of.hpp"

namespace quasar::quant {
namespace {

using test::error_of;

TEST(FixedShapes, AreAMappingOrQuarksText) {
  const FixedShapes wanted{{"image:0", {1, 3, 8, 8}}, {"mask", {1, 4}}};
  EXPECT_EQ(parse_fixed_shapes({{"image:0", {1, 3, 8, 8}}, {"mask", {1, 4}}}), wanted);
  EXPECT_EQ(parse_fixed_shapes("image:0:[1,3,8,8];mask:[1,4]"), wanted);
  const Config config = parse_config({{"FixShapes", to_json(wanted)}});
  EXPECT_EQ(config.fixed_shapes, wanted);
  EXPECT_EQ(parse_config(to_json(config)), config);
  for (const Json& wrong : {Json("image"), Json("image:[1,x]"), Json(3), Json{{"image", {1, 0}}}, Json{{"image", "1"}}})
    EXPECT_NE(error_of([&] { parse_fixed_shapes(wrong); }).find("FixShapes is "), std::string::npos) << wrong;
}

graph::Model model() {
  graph::Model out;
  out.inputs = {{"image", DataType::float32, Shape{-1, 3, 8, 8}, {"N", "", "", ""}}};
  out.outputs = {{"y", DataType::float32, Shape{-1, 10}, {"N", ""}}};
  return out;
}

TEST(FixedShapes, FixTheSizesOfTheSameNameInOutputs) {
  graph::Model fixed = model();
  fix_shapes(fixed, {{"image", {2, 3, 8, 8}}});
  EXPECT_EQ(fixed.inputs.front().shape, (Shape{2, 3, 8, 8}));
  EXPECT_EQ(fixed.outputs.front().shape, (Shape{2, 10}));
}

// Before calibration, and before open shapes are complained of.
TEST(FixedShapes, OfNoInputAreToldFirst) {
  for (const char* name : {"qnn_htp", "ort_cpu"}) {
    Config config;
    config.fixed_shapes = {{"imag", {1, 3, 8, 8}}};
    const auto said = error_of([&] { check_shapes(*targets::table().make(name), config, model().inputs); });
    EXPECT_NE(said.find("did you mean 'image'?"), std::string::npos) << said;
  }
}

TEST(FixedShapes, ThatDoNotFitSayWhatTheModelHas) {
  const auto said = [](const FixedShapes& shapes) {
    graph::Model fixed = model();
    return error_of([&] { fix_shapes(fixed, shapes); });
  };
  EXPECT_NE(said({{"image", {1, 1, 8, 8}}}).find("but the model has [\"N\",3,8,8]"), std::string::npos)
      << said({{"image", {1, 1, 8, 8}}});
  EXPECT_NE(said({{"imag", {1, 3, 8, 8}}}).find("did you mean 'image'?"), std::string::npos);
}

}  // namespace
}  // namespace quasar::quant
