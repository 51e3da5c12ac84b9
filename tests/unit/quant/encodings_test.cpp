#include "quasar/quant/encodings.hpp"

#include <gtest/gtest.h>

#include "unit/error_of.hpp"

namespace quasar::quant {
namespace {
using test::error_of;

graph::Model one_conv() {
  graph::Model model;
  graph::Node conv;
  conv.name = "conv";
  conv.op_type = "Conv";
  conv.inputs = {"x", "w"};
  conv.outputs = {"y"};
  model.nodes = {conv};
  return model;
}

Plan planned() {
  Plan plan;
  plan.values["x"] = {.type = DataType::uint8, .scales = {0.5F}, .zero_points = {12}};
  plan.values["y"] = {.type = DataType::int8, .scales = {0.25F}, .zero_points = {0}};
  plan.values["z"] = {.type = DataType::int8, .scales = {0.25F}, .zero_points = {3}};
  plan.values["half"] = {.type = DataType::float16, .scales = {}, .zero_points = {}};
  const QuantParams weight{.type = DataType::int8, .scales = {0.1F, 0.2F}, .zero_points = {0, 0}, .axis = 0};
  plan.nodes["conv"] = {.weight = ConstantPlan{.input = 1, .params = weight}};
  return plan;
}

const Json& entry_of(const Json& list, const std::string& name) {
  for (const auto& one : list) {
    if (one["name"] == name) return one;
  }
  throw Error("no entry " + name);
}

// aimet_onnx/_encoding.py: offsets are those of codes without sign.
TEST(Encodings, OffsetsCountFromTheLowestCode) {
  const Json file = encodings_json(planned(), one_conv());
  EXPECT_EQ(file["version"], "1.0.0");
  ASSERT_EQ(file["activation_encodings"].size(), 3U) << "floats have none";
  const Json x = entry_of(file["activation_encodings"], "x");
  EXPECT_EQ(x["offset"], Json::array({-12}));
  EXPECT_EQ(x["is_sym"], false);
  EXPECT_EQ(x["bw"], 8);
  EXPECT_EQ(entry_of(file["activation_encodings"], "y")["offset"], Json::array({-128}));
  EXPECT_EQ(entry_of(file["activation_encodings"], "y")["is_sym"], true);
  EXPECT_EQ(entry_of(file["activation_encodings"], "z")["offset"], Json::array({-131}));
  EXPECT_EQ(entry_of(file["activation_encodings"], "z")["is_sym"], false);
  const Json w = entry_of(file["param_encodings"], "w");
  EXPECT_EQ(w["enc_type"], "PER_CHANNEL");
  EXPECT_EQ(w["offset"], Json::array({-128, -128}));
  EXPECT_EQ(w["scale"], Json::array({0.1F, 0.2F}));
}

TEST(Encodings, GroupsAreRefused) {
  Plan plan = planned();
  plan.nodes["conv"].weight->params.block = 32;
  EXPECT_NE(error_of([&] { encodings_json(plan, one_conv()); }).find("'w' has scales per group"), std::string::npos);
}

TEST(Encodings, ComeBack) {
  const ForeignRanges read = read_foreign(encodings_json(planned(), one_conv()));
  EXPECT_TRUE(read.foreign);
  EXPECT_EQ(read.file["tensors"]["x"], (Json{{"scale", 0.5}, {"zero_point", 12.0}, {"type", "uint8"}}));
  EXPECT_EQ(read.file["tensors"]["y"], (Json{{"scale", 0.25}, {"zero_point", 0.0}, {"type", "int8"}}));
  EXPECT_EQ(read.file["tensors"]["z"], (Json{{"scale", 0.25}, {"zero_point", 131.0}, {"type", "uint8"}}));
  ASSERT_EQ(read.notes.size(), 1U);
  EXPECT_NE(read.notes.front().find("param_encodings are not read"), std::string::npos);
}

TEST(Encodings, OfEveryVersion) {
  const Json oldest =
      Json::parse(R"({"activation_encodings": {"x": [{"bitwidth": 8, "dtype": "int", "is_symmetric": "False", "min": -6,
      "max": 121.5, "scale": 0.5, "offset": -12}], "f": [{"bitwidth": 16, "dtype": "float"}]}, "param_encodings": {}})");
  const Json newest = Json::parse(R"({"version": "2.0.0", "encodings": [{"name": "x", "output_dtype": "uint8", "y_scale": 0.5,
      "y_zero_point": 12}, {"name": "w", "output_dtype": "int8", "y_scale": [0.1, 0.2], "axis": 0}, {"name": "f", "output_dtype": "float16"}]})");
  for (const Json& file : {oldest, newest}) {
    const Json tensors = read_foreign(file).file["tensors"];
    EXPECT_EQ(tensors["x"], (Json{{"scale", 0.5}, {"zero_point", 12.0}, {"type", "uint8"}}));
    EXPECT_EQ(tensors["f"], (Json{{"float", true}}));
    EXPECT_EQ(tensors.size(), 2U) << "weights have scales of their own";
  }
}

