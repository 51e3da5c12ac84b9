// Detectors are known by how their outputs are joined; what only looks like one is not.
#include <gtest/gtest.h>

#include "quasar/eval/decoder.hpp"
#include "quasar/eval/head.hpp"
#include "unit/eval/head_models.hpp"

namespace quasar::eval {
namespace {

using test::cells;
using test::Noise;
using test::on_picture;
using test::Sketch;

// By structure alone, and after samples were run: both must say the same, and a decoder that takes the outputs.
void expect_head(const graph::Model& model, const std::string& name, const Json& decoder) {
  for (const Head& head : {head_of(model), head_on(model, Noise(3))}) {
    EXPECT_EQ(head.name, name) << head.why;
    EXPECT_EQ(head.metric, "mAP(truth=float)");
    EXPECT_EQ(head.decoder, decoder);
  }
  make_decoder(decoder);
}

void expect_unknown(const graph::Model& model, const std::string& hint = "") {
  for (const Head& head : {head_of(model), head_on(model, Noise(3))}) {
    EXPECT_EQ(head.name, "") << head.why;
    EXPECT_NE(head.why.find(hint), std::string::npos) << head.why;
    EXPECT_EQ(head.metric, "");
  }
}

// As YOLOv8 is exported: distributions become distances, these a centre and a size in pixels. `more`: fields behind the classes.
graph::Model yolov8_model(int64_t classes, int64_t more = 0) {
  Sketch s = on_picture();
  std::vector<std::string> raw, extra;
  for (const auto& feature : pyramid(s)) {
    const auto both = s.concat({s.conv(feature, 8, 64), s.conv(feature, 8, classes)}, 1);
    raw.push_back(s.reshape(both, {1, 64 + classes, -1}));
    if (more > 0) extra.push_back(s.reshape(s.conv(feature, 8, more), {1, more, -1}));
  }
  const auto parts = s.ops("Split", {s.concat(raw, 2), s.constant({64, classes})}, 2, {{"axis", int64_t{1}}});
  const auto bins = s.softmax(s.transpose(s.reshape(parts[0], {1, 4, 16, cells}), {0, 2, 1, 3}), 1);
  const auto sides = s.reshape(s.op("Conv", {bins, s.random({1, 16, 1, 1}, 0, 2)}), {1, 4, cells});
  const auto halves = s.ops("Split", {sides, s.constant({2, 2})}, 2, {{"axis", int64_t{1}}});
  const auto anchors = s.random({1, 2, cells}, 0, 8);
  const auto low = s.op("Sub", {anchors, halves[0]}), high = s.op("Add", {anchors, halves[1]});
  const auto centre = s.times(s.op("Add", {low, high}), 0.5F);
  const auto boxes = s.op("Mul", {s.concat({centre, s.op("Sub", {high, low})}, 1), s.random({1, cells}, 8, 32)});
  const auto out = s.concat({boxes, s.op("Sigmoid", {parts[1]})}, 1);
  return s.ending_in({extra.empty() ? out : s.concat({out, s.concat(extra, 2)}, 1)});
}

TEST(DetectorHeads, YoloV8) {
  expect_head(yolov8_model(6), "yolov8", "yolov8");
  expect_head(yolov8_model(1), "yolov8", "yolov8");
}

TEST(DetectorHeads, YoloV8WithMasksIsJudgedByItsBoxes) {
  expect_head(yolov8_model(6, 32), "yolov8", {{"name", "yolov8"}, {"classes", 6}});
}

TEST(DetectorHeads, YoloV8CutBeforeItsBoxes) {
  Sketch s = on_picture();
  std::vector<std::string> outputs;
  for (const auto& feature : pyramid(s)) outputs.push_back(s.concat({s.conv(feature, 8, 64), s.conv(feature, 8, 6)}, 1));
  expect_head(s.ending_in(outputs), "yolov8", "yolov8");
}

// Three anchors per cell; `raw`: cut before boxes are made.
graph::Model anchors_model(int64_t classes, bool leaky, bool raw) {
  Sketch s = on_picture();
  const int64_t fields = 5 + classes;
  std::vector<std::string> outputs;
  int64_t grid = test::side / 8;
  for (const auto& feature : pyramid(s, leaky)) {
    const auto last = s.conv(feature, 8, 3 * fields);
    outputs.push_back(last);
    if (!raw) {
      const auto shares = s.op("Sigmoid", {s.transpose(s.reshape(last, {1, 3, fields, grid, grid}), {0, 1, 3, 4, 2})});
      const auto parts = s.ops("Split", {shares, s.constant({2, 2, 1 + classes})}, 3, {{"axis", int64_t{4}}});
      const auto place = s.times(s.op("Add", {s.times(parts[0], 2), s.random({1, 3, grid, grid, 2}, 0, 8)}), 8);
      const auto size = s.op(
          "Mul", {s.op("Pow", {s.times(parts[1], 2), s.constant(Tensor::scalar(2.0F))}), s.random({1, 3, grid, grid, 2}, 8, 32)});
      outputs.back() = s.reshape(s.concat({place, size, parts[2]}, 4), {1, -1, fields});
    }
    grid /= 2;
  }
  return s.ending_in(raw ? outputs : std::vector<std::string>{s.concat(outputs, 1)});
}

TEST(DetectorHeads, YoloV5) {
  expect_head(anchors_model(6, false, false), "yolov5", "yolov5");
  expect_head(anchors_model(1, false, false), "yolov5", "yolov5");
}

TEST(DetectorHeads, RawAnchorsAreYoloV3BehindLeakyReluAndYoloV5BehindSilu) {
  expect_head(anchors_model(6, true, true), "yolov3", "yolov3");
  expect_head(anchors_model(6, false, true), "yolov5", "yolov5");
}

// As YOLOv6 is exported: an objectness of ones between box and classes.
TEST(DetectorHeads, YoloV6HasOnesForObjectness) {
  Sketch s = on_picture();
  std::vector<std::string> boxes, scores;
  for (const auto& feature : pyramid(s)) {
    boxes.push_back(s.reshape(s.op("Relu", {s.conv(feature, 8, 4)}), {1, 4, -1}));
    scores.push_back(s.reshape(s.op("Sigmoid", {s.conv(feature, 8, 6)}), {1, 6, -1}));
  }
  const auto box = s.op("Mul", {s.transpose(s.concat(boxes, 2), {0, 2, 1}), s.random({1, cells, 1}, 50, 80)});
  const auto ones = s.constant(Tensor::of<float>({1, cells, 1}, std::vector<float>(cells, 1.0F)));
  expect_head(s.ending_in({s.concat({box, ones, s.transpose(s.concat(scores, 2), {0, 2, 1})}, 2)}), "yolov5", "yolov5");
}

// As YOLOX is exported: the same fields as YOLOv5, but boxes as they leave the last layer.
TEST(DetectorHeads, BoxesThatAreNotYetInPixelsAreNotYoloV5) {
  Sketch s = on_picture();
  std::vector<std::string> scales;
  for (const auto& feature : pyramid(s)) {
    const auto box = s.conv(feature, 8, 4), object = s.op("Sigmoid", {s.conv(feature, 8, 1)}),
               kind = s.op("Sigmoid", {s.conv(feature, 8, 6)});
    scales.push_back(s.reshape(s.concat({box, object, kind}, 1), {1, 11, -1}));
  }
  expect_unknown(s.ending_in({s.transpose(s.concat(scales, 2), {0, 2, 1})}));
}

TEST(DetectorHeads, YoloV10EndsInTheBestRows) {
  Sketch s = on_picture();
  const auto flat = s.reshape(s.conv("x", 3, 6, 8), {1, 6, -1});
  const auto parts = s.ops("Split", {flat, s.constant({2, 2, 2})}, 3, {{"axis", int64_t{1}}});
  const auto score =
      s.op("ReduceMax", {s.op("Sigmoid", {parts[2]})}, {{"axes", std::vector<int64_t>{1}}, {"keepdims", int64_t{0}}});
  const auto label = s.op("ArgMax", {parts[2]}, {{"axis", int64_t{1}}, {"keepdims", int64_t{0}}});
  const auto best = s.ops("TopK", {score, s.constant({20})}, 2);
  const auto corner = s.times(parts[0], 30), size = s.op("Abs", {parts[1]});
  const auto boxes = s.transpose(s.concat({corner, s.op("Add", {corner, size})}, 1), {0, 2, 1});
  const auto rows = s.op("Unsqueeze", {best[1], s.constant({2})});
  const auto chosen = s.op("GatherElements", {boxes, s.op("Tile", {rows, s.constant({1, 1, 4})})}, {{"axis", int64_t{1}}});
  const auto labels = s.op("Cast", {s.op("GatherElements", {label, best[1]}, {{"axis", int64_t{1}}})}, {{"to", int64_t{1}}});
  const auto column = s.constant({2});
  const auto out = s.concat({chosen, s.op("Unsqueeze", {best[0], column}), s.op("Unsqueeze", {labels, column})}, 2);
  expect_head(s.ending_in({out}), "yolov10", "yolov10");
}

TEST(DetectorHeads, FastestDet) {
  Sketch s = on_picture();
  const auto feature = s.op("Relu", {s.conv("x", 3, 8, 16)});
  const auto kinds = s.transpose(s.softmax(s.transpose(s.conv(feature, 8, 6), {0, 3, 2, 1}), 3), {0, 3, 2, 1});
  const auto out = s.concat({s.op("Sigmoid", {s.conv(feature, 8, 1)}), s.conv(feature, 8, 4), kinds}, 1);
  expect_head(s.ending_in({out}), "fastestdet", "fastestdet");
}

// Boxes and scores of 84 places; decoded: corners of shares of the picture.
graph::Model ssd_model(bool decoded) {
  Sketch s = on_picture();
  std::vector<std::string> boxes, scores;
  for (const auto& feature : pyramid(s)) {
    boxes.push_back(s.reshape(s.transpose(s.conv(feature, 8, 4), {0, 2, 3, 1}), {1, -1, 4}));
    scores.push_back(s.reshape(s.transpose(s.conv(feature, 8, 7), {0, 2, 3, 1}), {1, -1, 7}));
  }
  std::string box = s.concat(boxes, 1);
  if (decoded) {
    const auto parts = s.ops("Split", {box, s.constant({2, 2})}, 2, {{"axis", int64_t{2}}});
    const auto centre = s.op("Add", {s.times(parts[0], 0.1F), s.random({1, cells, 2}, 0, 1)});
    const auto half = s.op("Mul", {s.op("Exp", {parts[1]}), s.random({1, cells, 2}, 0.01, 0.2)});
    box = s.concat({s.op("Sub", {centre, half}), s.op("Add", {centre, half})}, 2);
  }
  return s.ending_in({s.softmax(s.concat(scores, 1), 2), box});
}

TEST(DetectorHeads, SsdWithBoxesMadeInTheModel) {
  expect_head(ssd_model(true), "ssd", {{"name", "ssd"}});
}

TEST(DetectorHeads, OffsetsFromPriorsNeedTheUser) {
  expect_unknown(ssd_model(false), "priors");
}

// Queries of a transformer. `bias`: of the class that means nothing, or of all.
graph::Model detr_model(double nothing, double all) {
  Sketch s = on_picture();
  const auto tokens = s.transpose(s.reshape(s.conv("x", 3, 16, 8), {1, 16, 64}), {0, 2, 1});
  const auto queries =
      s.op("MatMul", {s.softmax(s.op("MatMul", {s.random({1, 20, 16}), s.transpose(tokens, {0, 2, 1})}), 2), tokens});
  std::vector<float> bias(7, static_cast<float>(all));
  bias.back() += static_cast<float>(nothing);
  const auto logits = s.op("Add", {s.op("MatMul", {queries, s.random({16, 7})}), s.constant(test::floats(bias))});
  const auto boxes = s.op("Sigmoid", {s.op("Add", {s.op("MatMul", {queries, s.random({16, 4})}), s.random({4})})});
  return s.ending_in({logits, boxes});
}

TEST(DetectorHeads, DetrAndWhatItsLogitsMean) {
  const Head plain = head_of(detr_model(9, 0));
  EXPECT_EQ(plain.name, "detr") << plain.why;
  EXPECT_NE(plain.why.find("samples tell"), std::string::npos);
  const Head softmax = head_on(detr_model(9, 0), Noise(3)), sigmoid = head_on(detr_model(0, -9), Noise(3));
  EXPECT_EQ(softmax.decoder, (Json{{"name", "detr"}, {"activation", "softmax"}, {"background", true}}));
  EXPECT_EQ(sigmoid.decoder, (Json{{"name", "detr"}, {"activation", "sigmoid"}, {"background", false}}));
  const Head neither = head_on(detr_model(0, 9), Noise(3));  // every query finds something
  EXPECT_EQ(neither.name, "") << neither.why;
}

TEST(DetectorHeads, PicoDetPerScale) {
  Sketch s = on_picture();
  std::vector<std::string> scores, distances;
  for (const auto& feature : pyramid(s)) {
    const auto parts = s.ops("Split", {s.conv(feature, 8, 10 + 32), s.constant({10, 32})}, 2, {{"axis", int64_t{1}}});
    scores.push_back(s.transpose(s.reshape(s.op("Sigmoid", {parts[0]}), {1, 10, -1}), {0, 2, 1}));
    distances.push_back(s.transpose(s.reshape(parts[1], {1, 32, -1}), {0, 2, 1}));
  }
  scores.insert(scores.end(), distances.begin(), distances.end());
  expect_head(s.ending_in(scores), "picodet", {{"name", "picodet"}, {"bins", 8}});
}

TEST(DetectorHeads, NanoDetInOneOutput) {
  Sketch s = on_picture();
  std::vector<std::string> scales;
  for (const auto& feature : pyramid(s))
    scales.push_back(s.reshape(s.concat({s.op("Sigmoid", {s.conv(feature, 8, 6)}), s.conv(feature, 8, 32)}, 1), {1, 38, -1}));
  expect_head(s.ending_in({s.transpose(s.concat(scales, 2), {0, 2, 1})}), "nanodet",
              {{"name", "picodet"}, {"bins", 8}, {"centre", 0}});
}

TEST(DetectorHeads, PicoDetWithBoxesMadeInTheModel) {
  Sketch s = on_picture();
  std::vector<std::string> low, high, scores;
  for (const auto& feature : pyramid(s)) {
    const auto flat = [&](const std::string& value) { return s.transpose(s.reshape(value, {1, 2, -1}), {0, 2, 1}); };
    low.push_back(flat(s.conv(feature, 8, 2)));
    high.push_back(flat(s.times(s.op("Exp", {s.conv(feature, 8, 2)}), 9)));
    scores.push_back(s.reshape(s.op("Sigmoid", {s.conv(feature, 8, 6)}), {1, 6, -1}));
  }
  const auto first = s.concat(low, 1), boxes = s.concat({first, s.op("Add", {first, s.concat(high, 1)})}, 2);
  expect_head(s.ending_in({boxes, s.concat(scores, 2)}), "picodet", "picodet");
}

TEST(DetectorHeads, BoxesOfAnUnknownFormAreUnknown) {
  Sketch s = on_picture();
  const auto feature = s.reshape(s.conv("x", 3, 8, 8), {1, 8, 64});
  const auto boxes = s.op("MatMul", {s.transpose(feature, {0, 2, 1}), s.random({8, 4})});
  const auto scores = s.op("MatMul", {s.transpose(feature, {0, 2, 1}), s.random({8, 5})});
  expect_unknown(s.ending_in({boxes, scores}), "ssd");
}

// The shapes of YOLOv8, but another number of places, or one operator for everything.
TEST(DetectorHeads, ShapesAloneAreNoHead) {
  Sketch other = on_picture();
  const auto flat = other.reshape(other.conv("x", 3, 10, 4), {1, 10, 256});
  const auto parts = other.ops("Split", {flat, other.constant({4, 6})}, 2, {{"axis", int64_t{1}}});
  expect_unknown(other.ending_in({other.concat({other.times(parts[0], 8), other.op("Sigmoid", {parts[1]})}, 1)}));
  Sketch plain = on_picture();
  std::vector<std::string> scales;
  for (const auto& feature : pyramid(plain)) scales.push_back(plain.reshape(plain.conv(feature, 8, 10), {1, 10, -1}));
  expect_unknown(plain.ending_in({plain.concat(scales, 2)}));
}

// Features of a backbone are no raw heads, even where their channels are thrice something.
TEST(DetectorHeads, FeaturesAreNoHead) {
  Sketch s = on_picture();
  std::vector<std::string> outputs;
  for (const auto& feature : pyramid(s, true)) outputs.push_back(s.op("LeakyRelu", {s.conv(feature, 8, 96)}));
  expect_unknown(s.ending_in(outputs));
}

}  // namespace
}  // namespace quasar::eval