TEST(Encodings, MistakesNameTheEntry) {
  const auto said = [](const char* entry) {
    return error_of([&] { read_foreign(Json{{"activation_encodings", Json::array({Json::parse(entry)})}}); });
  };
  EXPECT_EQ(said("3"), "encodings: an entry is 3, but must be a mapping");
  EXPECT_EQ(said("{}"), "encodings: an entry: name is null, but must be a word");
  EXPECT_EQ(said(R"({"name": "x", "dtype": "INT", "bw": 8, "is_sym": 2, "scale": 1, "offset": 0})"),
            "encodings: 'x': is_sym is 2, but must be true or false");
  EXPECT_EQ(said(R"({"name": "x", "dtype": "INT", "bw": 8, "is_sym": false, "scale": [1, 2], "offset": 0})"),
            "encodings: 'x': scale has 2 numbers, but a value has one scale here");
  EXPECT_EQ(said(R"({"name": "x", "dtype": "INT", "bw": "8"})"), "encodings: 'x': bw is \"8\", but must be a number");
  EXPECT_EQ(error_of([] {
              read_foreign(Json{{"activation_encodings", 1}});
            }),
            "activation_encodings is 1, but must be a list, or a mapping of names");
}

// The table of TensorRT's sampleINT8 has 3c008912 for scale 0.0078452.
TEST(CalibrationCache, HoldsTheBitsOfScales) {
  Plan plan;
  plan.values["x"] = {.type = DataType::int8, .scales = {1.0F}, .zero_points = {0}};
  plan.values["y"] = {.type = DataType::uint8, .scales = {1.0F}, .zero_points = {1}};
  EXPECT_EQ(calibration_cache(plan), "TRT-8601-EntropyCalibration2\nx: 3f800000\ny: 40000000\n") << "254 / 127";
  const Json tensors = read_foreign(Json("TRT-7000-EntropyCalibration2\ndata: 3c008912\n")).file["tensors"];
  EXPECT_NEAR(tensors["data"]["max"].get<double>(), 127 * 0.0078452, 1e-4);
  EXPECT_EQ(tensors["data"]["min"].get<float>(), -tensors["data"]["max"].get<float>());
}

TEST(CalibrationCache, MistakesNameTheLine) {
  for (const char* line : {"x", "x: 3c00", "x: 3c00891g", "x: bc008912", "x: 7f800000"}) {
    EXPECT_EQ(error_of([&] { read_foreign(Json(std::string("TRT-1-A\n\n") + line)); }),
              "calibration cache, line 3 is '" + std::string(line) +
                  "', but must be a name, a colon and the 8 hexadecimal digits of a positive float32");
  }
}

TEST(ForeignRanges, NamesOfOthersAreLeftOut) {
  ForeignRanges ranges = read_foreign(Json("TRT-1-A\nx: 3f800000\n(Unnamed Layer* 3) [Convolution]_output: 3f800000\n"));
  keep_known(ranges, {"x", "y"});
  EXPECT_EQ(ranges.file["tensors"].size(), 1U);
  EXPECT_EQ(ranges.notes, (std::vector<std::string>{
                              "ranges: 1 of 2 names are no values of this model that could be quantized, such as '(Unnamed "
                              "Layer* 3) [Convolution]_output'"}));
  EXPECT_NE(error_of([&] { keep_known(ranges, {"other"}); }).find("1 of 1 names"), std::string::npos);
}

}  // namespace
}  // namespace quasar::quant
